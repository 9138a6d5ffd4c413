"""What all commands share: help, options before and behind, errors, exit codes, what is logged."""

import logging
import re
import signal

import pytest
from typer.main import get_command

import gatechart.cli as package
from gatechart.cli.commands import COMMANDS, MAIL_COMMANDS, app
from gatechart.cli.errors import ExitCode
from gatechart.stores import MemoryStore
from tests.homes import POSTGRESQL


@pytest.mark.parametrize("command", [("directory", "evaluate"), ("restate", "serve")])
def test_the_help_of_a_command_names_the_extra_that_it_needs(command, gatechart):
    extra = {"evaluate": "gatechart[learning]", "serve": "gatechart[restate]"}[command[-1]]
    assert extra in gatechart(*command, "--help").out


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_the_help_names_commands_variables_and_exit_codes(arguments, gatechart):
    told = gatechart(*arguments)
    assert (told.code, told.err) == (0, "")
    for name in [*COMMANDS, "GATECHART_APP", "GATECHART_STORE", "GATECHART_JSON", "Examples"]:
        assert name in told.out
    for code in ExitCode:
        assert f" {code.value}  " in told.out
        assert f"| {code.value} |" in package.__doc__


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_has_examples_and_every_option(command, gatechart):
    told = gatechart(command, "--help")
    assert (told.code, told.err) == (0, "")
    assert f"gatechart {command}" in told.out.partition("Examples")[2]
    for parameter in get_command(app).commands[command].params:
        is_argument = parameter.param_type_name == "argument"
        shown = (parameter.metavar if is_argument else None) or parameter.opts[-1]
        assert shown.upper() in told.out.upper()


@pytest.mark.parametrize("command", [(), ("send",), ("mail",), ("mail", "retry"), ("restate", "serve")], ids=" ".join)
def test_help_may_be_asked_for_in_short(command, gatechart):
    told = gatechart(*command, "-h")
    assert (told.code, told.err) == (0, "")
    assert told.out == gatechart(*command, "--help").out
    assert told.out.count("-h ") >= 1


@pytest.mark.parametrize("command", [("send",), ("mail",), ("mail", "retry")], ids=" ".join)
def test_the_help_of_a_command_folds_the_options_of_every_command(command, gatechart):
    told = " ".join(gatechart(*command, "--help").out.split())
    assert "The database of the agents." not in told
    assert (
        "--app, --dialect, --entry, --store, --services, --choosing, --json, --verbose, --debug: see `gatechart -h`"
        in told
    )
    assert "The database of the agents." in gatechart("-h").out


@pytest.mark.parametrize("command", [(), *((name,) for name in MAIL_COMMANDS)])
def test_the_help_of_mail_has_examples_too(command, gatechart):
    told = gatechart("mail", *command, "--help")
    assert (told.code, told.err) == (0, "")
    assert " ".join(("gatechart mail", *command)) in told.out.partition("Examples")[2]
    assert all(f" {name} " in told.out for name in MAIL_COMMANDS) or command


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS), *(("mail", name) for name in MAIL_COMMANDS)])
def test_the_help_has_no_names_of_python_types(command, gatechart):
    told = gatechart(*command, "--help")
    assert told.code == 0
    assert not re.search(r"<(bool|str|int|float|path)>", told.out)


def test_the_version_is_told(gatechart):
    told = gatechart("--version")
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith("gatechart 0.")


def test_options_may_stand_before_the_command_or_behind_it(project, gatechart):
    url = "sqlite+aiosqlite:///one.db"
    before = gatechart("--store", url, "--json", "start", "desk", "--at", "LISTENING", "--id", "a").document
    assert gatechart("show", "a", "--store", url, "--json").document["agent_id"] == before["agent_id"]


def test_what_stands_behind_goes_before_what_stands_before_and_both_before_the_environment(
    project, gatechart, monkeypatch
):
    def store(*arguments):
        failed = gatechart(*arguments)
        return failed.err.partition("at ")[2].partition(".db")[0].rpartition("/")[2]

    monkeypatch.setenv("GATECHART_STORE", "sqlite+aiosqlite:///environment.db")
    before, behind = (("--store", f"sqlite+aiosqlite:///{name}.db") for name in ("before", "behind"))
    assert store("list") == "environment"
    assert store(*before, "list") == "before"
    assert store("list", *behind) == "behind"
    assert store(*before, "list", *behind) == "behind"


def test_json_may_be_set_in_the_environment(project, gatechart, monkeypatch):
    monkeypatch.setenv("GATECHART_JSON", "1")
    assert gatechart("check").document["graphs"]
    assert gatechart("list").error["exit_code"] == 5
    assert gatechart("lst").error["exit_code"] == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["lst"], "No such command 'lst'. Did you mean 'list'?; see `gatechart --help`"),
        (["send", "a"], "Missing argument 'EVENT'; see `gatechart send --help`"),
        (["send", "a", "B", "--jsn"], "No such option: --jsn"),
        (["--store"], "Option '--store' requires an argument"),
    ],
)
def test_a_wrong_command_line_is_told_in_one_line(arguments, told, folder, gatechart):
    failed = gatechart(*arguments)
    assert (failed.code, failed.out) == (2, "")
    assert failed.err.startswith(f"error: {told}")
    assert failed.err.count("\n") == 1
    assert gatechart(*arguments, "--json").error["exit_code"] == 2 or arguments == ["--store"]


def test_an_argument_that_is_no_text_is_a_usage_error(project, gatechart):
    failed = gatechart("start", "desk", "--at", "LISTENING", "--id", "\udcff")
    assert (failed.code, failed.out) == (2, "")
    assert failed.err == "error: the argument '\\udcff' is not valid UTF-8\n"
    assert not (project / "agents.db").exists()


@pytest.mark.parametrize("url", ["nonsense", "sqlite:///agents.db", "sqlite+aiosqlite:///none/agents.db"])
def test_a_store_that_cannot_be_is_an_outside_error(url, project, gatechart):
    failed = gatechart("start", "desk", "--at", "LISTENING", "--store", url, "--json")
    assert (failed.code, failed.error["error"], failed.error["facts"]["url"]) == (5, "StoreUrlError", url)


@pytest.fixture(params=["sqlite", POSTGRESQL])
def empty(request, project, monkeypatch):
    """An empty database, in which the command keeps agents."""
    if request.param == "sqlite":
        (project / "agents.db").touch()
        return "sqlite+aiosqlite:///agents.db"
    url = request.getfixturevalue("empty_postgres_url")
    monkeypatch.setenv("GATECHART_STORE", url)
    return url


def test_a_database_is_brought_to_the_newest_schema(empty, gatechart):
    told = gatechart("upgrade").out
    assert told.startswith(f"upgraded {empty} from an empty database to schema 0")
    newest = told.split()[-1]
    assert gatechart("upgrade").out == f"{empty} already has the newest schema, {newest}\n"
    assert gatechart("upgrade", "--json").document == {"store": empty, "before": newest, "after": newest}
    assert gatechart("upgrade", "--store", "sqlite+aiosqlite:///none.db").code == 5


def test_a_database_of_a_newer_gatechart_is_refused_by_all(project, gatechart, newer):
    for command in (["list"], ["start", "desk", "--at", "LISTENING"], ["upgrade"]):
        failed = gatechart(*command)
        assert failed.code == 5
        assert "install a newer gatechart" in failed.err


@pytest.fixture
def newer(project, gatechart):
    import sqlite3
    from contextlib import closing

    gatechart("start", "desk", "--at", "LISTENING")
    with closing(sqlite3.connect("agents.db")) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")


def test_a_traceback_is_shown_on_demand_only(project, gatechart):
    assert "Traceback" not in gatechart("show", "a").err
    debugged = gatechart("show", "a", "--debug")
    assert debugged.err.startswith("Traceback")
    assert debugged.err.splitlines()[-1].startswith("error: there is no database at ")
    assert gatechart("show", "a", "--debug", "--json").error["traceback"].startswith("Traceback")


def test_a_bug_is_told_as_one(project, gatechart, monkeypatch):
    def fail(*_):
        raise KeyError("lost")

    monkeypatch.setattr(MemoryStore, "find", fail)
    failed = gatechart("list", "--store", "memory:")
    assert (failed.code, failed.out) == (70, "")
    bug = "this is a bug: please run the command again with --debug and report the traceback"
    assert failed.err == f"error: KeyError: 'lost'; {bug}\n"
    assert gatechart("list", "--store", "memory:", "--json").error["facts"] == {}


@pytest.mark.parametrize("seconds", ["inf", "nan", "1e12", "86400.1", "-1"])
@pytest.mark.parametrize(
    "command",
    [
        ("send", "a", "SPOKEN", "--timeout"),
        ("run", "--once", "--grace"),
        ("serve", "--grace"),
        ("serve", "--drain"),
    ],
    ids=" ".join,
)
def test_nobody_waits_for_more_than_a_day(project, gatechart, command, seconds):
    refused = gatechart(*command, seconds)
    assert (refused.code, refused.out) == (2, "")
    assert command[-1] in refused.err


@pytest.fixture
def interruptible():
    """Ctrl-C reaches Python, also where the tests run in the background of a shell, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_what_is_interrupted_says_so_in_one_line(project, gatechart, interruptible):
    gatechart("start", "desk", "--at", "LISTENING", "--id", "a")
    interrupted = gatechart("send", "a", "INTERRUPTED")
    assert (interrupted.code, interrupted.out) == (130, "")
    assert interrupted.err == ("error: interrupted; a running turn may have been committed; see `gatechart show`\n")
    assert gatechart("show", "a", "--json").document["configuration"] == ["ANSWERING"]


def test_an_interrupt_while_the_command_line_is_read_says_so_too(project, gatechart, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("gatechart.cli.options.version_of", interrupt)
    assert gatechart("--version").code == 130


def test_what_gatechart_logs_is_shown_on_demand_only(project, gatechart):
    gatechart("start", "desk", "--at", "LISTENING", "--id", "a")
    assert "warning" not in gatechart("send", "a", "PRESSED").err
    logged = gatechart("send", "a", "PRESSED", "--verbose")
    assert logged.err.splitlines()[0] == (
        "warning: gatechart.turn.mail: an event was refused: PRESSED of agent a, graph desk: "
        "guards said no (is_long) in LISTENING; "
        "accepted there: ASKED, PRESSED, DIVIDED, DIVIDED_AGAIN, JAMMED, SPOILED, INTERRUPTED, LEFT"
    )


def test_what_an_app_logs_is_shown_from_warnings_up(folder, gatechart):
    (folder / "chatty.py").write_text(
        "import logging\nfrom desk import desk\n"
        "log = logging.getLogger('chatty')\nlog.info('dear')\nlog.warning('oh dear')"
    )
    assert gatechart("check", "--app", "chatty:desk").err == "warning: chatty: oh dear\n"
    del __import__("sys").modules["chatty"]
    assert (
        gatechart("check", "--app", "chatty:desk", "--verbose").err == "info: chatty: dear\nwarning: chatty: oh dear\n"
    )


def test_logging_is_left_as_it_was(project, gatechart):
    root, ours = logging.getLogger(), logging.getLogger("gatechart")
    before = (root.level, ours.level, list(root.handlers))
    gatechart("check", "--verbose")
    assert (root.level, ours.level, list(root.handlers)) == before


def test_lines_break_where_a_terminal_ends(project, gatechart, monkeypatch):
    gatechart("start", "desk", "--at", "LISTENING", "--id", "a" * 32)
    monkeypatch.setenv("COLUMNS", "63")
    assert re.sub(r" \ds ", " 0s ", gatechart("list").out).splitlines() == [
        f"AGENT{'':27}  STATUS  IDLE  STATE     GRAPH",
        f"{'a' * 32}  active  0s    LISTENIN  desk",
        f"{'':48}G",
    ]


@pytest.mark.parametrize("given", ["0.5", "500ms", "PT0.5S"])
def test_time_limits_are_durations_in_which_a_bare_number_is_seconds(project, gatechart, given):
    assert gatechart("start", "desk", "--at", "LISTENING").code == 0
    done = gatechart("run", "--once", "--grace", given)
    assert done.code == 0, done.err


def test_what_is_no_duration_is_refused_with_what_would_be_one(project, gatechart):
    done = gatechart("run", "--once", "--grace", "soon")
    assert done.code == 2
    assert "'soon' is not a duration" in done.err
    assert "'1h30m'" in done.err

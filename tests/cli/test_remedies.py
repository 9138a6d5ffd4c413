"""What errors say would help is a command or an option for whoever types commands."""

import re
from dataclasses import fields
from importlib import import_module
from pkgutil import walk_packages

import pytest

import gatechart
from gatechart.cli import remedies
from gatechart.cli.remedies import in_commands
from gatechart.errors import GatechartError, ReservedEventError
from tests.errors.samples import LEAVES, SAMPLES, subclasses

PYTHON = re.compile(
    r"\b[\w.]+\(\S*\)|\b[A-Z]\w+\(|(?<![\w?])[a-z_]+=|\bregister the\b|open (it|the database|the runtime)\b"
)
OF_CODE = {  # errors that tell the author of an application what to write in it
    "ContextInvalidError",
    "ExitRaisedError",
    "InsideTurnError",
    "InvalidChoosingError",
    "ReadOnlyContextError",
    "StepResultError",
}
OF_PROGRAMS = {  # errors that only a program can meet: no command makes the call that raises them
    "AddressRefusedError",
    "AnswerLostError",
    "ClientClosedError",
    "ElsewhereError",
    "InsideLoopError",
    "ReadOnlyError",
    "RuntimeClosedError",
    "TooManyConfigurationsError",
}


def sample(kind):
    return kind(*(SAMPLES.get(field.type, "a text") for field in fields(kind)))


def every_error():
    """The errors of gatechart, wherever they are defined."""
    for found in walk_packages(gatechart.__path__, "gatechart."):
        if not found.name.startswith(("gatechart.__", "gatechart.examples", "gatechart.migrations")):
            import_module(found.name)
    others = [each for each in subclasses(GatechartError) if each.__module__.startswith("gatechart.")]
    return [each for each in dict.fromkeys((*LEAVES, *others)) if not each.__subclasses__()]


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_no_error_tells_whoever_types_commands_to_call_something_in_python(kind):
    if kind.__name__ in OF_CODE | OF_PROGRAMS:
        return
    told = in_commands(str(sample(kind)))
    assert not PYTHON.search(told), told


@pytest.mark.parametrize("event", ["after.2d.A", "done.invoke.search", "handoff.accepted", "error.execution"])
def test_an_event_of_the_framework_is_refused_with_the_command_for_it(event):
    told = in_commands(str(ReservedEventError(event)))
    assert not PYTHON.search(told), told


OTHERS = (  # texts of errors whose remedies are not those of their classes
    "Register PacketMigration(1, ...), up to 3",
    "Register one",
    "Graphviz took longer than 20 s; draw to a .dot or .mmd file, or raise limit_s",
    "it is not XState's; write one of the two, or pass load(entry_points=[...])",
    "give the guard a name in XState's setup({guards: ...}), write that name, and bind it with bind=",
    "missing or wrong token; send the header `Authorization: Bearer TOKEN` with the server's token",
    *(str(ReservedEventError(each)) for each in ("after.2d.A", "done.invoke.search", "handoff.accepted", "agent.x")),
    *(str(sample(each)) for each in LEAVES),
)


@pytest.mark.parametrize(("pattern", "instead"), remedies.WORDS)
def test_each_line_of_the_table_is_about_an_error_that_there_is(pattern, instead):
    found = [text for text in OTHERS if re.search(pattern, text)]
    assert found, pattern


def test_a_chart_that_cannot_be_read_is_told_with_options(folder, gatechart):
    (folder / "machine.json").write_text('{"id": "m", "states": {"a": {}}}')
    told = gatechart("check", "--app", "machine.json", "--dialect", "xstate")
    assert "or add --entry STATE" in told.err
    (folder / "lost.json").write_text('{"id": "m", "initial": "a", "states": {"a": {"entry": [null]}}}')
    told = gatechart("check", "--app", "lost.json", "--dialect", "xstate")
    assert "define it in the module that follows the file in the app" in told.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("show", "b"), "look it up with `gatechart list`"),
        (
            ("start", "desk", "--at", "LISTENING", "--id", "a"),
            "choose another --id, or leave it as it is with `gatechart start --or-resume`",
        ),
        (("send", "a", "done.invoke.x"), "ends an invoke with `gatechart end-invoke`"),
        (("mail", "fire", "7", "--reason", "x"), "find its number with `gatechart mail`"),
        (("mail", "retry", "7"), "list them with `gatechart mail --status refused` or `--status dead`"),
        (("handoffs", "cancel", "7", "--reason", "x"), "look it up with `gatechart handoffs`"),
    ],
)
def test_a_command_that_fails_names_the_command_that_would_help(arguments, told, project, gatechart):
    gatechart("start", "desk", "--at", "LISTENING", "--id", "a")
    failed = gatechart(*arguments)
    assert failed.code == 4
    assert told in failed.err
    assert told in gatechart(*arguments, "--json").error["message"]

"""`gatechart run --watchdog` and `--alerts-file`: hosts that look for what is wrong, and tell sinks of a file."""

import re

import pytest

from gatechart.alerts.mailbox import Mailbox
from gatechart.alerts.webhook import Webhook
from gatechart.cli.errors import UsageError
from gatechart.cli.watching import watching_of

SINKS = """
[sinks.ops]
url = "https://hooks.example.org/gatechart"
secret_file = "{secret}"

[sinks.mail]
host = "smtp.example.org"
sender = "gatechart@example.org"
to = ["ops@example.org"]
"""


@pytest.fixture
def file(tmp_path):
    """Writes a file of sinks, and returns it."""
    (tmp_path / "secret").write_text("a secret of some length\n")
    (tmp_path / "empty").write_text("\n")

    def written(text=SINKS):
        made = tmp_path / "alerts.toml"
        made.write_text(text.replace("{secret}", str(tmp_path / "secret")))
        return made

    return written


def test_sinks_come_from_a_file_whose_secrets_are_in_files_of_their_own(file):
    given = watching_of(file(), "30s")
    alerts, watchdog = given["alerts"], given["watchdog"]
    assert [*alerts] == ["ops", "mail"]
    assert isinstance(alerts.sink("ops"), Webhook)
    assert isinstance(alerts.sink("mail"), Mailbox)
    assert (watchdog.every_s, watchdog.sinks, dict(watchdog.acts)) == (30, ("ops", "mail"), {})


def test_what_the_watchdog_does_stands_in_the_file_of_sinks(file):
    table = """
[watchdog]
acts = { stuck = ["restart", "escalate"], waiting = "wake" }
restart_at = { support = "ANSWERING" }
escalate_to = { to = "desk", at = "LOOKING" }
"""
    watchdog = watching_of(file(table + SINKS), "30s")["watchdog"]
    assert dict(watchdog.acts) == {"stuck": ("restart", "escalate"), "waiting": ("wake",)}
    assert (dict(watchdog.restart_at), watchdog.sinks) == ({"support": "ANSWERING"}, ("ops", "mail"))
    assert (watchdog.escalate_to.target, watchdog.escalate_to.at) == ("desk", "LOOKING")
    assert watching_of(file(table), "30s")["watchdog"].acts == watchdog.acts


@pytest.mark.parametrize(
    ("text", "every", "problem"),
    [
        ("acts = { stuck = 'wake' }", None, "[watchdog]: nothing looks; give --watchdog DURATION"),
        ("acts = { stuck = 'kill' }", "1m", "'kill' is no act; those are wake, restart, escalate"),
        ("acts = { hungry = 'wake' }", "1m", "'hungry' is no kind of finding; those are stuck, "),
        ("acts = { stuck = 'escalate' }", "1m", "escalate_to"),
        ("act = { stuck = 'wake' }", "1m", "unknown key 'act'; did you mean 'acts'"),
        ("restart_at = 'A'", "1m", "restart_at: Input should be a valid dictionary"),
    ],
)
def test_what_a_watchdog_cannot_do_is_refused_with_what_it_could(file, text, every, problem):
    with pytest.raises(UsageError, match=re.escape(problem)):
        watching_of(file(f"[watchdog]\n{text}"), every)


def test_nothing_watches_and_nobody_is_told_by_default():
    given = watching_of(None, None)
    assert ([*given["alerts"]], given["watchdog"]) == ([], None)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it names no sink"),
        ("[sink.ops]\nurl = 'https://a.example'", "unknown key 'sink'; did you mean 'sinks'"),
        ("[sinks.ops]\nurls = 'https://a.example'", "[sinks.ops]: give a url"),
        ("[sinks.ops]\nurl = 'https://a.example'\nsecrets = 'x'", "unknown key 'secrets'"),
        ("[sinks.ops]\nurl = 'http://a.example'\nsecret = 'a secret of some length'", "https"),
        ("[sinks.ops]\nurl = 'https://a.example'", "secret"),
        ("[sinks.ops]\nurl = 'https://a.example'\nsecret_file = '/nowhere'", "secret_file: '/nowhere' cannot be read"),
        ("[sinks.mail]\nhost = 'a'\nsender = 'a'\nto = 'b@example.org'", "'a' is not a mail address"),
        (
            "[sinks.mail]\nhost = 'a'\nsender = 'a@example.org'",
            "[sinks.mail]: to: Field required; write it as in to = [",
        ),
        ("[sinks.'']\nhost = 'a'\nsender = 'a@example.org'\nto = 'b@example.org'", "--alerts-file"),
        ("[sinks", "--alerts-file"),
    ],
)
def test_a_file_of_sinks_that_cannot_be_is_refused_with_the_place(file, text, problem):
    with pytest.raises(UsageError, match=re.escape(problem)):
        watching_of(file(text), None)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (
            "allow_internal = 'false'",
            "allow_internal: Input should be a valid boolean; write it as in allow_internal = f",
        ),
        ("allow_internal = 0", "allow_internal: Input should be a valid boolean"),
        ("secret = 4711", "secret: Input should be a valid string"),
        ("secret = 'a secret of some length'\nsecret_file = '{secret}'", "leave out secret or secret_file"),
        ("secret_file = 'empty'", "is empty; write the secret into it"),
        ('secret_file = "a\\u0000b"', "cannot be read"),
    ],
)
def test_a_webhook_of_a_file_takes_no_value_of_another_kind(file, line, problem):
    with pytest.raises(UsageError, match=re.escape(problem)):
        watching_of(file(f"[sinks.ops]\nurl = 'https://a.example'\n{line}"), None)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("starttls = 'no'", "starttls: Input should be a valid boolean; write it as in starttls = true"),
        ("port = '25'", "port: Input should be a valid integer; write it as in port = 587"),
        ("port = 70000", "port: Input should be less than or equal to 65535"),
        ("user = 'u'\npassword = 'p'\npassword_file = '{secret}'", "leave out password or password_file"),
        ("user = 'u'\npassword_file = 'empty'", "is empty; write the password into it"),
        ("user = 'u'", "user: user and password belong together"),
        ("password = 'p'", "give both, or neither"),
        ("user = 'u'\npassword = ''", "password: String should have at least 1 character"),
    ],
)
def test_a_mailbox_of_a_file_takes_no_value_of_another_kind(file, line, problem):
    mailbox = "[sinks.mail]\nhost = 'a'\nsender = 'a@example.org'\nto = 'b@example.org'\n"
    with pytest.raises(UsageError, match=re.escape(problem)):
        watching_of(file(mailbox + line), None)


def test_paths_in_a_file_of_sinks_begin_at_its_folder(file, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    given = watching_of(file("[sinks.ops]\nurl = 'https://a.example'\nsecret_file = 'secret'"), None)
    assert [*given["alerts"]] == ["ops"]


@pytest.mark.parametrize("every", ["often", "0s"])
def test_a_watchdog_that_looks_never_is_refused(every):
    with pytest.raises(UsageError, match=f"--watchdog {every}"):
        watching_of(None, every)


def test_a_host_with_a_watchdog_keeps_what_it_finds(shop, prepare, gatechart):
    prepare(("start", "shop", "--at", "FOUND", "--id", "a"))
    gatechart("post", "a", "UNHEARD_OF")
    assert gatechart("run", "--once").code == 0
    assert gatechart("show", "watchdog").code
    assert gatechart("run", "--once", "--watchdog", "1h").code == 0
    assert gatechart("show", "watchdog", "--json").document["graph"] == "gatechart.watchdog"


@pytest.mark.parametrize("command", ["run", "serve"])
def test_a_host_does_not_begin_with_a_file_that_is_wrong(shop, gatechart, command, tmp_path):
    told = gatechart(command, "--alerts-file", str(tmp_path / "none.toml"))
    assert (told.code, "--alerts-file" in told.err) == (2, True)

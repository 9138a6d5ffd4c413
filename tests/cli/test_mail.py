"""`gatechart post`, `gatechart mail`, `gatechart rollback`, and what waits for an agent."""

import json
import re

import pytest

from tests.cli.homes import on_both

pytestmark = pytest.mark.sqlite_is_enough


@pytest.fixture(autouse=True)
def agent(shop, prepare):
    prepare(("start", "shop", "--at", "FOUND", "--id", "a"))


@pytest.fixture
def dead(shop, gatechart, child):
    """Mail 1 was refused by `a`."""
    gatechart("post", "a", "UNHEARD_OF", "-p", '{"n": 1}', "--id", "m1")
    gatechart("run", "--once")


def test_posted_mail_waits_for_a_host(gatechart):
    posted = gatechart("post", "a", "NOTED", "--payload", '{"n": 1}')
    assert (posted.code, posted.out, posted.err) == (0, "mail 1 waits for a\n", "")
    assert gatechart("mail").rows[1:] == [["1", "waiting", "a", "at", "once", "NOTED"]]
    assert gatechart("show", "a", "--json").document["version"] == 1
    assert gatechart("run", "--once").code == 0
    assert gatechart("mail").err == "no mail found\n"
    assert gatechart("show", "a", "--json").document["context"]["notes"] == ["NOTED"]


def test_machines_get_the_number_and_whether_it_is_a_repeat(gatechart):
    post = ("post", "a", "NOTED", "--id", "m", "--json")
    assert gatechart(*post).document == {"agent_id": "a", "event": "NOTED", "mail": 1, "repeat": False}
    assert gatechart(*post).document["repeat"] is True
    assert gatechart(*post[:-1]).out == "mail with the id m was posted before; it was not posted again\n"
    other = gatechart("post", "a", "LEFT", "--id", "m")
    assert (other.code, len(gatechart("mail", "--json").document["mail"])) == (4, 1)


@pytest.mark.parametrize(
    ("due", "shown"),
    [("2040-01-02", "2040-01-02 00:00:00"), ("2040-01-02T12:00+02:00", "2040-01-02 10:00:00"), ("2h", "20")],
)
def test_mail_can_be_due_later(due, shown, gatechart):
    gatechart("post", "a", "NOTED", "--due", due)
    assert f"due       {shown}" in gatechart("mail", "show", "1").out
    gatechart("run", "--once")
    assert gatechart("mail", "--json").document["mail"][0]["status"] == "waiting"


@pytest.mark.parametrize("due", ["soon", "2040-13-01", "-5m"])
def test_a_moment_that_is_none_is_told(due, gatechart):
    failed = gatechart("post", "a", "NOTED", f"--due={due}")
    assert (failed.code, failed.out) == (2, "")
    assert "is neither a duration, like '12h' or '90d', nor a moment, like '2026-07-01'" in failed.err
    assert gatechart("mail", "--json").document["mail"] == []


def test_mail_for_an_agent_that_is_not_there_yet_waits_and_a_warning_says_so(gatechart):
    posted = gatechart("post", "b", "NOTED")
    assert posted.code == 0
    assert posted.err == "warning: unknown agent 'b'; the mail waits until it is started\n"
    started = gatechart("start", "shop", "--at", "FOUND", "--id", "b")
    assert started.code == 0
    gatechart("run", "--once")
    assert gatechart("show", "b", "--json").document["context"]["notes"] == ["NOTED"]


def test_mail_goes_before_an_event_that_is_sent_later(gatechart):
    gatechart("post", "a", "NOTED")
    sent = gatechart("send", "a", "LEFT")
    assert sent.code == 0
    assert "applied before it: NOTED" in sent.err
    history = gatechart("history", "a", "--json").document["history"]
    assert [turn["event"]["name"] for turn in history] == ["agent.started.FOUND", "NOTED", "LEFT"]


def test_mail_that_is_tried_again_holds_the_queue_and_that_is_said(gatechart):
    gatechart("post", "a", "JAMMED")
    gatechart("run", "--once")
    shown = gatechart("mail", "--json").document["mail"][0]
    assert (shown["status"], shown["attempts"]) == ("waiting", 1)
    assert "ValueError: no paper" in shown["reason"]
    sent = gatechart("send", "a", "NOTED", "--services", "shop:values")
    assert sent.code == 0
    assert re.search(r"the event waits for mail 1 \(JAMMED\), which failed and is retried at [0-9:]{8}\n", sent.err)
    history = gatechart("history", "a", "--json").document["history"]
    assert [turn["event"]["name"] for turn in history] == ["agent.started.FOUND", "JAMMED", "NOTED"]


def test_refused_mail_is_listed_with_its_reason(dead, gatechart):
    listed = gatechart("mail", "--status", "refused")
    assert listed.rows[1][:3] == ["1", "refused", "a"]
    assert "no transition in FOUND; accepted there: NOTED, JAMMED, LEFT" in listed.out
    assert gatechart("mail", "--status", "dead").err == "no mail found\n"
    assert gatechart("mail", "--agent", "b", "--json").document == {"mail": [], "next": None}
    shown = gatechart("mail", "show", "1")
    assert ["payload", '{"n":', "1}"] in shown.rows
    assert ["id", "m1"] in shown.rows
    document = gatechart("mail", "show", "1", "--json").document
    assert (document["status"], document["payload"], document["attempts"]) == ("refused", {"n": 1}, 0)


def test_mail_to_agents_of_the_framework_is_listed_on_request_or_by_name(project, gatechart):
    gatechart("schedule", "set", "nightly", "desk", "--at", "LISTENING", "--every", "1d")
    gatechart("post", "a", "LEFT")

    def recipients(*options):
        return [each["agent_id"] for each in json.loads(gatechart("mail", "--json", *options).out)["mail"]]

    assert recipients() == ["a"]
    assert recipients("--framework") == ["schedule:nightly", "a"]
    assert recipients("--agent", "schedule:nightly") == ["schedule:nightly"]


def test_mail_is_listed_page_by_page(gatechart):
    for _ in range(3):
        gatechart("post", "a", "NOTED")
    first = gatechart("mail", "--limit", "2")
    assert len(first.rows) == 3
    assert first.err == "there are more; add --after 2\n"
    assert [row[0] for row in gatechart("mail", "--after", "2").rows] == ["MAIL", "3"]
    assert gatechart("mail", "--limit", "2", "--json").document["next"] == 2


def test_options_stand_before_mail_between_and_behind(dead, gatechart, shop):
    for arguments in (
        ("--json", "mail", "show", "1"),
        ("mail", "--json", "show", "1"),
        ("mail", "show", "1", "--json"),
    ):
        assert gatechart(*arguments).document["number"] == 1


@on_both
def test_refused_mail_is_delivered_once_more(dead, gatechart):
    done = gatechart("mail", "retry", "1")
    assert (done.code, done.out) == (0, "mail 1 is waiting again for a: UNHEARD_OF\n")
    assert gatechart("mail", "--json").document["mail"][0]["status"] == "waiting"
    gatechart("run", "--once")
    assert gatechart("mail", "--json").document["mail"][0]["status"] == "refused"


def test_refused_mail_is_forgotten(dead, gatechart):
    done = gatechart("mail", "discard", "1", "1", "--json")
    assert [mail["number"] for mail in done.document["mail"]] == [1]
    assert gatechart("mail").err == "no mail found\n"


@pytest.mark.parametrize("verb", ["retry", "discard"])
def test_where_one_number_is_wrong_nothing_is_done(verb, dead, gatechart):
    gatechart("post", "a", "NOTED", "--due", "1h")
    for wrong in ("2", "99"):
        failed = gatechart("mail", verb, "1", wrong)
        assert (failed.code, failed.out) == (4, "")
        assert f"there is no refused or dead mail {wrong}" in failed.err
    assert gatechart("mail", "show", "99").code == 4
    assert [mail["status"] for mail in gatechart("mail", "--json").document["mail"]] == ["refused", "waiting"]


@pytest.mark.parametrize(
    "command",
    [
        ("post", "a", "NOTED"),
        ("mail",),
        ("mail", "show", "1"),
        ("mail", "retry", "1"),
        ("rollback", "a", "1", "--reason", "r"),
        ("run", "--once"),
        ("migrate",),
        ("migrate", "--dry-run"),
        ("prune", "--older-than", "1d", "--yes"),
    ],
)
def test_a_database_that_is_not_there_is_not_created(command, shop, gatechart):
    failed = gatechart(*command, "--store", "sqlite+aiosqlite:///other.db")
    assert (failed.code, failed.out) == (5, "")
    assert failed.err.startswith(f"error: there is no database at {shop / 'other.db'}; ")
    assert not (shop / "other.db").exists()


# What waits


def test_what_waits_for_an_agent_is_shown_with_it_and_hinted_at(gatechart):
    started = gatechart("start", "shop", "--at", "NEW", "--id", "n")
    assert started.err == ("work of 'n' waits for a host: `gatechart show n` lists it, `gatechart run` does it\n")
    shown = gatechart("show", "n")
    assert re.search(r"WAITS +WHEN \(UTC\)\nafter\.1s\.NEW .* mail 1\nafter\.1h\.NEW .* mail 2\n", shown.out)
    gatechart("start", "shop", "--at", "SEARCHING", "--id", "s")
    assert gatechart("show", "s").out.endswith("INVOKES  IN\nsearch   SEARCHING\n")
    document = gatechart("show", "s", "--json").document
    assert document["invokes"] == [{"invoke": "search", "state": "SEARCHING", "since_version": 1}]
    assert document["mail"] == []


def test_commands_that_come_and_go_leave_other_agents_alone(gatechart):
    gatechart("start", "shop", "--at", "SEARCHING", "--id", "s")
    gatechart("post", "s", "NOTED")
    assert gatechart("send", "a", "NOTED").code == 0
    assert gatechart("show", "s", "--json").document["version"] == 1
    assert gatechart("run", "--once").code == 0
    assert gatechart("show", "s", "--json").document["configuration"] == ["FOUND"]


# Services


@pytest.mark.parametrize("services", ["shop:values", "shop:make_services", "shop:Opened"])
def test_services_are_a_value_or_made_and_opened(services, gatechart):
    assert gatechart("send", "a", "JAMMED").code == 4
    sent = gatechart("send", "a", "JAMMED", "--services", services)
    assert sent.code == 0
    assert ("opened\n" in sent.out, sent.out.endswith("closed\n")) == (services == "shop:Opened",) * 2


def test_the_project_names_its_services(shop, gatechart):
    with (shop / "pyproject.toml").open("a") as file:
        file.write('services = "shop:make_services"\n')
    assert gatechart("send", "a", "JAMMED").code == 0


@pytest.mark.parametrize(
    ("services", "problem"),
    [
        ("shop", "the name is not of the form module:attribute"),
        ("shop:none", "module 'shop' has no 'none'"),
        ("shop:broken", "OSError was raised: no network"),
    ],
)
def test_services_that_cannot_be_had_are_told(services, problem, gatechart):
    failed = gatechart("send", "a", "NOTED", "--services", services)
    assert (failed.code, failed.out) == (3, "")
    assert f"services {services!r} cannot be loaded: {problem}; name a value" in failed.err


# Going back


@on_both
def test_an_agent_goes_back_to_what_it_was(gatechart):
    gatechart("send", "a", "NOTED")
    gatechart("send", "a", "LEFT")
    assert "notes    []" in gatechart("show", "a", "--version", "1").out
    assert gatechart("show", "a", "--version", "2", "--json").document["context"] == {"notes": ["NOTED"]}
    back = gatechart("rollback", "a", "1", "--reason", "left by mistake", "--json")
    assert back.code == 0
    assert (back.document["version"], back.document["configuration"]) == (4, ["FOUND"])
    last = gatechart("history", "a", "--json").document["history"][-1]
    assert last["event"]["payload"] == {"version": 1, "reason": "left by mistake"}


def test_a_version_that_is_not_there_is_told(gatechart):
    for command in (("rollback", "a", "9", "--reason", "r"), ("show", "a", "--version", "9")):
        failed = gatechart(*command)
        assert (failed.code, failed.out) == (4, "")
        assert "versions 1 to 1 are available" in failed.err
    assert gatechart("rollback", "a", "1").code == 2

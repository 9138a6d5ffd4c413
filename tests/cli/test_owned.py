"""Commands beside a host: what it owns, it is asked to do."""

import json
import os
import re
import signal
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.homes import on_both
from tests.forked import COMMAND, PIPE, fork

pytestmark = pytest.mark.usefixtures("unmeasured")


@pytest.fixture
def app(folder, monkeypatch):
    """The working directory, with agents that hand on, and a desk."""
    (folder / "pyproject.toml").write_text('[tool.gatechart]\napp = "tests.contrib.human_desk.support:office"\n')
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(Path(__file__).parents[2]), str(folder))))
    return folder


@contextmanager
def running(*call):
    """A process that hosts the agents, once it says so."""
    with fork(*call, stdout=PIPE, stderr=PIPE) as process:
        try:
            assert process.stderr.readline().startswith("hosting")
            yield process
        finally:
            process.kill()


@pytest.fixture
def host(app, gatechart):
    gatechart("start", "orders", "--at", "TALKING", "--id", "o-0")
    with running(COMMAND, "run") as process:
        yield process


@on_both
def test_an_agent_is_started_and_fed_beside_its_host(host, gatechart):
    started = gatechart("start", "orders", "--at", "TALKING", "--id", "o-1", "--json")
    named = gatechart("start", "orders", "--at", "TALKING", "--json")
    sent = gatechart("send", "o-1", "GIVE", "--id", "g-1", "--json")
    assert [each.code for each in (started, named, sent)] == [0, 0, 0]
    assert [each.err for each in (started, named, sent)] == ["", "", ""]
    assert (started.document["agent_id"], started.document["version"]) == ("o-1", 1)
    assert re.fullmatch("[0-9a-f]{32}", named.document["agent_id"])
    again = gatechart("send", "o-1", "GIVE", "--id", "g-1", "--json")
    assert again.document == {**sent.document, "repeat": True}
    assert gatechart("start", "orders", "--at", "TALKING", "--id", "o-1").code == 4
    assert gatechart("send", "nobody", "GIVE").code == 4


@on_both
def test_a_refused_event_is_told_beside_a_host_as_without_one_and_mail_is_kept(host, gatechart):
    refused = gatechart("send", "o-0", "NEVER_HEARD_OF", "--id", "n-1")
    assert refused.code == 1
    assert "no transition in TALKING; accepted there: ASKED" in refused.err
    assert gatechart("mail", "--json").document["mail"] == []
    posted, again = (gatechart("post", "o-0", "GIVE", "--due", "2030-01-01", "--id", "p", "--json") for _ in range(2))
    assert (posted.code, posted.err) == (0, "")
    assert [posted.document["repeat"], again.document["repeat"]] == [False, True]


def test_work_is_handed_on_beside_a_host_and_fetched_back(host, gatechart):
    made = gatechart("handoff", "o-0", "--to", "refunds", "--at", "REVIEWING", "--mode", "delegate", "--wait", "--json")
    assert (made.code, made.err, made.document["status"]) == (0, "", "accepted")
    cancelled = gatechart("handoffs", "cancel", made.document["handoff"], "--reason", "found it")
    assert (cancelled.code, cancelled.err) == (0, "")
    settled = within_seconds(lambda: status_of(gatechart, made.document["handoff"]) == "cancelled")
    assert settled


def status_of(gatechart, handoff):
    return gatechart("handoffs", "show", handoff, "--json").document["status"]


def within_seconds(is_so):
    ends = time.monotonic() + 20
    while not is_so() and time.monotonic() < ends:
        time.sleep(0.05)
    return is_so()


@pytest.mark.sqlite_is_enough
@on_both
def test_a_person_at_the_desk_works_beside_a_host(host, gatechart):
    made = gatechart("handoff", "o-0", "--to", "human_desk", "--at", "HIGH", "--wait", "--json").document
    case = made["target"]
    done = [
        gatechart("desk", "take", case, "--operator", "ana"),
        gatechart("desk", "release", case),
        gatechart("desk", "take", made["handoff"], "--operator", "ben"),
        gatechart("desk", "answer", case, "It is on its way."),
        gatechart("desk", "resolve", case, "--rating", "5"),
    ]
    assert [(each.code, each.err) for each in done] == [(0, "")] * 5
    refused = gatechart("desk", "take", case, "--operator", "cleo")
    assert refused.code == 1
    assert gatechart("show", case, "--json").document["status"] == "done"


@pytest.mark.sqlite_is_enough
@on_both
def test_an_agent_is_erased_by_the_host(host, gatechart):
    erased = gatechart("erase", "o-0", "--yes")
    assert (erased.code, erased.out, erased.err) == (0, "erased o-0 and its history\n", "")
    assert gatechart("show", "o-0").code == 4


@pytest.mark.sqlite_is_enough
@on_both
def test_an_agent_is_rolled_back_and_stopped_by_the_host(host, gatechart):
    assert gatechart("send", "o-0", "ASKED").code == 0
    restored = gatechart("rollback", "o-0", "1", "--reason", "asked twice", "--json")
    assert (restored.code, restored.err, restored.document["version"]) == (0, "", 3)
    stopped = gatechart("stop", "o-0", "--json")
    assert (stopped.code, stopped.err, stopped.document["status"]) == (0, "", "stopped")
    assert gatechart("send", "o-0", "ASKED").code == 1
    events = [turn["event"]["name"] for turn in gatechart("history", "o-0", "--json").document["history"]]
    assert events == ["agent.started.TALKING", "ASKED", "agent.rolled_back", "agent.stopped"]


@pytest.mark.sqlite_is_enough
@on_both
def test_another_agent_begins_from_an_agent_s_past_by_the_host(host, gatechart):
    assert gatechart("send", "o-0", "GIVE").code == 0
    forked = gatechart("fork", "o-0", "1", "--id", "o-9", "--json")
    assert (forked.code, forked.err) == (0, "")
    assert (forked.document["agent_id"], forked.document["version"], forked.document["configuration"]) == (
        "o-9",
        1,
        ["TALKING"],
    )
    [first] = gatechart("history", "o-9", "--json").document["history"]
    assert first["event"]["payload"] == {"agent": "o-0", "version": 1}
    assert "agent.forked → TALKING, as o-0 was at version 1" in gatechart("history", "o-9").out
    refused = gatechart("fork", "o-0", "7")
    assert (refused.code, "1 to 3" in refused.err) == (4, True), refused.err
    assert gatechart("fork", "nobody", "1").code == 4


@pytest.mark.sqlite_is_enough
@on_both
def test_mail_is_discarded_by_the_host_unless_one_of_it_waits(host, gatechart):
    for _ in range(2):
        gatechart("post", "o-0", "NEVER_HEARD_OF")
    later = gatechart("post", "o-0", "GIVE", "--due", "2030-01-01", "--json").document["mail"]
    assert within_seconds(lambda: len(mail_of(gatechart, "refused")) == 2)
    numbers = mail_of(gatechart, "refused")
    assert gatechart("mail", "discard", *numbers, later).code == 4
    assert mail_of(gatechart, "refused") == numbers
    discarded = gatechart("mail", "discard", *numbers, numbers[0])
    assert (discarded.code, discarded.err) == (0, "")
    assert discarded.out == "".join(f"mail {number} was deleted, for o-0: NEVER_HEARD_OF\n" for number in numbers)
    assert mail_of(gatechart, "refused") == []


def mail_of(gatechart, status):
    return [each["number"] for each in gatechart("mail", "--status", status, "--json").document["mail"]]


@on_both
def test_other_commands_that_write_name_the_owner(host, home, gatechart):
    for command in (
        ("prune", "--older-than", "1d", "--yes"),
        ("migrate",),
        ("run", "--once"),
        ("upgrade",),
    ):
        refused = gatechart(*command)
        assert refused.code == 5, command
        assert f"{home.named} is owned by process {host.pid} on " in refused.err


@pytest.fixture
def frozen(host):
    """The host, which does nothing any more, and is not dead."""
    host.send_signal(signal.SIGSTOP)
    yield host
    host.send_signal(signal.SIGCONT)


def test_what_a_host_does_not_begin_in_time_is_withdrawn(frozen, gatechart):
    failed = gatechart("start", "orders", "--at", "TALKING", "--id", "late", "--timeout", "0.3", "--json")
    assert failed.code == 5
    facts = failed.error["facts"]
    assert (facts["withdrawn"], facts["verb"]) == (True, "start")
    assert f"is owned by process {frozen.pid} on " in failed.error["message"]
    frozen.send_signal(signal.SIGCONT)
    assert gatechart("start", "orders", "--at", "TALKING", "--id", "next").code == 0
    assert gatechart("show", "late").code == 4


def test_who_presses_ctrl_c_withdraws_what_has_not_begun(frozen, app, home, gatechart):
    with fork(COMMAND, "start", "orders", "--at", "TALKING", "--id", "given-up", stderr=PIPE) as process:
        assert within_seconds(lambda: asked(home) == 1)
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=20)[1]
    assert process.returncode == 130
    assert told == "error: interrupted; the request was withdrawn; nothing was done\n"
    assert asked(home) == 0


def asked(home):
    """How many requests lie in the database."""
    return home.ask("SELECT count(*) FROM requests")[0][0]


@on_both
def test_what_a_dead_owner_has_not_begun_the_command_does_itself(frozen, app, home, gatechart):
    command = ("start", "orders", "--at", "TALKING", "--id", "o-2", "--json")
    with fork(COMMAND, *command, stdout=PIPE, stderr=PIPE) as process:
        assert within_seconds(lambda: asked(home) == 1)
        frozen.kill()
        out, told = process.communicate(timeout=20)
    assert (process.returncode, json.loads(out)["agent_id"]) == (0, "o-2")
    assert "waits for a host" not in told
    assert asked(home) == 0


DOES = {
    "send": ["GIVE"],
    "post": [],
    "handoff": ["handoff.requested"],
    "stop": ["agent.stopped"],
    "rollback": ["agent.rolled_back"],
    "fork": [],
}


@pytest.mark.parametrize(
    ("command", "agent"),
    [
        (("start", "orders", "--at", "TALKING", "--json"), None),
        (("send", "o-0", "GIVE", "--json"), "o-0"),
        (("post", "o-0", "GIVE", "--due", "2h", "--json"), "o-0"),
        (("handoff", "o-0", "--to", "human_desk", "--at", "HIGH", "--json"), "o-0"),
        (("stop", "o-0", "--json"), "o-0"),
        (("rollback", "o-0", "1", "--reason", "wrong", "--json"), "o-0"),
        (("fork", "o-0", "1", "--id", "o-1", "--json"), "o-0"),
    ],
)
def test_what_an_owner_did_before_it_died_is_told_and_not_done_again(command, agent, app, home, gatechart):
    gatechart("start", "orders", "--at", "TALKING", "--id", "o-0")
    with running("tests.cli.dying_host:main") as process:
        done = gatechart(*command)
        assert process.wait(timeout=20) == -signal.SIGKILL
    assert done.code == 0
    agents = gatechart("list", "--graph", "orders", "--json").document["agents"]
    handoffs = gatechart("handoffs", "list", "--json").document["handoffs"]
    if agent is None:
        assert [each["agent_id"] for each in agents] == ["o-0", done.document["agent_id"]]
    else:
        events = [turn["event"]["name"] for turn in gatechart("history", agent, "--json").document["history"]]
        assert events == ["agent.started.TALKING", *DOES[command[0]]]
    assert not done.document.get("repeat")
    assert len(handoffs) == (command[0] in ("send", "handoff"))
    assert asked(home) == 0


def test_commands_one_after_the_other_wait_for_each_other(app, gatechart):
    gatechart("start", "orders", "--at", "TALKING", "--id", "o-0")
    start = ("start", "orders", "--at", "TALKING", "--id")
    with fork(COMMAND, *start, "n-0") as first, fork(COMMAND, *start, "n-1") as second:
        assert [process.wait(timeout=40) for process in (first, second)] == [0, 0]

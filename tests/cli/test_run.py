"""`gatechart run`: a process that hosts agents until it is told to go."""

import json
import re
import signal
import time
from contextlib import contextmanager

import pytest

from tests.cli.homes import on_both
from tests.forked import COMMAND, PIPE, fork

pytestmark = pytest.mark.processes


@pytest.fixture(autouse=True)
def agents(shop, gatechart):
    gatechart("start", "shop", "--at", "NEW", "--id", "n")
    gatechart("start", "shop", "--at", "SEARCHING", "--id", "s")


@pytest.fixture
def hosting(shop, home):
    """A process that hosts the agents, once it says so."""

    @contextmanager
    def host(*arguments):
        with fork(COMMAND, "run", *arguments, stdout=PIPE, stderr=PIPE) as process:
            try:
                assert process.stderr.readline().startswith(f"hosting agents of shop in {home.store};")
                yield process
            finally:
                process.kill()

    return host


def states(gatechart):
    return [agent["configuration"][0] for agent in gatechart("list", "--json").document["agents"]]


@on_both
def test_once_does_what_is_to_be_done_now_and_leaves(gatechart):
    done = gatechart("run", "--once", "--watch", "--services", "shop:make_services")
    assert (done.code, done.err) == (0, "")
    told = [line.split("  ", 1)[1] for line in done.out.splitlines()]
    assert "s 2  done.invoke.search → FOUND" in told
    assert states(gatechart)[1] == "FOUND"
    assert gatechart("run", "--once", "--watch").out.count("\n") <= 1  # the timer of n, if it is due by now


def test_a_host_that_runs_once_says_what_it_did(gatechart):
    assert gatechart("run", "--once", "--json").document["agents"] >= 1
    gatechart("post", "n", "NOTED")
    gatechart("post", "n", "NOTED")
    done = gatechart("run", "--once")
    assert done.code == 0
    assert re.fullmatch(r"[23] turns of 1 agent\n", done.out)  # a timer may be due by now


def test_a_host_that_finds_nothing_to_do_says_so(folder, gatechart):
    gatechart("start", "desk", "--at", "LISTENING", "--app", "desk:desk", "--store", "sqlite+aiosqlite:///quiet.db")
    quiet = ("--app", "desk:desk", "--store", "sqlite+aiosqlite:///quiet.db")
    assert gatechart("run", "--once", *quiet).out == "nothing to do\n"
    assert gatechart("run", "--once", "--json", *quiet).document == {"turns": 0, "agents": 0}


@pytest.mark.sqlite_is_enough
@on_both
def test_a_host_deletes_as_it_goes_what_it_is_not_to_keep(gatechart):
    for _ in range(3):
        gatechart("post", "s", "NOTED")  # s has no timers, which may be due at any time
    gatechart("run", "--once", "--services", "shop:make_services")
    before = gatechart("history", "s", "--json").document["history"]
    done = gatechart("run", "--once", "--keep-turns", "2", "--ids-for", "0s", "--services", "shop:make_services")
    kept = gatechart("history", "s", "--json").document["history"]
    assert (done.code, len(before) > 3, len(kept)) == (0, True, 2)
    assert gatechart("run", "--once", "--prune", "90d").code == 0
    wrong = gatechart("run", "--once", "--prune", "2026-01-01")
    assert (wrong.code, wrong.err) == (
        2,
        "error: --prune: '2026-01-01' is not a duration; write it like '12h', '7d' or 'PT1H30M'\n",
    )
    alone = gatechart("run", "--once", "--ids-for", "1d")
    assert (alone.code, alone.out, "add --prune AGE or --keep-turns NUMBER" in alone.err) == (2, "", True)


def test_what_is_watched_can_be_read_by_machines_line_by_line(gatechart):
    done = gatechart("run", "--once", "--watch", "--json", "--services", "shop:make_services")
    lines = [json.loads(line) for line in done.out.splitlines()]
    turn = next(line for line in lines if line["agent_id"] == "s")
    assert (turn["version"], turn["source"], turn["target"]) == (2, ["SEARCHING"], ["FOUND"])


@pytest.mark.parametrize("told", [signal.SIGINT, signal.SIGTERM])
def test_a_host_stays_until_it_is_told_to_go(told, hosting, gatechart):
    with hosting("--watch") as process:
        first, second = (process.stdout.readline() for _ in range(2))
        assert {"s 2  done.invoke.search → FOUND", "n 2  after.1s.NEW → LATE"} == {
            line.split("  ", 1)[1].strip() for line in (first, second)
        }
        assert gatechart("migrate").code == 5  # the database is owned by the host
        assert gatechart("list").code == 0
        process.send_signal(told)
        assert process.wait(timeout=20) == 0
        assert process.stderr.read() == "stopping; running turns and invokes get 10 s\n"
    assert states(gatechart) == ["LATE", "FOUND"]
    assert gatechart("send", "n", "NOTED").code == 0  # and the lock is free


def test_an_invoke_under_way_is_begun_again_by_the_next_host(hosting, gatechart):
    gatechart("start", "shop", "--at", "SLEEPING", "--id", "z")
    with hosting("--watch") as process:
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
    assert gatechart("show", "z", "--json").document["invokes"][0]["invoke"] == "sleep"


def test_what_does_not_end_is_left_within_the_bound(shop, gatechart):
    (shop / "deafness.py").write_text(
        "import asyncio\n"
        "from gatechart import Invoke, State, StateTransitionGraph\n"
        "from shop import first\n"
        "async def deaf(context, work):\n"
        "    while True:\n"
        "        try:\n"
        "            print('deaf', flush=True)\n"
        "            await asyncio.sleep(3600)\n"
        "        except asyncio.CancelledError:\n"
        "            pass\n"
        "stubborn = StateTransitionGraph('stubborn', states=[State('DEAF', invoke=Invoke(deaf))], "
        "entry_points=['DEAF'])\n"
        "all_of_them = (first, stubborn)\n"
    )
    assert gatechart("start", "stubborn", "--at", "DEAF", "--id", "d", "--app", "deafness:stubborn").code == 0
    command = ("run", "--app", "deafness:all_of_them", "--grace", "0.5")
    with fork(COMMAND, *command, stdout=PIPE, stderr=PIPE) as process:
        try:
            assert process.stdout.readline() == "deaf\n"
            before = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=20) == 0
            assert time.monotonic() - before < 10
            assert "stopped without waiting any longer; unfinished work starts again next time" in process.stderr.read()
        finally:
            process.kill()
    shown = gatechart("show", "d", "--app", "deafness:all_of_them", "--json")
    assert shown.document["invokes"][0]["invoke"] == "deaf"


def test_a_reader_that_goes_away_ends_the_host(hosting):
    with hosting("--watch") as process:
        process.stdout.close()
        assert process.wait(timeout=20) == 141


def test_an_owned_database_is_told(hosting, gatechart):
    with hosting():
        second = gatechart("run")
    assert second.code == 5
    assert "is owned by process" in second.err


@pytest.mark.parametrize("arguments", [("--grace", "0"), ("--grace", "soon")])
def test_a_bound_that_is_none_is_told(arguments, gatechart):
    assert gatechart("run", *arguments).code == 2


@pytest.mark.parametrize(
    ("home", "how"),
    [
        ("sqlite", signal.SIGKILL),
        ("sqlite", signal.SIGTERM),
        pytest.param("postgresql", signal.SIGKILL, marks=pytest.mark.processes),
    ],
    indirect=["home"],
)
def test_a_standby_waits_for_the_end_of_the_owner_and_hosts_then(hosting, shop, home, gatechart, how):
    with hosting() as owner, standing_by(shop, home) as standby:
        owner.send_signal(how)
        assert standby.stderr.readline().startswith("hosting agents of shop")
        assert gatechart("migrate").code == 5  # for it owns the database


def test_a_standby_that_is_told_to_go_goes_at_once(hosting, shop, home):
    with hosting(), standing_by(shop, home) as standby:
        standby.send_signal(signal.SIGTERM)
        assert standby.wait(10) == 130
        assert "interrupted" in standby.stderr.read()


@on_both
def test_a_frozen_owner_is_taken_over_from(hosting, gatechart):
    with hosting("--watch") as owner:
        for _ in range(2):
            owner.stdout.readline()  # then nothing is to be done, so that it is not frozen with the file locked
        owner.send_signal(signal.SIGSTOP)
        assert gatechart("run", "--once").code == 5
        assert gatechart("run", "--once", "--take-over").code == 0


def test_to_wait_and_to_take_over_at_once_is_a_mistake_in_the_command_line(gatechart):
    said = gatechart("run", "--standby", "--take-over", "--once")
    assert said.code == 2
    assert "--standby and --take-over contradict each other" in said.err


@on_both
def test_a_host_that_was_taken_over_from_ends_and_says_so_though_nobody_asks_it_anything(hosting, gatechart):
    with hosting() as owner:
        assert gatechart("run", "--once", "--take-over").code == 0
        assert owner.wait(20) == 5
        assert "this runtime owned" in owner.stderr.read()


@contextmanager
def standing_by(shop, home):
    with fork(COMMAND, "run", "--standby", stdout=PIPE, stderr=PIPE) as process:
        try:
            assert process.stderr.readline() == f"standing by for {home.store}\n"
            time.sleep(0.5)  # so that it has looked whether the database is free
            assert process.poll() is None
            yield process
        finally:
            process.kill()


@on_both
def test_the_wait_of_mail_that_failed_is_lifted_beside_its_host(hosting, gatechart):
    gatechart("start", "shop", "--at", "FOUND", "--id", "a")
    with hosting():
        gatechart("post", "a", "JAMMED")
        deadline = time.monotonic() + 30
        while not (mail := gatechart("mail", "--agent", "a", "--json").document["mail"])[0]["attempts"]:
            assert time.monotonic() < deadline
        lifted = gatechart("mail", "retry", str(mail[0]["number"]))
        assert (lifted.code, lifted.out) == (0, f"mail {mail[0]['number']} is waiting again for a: JAMMED\n")


EXITS = """
import sys
from gatechart import ANY, AgentContext, Invoke, State, StateTransitionGraph, Transition

class Notes(AgentContext):
    notes: list[str] = []

def leave(context, event):
    sys.exit(3)

def note(context, event):
    context.notes.append(event.name)

async def depart(context, work):
    await work.step("depart", sys.exit, 3)

exits = StateTransitionGraph(
    "exits", context=Notes, states=[State("BUSY", invoke=Invoke(depart, timeout_s=60))],
    transitions=[
        Transition(ANY, "LEFT", actions=leave),
        Transition(ANY, "NOTED", actions=note),
        Transition("BUSY", "error.invoke.depart", "TOLD", actions=note),
    ],
    entry_points=["BUSY"],
)
"""


@pytest.mark.sqlite_is_enough
@on_both
def test_code_that_exits_does_not_end_the_host(shop, home, gatechart):
    (shop / "exits.py").write_text(EXITS)
    app = ("--app", "exits:exits")
    assert gatechart("start", "exits", "--at", "BUSY", "--id", "x", *app).code == 0
    for event in ("LEFT", "NOTED"):
        assert gatechart("post", "x", event, *app).code == 0
    with fork(COMMAND, "run", "--once", *app, stdout=PIPE, stderr=PIPE) as process:
        process.communicate(timeout=60)
    assert process.returncode == 0
    left, *_ = gatechart("mail", "--agent", "x", "--json").document["mail"]
    assert (left["event"], left["attempts"], "SystemExit: 3" in left["reason"]) == ("LEFT", 1, True)
    assert gatechart("show", "x", "--json", *app).document["invokes"] == []

"""What the command line tells of trails and signals."""

import asyncio
from dataclasses import replace

import pytest

from gatechart.cli.agent_views import snapshot_document, turn_text
from gatechart.cli.output import moment_text
from gatechart.cli.signal_views import entry_text, trail_document
from gatechart.testing.records import NOON, started
from gatechart.values.agents import Event, Status
from gatechart.values.fired_signals import FiredSignal, Reaction
from gatechart.values.handoffs import Reason
from gatechart.values.queries import HistoryEntry
from gatechart.values.trail import REFUSED, Called, Moved, Noted, Progressed, Reasoned, Said, Waited
from tests.cli.homes import on_both
from tests.runtime.spoiling import by_hand

pytestmark = pytest.mark.sqlite_is_enough

FAILURES = {"detector": "ToolFailures", "failures": 2, "threshold": 2, "tool": "search"}
BLOCK = {"detector": "Repeats", "period": 1, "times": 3, "block": [{"states": ["A"], "event": "GO"}]}


def lines(fired):
    label = "A --trail.call"
    entry = HistoryEntry("a", 2, Event("trail.call", {}, NOON), ("A",), ("A",), (label,), {}, Status.ACTIVE, 9)
    return turn_text(HistoryEntry(**{name: getattr(entry, name) for name in entry.__slots__} | {"fired": fired})).plain


def test_the_history_tells_which_signal_fired_and_what_was_found():
    fired = FiredSignal("tool_failures", Reason.TOOL_FAILURE, (FAILURES,), reaction=Reaction.TAKEN)
    assert lines(fired).splitlines()[2:] == [
        "  signal tool_failures (tool failure)",
        "    ToolFailures: failures 2, threshold 2, tool search",
    ]


def test_the_history_tells_of_signals_that_nothing_took_and_of_those_that_fired_with_them():
    other = {"signal": "repeats", "reason": "loop detected", "evidence": [BLOCK]}
    told = lines(FiredSignal("tool_failures", Reason.TOOL_FAILURE, (FAILURES,), (other,)))
    assert "signal tool_failures (tool failure); nothing took it" in told
    assert "and repeats (loop detected): Repeats: period 1, times 3, block [[A] GO]" in told


def test_the_history_tells_what_undid_the_answer_to_a_signal():
    fired = FiredSignal("repeats", Reason.LOOP_DETECTED, (BLOCK,), (), Reaction.UNDONE, "ValueError: no")
    assert "signal repeats (loop detected); the answer to it was undone: ValueError: no" in lines(fired)


def test_a_refusal_and_a_wait_are_told_from_a_failure():
    until_ms = int(NOON.timestamp() * 1000)
    refused = Called("search", "1f", ok=False, error=REFUSED, attempts=0, until_ms=until_ms)
    assert entry_text(refused) == f"search(1f) was refused by a circuit breaker until {moment_text(NOON)}"
    assert entry_text(replace(refused, until_ms=0)) == "search(1f) was refused by a circuit breaker"
    told = f"search waits for its circuit breaker, until {moment_text(NOON)} at the latest"
    assert entry_text(Waited("search", until_ms)) == told


def test_every_entry_of_a_trail_is_told_in_words():
    call = Called("search", "1f3a0b2c", ok=False, error="TimeoutError", attempts=4)
    entries = [
        Moved(("CHECKING",), "ORDER_PLACED"),
        call,
        Said("where is it?"),
        Reasoned("look again", "nothing", "browser"),
        Noted("confidence", 0.25),
        Progressed("order 7"),
    ]
    assert [entry_text(each) for each in entries] == [
        "to CHECKING by ORDER_PLACED",
        "search(1f3a0b2c) failed with TimeoutError after 4 attempts",
        "where is it?",
        "browser: look again → nothing",
        "confidence is 0.25",
        "by order 7",
    ]
    document = trail_document("a", entries)
    assert [each["kind"] for each in document["trail"]] == [
        "moved",
        "called",
        "said",
        "reasoned",
        "noted",
        "progressed",
    ]


def test_an_agent_is_described_without_its_trail():
    assert "trail" not in snapshot_document(started("a").snapshot)


def test_an_agent_without_a_trail_says_so(project, prepare, gatechart):
    prepare(("start", "desk", "--at", "LISTENING", "--id", "a"))
    shown = gatechart("trail", "a")
    assert (shown.out, shown.code) == ("", 0)
    assert "no trail is kept" in shown.err
    assert gatechart("trail", "a", "--json").document == {"agent_id": "a", "trail": [], "escapes": None}


@on_both
@pytest.mark.parametrize("line", ["mA", "cA\tx", "x", "n1\tmany"])
def test_a_trail_that_is_damaged_is_told_with_its_agent_and_its_column(project, prepare, gatechart, home, line):
    prepare(("start", "desk", "--at", "LISTENING", "--id", "a"))
    asyncio.run(by_hand(url_of(home, project), f"UPDATE agents SET trail = '{line}'", "SELECT 1"))
    told = gatechart("trail", "a")
    assert told.code != 0
    assert f"{home.named} is not a sound gatechart database (column 'trail' of agent 'a': " in told.err
    assert "is no entry of a trail" in told.err or "could not convert" in told.err


def url_of(home, folder):
    return f"sqlite:///{folder / home.named}" if home.is_file else home.store

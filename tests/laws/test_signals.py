"""What an agent notices depends on its snapshot and its events alone: wherever it is stored and read again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from gatechart.graph.definition import State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.selection import NeedRule
from gatechart.graph.signals import Signal, Signals
from gatechart.signals import Repeats, handing_on, looping
from gatechart.stores.sql.trail_rows import from_fired, from_trail, to_fired, to_trail
from gatechart.turn.mail import take_mail
from gatechart.values.agents import Event, Snapshot
from gatechart.values.commits import TurnRecord
from gatechart.values.fired_signals import FiredSignal
from gatechart.values.frozen import replaced
from gatechart.values.profiles import Needs, Profile
from tests.noticing import call_payload, go_round
from tests.support import NOW, at_once, started

RULES = [
    NeedRule(Needs(domains=("refunds",), capabilities=("refund",)), mentions=("refund", "退款")),
    NeedRule(Needs(domains=("orders",), capabilities=("cancel",)), mentions="order"),
]
GRAPH = go_round(
    signals=Signals([*handing_on(rules=RULES), *looping()], most_bytes=400, states=10, window=8),
    profile=Profile(domains=("orders",), capabilities=("refund",)),
)
SNAPSHOT = TypeAdapter(Snapshot)

timeless = settings(deadline=None)  # these are laws of what is noticed, however busy the machine

said = st.sampled_from(
    ["hello", "I want a person", "转人工", "", "tab\tnew\nline \x1f \\", "a refund", "我要退款", "my order"]
)
moves = st.tuples(st.sampled_from(["GO", "REST", "STAY"]), st.builds(lambda text: {"text": text}, said))
calls = st.tuples(st.just("trail.call"), st.builds(lambda ok: call_payload(ok=ok), st.booleans()))
measures = st.sampled_from(["confidence", "domain:refunds", "capability:cancel", "domain:\x1f"])
notes = st.tuples(st.just("trail.note"), st.builds(lambda each: {"measure": each, "number": 0.75}, measures))
events = st.lists(st.one_of(moves, calls, notes), max_size=30)


def lived(given: list[tuple[str, dict[str, object]]], stores: set[int]) -> list[tuple[Snapshot, FiredSignal | None]]:
    """The snapshots of an agent after each event, with what fired. stores: events before which it is read again."""
    snapshot = at_once(started(GRAPH)).snapshot
    seen: list[tuple[Snapshot, FiredSignal | None]] = []
    for place, (name, payload) in enumerate(given):
        if place in stores:
            snapshot = SNAPSHOT.validate_json(SNAPSHOT.dump_json(snapshot))
            columns = from_trail(snapshot.trail)
            snapshot = replaced(snapshot, trail=to_trail(columns["trail"], columns["noticed"]))
        record = at_once(take_mail(GRAPH, snapshot, Event(name, payload, NOW + timedelta(seconds=place))))
        if isinstance(record, TurnRecord):
            snapshot = record.snapshot
            assert record.fired is None or to_fired(from_fired(record.fired)) == record.fired
            seen.append((snapshot, record.fired))
    return seen


@timeless
@given(events, st.sets(st.integers(0, 29)))
def test_a_restored_agent_notices_the_same_as_one_that_never_stopped(given, stores):
    seen = lived(given, set())
    assert lived(given, stores) == seen
    assert all(len(snapshot.trail.text.encode()) <= 400 for snapshot, _ in seen)
    assert all(len("".join(snapshot.trail.slots).encode()) < 500 for snapshot, _ in seen)


@timeless
@given(st.integers(2, 10), st.integers(0, 3), st.data())
def test_a_planted_loop_is_found_when_it_is_complete_also_where_the_agent_begins(length, before, data):
    """Entry points lie before the loop or in it, and the payload's ignored field differs each time."""
    states = [f"S{number}" for number in range(before + length)]
    edges = [Transition(one, "GO", other) for one, other in pairwise([*states, states[before]])]
    signals = Signals(Repeats(), ignore="at")
    graph = StateTransitionGraph("ring", transitions=edges, entry_points=["S0"], signals=signals)
    snapshot, found = at_once(started(graph, "S0")).snapshot, []
    for _ in range(before + 3 * length):
        event = Event("GO", {"order": 7, "at": data.draw(st.integers())}, NOW)
        record = at_once(take_mail(graph, snapshot, event))
        snapshot = record.snapshot
        found.append(record.fired is not None)
    times = 2 if length >= 3 else 3
    assert found.index(True) + 2 == before + length * times  # to begin is a move, too
    assert found.count(True) == 1


@dataclass(frozen=True, slots=True)
class Looking(Repeats):
    """Repeats that looks at each turn."""

    def after_move(self, slot: str, move: str, place: str) -> str | None:
        return None


def repeats_in(detector: Repeats, sent: list[tuple[str, int]], progress: bool) -> list[object]:
    """What an agent finds, and what its trail is, that moves by these events with numbers."""
    signals = Signals(Signal(detector, "repeats"), states=5, calls=3, window=3, task="task")
    states = ["HERE", State("THERE", after={"5s": "HERE"}), State("REST", progress=progress)]
    graph = go_round(Transition("REST", "REST", "THERE"), signals=signals, states=states)
    snapshot, found = at_once(started(graph, "HERE")).snapshot, []
    for event, number in sent:
        record = at_once(take_mail(graph, snapshot, Event(event, {"number": number} if number else {}, NOW)))
        snapshot = record.snapshot
        fired = record.fired and {**record.fired.evidence[0], "detector": ""}
        found.append((fired, replaced(snapshot.trail, slots=(), marks="")))
    return found


@timeless
@given(
    st.lists(st.tuples(st.sampled_from(["GO", "GO", "REST"]), st.integers(0, 9)), max_size=50),
    st.integers(2, 6),
    st.booleans(),
)
def test_a_move_that_is_told_without_a_look_is_noticed_as_one_that_is_looked_at(sent, window, progress):
    looked_at = repeats_in(Looking(window=window), sent, progress)
    assert repeats_in(Repeats(window=window), sent, progress) == looked_at

"""What an invoke foresees of its calls is what the turns of their mail find: a signal fires at the same call."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from gatechart.context import AgentContext
from gatechart.graph.definition import Invoke, State
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.signals import Signal, Signals
from gatechart.signals import Confidence, ErrorRate, RetriesOver, handing_on, looping
from gatechart.turn.mail import take_mail
from gatechart.turn.noticing import foreseen
from gatechart.turn.trail_mail import payload_of
from gatechart.values.agents import Event
from gatechart.values.trail import Called, Noted, Reasoned
from tests.support import NOW, context_of, started


async def work(context, work):
    """Does nothing here: the test tells what it would."""


GRAPH = StateTransitionGraph(
    "working",
    context=AgentContext,
    states=[State("WORKING", invoke=Invoke(work))],
    transitions=[],
    entry_points=["WORKING"],
    signals=Signals(
        [*handing_on(), *looping(), RetriesOver(2), ErrorRate(), Signal(~Confidence(0.3), "sure")],
        calls=9,
        most_bytes=400,
    ),
)

CALLS = st.builds(
    Called,
    tool=st.sampled_from("ab"),
    arguments=st.sampled_from(["1", "2"]),
    ok=st.booleans(),
    outcome=st.sampled_from(["", "x"]),
    error=st.sampled_from(["", "OSError"]),
    attempts=st.integers(0, 3),
    time_ms=st.integers(0, 10**13),
)
ENTRIES = CALLS | st.builds(Noted, st.just("confidence"), st.floats(0, 1)) | st.builds(Reasoned, st.text(), st.text())


@given(st.lists(st.tuples(ENTRIES, st.floats(0, 30)), max_size=30))
async def test_what_is_foreseen_of_calls_is_what_their_turns_find(told):
    snapshot = ahead = (await started(GRAPH, "WORKING")).snapshot
    now = NOW
    for entry, wait_s in told:
        now += timedelta(seconds=wait_s)
        event = Event(*payload_of(entry), now)
        ahead, fired = foreseen(GRAPH, ahead, event, context_of(GRAPH, snapshot))
        record = await take_mail(GRAPH, snapshot, event)
        snapshot = record.snapshot
        assert (fired and fired.payload) == (record.fired and record.fired.payload)
        assert (ahead.trail.text, ahead.trail.slots) == (snapshot.trail.text, snapshot.trail.slots)

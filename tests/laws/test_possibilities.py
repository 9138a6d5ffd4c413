"""What an agent says that it would do with an event is what it does, for charts of every kind that defer events."""

from __future__ import annotations

from copy import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatechart.errors import MicrostepLimitError
from gatechart.turn.possibilities import accepted, possible
from gatechart.turn.turns import take_turn
from gatechart.values.agents import Event, Outcome, Status
from gatechart.values.possibilities import Agrees

from .strategies import EVENTS, Chart, any_charts, stories
from .support import NOW, finish, start

pytestmark = pytest.mark.long

lawful = settings(max_examples=120, deadline=None, derandomize=True, database=None)

DESCRIPTORS = ("a", "b", "b.*", "b.x", "c", "a c", "*")
NAMES = (*EVENTS, "d", "b.y")


@st.composite
def deferring_charts(draw):
    """Charts in which states of every depth defer names, patterns and several events at once."""
    chart = draw(any_charts())
    return Chart([_deferring(draw, state) for state in chart.states], chart.transitions)


def _deferring(draw, state):
    other = copy(state)
    may_defer = state.history is None and (not state.final or state.states)
    defer = tuple(draw(st.lists(st.sampled_from(DESCRIPTORS), max_size=2))) if may_defer else ()
    vars(other).update(defer=defer, states=tuple(_deferring(draw, each) for each in state.states))
    return other


def sent(graph, snapshot, event, payload):
    """What `send` does: the outcome of the event, and the snapshot after it. None if the turn does not come to rest."""
    try:
        result = finish(take_turn(graph, snapshot, Event(event, payload, NOW)))
    except MicrostepLimitError:
        return None, snapshot
    return (result, snapshot) if isinstance(result, Outcome) else (None, result.snapshot)


def verdict(asked):
    """Exactly one of yes, deferred and no; None if it depends on the payload."""
    if asked.agrees is Agrees.DEPENDS:
        return None
    verdicts = {"applied": bool(asked), "deferred": asked.deferred, "refused": asked.refused}
    (found,) = (name for name, is_so in verdicts.items() if is_so)
    return found


def outcome_of(graph, snapshot, event, payload):
    outcome, _ = sent(graph, snapshot, event, payload)
    if outcome is None:
        return "applied"  # or undone after a transition was taken
    return "deferred" if outcome.deferred else "refused"


def moments(graph, story):
    """Every snapshot that the story leads to, from each entry point."""
    for door in graph.entry_points:
        snapshot = start(graph, door)
        if snapshot is None:
            continue
        yield snapshot
        for event, answers in story:
            _, snapshot = sent(graph, snapshot, event, {"answers": answers})
            yield snapshot


@lawful
@given(deferring_charts(), stories())
def test_an_event_is_refused_deferred_or_applied_exactly_if_the_agent_says_so(chart, story):
    graph = chart.build()
    for snapshot in moments(graph, story):
        for event in NAMES:
            asked = possible(graph, snapshot, event, {}, NOW)
            assert verdict(asked) == outcome_of(graph, snapshot, event, {})


@lawful
@given(deferring_charts(), stories())
def test_the_list_has_every_event_that_would_be_applied_or_deferred(chart, story):
    """By its name, or by a pattern that says the same of it."""
    graph = chart.build()
    for snapshot in moments(graph, story):
        listed = {each.event: each for each in accepted(graph, snapshot, NOW)}
        assert bool(listed) <= (snapshot.status is Status.ACTIVE)
        for event, each in listed.items():
            if not each.is_wildcard:
                assert verdict(each) == outcome_of(graph, snapshot, event, {})
        for event in NAMES:
            done = outcome_of(graph, snapshot, event, {})
            alike = [listed.get(name) for name in (event, event.partition(".")[0], "b.*", "*")]
            assert done == "refused" or done in {verdict(each) for each in alike if each is not None}


@lawful
@given(deferring_charts(), stories())
def test_a_refusal_lists_what_would_be_deferred_and_not_as_accepted(chart, story):
    graph = chart.build()
    for snapshot in moments(graph, story):
        outcome, _ = sent(graph, snapshot, "d", {})
        if outcome is None or outcome.refusal is None or snapshot.status is not Status.ACTIVE:
            continue
        refusal = outcome.refusal
        for event in NAMES:
            done = outcome_of(graph, snapshot, event, {})
            assert (event not in refusal.defers) or done in ("deferred", "applied")
            assert (event not in refusal.accepts) or possible(graph, snapshot, event, {}, NOW).transitions
            if done == "deferred":
                assert {event, event.partition(".")[0], "b.*", "*"} & set(refusal.defers)

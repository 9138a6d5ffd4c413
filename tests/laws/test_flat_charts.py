"""What holds for every chart and everything that happens to its agents."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatechart.errors import ActionFailedError, MicrostepLimitError
from gatechart.graph.compile import ROOT, Edge, Kind
from gatechart.graph.graph import StateTransitionGraph
from gatechart.kernel.plan import plan_entry, plan_microstep
from gatechart.kernel.select import accepted_events, candidates
from gatechart.turn.turns import take_turn
from gatechart.values.agents import Outcome, Snapshot, Status
from gatechart.values.commits import TurnRecord
from tests.laws.flat_charts import EVENTS, charts, events, laws, rebuilt
from tests.support import at_once, context_of, happened, started, trail_of

pytestmark = pytest.mark.long


def react(graph: StateTransitionGraph, at: Snapshot, event: str) -> TurnRecord | Outcome | type[Exception]:
    """The record, the refusal, or the error that undid the turn."""
    try:
        return at_once(take_turn(graph, at, happened(event)))
    except (ActionFailedError, MicrostepLimitError) as error:
        return type(error)


def play(graph: StateTransitionGraph, at: Snapshot, happening: Sequence[str]) -> Snapshot:
    """Where the agent is when all of it has happened."""
    for event in happening:
        decided = react(graph, at, event)
        at = decided.snapshot if isinstance(decided, TurnRecord) else at
    return at


def path(graph: StateTransitionGraph, leaf: str) -> list[str]:
    """The active states, outer ones first."""
    return [*reversed(graph.nodes[leaf].ancestors), leaf]


begun = charts().flatmap(lambda graph: st.tuples(st.just(graph), st.sampled_from(graph.states)))


def begin(graph: StateTransitionGraph, at: str) -> Snapshot:
    return at_once(started(graph, at)).snapshot


@laws
@given(begun, events)
def test_the_configuration_is_always_one_leaf_whose_ancestors_are_active(
    chart: tuple[StateTransitionGraph, str], happening: list[str]
) -> None:
    """The trail of entries and exits is followed by hand: it must add up to the configuration."""
    graph, at = chart
    snapshot = begin(graph, at)
    for event in [None, *happening]:
        snapshot = snapshot if event is None else play(graph, snapshot, [event])
        (leaf,) = snapshot.configuration
        assert graph.nodes[leaf].kind is not Kind.COMPOUND
        active = [ROOT]
        for mark, state in ((step[0], step[1:]) for step in trail_of(graph, snapshot) if step[0] in "+-"):
            if mark == "-":
                assert active.pop() == state
            else:
                assert graph.nodes[state].ancestors[0] == active[-1]
                active.append(state)
        assert active == path(graph, leaf)
        is_done = graph.nodes[leaf].kind is Kind.FINAL and len(active) == 2
        assert snapshot.status is (Status.DONE if is_done else Status.ACTIVE)


@laws
@given(begun, events)
def test_the_same_events_lead_to_the_same_end(chart: tuple[StateTransitionGraph, str], happening: list[str]) -> None:
    graph, at = chart
    once = play(graph, begin(graph, at), happening)
    assert play(graph, begin(graph, at), happening) == once
    anew = rebuilt(graph)
    assert play(anew, begin(anew, at), happening) == once


@laws
@given(begun, events)
def test_what_is_refused_or_undone_changes_nothing(
    chart: tuple[StateTransitionGraph, str], happening: list[str]
) -> None:
    """Whoever never hears of it ends in the same place, and each refusal says why."""
    graph, at = chart
    snapshot = begin(graph, at)
    effective = []
    for event in happening:
        copy = pickle.dumps(snapshot)
        decided = react(graph, snapshot, event)
        if isinstance(decided, TurnRecord):
            assert decided.previous is snapshot
            assert decided.snapshot.version == snapshot.version + 1
            assert decided.taken
            effective.append(event)
            snapshot = decided.snapshot
            continue
        assert pickle.dumps(snapshot) == copy
        if isinstance(decided, Outcome):
            assert not decided.applied
            assert (decided.configuration, decided.version) == (snapshot.configuration, snapshot.version)
            accepts = () if snapshot.status is Status.DONE else accepted_events(graph, snapshot.configuration)
            assert decided.refusal.accepts == accepts
    assert play(graph, begin(graph, at), effective) == snapshot


@laws
@given(begun, events, events)
def test_going_on_from_a_snapshot_equals_never_having_stopped(
    chart: tuple[StateTransitionGraph, str], before: list[str], after: list[str]
) -> None:
    graph, at = chart
    without_stop = play(graph, begin(graph, at), before + after)
    kept = pickle.dumps(play(graph, begin(graph, at), before))
    assert play(rebuilt(graph), pickle.loads(kept), after) == without_stop


@laws
@given(begun, events)
def test_what_is_remembered_equals_what_is_worked_out_afresh(
    chart: tuple[StateTransitionGraph, str], happening: list[str]
) -> None:
    graph, at = chart
    play(graph, begin(graph, at), happening)
    for leaf in (node.name for node in graph.nodes.values() if node.kind is not Kind.COMPOUND):
        for event in (*EVENTS, "unheard of"):
            warm, cold = (
                [edge for edges in candidates(each, (leaf,), event) for edge in edges]
                for each in (graph, rebuilt(graph))
            )
            assert [edge.label for edge in warm] == [edge.label for edge in cold]
            for one, other in zip(warm, cold, strict=True):
                remembered = plan_microstep(graph, (leaf,), (), (one,))
                afresh = plan_microstep(rebuilt(graph), (leaf,), (), (other,))
                assert replace(remembered, taken=()) == replace(afresh, taken=())  # edges are told apart by identity


@laws
@given(begun, events)
def test_the_memory_of_a_graph_is_bounded_by_its_size(
    chart: tuple[StateTransitionGraph, str], happening: list[str]
) -> None:
    graph, at = chart
    play(graph, begin(graph, at), [*happening, *(f"noise {number}" for number in range(20))])
    leaves = sum(node.kind is not Kind.COMPOUND for node in graph.nodes.values())
    beginnings = len(graph.entry_points)
    assert len(graph.memo) <= beginnings + leaves * (1 + len(graph.events) + len(graph.transitions))


# An independent account of exits and entries: paths from the root, which is simple as long as one leaf is active.


def expected_route(graph: StateTransitionGraph, leaf: str, edge: Edge) -> tuple[list[str], list[str]]:
    """Exits and entries: the way up to the last state that stays active, then down to the target and on."""
    if not edge.targets:
        return [], []
    [target] = edge.targets
    here, there, source = path(graph, leaf), path(graph, target), path(graph, edge.source)
    if edge.internal or edge.source == ROOT:
        stays = len(source)
    else:
        shared = [one for one, other in zip(source[:-1], there[:-1], strict=False) if one == other]
        stays = len(shared)
    entries = there[stays:]
    default = graph.nodes[target].default
    while default is not None:
        entries += default.targets
        default = graph.nodes[entries[-1]].default
    return here[stays:][::-1], entries


@laws
@given(charts())
def test_exits_and_entries_are_the_way_through_the_tree(graph: StateTransitionGraph) -> None:
    for leaf in (node.name for node in graph.nodes.values() if node.kind is not Kind.COMPOUND):
        for edge in (edge for state in path(graph, leaf) for edge in graph.nodes[state].edges):
            plan = plan_microstep(graph, (leaf,), (), (edge,))
            assert (list(plan.exits), list(plan.entries)) == expected_route(graph, leaf, edge)
            assert plan.configuration == ((plan.entries or (leaf,))[-1],)


@laws
@given(charts())
def test_beginning_in_a_state_is_the_way_down_from_the_root(graph: StateTransitionGraph) -> None:
    for state in graph.states:
        plan = plan_entry(graph, (state,))
        assert list(plan.entries) == path(graph, plan.configuration[0])[1:]
        assert state in plan.entries
        assert plan.exits == ()


@laws
@given(begun, events)
def test_the_innermost_transition_that_its_guard_allows_is_taken(
    chart: tuple[StateTransitionGraph, str], happening: list[str]
) -> None:
    """Asked by hand, state by state from the leaf outwards, in the order in which the transitions were written."""
    graph, at = chart
    snapshot = begin(graph, at)
    for event in happening:
        decided = react(graph, snapshot, event)
        if isinstance(decided, TurnRecord) and not decided.guard_errors:
            states = path(graph, snapshot.configuration[0])[::-1]
            context = context_of(graph, snapshot)
            allowed = (
                edge.label
                for state in states
                for edge in graph.nodes[state].edges
                if edge.event == event and (edge.ask is None or edge.ask.function(context, happened(event)))
            )
            assert decided.taken[0] == next(allowed)
        snapshot = decided.snapshot if isinstance(decided, TurnRecord) else snapshot

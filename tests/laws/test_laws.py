"""The machine's laws, for charts of every kind."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import assume, given, settings

from gatechart.checks import paths, reach
from gatechart.rules.paths import TooManyConfigurationsError

from .oracle import active_states, faults_of, replay
from .strategies import charts, charts_with_ways_back, stories
from .support import life_by_the_standard, life_told, live, start, tell, told

pytestmark = pytest.mark.long

lawful = settings(max_examples=60, deadline=None, derandomize=True, database=None)


def begun(chart):
    """A graph with a snapshot at each entry point where it comes to rest."""
    graph = chart.build()
    snapshots = {door: start(graph, door) for door in graph.entry_points}
    return graph, {door: snapshot for door, snapshot in snapshots.items() if snapshot is not None}


def one_life(chart, story):
    """A graph with a snapshot to go on from; the door varies with the story."""
    graph, snapshots = begun(chart)
    assume(snapshots)
    return graph, list(snapshots.values())[sum(answers for _, answers in story) % len(snapshots)]


@lawful
@given(charts())
def test_entering_at_any_state_gives_a_legal_configuration(chart):
    graph, snapshots = begun(chart)
    for snapshot in snapshots.values():
        assert faults_of(graph.tree, snapshot.configuration) == []


@lawful
@given(charts())
def test_entering_at_a_state_makes_it_active_where_nothing_follows_by_itself(chart):
    graph, snapshots = begun(chart)
    for door, snapshot in snapshots.items():
        if graph.nodes[door].recall is None and not any("/" in each for each in told(graph, snapshot)):
            assert door in active_states(graph.tree, snapshot.configuration)


@lawful
@given(charts(), stories())
def test_the_configuration_is_always_legal(chart, story):
    graph, snapshot = one_life(chart, story)
    for each in live(graph, snapshot, story):
        assert faults_of(graph.tree, each.configuration) == []


@lawful
@given(charts(), stories())
def test_what_is_entered_and_left_adds_up_to_the_configuration(chart, story):
    graph, snapshot = one_life(chart, story)
    for each in live(graph, snapshot, story):
        active, faults = replay(graph.tree, told(graph, each))
        assert faults == []
        assert active == active_states(graph.tree, each.configuration)


@settings(lawful, max_examples=400)
@given(charts_with_ways_back(), stories())
def test_a_way_back_from_inside_leads_to_a_legal_configuration_and_enters_nothing_that_has_stayed_active(chart, story):
    graph, snapshot = one_life(chart, story)
    for each in live(graph, snapshot, story):
        assert faults_of(graph.tree, each.configuration) == []
        assert replay(graph.tree, told(graph, each))[1] == []


@settings(lawful, max_examples=150)  # the standard says what most of the other laws do
@given(charts(), stories())
def test_the_machine_does_what_the_standard_says(chart, story):
    graph, snapshots = begun(chart)
    for door in graph.entry_points:
        assert life_by_the_standard(chart, door, story) == life_told(graph, snapshots.get(door), story)


@lawful
@given(charts(), stories())
def test_the_same_events_give_the_same_end(chart, story):
    graph, snapshot = one_life(chart, story)
    assert live(chart.build(), snapshot, story) == live(graph, snapshot, story)


@lawful
@given(charts(), stories())
def test_a_refused_event_changes_nothing(chart, story):
    graph, snapshot = one_life(chart, story)
    with_all, with_applied = snapshot, snapshot
    for number, (event, answers) in enumerate(story):
        with_all, applied = tell(graph, with_all, number, event, answers)
        if applied:
            with_applied, _ = tell(graph, with_applied, number, event, answers)
        assert with_all == with_applied


@lawful
@given(charts(), stories())
def test_going_on_from_a_stored_snapshot_equals_going_on(chart, story):
    graph, snapshot = one_life(chart, story)
    restored = snapshot
    for number, (event, answers) in enumerate(story):
        snapshot, _ = tell(graph, snapshot, number, event, answers)
        restored, _ = tell(chart.build(), pickle.loads(pickle.dumps(restored)), number, event, answers)
        assert restored == snapshot


@lawful
@given(charts(), stories())
def test_remembered_plans_equal_plans_made_afresh(chart, story):
    graph, snapshot = one_life(chart, story)
    afresh = snapshot
    live(graph, snapshot, story)
    for number, (event, answers) in enumerate(story):
        remembered, _ = tell(graph, snapshot, number, event, answers)
        forgetful = chart.build()
        afresh, _ = tell(forgetful, afresh, number, event, answers)
        assert remembered == afresh
        snapshot = remembered


@lawful
@given(charts(), stories())
def test_only_what_an_entry_point_reaches_is_ever_entered(chart, story):
    graph, snapshots = begun(chart)
    reached = reach(graph)
    for door, snapshot in snapshots.items():
        entered = {each[1:] for each in told(graph, live(graph, snapshot, story)[-1]) if each[0] in "+!"}
        assert entered <= set(reached[door])


@settings(lawful, max_examples=40)
@given(charts(), stories())
def test_paths_pass_every_transition_that_is_ever_taken(chart, story):
    graph, snapshots = begun(chart)
    for door, snapshot in list(snapshots.items())[:2]:
        try:
            found = paths(graph, from_=door, most=3_000)
        except TooManyConfigurationsError:
            continue
        covered = {
            "/".join(label.partition("-->")[0].strip().partition(" --")[::2])
            for each in found
            for step in each.steps
            for label in step.transitions
        }
        taken = {each.replace("/None", "/") for each in told(graph, live(graph, snapshot, story)[-1]) if "/" in each}
        assert taken <= {each.strip() for each in covered}

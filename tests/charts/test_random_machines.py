"""XState as the oracle of its dialect, on random machines with regions, history states, wildcards and timers."""

from __future__ import annotations

import json
from copy import copy
from itertools import zip_longest
from random import Random
from typing import Any, Final

import pytest

from gatechart.charts import load
from gatechart.errors import InvalidChartError
from gatechart.graph.definition import Precedence
from tests.charts.xstate.random_machines import random_machine
from tests.charts.xstate.walks import bound, by_graph, by_xstate, leaf_names, missing, story
from tests.skipped import LOUD

MACHINES: Final = 200  # that are accepted
WALKS: Final = 2  # through each of them
BATCHES: Final = 4


@pytest.fixture(scope="module")
def graphs():
    """The machines that are accepted, each with its graph, and the faults of the others."""
    accepted: list[tuple[dict[str, Any], Any]] = []
    faults: list[str] = []
    seed = 0
    while len(accepted) < MACHINES:
        machine = random_machine(seed)
        try:
            accepted.append((machine, load(json.dumps(machine), dialect="xstate", bind=bound(machine))))
        except InvalidChartError as error:
            faults += [fault.problem for fault in error.faults]
        seed += 1
    return accepted, faults


def stories(machine):
    return [list(story(machine, Random(f"{machine['id']}.{number}"))) for number in range(WALKS)]


@pytest.fixture(scope="module")
def lives(graphs, processes):
    """What XState shows after each event, for each walk through each machine."""
    if why := missing():
        pytest.skip(LOUD + why)
    walks = [(machine, events) for machine, _ in graphs[0] for events in stories(machine)]
    shown = iter(by_xstate(walks))
    return {machine["id"]: [next(shown) for _ in range(WALKS)] for machine, _ in graphs[0]}


def compared(machine, graph, lives):
    """Return each event with what both show after it, for all walks; None after a turn that would not end."""
    ours = by_graph(graph, stories(machine))
    return [
        (event, mine and {**mine, "leaves": {*mine["leaves"]}}, theirs and as_named(machine, theirs))
        for events, walk, life in zip(stories(machine), ours, lives, strict=True)
        for event, mine, theirs in zip_longest(["begin", *events], walk, life)
    ]


def as_named(machine, shown):
    return {**shown, "leaves": {*leaf_names(machine, shown["leaves"])}}


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_random_machine_does_what_xstate_does_after_each_event(graphs, lives, batch):
    for machine, graph in graphs[0][batch::BATCHES]:
        for event, mine, theirs in compared(machine, graph, lives[machine["id"]]):
            assert (machine["id"], event, mine) == (machine["id"], event, theirs)


def test_a_random_machine_is_refused_only_for_a_transition_between_regions(graphs):
    assert graphs[1]
    assert {problem.partition(" ")[0] for problem in graphs[1]} == {"XState"}
    assert all("leaves the regions of" in problem for problem in graphs[1])


def with_precedence(graph, precedence):
    """Return a copy of the graph that asks transitions in another order."""
    other = copy(graph)
    object.__setattr__(other, "precedence", precedence)
    object.__setattr__(other, "memo", {})
    return other


@pytest.mark.parametrize("precedence", [Precedence.SPECIFIC, Precedence.DOCUMENT])
def test_the_comparison_notices_another_order_of_transitions(graphs, lives, precedence):
    assert any(
        mine != theirs
        for machine, graph in graphs[0]
        for _, mine, theirs in compared(machine, with_precedence(graph, precedence), lives[machine["id"]])
    )

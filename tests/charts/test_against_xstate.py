"""XState itself as the oracle of its dialect: after each event of a random walk, both are in the same states."""

from __future__ import annotations

import pytest

from tests.charts.xstate.walks import by_gatechart, by_xstate, leaf_names, missing, stories, written
from tests.skipped import LOUD


@pytest.fixture(scope="module")
def theirs(processes):
    if why := missing():
        pytest.skip(LOUD + why)
    walks = [(name, machine, events) for name, machine in written().items() for events in stories(name, machine)]
    found = {}
    for (name, *_), life in zip(walks, by_xstate([walk[1:] for walk in walks]), strict=True):
        found.setdefault(name, []).append(life)
    return found


def as_named(machine, life):
    return [{**each, "leaves": leaf_names(machine, each["leaves"])} for each in life]


@pytest.mark.parametrize("name", written())
def test_a_graph_is_where_xstate_is_after_each_event(theirs, name):
    machine = written()[name]
    walks = stories(name, machine)
    ours = by_gatechart(machine, walks)
    for events, mine, life in zip(walks, ours, theirs[name], strict=True):
        told = [{**each, "leaves": set(each["leaves"])} for each in mine]
        expected = [{**each, "leaves": set(each["leaves"])} for each in as_named(machine, life)]
        assert list(zip(["begin", *events], told, strict=True)) == list(zip(["begin", *events], expected, strict=True))

"""Machines of `transitions` and the graphs made of them do the same, callback by callback.

Left out is just what differs by design, see gatechart.contrib.transitions.bridge:

- `before` runs after the exits in a graph and before them in a machine, so each run of notes of exits and `before` is
  compared after sorting `before` to the front;
- what a refused event noted is gone in a graph, so the model's notes of an event without a transition are dropped;
- no transition goes to a state more than one level below its source; regions are not generated.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from gatechart.contrib.transitions import graph_from
from gatechart.testing.rehearsal import rehearse
from tests.contrib.transitions.machines import Model, compound_charts, context_for, flat_charts, happenings, machine_of

pytestmark = pytest.mark.long

same = settings(
    deadline=None, derandomize=True, database=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow]
)


@same
@given(flat_charts(), happenings)
async def test_a_flat_machine_and_its_graph_do_the_same(config: dict[str, Any], happening: list[str]) -> None:
    await run_side_by_side(config, happening)


@same
@given(compound_charts(), happenings)
async def test_a_nested_machine_and_its_graph_do_the_same(config: dict[str, Any], happening: list[str]) -> None:
    await run_side_by_side(config, happening)


async def run_side_by_side(config: dict[str, Any], happening: list[str]) -> None:
    model = Model()
    machine = machine_of(config, model)
    async with rehearse(graph_from(config, context=context_for(config), auto_transitions=False)) as rehearsal:
        begun = len(rehearsal.context.trail)  # entry actions of the initial states, which no machine runs
        for event in happening:
            noted, told = list(model.trail), len(rehearsal.context.trail)
            took = event in machine.events and model.trigger(event)
            if not took:
                model.trail = noted
            outcome = await rehearsal.send(event)
            assert outcome.applied == bool(took)
            assert [leaf.removesuffix("_self") for leaf in rehearsal.leaves] == [model.state]
            assert rehearsal.context.trail[told:] == in_order_of_graphs(model.trail[len(noted) :])
        assert len(rehearsal.context.trail) - begun == len(model.trail)


def in_order_of_graphs(notes: list[str]) -> list[str]:
    """The notes of one event, with `before` behind the exits."""
    befores = [note for note in notes if note.startswith("before")]
    others = [note for note in notes if not note.startswith("before")]
    exits = [place for place, note in enumerate(others) if note.startswith("-")]
    asked = [place for place, note in enumerate(others) if note.startswith(("?", "prepare"))]
    place = max([*exits, *asked], default=-1) + 1
    return others[:place] + befores + others[place:]

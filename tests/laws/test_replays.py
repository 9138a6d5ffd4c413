"""A history that is played again through the same version of its chart differs nowhere, whatever the chart."""

import asyncio
from contextlib import suppress

import pytest
from hypothesis import assume, given, settings

from gatechart import Runtime
from gatechart.errors import EventError
from gatechart.stores.memory import MemoryStore
from gatechart.testing import VirtualClock, replay

from .strategies import charts, charts_with_ways_back, stories

pytestmark = pytest.mark.long

lawful = settings(max_examples=60, deadline=None, derandomize=True, database=None)


async def lived(graph, story):
    """A store with an agent that began at each door and was told the story, and how many turns that took."""
    store, turns = MemoryStore(), 0
    async with Runtime.open(store, graphs=[graph], clock=VirtualClock()) as runtime:
        for door in graph.entry_points:
            with suppress(EventError):
                agent = await runtime.start(graph.name, at=door)
                for event, answers in story:
                    with suppress(EventError):
                        await agent.send(event, {"answers": answers})
                turns += agent.snapshot.version
    return store, turns


async def played_again(chart, story):
    graph = chart.build()
    store, turns = await lived(graph, story)
    assume(turns)
    return turns, await replay(store, chart.build(), recorded=graph)


@lawful
@given(charts(), stories())
def test_a_history_played_through_the_same_version_differs_nowhere(chart, story):
    turns, report = asyncio.run(played_again(chart, story))
    assert not report.turns, report
    assert (report.same, report.skipped, report.effects_unknown) == (turns, 0, 0)


@lawful
@given(charts_with_ways_back(), stories())
def test_that_holds_for_charts_with_history_states_and_ways_back(chart, story):
    turns, report = asyncio.run(played_again(chart, story))
    assert not report.turns, report
    assert report.same == turns

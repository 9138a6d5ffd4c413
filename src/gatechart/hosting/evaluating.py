"""Evaluate a directory's choices and ratings: whether learning is better, and when to hand work on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from gatechart.api.home import AgentHome
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.directory_graph import EntryContext, entry_context
from gatechart.hosting.timeliness import Retimed, Timeliness, causes, retimed, timeliness
from gatechart.ports import Store
from gatechart.selection.evaluation import Evaluation, Recorded
from gatechart.selection.exploration import BEST, Exploring
from gatechart.selection.learned import Learned
from gatechart.selection.rehearsal import evaluate_learned
from gatechart.selection.rewards import Reward, reward_of
from gatechart.values.agents import Status
from gatechart.values.framework import DIRECTORY_GRAPH
from gatechart.values.frozen import value

PAGE = 1_000


@value
class DirectoryEvaluation:
    """The evaluation of a directory's choices, and of the handoffs that led to them."""

    learning: Evaluation
    timeliness: tuple[Timeliness, ...]
    retimed: tuple[Retimed, ...] = ()  # of an evaluation with graphs


async def evaluate_directory(
    home: AgentHome,
    learned: Learned | None = None,
    exploring: Exploring = BEST,
    *,
    reward: Reward = reward_of,
    confidence: float = 0.95,
    store: Store | None = None,
    graphs: Sequence[AnyGraph] = (),
) -> DirectoryEvaluation:
    """Evaluate from a home's directory whether learning is better than text scores, and when to hand work on.

    The first quarter of the choices only trains; the rest is evaluated. Changes nothing. store, graphs: with both,
    replays through these graphs the histories that led to handoffs with a verdict on whether they were needed and in
    time, from a rating or a result, to try other thresholds. Raises ExtraMissingError without numpy, and
    ElsewhereError on an engine without a projection.
    """
    entries = [entry async for entry in _entries(home)]
    records = recorded(entries, reward)
    learning = await asyncio.to_thread(
        evaluate_learned, learned or Learned(), records, exploring, confidence=confidence
    )
    led_to = await causes(home, entries)
    now = () if store is None else await retimed(led_to, store, graphs)
    return DirectoryEvaluation(learning, timeliness(led_to), now)


def recorded(kept: Sequence[EntryContext], reward: Reward = reward_of) -> tuple[Recorded, ...]:
    """Return the choices whose work has ended, in the order of their ends."""
    records = (choice.recorded(reward) for entry in kept for choice in entry.choices)
    ended = (record for record in records if record)
    return tuple(sorted(ended, key=lambda record: (record.observation.at, record.id)))


async def _entries(home: AgentHome) -> AsyncIterator[EntryContext]:
    after: str | None = None
    while True:
        page = await home.find(graph=DIRECTORY_GRAPH, status=Status.ACTIVE, after=after, limit=PAGE)
        for agent in page.agents:
            yield entry_context(agent)
        after = page.next
        if after is None:
            return

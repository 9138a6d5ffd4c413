"""What the choices and ratings that a directory keeps say: whether learning is better, and when to hand work on."""

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
    """What is told of a directory's choices, and of the handoffs that led to them."""

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
    """Tell from what a home's directory keeps whether learning is better than text scores, and when to hand work on.

    The first quarter of the choices only teaches; the rest is judged. Nothing is changed. store, graphs: with both,
    the histories that led to handoffs of which somebody said something are played through these graphs, so that
    thresholds can be tried. Raises ExtraMissingError without numpy, and ElsewhereError on an engine without a
    projection.
    """
    kept = [each async for each in _kept(home)]
    records = recorded(kept, reward)
    learning = await asyncio.to_thread(
        evaluate_learned, learned or Learned(), records, exploring, confidence=confidence
    )
    led_to = await causes(home, kept)
    now = () if store is None else await retimed(led_to, store, graphs)
    return DirectoryEvaluation(learning, timeliness(led_to), now)


def recorded(kept: Sequence[EntryContext], reward: Reward = reward_of) -> tuple[Recorded, ...]:
    """Return the choices whose work has ended, in the order of their ends."""
    found = (each.recorded(reward) for context in kept for each in context.choices)
    return tuple(sorted((each for each in found if each), key=lambda each: (each.observation.at, each.id)))


async def _kept(home: AgentHome) -> AsyncIterator[EntryContext]:
    after: str | None = None
    while True:
        page = await home.find(graph=DIRECTORY_GRAPH, status=Status.ACTIVE, after=after, limit=PAGE)
        for each in page.agents:
            yield entry_context(each)
        after = page.next
        if after is None:
            return

"""What the choices and ratings that a directory keeps say: whether learning is better, and when to hand work on."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence

from gatechart.api import AgentHome
from gatechart.errors import UnknownAgentError
from gatechart.hosting.directory_graph import EntryContext, entry_context
from gatechart.selection.evaluation import Evaluation, Recorded
from gatechart.selection.exploration import BEST, Exploring
from gatechart.selection.learned import Learned
from gatechart.selection.rehearsal import evaluate_learned
from gatechart.selection.rewards import Reward, reward_of
from gatechart.values import DIRECTORY_GRAPH, FiredSignal, HandoffRecord, Status, WorkOutcome
from gatechart.values.frozen import value

PAGE = 1_000


@value
class Timeliness:
    """What people said of the handoffs that a signal led to."""

    signal: str
    detector: str  # kind of the detector that found something; empty for handoffs that no signal led to
    threshold: str  # of that detector; empty if it has none
    needless: int = 0
    in_time: int = 0
    late: int = 0
    needed: int = 0  # of which nobody said whether they came in time


@value
class DirectoryEvaluation:
    """What is told of a directory's choices, and of the handoffs that led to them."""

    learning: Evaluation
    timeliness: tuple[Timeliness, ...]


async def evaluate_directory(
    home: AgentHome,
    learned: Learned | None = None,
    exploring: Exploring = BEST,
    *,
    reward: Reward = reward_of,
    confidence: float = 0.95,
) -> DirectoryEvaluation:
    """Tell from what a home's directory keeps whether learning is better than text scores, and when to hand work on.

    The first half of the choices only teaches; the second half is judged. Nothing is changed. Raises ExtraMissingError
    without numpy, and ElsewhereError on an engine without a projection.
    """
    kept = [each async for each in _kept(home)]
    records = recorded(kept, reward)
    learning = await asyncio.to_thread(
        evaluate_learned, learned or Learned(), records, exploring, confidence=confidence
    )
    return DirectoryEvaluation(learning, await timeliness(home, kept))


def recorded(kept: Sequence[EntryContext], reward: Reward = reward_of) -> tuple[Recorded, ...]:
    """Return the choices whose work has ended, in the order of their ends."""
    found = (each.recorded(reward) for context in kept for each in context.choices)
    return tuple(sorted((each for each in found if each), key=lambda each: (each.observation.at, each.id)))


async def timeliness(home: AgentHome, kept: Sequence[EntryContext]) -> tuple[Timeliness, ...]:
    """Return for each signal and threshold how often handing on was needless, in time and too late."""
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    for outcome in (each for context in kept for each in context.outcomes if _verdict(each)):
        for key in await _causes(home, outcome):
            counts.setdefault(key, Counter())[_verdict(outcome)] += 1
    return tuple(
        Timeliness(*key, count["needless"], count["in_time"], count["late"], count["needed"])
        for key, count in sorted(counts.items())
    )


def _verdict(outcome: WorkOutcome) -> str:
    """Return the field of `Timeliness` in which an outcome counts; empty if nobody rated it."""
    if outcome.needed is False:
        return "needless"
    if outcome.in_time is not None:
        return "in_time" if outcome.in_time else "late"
    return "needed" if outcome.needed else ""


async def _causes(home: AgentHome, outcome: WorkOutcome) -> Sequence[tuple[str, str, str]]:
    """Return signal, detector and threshold of what led to a handoff; nothing names if that was no signal."""
    rows = await home.handoffs(handoff_id=outcome.handoff)
    if not rows:  # deleted since
        return ()
    first = await home.handoffs(request=rows[0].request, limit=1)
    fired = await _fired(home, (first or rows)[0])
    if fired is None:
        return (("", "", ""),)
    found = {(fired.signal, str(each.get("detector", "")), _threshold(each)) for each in fired.evidence}
    return sorted(found) or ((fired.signal, "", ""),)


async def _fired(home: AgentHome, row: HandoffRecord) -> FiredSignal | None:
    """Return the signal that fired in the turn that asked for a handoff."""
    asked, after = row.changes[0].time, 0
    try:
        while turns := await home.history(row.source, after=after, limit=PAGE):
            after = turns[-1].version
            for turn in turns:
                if turn.fired is not None and turn.event.time == asked:
                    return turn.fired
    except UnknownAgentError:  # erased since
        return None
    return None


def _threshold(evidence: Mapping[str, object]) -> str:
    threshold = evidence.get("threshold", "")
    return f"{threshold:g}" if isinstance(threshold, int | float) else str(threshold)


async def _kept(home: AgentHome) -> AsyncIterator[EntryContext]:
    after: str | None = None
    while True:
        page = await home.find(graph=DIRECTORY_GRAPH, status=Status.ACTIVE, after=after, limit=PAGE)
        for each in page.agents:
            yield entry_context(each)
        after = page.next
        if after is None:
            return

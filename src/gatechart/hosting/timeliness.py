"""The timeliness of handoffs: ratings by people, grouped by the signal that caused the handoff."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from enum import Enum, StrEnum, auto
from typing import Any

from gatechart.api.home import AgentHome
from gatechart.errors.event import UnknownAgentError
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.directory_graph import EntryContext
from gatechart.hosting.replay import Replay, earlier
from gatechart.ports import Store
from gatechart.values.fired_signals import FiredSignal
from gatechart.values.frozen import value
from gatechart.values.handoffs import HandoffRecord, HandoffStatus
from gatechart.values.names import AgentId

PAGE = 1_000


class TimeRating(StrEnum):
    """A rating of the time of a handoff."""

    NEEDLESS = "needless"
    IN_TIME = "in_time"
    LATE = "late"
    NEEDED = "needed"  # no rating of whether it came in time


@value
class Timeliness:
    """The numbers of ratings of the handoffs that a signal caused."""

    signal: str
    detector: str  # kind of the detector that fired; empty for handoffs without a signal
    threshold: str  # of that detector; empty without one
    needless: int = 0
    in_time: int = 0
    late: int = 0
    needed: int = 0  # without a rating of whether they came in time


@value
class Retimed:
    """When a signal fires if the current graphs replay recorded histories.

    Counts the handoffs that the signal caused and that have this rating.
    """

    signal: str
    said: TimeRating
    sooner: int = 0
    same: int = 0  # it fires in the same turn as recorded
    later: int = 0  # it has not fired by that turn
    unknown: int = 0  # the turns are no longer stored, or the graph no longer takes them


class _Shift(Enum):
    """How the time of a signal changed, in the order of the fields of `Retimed`."""

    SOONER = auto()
    SAME = auto()
    LATER = auto()
    UNKNOWN = auto()


@value
class Cause:
    """The turn that requested a rated handoff."""

    said: TimeRating
    agent: AgentId
    graph: str
    version: int
    fired: FiredSignal | None  # None if no signal caused the handoff


async def causes(home: AgentHome, kept: Iterable[EntryContext]) -> Sequence[Cause]:
    """Return the cause of each handoff that is rated as needed or not, and in time or not.

    A rating by `rate_handoff` has precedence over the receiver's: a result of the work may have `needed` and `in_time`,
    as the result of a desk has. Handoffs whose source was erased are omitted.
    """
    verdicts = {row.id: verdict async for row in _completed_handoffs(home) if (verdict := _verdict(row.result or {}))}
    ratings = {rating.handoff: _verdict(rating.answers) for context in kept for rating in context.ratings}
    verdicts |= {handoff: verdict for handoff, verdict in ratings.items() if verdict}
    rated = [await _cause(home, handoff, verdict) for handoff, verdict in sorted(verdicts.items())]
    return [cause for cause in rated if cause is not None]


def timeliness(found: Iterable[Cause]) -> tuple[Timeliness, ...]:
    """Return for each signal and threshold how often the handoff was needless, in time and too late."""
    counts: dict[tuple[str, str, str], Counter[TimeRating]] = {}
    for cause in found:
        for key in _keys(cause.fired):
            counts.setdefault(key, Counter())[cause.said] += 1
    return tuple(
        Timeliness(
            *key,
            count[TimeRating.NEEDLESS],
            count[TimeRating.IN_TIME],
            count[TimeRating.LATE],
            count[TimeRating.NEEDED],
        )
        for key, count in sorted(counts.items())
    )


async def retimed(
    found: Iterable[Cause], store: Store, graphs: Sequence[AnyGraph], *, services: Any = None
) -> tuple[Retimed, ...]:
    """Return when signals fire if the newest of these graphs replays the histories that led to handoffs.

    Nothing is written, sent or invoked. services: stand-ins for the services that actions use.
    """
    newest = {graph.name: graph for graph in graphs}
    counts: dict[tuple[str, TimeRating], Counter[_Shift]] = {}
    turns: dict[AgentId, Mapping[str, Sequence[int]] | None] = {}
    for cause in found:
        if cause.fired is None:
            continue
        graph = newest.get(cause.graph)
        if graph is not None and cause.agent not in turns:
            replay = Replay(store, graph, earlier(graph, graphs), services=services)
            turns[cause.agent] = await _signal_versions(replay, cause)
        shift = await _shift(store, cause, cause.fired.signal, turns.get(cause.agent))
        counts.setdefault((cause.fired.signal, cause.said), Counter())[shift] += 1
    return tuple(Retimed(*key, *(count[shift] for shift in _Shift)) for key, count in sorted(counts.items()))


def _verdict(answers: Mapping[str, Any]) -> TimeRating | None:
    """Return the rating that answers contain; None without one."""
    if answers.get("needed") is False:
        return TimeRating.NEEDLESS
    if answers.get("in_time") in (True, False):
        return TimeRating.IN_TIME if answers["in_time"] else TimeRating.LATE
    return TimeRating.NEEDED if answers.get("needed") is True else None


async def _completed_handoffs(home: AgentHome) -> AsyncIterator[HandoffRecord]:
    after = 0
    while rows := await home.handoffs(status=HandoffStatus.COMPLETED, after=after, limit=PAGE):
        after = rows[-1].number
        for row in rows:
            yield row


async def _cause(home: AgentHome, handoff: str, verdict: TimeRating) -> Cause | None:
    """Return the cause of a handoff; None if the handoff or its source is no longer stored."""
    rows = await home.handoffs(handoff_id=handoff)
    if not rows:
        return None
    first = (await home.handoffs(request=rows[0].request, limit=1) or rows)[0]
    requested_at, after = first.changes[0].time, 0
    try:
        while turns := await home.history(first.source, after=after, limit=PAGE):
            after = turns[-1].version
            simultaneous = [turn for turn in turns if turn.event.time == requested_at]
            if simultaneous:
                turn = next((turn for turn in simultaneous if turn.fired), simultaneous[0])
                return Cause(verdict, first.source, first.source_graph, turn.version, turn.fired)
    except UnknownAgentError:
        return None
    return Cause(verdict, first.source, first.source_graph, 0, None)


def _keys(fired: FiredSignal | None) -> Sequence[tuple[str, str, str]]:
    """Return signal, detector and threshold of a fired signal; empty texts without one."""
    if fired is None:
        return (("", "", ""),)
    keys = {(fired.signal, str(evidence.get("detector", "")), _threshold(evidence)) for evidence in fired.evidence}
    return sorted(keys) or ((fired.signal, "", ""),)


def _threshold(evidence: Mapping[str, object]) -> str:
    threshold = evidence.get("threshold", "")
    return f"{threshold:g}" if isinstance(threshold, int | float) else str(threshold)


async def _signal_versions(replay: Replay, cause: Cause) -> Mapping[str, Sequence[int]] | None:
    """Return the versions of an agent where each signal fires in the replay; None if its turns cannot be replayed."""
    fires: dict[str, list[int]] = {}
    try:
        async for agent in replay.agents([cause.agent]):
            async for turn in replay.turns(agent):
                if not turn.trail_known:
                    return None
                for name in turn.fires:
                    fires.setdefault(name, []).append(turn.version)
    except UnknownAgentError:
        return None
    return fires


async def _shift(store: Store, cause: Cause, signal: str, fires: Mapping[str, Sequence[int]] | None) -> _Shift:
    if fires is None:
        return _Shift.UNKNOWN
    before = await _fired_before(store, cause, signal)
    now = [version for version in fires.get(signal, ()) if before < version <= cause.version]
    if not now:
        return _Shift.LATER
    return _Shift.SAME if now[0] == cause.version else _Shift.SOONER


async def _fired_before(store: Store, cause: Cause, signal: str) -> int:
    """Return the version where a signal last fired before a handoff; 0 if it never did."""
    last, after = 0, 0
    while turns := await store.history(cause.agent, after=after, limit=PAGE):
        for turn in turns:
            if turn.version >= cause.version:
                return last
            if turn.fired is not None and turn.fired.signal == signal:
                last = turn.version
        after = turns[-1].version
    return last

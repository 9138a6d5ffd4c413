"""When work should be handed on: what people said of handoffs, by the signal that led to them."""

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


class Said(StrEnum):
    """What somebody said of the moment of a handoff."""

    NEEDLESS = "needless"
    IN_TIME = "in_time"
    LATE = "late"
    NEEDED = "needed"  # whether it came in time, nobody said


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
class Retimed:
    """When a signal fires in recorded histories if they are played through the graphs as they are now.

    Counted are the handoffs that it led to, and of which somebody said the same.
    """

    signal: str
    said: Said
    sooner: int = 0
    same: int = 0  # it fires in the turn in which it had fired
    later: int = 0  # it had not fired by then
    unknown: int = 0  # the turns are no longer stored, or the graph takes them no more


class _Shift(Enum):
    """How a signal moved; in the order of the fields of `Retimed`."""

    SOONER = auto()
    SAME = auto()
    LATER = auto()
    UNKNOWN = auto()


@value
class Cause:
    """The turn that asked for a handoff of which somebody said something."""

    said: Said
    agent: AgentId
    graph: str
    version: int
    fired: FiredSignal | None  # None: no signal led to it


async def causes(home: AgentHome, kept: Iterable[EntryContext]) -> Sequence[Cause]:
    """Return what led to each handoff of which somebody said whether it was needed and in time.

    That is said by `rate_handoff`, else by whoever took the work: a result may have `needed` and `in_time`, as that of
    a desk has. Left out are handoffs whose source was erased.
    """
    said = {row.id: verdict async for row in _ended(home) if (verdict := _verdict(row.result or {}))}
    ratings = {each.handoff: _verdict(each.answers) for context in kept for each in context.ratings}
    said |= {handoff: verdict for handoff, verdict in ratings.items() if verdict}
    found = [await _cause(home, handoff, verdict) for handoff, verdict in sorted(said.items())]
    return [each for each in found if each is not None]


def timeliness(found: Iterable[Cause]) -> tuple[Timeliness, ...]:
    """Return for each signal and threshold how often handing on was needless, in time and too late."""
    counts: dict[tuple[str, str, str], Counter[Said]] = {}
    for each in found:
        for key in _keys(each.fired):
            counts.setdefault(key, Counter())[each.said] += 1
    return tuple(
        Timeliness(*key, count[Said.NEEDLESS], count[Said.IN_TIME], count[Said.LATE], count[Said.NEEDED])
        for key, count in sorted(counts.items())
    )


async def retimed(
    found: Iterable[Cause], store: Store, graphs: Sequence[AnyGraph], *, services: Any = None
) -> tuple[Retimed, ...]:
    """Return when signals fire now, if what led to handoffs is played through the newest of these graphs.

    Nothing is written, sent or invoked. services: stand-ins for those that actions use.
    """
    newest = {each.name: each for each in graphs}
    counts: dict[tuple[str, Said], Counter[_Shift]] = {}
    turns: dict[AgentId, Mapping[str, Sequence[int]] | None] = {}
    for each in found:
        if each.fired is None:
            continue
        graph = newest.get(each.graph)
        if graph is not None and each.agent not in turns:
            turns[each.agent] = await _played(Replay(store, graph, earlier(graph, graphs), services=services), each)
        how = await _shift(store, each, each.fired.signal, turns.get(each.agent))
        counts.setdefault((each.fired.signal, each.said), Counter())[how] += 1
    return tuple(Retimed(*key, *(count[each] for each in _Shift)) for key, count in sorted(counts.items()))


def _verdict(answers: Mapping[str, Any]) -> Said | None:
    """Return what answers say of the moment; None if they do not."""
    if answers.get("needed") is False:
        return Said.NEEDLESS
    if answers.get("in_time") in (True, False):
        return Said.IN_TIME if answers["in_time"] else Said.LATE
    return Said.NEEDED if answers.get("needed") is True else None


async def _ended(home: AgentHome) -> AsyncIterator[HandoffRecord]:
    after = 0
    while rows := await home.handoffs(status=HandoffStatus.COMPLETED, after=after, limit=PAGE):
        after = rows[-1].number
        for row in rows:
            yield row


async def _cause(home: AgentHome, handoff: str, said: Said) -> Cause | None:
    """Return what led to a handoff; None if it or its source is no longer stored."""
    rows = await home.handoffs(handoff_id=handoff)
    if not rows:
        return None
    first = (await home.handoffs(request=rows[0].request, limit=1) or rows)[0]
    asked, after = first.changes[0].time, 0
    try:
        while turns := await home.history(first.source, after=after, limit=PAGE):
            after = turns[-1].version
            at_once = [turn for turn in turns if turn.event.time == asked]
            if at_once:
                turn = next((each for each in at_once if each.fired), at_once[0])
                return Cause(said, first.source, first.source_graph, turn.version, turn.fired)
    except UnknownAgentError:
        return None
    return Cause(said, first.source, first.source_graph, 0, None)


def _keys(fired: FiredSignal | None) -> Sequence[tuple[str, str, str]]:
    """Return signal, detector and threshold of what fired; without names if nothing did."""
    if fired is None:
        return (("", "", ""),)
    found = {(fired.signal, str(each.get("detector", "")), _threshold(each)) for each in fired.evidence}
    return sorted(found) or ((fired.signal, "", ""),)


def _threshold(evidence: Mapping[str, object]) -> str:
    threshold = evidence.get("threshold", "")
    return f"{threshold:g}" if isinstance(threshold, int | float) else str(threshold)


async def _played(replay: Replay, cause: Cause) -> Mapping[str, Sequence[int]] | None:
    """Return the versions of an agent at which each signal fires now; None if its turns cannot be played."""
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
    """Return the version at which a signal had fired the last time before a handoff; 0 if it never had."""
    last, after = 0, 0
    while turns := await store.history(cause.agent, after=after, limit=PAGE):
        for turn in turns:
            if turn.version >= cause.version:
                return last
            if turn.fired is not None and turn.fired.signal == signal:
                last = turn.version
        after = turns[-1].version
    return last

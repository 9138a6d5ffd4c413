"""The next step on a ladder of targets, when an offer was rejected."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from gatechart.graph.fallbacks import Again, Ladder, Other, Person, Step
from gatechart.handoff.packet import Attempt, HandoffPacket, Rung, RungKind, readable
from gatechart.values import Obstacle, Retry


def rungs(ladder: Ladder) -> tuple[Rung, ...]:
    """The ladder as it travels in a packet."""
    return tuple(map(_rung, ladder.steps))


def ladder_of(travelled: Iterable[Rung]) -> Ladder:
    """The ladder that was told as these rungs."""
    return Ladder(*map(_step, travelled))


def _rung(step: Step) -> Rung:
    if isinstance(step, Again):
        return Rung(
            kind=RungKind.AGAIN,
            attempts=step.attempts,
            first_s=step.first_s,
            factor=step.factor,
            most_s=step.most_s,
        )
    kind = RungKind.PERSON if isinstance(step, Person) else RungKind.OTHER
    return Rung(kind=kind, graph=step.graph, entry_point=step.at, agent=step.agent)


def _step(rung: Rung) -> Step:
    if rung.kind is RungKind.AGAIN:
        return Again(attempts=rung.attempts, first_s=rung.first_s, factor=rung.factor, most_s=rung.most_s)
    kind = Person if rung.kind is RungKind.PERSON else Other
    return kind(rung.graph, at=rung.entry_point, agent=rung.agent)


_ANY: Final = frozenset(RungKind)
_ELSEWHERE: Final = frozenset({RungKind.OTHER, RungKind.PERSON})
_CHOICES: Final[dict[Obstacle, tuple[frozenset[RungKind], ...]]] = {
    Obstacle.OVERLOAD: tuple(frozenset({kind}) for kind in (RungKind.OTHER, RungKind.AGAIN, RungKind.PERSON)),
    Obstacle.WRONG_SKILLS: (frozenset({RungKind.OTHER}), frozenset({RungKind.PERSON})),
    Obstacle.LOOP: (frozenset({RungKind.PERSON}),),
}
"""Which kinds of rung are looked for, one set after the other; for other obstacles see `_choices`."""

_OF_THE_GRAPH: Final = frozenset({Obstacle.UNKNOWN_GRAPH, Obstacle.OVERLOAD})
"""Obstacles in the way of every new agent of the graph, wherever it would begin."""


def next_offer(
    packet: HandoffPacket, obstacle: Obstacle, details: str, now: datetime
) -> tuple[HandoffPacket, float] | None:
    """The packet of the next attempt and the seconds to wait before it; None where nothing is left.

    packet: the one that was rejected, for this obstacle. In the next one the failed attempt is noted, the target is
    set, and `handoff_id` is "" for the caller to fill in, as is `target_agent` where the target is a new one of
    another graph; a new agent that is tried again keeps its id. `request` is the first attempt's id.

    An overload asks another target first, then the same again, then a person; wrong skills ask another target, then a
    person; a loop asks a person, with the details as evidence; an obstacle that passes takes the ladder as it is; all
    else takes the first rung that is another target. Rungs above the one taken are gone, but for those that try again
    and are not used up: they hold for whichever target was tried last, each time until it was offered as often as they
    say. A rung of the same graph is no other target for a new agent where the graph is unknown or overloaded.
    """
    tried = with_attempt(packet, obstacle, details, now)
    for kinds in _choices(obstacle):
        for index, rung in enumerate(packet.ladder):
            wait_s = _wait_s(rung, tried, obstacle) if rung.kind in kinds else None
            if wait_s is not None:
                return _offer(tried, index, obstacle, details), wait_s
    return None


def with_attempt(packet: HandoffPacket, obstacle: Obstacle, details: str, now: datetime) -> HandoffPacket:
    """The packet with one more attempt, the one that it was itself."""
    attempt = Attempt(
        handoff_id=packet.handoff_id,
        graph=packet.target_graph,
        entry_point=packet.entry_point,
        agent=packet.target_agent,
        obstacle=obstacle,
        details=readable(details),
        time=now,
    )
    return packet.model_copy(update={"attempts": (*packet.attempts, attempt)})


def _choices(obstacle: Obstacle) -> tuple[frozenset[RungKind], ...]:
    return _CHOICES.get(obstacle) or ((_ANY,) if obstacle.passes else (_ELSEWHERE,))


def _wait_s(rung: Rung, tried: HandoffPacket, obstacle: Obstacle) -> float | None:
    """How many seconds to wait before the rung is taken; None where it leads nowhere."""
    if rung.kind is RungKind.AGAIN:
        return _retry(rung).wait_s(_failed(tried))
    return 0.0 if _is_another(rung, tried, obstacle) else None


def _retry(rung: Rung) -> Retry:
    return Retry(rung.attempts, rung.first_s, rung.factor, rung.most_s)


def _is_another(rung: Rung, packet: HandoffPacket, obstacle: Obstacle) -> bool:
    """Whether the rung is a target that the obstacle does not stand before."""
    if rung.graph != packet.target_graph:
        return True
    if rung.agent or not packet.is_new:
        return rung.agent != ("" if packet.is_new else packet.target_agent) or rung.entry_point != packet.entry_point
    return obstacle not in _OF_THE_GRAPH and rung.entry_point != packet.entry_point


def _failed(tried: HandoffPacket) -> int:
    """How many offers to the target failed in a row."""

    def target(attempt: Attempt) -> tuple[str, ...]:
        agent = "" if tried.is_new else attempt.agent  # each attempt may have named another new agent
        return attempt.graph, attempt.entry_point, agent

    last = target(tried.attempts[-1])
    count = 0
    for attempt in reversed(tried.attempts):
        if target(attempt) != last:
            break
        count += 1
    return count


def _offer(tried: HandoffPacket, index: int, obstacle: Obstacle, details: str) -> HandoffPacket:
    rung = tried.ladder[index]
    changes: dict[str, Any] = {"handoff_id": "", "request": tried.request or tried.handoff_id}
    if obstacle is Obstacle.LOOP:
        changes["evidence"] = readable(details)
    if rung.kind is not RungKind.AGAIN:
        changes |= {
            "target_graph": rung.graph,
            "entry_point": rung.entry_point,
            "target_agent": rung.agent,
            "is_new": not rung.agent,
            "ladder": _below(tried, index),
        }
    return tried.model_copy(update=changes)


def _below(tried: HandoffPacket, index: int) -> tuple[Rung, ...]:
    """What is left when the rung is taken: what lies below it, and what may be tried again."""
    failed = _failed(tried)
    above = (rung for rung in tried.ladder[:index] if rung.kind is RungKind.AGAIN)
    return (*(rung for rung in above if _retry(rung).wait_s(failed) is not None), *tried.ladder[index + 1 :])

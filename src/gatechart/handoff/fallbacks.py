"""The next step on a fallbacks of targets, when an offer was rejected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from math import inf
from typing import Any, Final

from gatechart.graph.fallbacks import Fallbacks, Human, OtherGraph, SameTarget, Step
from gatechart.handoff.packet import FALLBACK_FIELDS, Attempt, FallbackKind, FallbackStep, HandoffPacket, readable
from gatechart.values import Obstacle, Retry


def fallback_steps(fallbacks: Fallbacks) -> tuple[FallbackStep, ...]:
    """The fallbacks as it travels in a packet."""
    return tuple(map(_fallback_step, fallbacks.steps))


def fallbacks_of(travelled: Iterable[FallbackStep]) -> Fallbacks:
    """Read fallbacks as they travel in a packet."""
    return Fallbacks(*map(_step, travelled))


def longest_wait_s(packet: Mapping[str, Any]) -> float:
    """Return the longest pause, in seconds, before a packet is offered to the same target again; infinity without one.

    packet: JSON values, of this release or of one before.
    """
    travelled = next((packet[name] for name in FALLBACK_FIELDS if name in packet), ())
    again = (each for each in travelled if each.get("kind") in _AGAIN)
    return max((each["most_s"] for each in again), default=inf)


def _fallback_step(step: Step) -> FallbackStep:
    if isinstance(step, SameTarget):
        return FallbackStep(
            kind=FallbackKind.SAME_TARGET,
            attempts=step.attempts,
            first_s=step.first_s,
            factor=step.factor,
            most_s=step.most_s,
        )
    kind = FallbackKind.HUMAN if isinstance(step, Human) else FallbackKind.OTHER_GRAPH
    return FallbackStep(kind=kind, graph=step.graph, entry_point=step.at, agent=step.agent)


def _step(step: FallbackStep) -> Step:
    if step.kind is FallbackKind.SAME_TARGET:
        return SameTarget(attempts=step.attempts, first_s=step.first_s, factor=step.factor, most_s=step.most_s)
    kind = Human if step.kind is FallbackKind.HUMAN else OtherGraph
    return kind(step.graph, at=step.entry_point, agent=step.agent)


_AGAIN: Final = (FallbackKind.SAME_TARGET, "again")  # today and in packets stored before
_ANY: Final = frozenset(FallbackKind)
_ELSEWHERE: Final = frozenset({FallbackKind.OTHER_GRAPH, FallbackKind.HUMAN})
_CHOICES: Final[dict[Obstacle, tuple[frozenset[FallbackKind], ...]]] = {
    Obstacle.OVERLOAD: tuple(
        frozenset({kind}) for kind in (FallbackKind.OTHER_GRAPH, FallbackKind.SAME_TARGET, FallbackKind.HUMAN)
    ),
    Obstacle.WRONG_SKILLS: (frozenset({FallbackKind.OTHER_GRAPH}), frozenset({FallbackKind.HUMAN})),
    Obstacle.LOOP: (frozenset({FallbackKind.HUMAN}),),
}
"""Which kinds of fallback are looked for, one set after the other; for other obstacles see `_choices`."""

_OF_THE_GRAPH: Final = frozenset({Obstacle.UNKNOWN_GRAPH, Obstacle.OVERLOAD})
"""Obstacles in the way of every new agent of the graph, wherever it would begin."""


def next_offer(
    packet: HandoffPacket, obstacle: Obstacle, details: str, now: datetime
) -> tuple[HandoffPacket, float] | None:
    """The packet of the next attempt and the seconds to wait before it; None where nothing is left.

    packet: the one that was rejected, for this obstacle. In the next one the failed attempt is noted, the target is
    set, and `handoff_id` is "" for the caller to fill in, as is `target_agent` where the target is a new one of
    another graph; a new agent that is tried again keeps its id. `request` is the first attempt's id.

    An overload asks another graph first, then the same target again, then a human; wrong skills ask another graph,
    then a human; a loop asks a human, with the details as evidence. Any other obstacle that may pass takes the
    fallbacks in order, and one that stays takes the first other target. Fallbacks above the one taken are dropped,
    except those that try again and are not used up: they hold for whichever target was tried last. A fallback to the
    same graph is not another target for a new agent where the graph is unknown or overloaded.
    """
    tried = with_attempt(packet, obstacle, details, now)
    for kinds in _choices(obstacle):
        for index, step in enumerate(packet.fallbacks):
            wait_s = _wait_s(step, tried, obstacle) if step.kind in kinds else None
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


def _choices(obstacle: Obstacle) -> tuple[frozenset[FallbackKind], ...]:
    return _CHOICES.get(obstacle) or ((_ANY,) if obstacle.passes else (_ELSEWHERE,))


def _wait_s(step: FallbackStep, tried: HandoffPacket, obstacle: Obstacle) -> float | None:
    """How many seconds to wait before the fallback is taken; None where it leads nowhere."""
    if step.kind is FallbackKind.SAME_TARGET:
        return _retry(step).wait_s(_failed(tried))
    return 0.0 if _is_another(step, tried, obstacle) else None


def _retry(step: FallbackStep) -> Retry:
    return Retry(step.attempts, step.first_s, step.factor, step.most_s)


def _is_another(step: FallbackStep, packet: HandoffPacket, obstacle: Obstacle) -> bool:
    """Whether the fallback is a target that the obstacle does not stand before."""
    if step.graph != packet.target_graph:
        return True
    if step.agent or not packet.is_new:
        return step.agent != ("" if packet.is_new else packet.target_agent) or step.entry_point != packet.entry_point
    return obstacle not in _OF_THE_GRAPH and step.entry_point != packet.entry_point


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
    step = tried.fallbacks[index]
    changes: dict[str, Any] = {"handoff_id": "", "request": tried.request or tried.handoff_id}
    if obstacle is Obstacle.LOOP:
        changes["evidence"] = readable(details)
    if step.kind is not FallbackKind.SAME_TARGET:
        changes |= {
            "target_graph": step.graph,
            "entry_point": step.entry_point,
            "target_agent": step.agent,
            "is_new": not step.agent,
            "fallbacks": _below(tried, index),
        }
    return tried.model_copy(update=changes)


def _below(tried: HandoffPacket, index: int) -> tuple[FallbackStep, ...]:
    """What is left when the fallback is taken: what lies below it, and what may be tried again."""
    failed = _failed(tried)
    above = (step for step in tried.fallbacks[:index] if step.kind is FallbackKind.SAME_TARGET)
    return (*(step for step in above if _retry(step).wait_s(failed) is not None), *tried.fallbacks[index + 1 :])

"""Choose the next fallback of a handoff after a rejection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from math import inf
from typing import Any, Final

from gatechart.graph.handoff import Fallback, Fallbacks, Human, OtherGraph, SameTarget
from gatechart.graph.selection import Best
from gatechart.handoff.packet import (
    FALLBACK_FIELDS,
    Attempt,
    FallbackKind,
    FallbackStep,
    HandoffPacket,
    SelectionTerms,
    readable,
)
from gatechart.handoff.selections import best_of, declared_terms, with_attempt, with_selection
from gatechart.values.delays import Retry
from gatechart.values.handoffs import Obstacle, Reason


def fallback_steps(
    fallbacks: Fallbacks, terms: Callable[[Best], SelectionTerms] = declared_terms
) -> tuple[FallbackStep, ...]:
    """Convert fallbacks to their form in a packet. terms: converts selections; its exceptions are raised."""
    return tuple(_fallback_step(step, terms) for step in fallbacks.steps)


def fallbacks_of(travelled: Iterable[FallbackStep]) -> Fallbacks:
    """Read fallbacks from their form in a packet."""
    return Fallbacks(*map(_step, travelled))


def longest_wait_s(packet: Mapping[str, Any]) -> float:
    """Return the longest wait, in seconds, before a packet is offered to the same target again; infinity if unknown.

    packet: JSON values, of this release or an earlier one.
    """
    travelled = next((packet[name] for name in FALLBACK_FIELDS if name in packet), ())
    again = (each for each in travelled if each.get("kind") in _AGAIN)
    return max((each["most_s"] for each in again), default=inf)


def _fallback_step(step: Fallback, terms: Callable[[Best], SelectionTerms]) -> FallbackStep:
    if isinstance(step, Best):
        return FallbackStep(kind=FallbackKind.BEST, selection=terms(step))
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


def _step(step: FallbackStep) -> Fallback:
    if step.kind is FallbackKind.SAME_TARGET:
        return SameTarget(attempts=step.attempts, first_s=step.first_s, factor=step.factor, most_s=step.most_s)
    if step.kind is FallbackKind.BEST:
        return best_of(step.selection or SelectionTerms())
    kind = Human if step.kind is FallbackKind.HUMAN else OtherGraph
    return kind(step.graph, at=step.entry_point, agent=step.agent)


_AGAIN: Final = (FallbackKind.SAME_TARGET, "again")  # current name, and the one in older stored packets
_ANY: Final = frozenset(FallbackKind)
_ELSEWHERE: Final = frozenset({FallbackKind.OTHER_GRAPH, FallbackKind.BEST, FallbackKind.HUMAN})
_OTHER: Final = frozenset({FallbackKind.OTHER_GRAPH, FallbackKind.BEST})
_AGAIN_OR_PERSON: Final = (frozenset({FallbackKind.SAME_TARGET}), frozenset({FallbackKind.HUMAN}))
_CHOICES: Final[dict[Obstacle, tuple[frozenset[FallbackKind], ...]]] = {
    Obstacle.OVERLOAD: (_OTHER, *_AGAIN_OR_PERSON),
    Obstacle.WRONG_SKILLS: (_OTHER, frozenset({FallbackKind.HUMAN})),
    Obstacle.LOOP: (frozenset({FallbackKind.HUMAN}),),
}
"""The kinds of fallback to look for, one set after another; for other obstacles see `_choices`."""

_OF_THE_GRAPH: Final = frozenset({Obstacle.UNKNOWN_GRAPH, Obstacle.OVERLOAD})
"""Obstacles that stop every new agent of the graph, whatever its entry point."""


def next_offer(
    packet: HandoffPacket, obstacle: Obstacle, details: str, now: datetime
) -> tuple[HandoffPacket, float] | None:
    """Return the packet of the next attempt and the seconds to wait before it; None if no fallback is left.

    packet: the rejected one. The next packet records the failed attempt and has the new target. Its `handoff_id` is ""
        for the caller to fill in, and so is `target_agent` if the target is a new agent of another graph; a new agent
        that is tried again keeps its id. `request` is the first attempt's id. If the target is still to be chosen, the
        packet has the source as its target.
    An overload tries another graph first, then the same target again, then a human; wrong skills try another graph,
    then a human; a loop escalates to a human, with the details as evidence. Any other temporary obstacle takes the
    fallbacks in order, and a permanent one takes the first other target. Fallbacks above the chosen one are dropped,
    except unused retries, which apply to the target that was tried last. For a new agent, a fallback to the same graph
    is not another target if the graph is unknown or overloaded. The best target in the directory counts as another
    graph. Work without a match takes the first other target, too; a human gets it with the details as evidence.
    """
    tried = with_attempt(packet, obstacle, details, now)
    for kinds in _choices(obstacle):
        for index, step in enumerate(packet.fallbacks):
            wait_s = _wait_s(step, tried, obstacle) if step.kind in kinds else None
            if wait_s is not None:
                return _offer(tried, index, obstacle, details), wait_s
    return None


def told_of_nobody(packet: HandoffPacket) -> dict[str, Any]:
    """Return the fields of a packet to a person that report an earlier choice without a match; none if it had one."""
    last = packet.attempts[-1] if packet.attempts else None
    if last is None or last.obstacle is not Obstacle.NO_MATCH:
        return {}
    return {"reason": Reason.NO_MATCH, "evidence": last.details}


def _choices(obstacle: Obstacle) -> tuple[frozenset[FallbackKind], ...]:
    return _CHOICES.get(obstacle) or ((_ANY,) if obstacle.passes else (_ELSEWHERE,))


def _wait_s(step: FallbackStep, tried: HandoffPacket, obstacle: Obstacle) -> float | None:
    """Return how many seconds to wait before the fallback; None if it has no usable target."""
    if step.kind is FallbackKind.SAME_TARGET:
        return _retry(step).wait_s(_failed(tried))
    return 0.0 if _is_another(step, tried, obstacle) else None


def _retry(step: FallbackStep) -> Retry:
    return Retry(step.attempts, step.first_s, step.factor, step.most_s)


def _is_another(step: FallbackStep, packet: HandoffPacket, obstacle: Obstacle) -> bool:
    """Return whether the fallback is a target that the obstacle does not affect."""
    if step.kind is FallbackKind.BEST or step.graph != packet.target_graph:
        return True
    if step.agent or not packet.is_new:
        return step.agent != ("" if packet.is_new else packet.target_agent) or step.entry_point != packet.entry_point
    return obstacle not in _OF_THE_GRAPH and step.entry_point != packet.entry_point


def _failed(tried: HandoffPacket) -> int:
    """Count the latest consecutive offers to the same target, all of them failed."""

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
    if step.kind is FallbackKind.HUMAN:
        changes |= told_of_nobody(tried)
    if step.kind is FallbackKind.BEST:
        changes["fallbacks"] = _below(tried, index)
        return with_selection(tried, step.selection or SelectionTerms(), **changes)
    if step.kind is not FallbackKind.SAME_TARGET:
        changes |= {
            "target_graph": step.graph,
            "entry_point": step.entry_point,
            "target_agent": step.agent,
            "is_new": not step.agent,
            "selection": None,
            "recipient": "",
            "fallbacks": _below(tried, index),
        }
    return tried.model_copy(update=changes)


def _below(tried: HandoffPacket, index: int) -> tuple[FallbackStep, ...]:
    """Return the fallbacks left after this one: those below it, and unused retries."""
    failed = _failed(tried)
    above = (step for step in tried.fallbacks[:index] if step.kind is FallbackKind.SAME_TARGET)
    return (*(step for step in above if _retry(step).wait_s(failed) is not None), *tried.fallbacks[index + 1 :])

"""The chart and counts of a circuit breaker. The chart calls nothing, and every event brings the current time.

Sources: Polly's circuit breaker, https://www.pollydocs.org/strategies/circuit-breaker.html, for the states, the ratio
over a window and its minimum throughput; Resilience4j's, https://resilience4j.readme.io/docs/circuitbreaker, for the
permitted calls at half-open.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Final

from pydantic import Field

from gatechart.context import AgentContext
from gatechart.graph.definition import ANY, EntryPoint, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.values.agents import Event
from gatechart.values.breakers import BreakerPolicy
from gatechart.values.names import EARLIEST

BUCKETS: Final = 10  # per window, as in Polly


@dataclass(slots=True)
class Bucket:
    """The results of the calls that ended within a tenth of the window."""

    start: datetime
    succeeded: int = 0
    failed: int = 0


class BreakerContext(AgentContext):
    """The counts of a circuit breaker."""

    policy: BreakerPolicy = BreakerPolicy()
    entry: int = 0  # number of changes of its state
    since: datetime = EARLIEST  # the last change of state
    failed_in_a_row: int = 0  # while it is closed
    window: list[Bucket] = Field(default_factory=list)  # while it is closed, the oldest first
    breaks: int = 0  # since it was last closed
    retry_at: datetime | None = None  # while it is open
    open_since: datetime | None = None  # when it first opened since it was last closed
    refused: int = 0  # calls since it last opened
    trials: dict[int, datetime] = Field(default_factory=dict)  # expiry of permits at half-open without a result
    trials_given: int = 0
    trials_succeeded: int = 0
    reason: str = ""


def is_current(context: BreakerContext, event: Event) -> bool:
    """Return whether the call started in this entry of the state. Results of earlier calls are outdated."""
    return bool(event.payload["entry"] == context.entry)


def is_trial(context: BreakerContext, event: Event) -> bool:
    """Return whether the call is a running trial."""
    return is_current(context, event) and event.payload["number"] in context.trials


def is_too_much(context: BreakerContext, event: Event) -> bool:
    """Return whether this failure opens the breaker."""
    policy = context.policy
    if not is_current(context, event):
        return False
    if policy.failures_in_a_row is not None and context.failed_in_a_row + 1 >= policy.failures_in_a_row:
        return True
    if policy.failure_ratio is None:
        return False
    recent = _recent(context, event.time)
    failed = 1 + sum(bucket.failed for bucket in recent)
    calls = failed + sum(bucket.succeeded for bucket in recent)
    return calls >= policy.minimum_throughput and failed / calls >= policy.failure_ratio


def is_break_over(context: BreakerContext, event: Event) -> bool:
    """Return whether the break is over, so that a trial is due."""
    return context.retry_at is None or event.time >= context.retry_at


def has_permit(context: BreakerContext, event: Event) -> bool:
    """Return whether another trial may start."""
    under_way = sum(event.time < until for until in context.trials.values())
    return under_way + context.trials_succeeded < context.policy.permits


def is_last_trial(context: BreakerContext, event: Event) -> bool:
    """Return whether this success is the last one needed to close the breaker."""
    return is_trial(context, event) and context.trials_succeeded + 1 >= context.policy.permits


def note_change(context: BreakerContext, event: Event) -> None:
    """Record the time and the reason of entering the state."""
    context.entry += 1
    context.since = event.time
    context.reason = event.payload.get("reason", context.reason)


def note_success(context: BreakerContext, event: Event) -> None:
    """Count a success."""
    if context.failed_in_a_row:
        context.failed_in_a_row = 0
    if context.policy.failure_ratio is not None:
        _bucket(context, event.time).succeeded += 1


def note_failure(context: BreakerContext, event: Event) -> None:
    """Count a failure."""
    context.failed_in_a_row += 1
    if context.policy.failure_ratio is not None:
        _bucket(context, event.time).failed += 1


def begin_break(context: BreakerContext, event: Event) -> None:
    """Set the time of the next trial."""
    context.breaks += 1
    context.refused = 0
    context.open_since = context.open_since or event.time
    context.retry_at = event.time + timedelta(seconds=context.policy.break_after(context.breaks))


def end_break(context: BreakerContext, _event: Event) -> None:
    """Clear the time of the next trial."""
    context.retry_at = None


def forget_counts(context: BreakerContext, _event: Event) -> None:
    """Reset the counts of the closed state."""
    context.failed_in_a_row = 0
    context.window = []


def forget_breaks(context: BreakerContext, _event: Event) -> None:
    """Reset the number of breaks."""
    context.breaks = 0
    context.open_since = None
    context.reason = ""


def give_trial(context: BreakerContext, event: Event) -> None:
    """Record a permit. If it has no result after the time of a break, it is issued again: its process may have died."""
    expired = [number for number, until in context.trials.items() if until <= event.time]
    for number in expired[:1]:
        del context.trials[number]
    context.trials_given += 1
    until = event.time + timedelta(seconds=context.policy.break_after(context.breaks))
    context.trials[context.trials_given] = until


def take_back(context: BreakerContext, event: Event) -> None:
    """Return the permit, so that it can be issued again."""
    del context.trials[event.payload["number"]]


def note_trial(context: BreakerContext, event: Event) -> None:
    """Count the success of a trial."""
    take_back(context, event)
    context.trials_succeeded += 1


def forget_trials(context: BreakerContext, _event: Event) -> None:
    """Reset the trials."""
    context.trials = {}
    context.trials_given = context.trials_succeeded = 0


def _recent(context: BreakerContext, now: datetime) -> list[Bucket]:
    oldest = now - timedelta(seconds=context.policy.window_s)
    return [bucket for bucket in context.window if bucket.start > oldest]


def _bucket(context: BreakerContext, now: datetime) -> Bucket:
    """Return the bucket for this time. A new one starts once the newest is a tenth of the window old."""
    newest = context.window[-1] if context.window else None
    if newest is None or now - newest.start >= timedelta(seconds=context.policy.window_s / BUCKETS):
        newest = Bucket(now)
        context.window = [*_recent(context, now), newest]
    return newest


def _states() -> list[State[BreakerContext]]:
    return [
        State(
            "CLOSED",
            description="calls go through",
            on_entry=[note_change, forget_breaks],
            on_exit=forget_counts,
        ),
        State(
            "OPEN",
            description="calls are rejected until the break is over",
            on_entry=[note_change, begin_break],
            on_exit=end_break,
        ),
        State(
            "HALF_OPEN",
            description="a few trial calls go through",
            on_entry=[note_change, give_trial],
            on_exit=forget_trials,
        ),
        State("ISOLATED", description="calls are rejected until an operator closes it", on_entry=note_change),
    ]


@cache
def breaker_graph() -> StateTransitionGraph[BreakerContext]:
    """Return the chart of a circuit breaker. A call without an enabled transition is rejected.

    >>> breaker_graph().states
    ('CLOSED', 'OPEN', 'HALF_OPEN', 'ISOLATED')
    """
    return StateTransitionGraph(
        "circuit_breaker",
        context=BreakerContext,
        description="lets calls through until too many fail, and then tries from time to time",
        states=_states(),
        transitions=[
            Transition("CLOSED", "CALL_ASKED"),
            Transition("CLOSED", "CALL_SUCCEEDED", guard=is_current, actions=note_success),
            Transition("CLOSED", "CALL_FAILED", "OPEN", guard=is_too_much),
            Transition("CLOSED", "CALL_FAILED", guard=is_current, actions=note_failure),
            Transition("CLOSED", "THRESHOLD_REACHED", "OPEN", guard=is_current),
            Transition("OPEN", "CALL_ASKED", "HALF_OPEN", guard=is_break_over),
            Transition("HALF_OPEN", "CALL_ASKED", guard=has_permit, actions=give_trial),
            Transition("HALF_OPEN", "CALL_SUCCEEDED", "CLOSED", guard=is_last_trial),
            Transition("HALF_OPEN", "CALL_SUCCEEDED", guard=is_trial, actions=note_trial),
            Transition("HALF_OPEN", "CALL_FAILED", "OPEN", guard=is_trial),
            Transition("HALF_OPEN", "CALL_RELEASED", guard=is_trial, actions=take_back),
            Transition(ANY, "OPERATOR_ISOLATED", "ISOLATED"),
            Transition(ANY, "OPERATOR_CLOSED", "CLOSED"),
        ],
        entry_points=[EntryPoint("CLOSED", description="a breaker that has not been used")],
    )

"""Calls refused by circuit breakers: the text of the failure, and the wait before the next attempt."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from gatechart.errors.operation import BreakerOpenError

SPREAD_S: Final = 4.0
"""Seconds, per refused call, over which the waiting calls are spread after the break."""

MOST_SPREAD_S: Final = 900.0

_GRACE: Final = 0.1  # fraction of `down_s` over which the last attempts are spread if the breaker stays open


def refusal_text(error: BreakerOpenError) -> str:
    """Return the failure message of a call that was refused by the circuit breaker of its tool."""
    when = "" if error.retry_at is None else f" until {error.retry_at:%Y-%m-%d %H:%M:%S} UTC"
    return f"the breaker {error.breaker!r} is {error.state}{when}: {error.reason}"


def wait_for_breakers(
    refusals: Sequence[BreakerOpenError], until: datetime, down_s: float, now: datetime, draw: float
) -> float | None:
    """Return the seconds to wait before the next attempt of a call; None if waiting is useless.

    A call waits until the first breaker lets calls through, and then for a random time, which grows with the number of
    refused calls. Otherwise all waiting calls would arrive when the breaker allows a single trial call.

    refusals: of the tool and its alternatives. until: latest end of the wait. down_s: seconds after which the wait ends
    if all breakers stay open. now: aware, in UTC. draw: random number from 0 to 1.
    """
    moments = [refusal.retry_at for refusal in refusals if refusal.retry_at is not None]
    if not moments:
        return None  # isolated by an operator, for an unknown time
    first, down = min(moments), timedelta(seconds=down_s)
    opened = [refusal.open_since for refusal in refusals if refusal.open_since is not None]
    given_up_at = max(opened, default=now) + down
    if now >= min(until, given_up_at) or first >= min(until, given_up_at):
        return None
    spread_s = min(SPREAD_S * max(refusal.refused for refusal in refusals), MOST_SPREAD_S)
    wait_s = max((first - now).total_seconds(), 0.0) + draw * spread_s
    last_ask = given_up_at + down * draw * _GRACE
    return min(wait_s, (until - now).total_seconds(), (last_ask - now).total_seconds())

"""Calls that circuit breakers refuse: the text of their failure, and how long they wait before the next request."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from gatechart.errors import BreakerOpenError

SPREAD_S: Final = 4.0
"""Calls come back over so many seconds after the break for each one that the breaker has refused."""

MOST_SPREAD_S: Final = 900.0

_GRACE: Final = 0.1  # part of the time of a breaker that stays open over which the last calls ask once more


def refusal_text(error: BreakerOpenError) -> str:
    """Return the message of the failure of a call that the circuit breaker of its tool refused."""
    when = "" if error.retry_at is None else f" until {error.retry_at:%Y-%m-%d %H:%M:%S} UTC"
    return f"the breaker {error.breaker!r} is {error.state}{when}: {error.reason}"


def wait_for_breakers(
    refusals: Sequence[BreakerOpenError], until: datetime, down_s: float, now: datetime, draw: float
) -> float | None:
    """Return the seconds to wait before a call asks again; None if it is not worth waiting.

    Until the first breaker lets a call through, and then for a random time, the longer the more calls it refused:
    otherwise all that wait for it would come at the moment of its one trial call.

    refusals: by the tool and its alternatives. until: when the call stops waiting at the latest. down_s: it stops
    earlier once all breakers have been open for that long without closing, in seconds. now: aware, in UTC. draw: from 0
    to 1.
    """
    moments = [each.retry_at for each in refusals if each.retry_at is not None]
    if not moments:
        return None  # isolated by an operator, who alone knows for how long
    first, down = min(moments), timedelta(seconds=down_s)
    opened = [each.open_since for each in refusals if each.open_since is not None]
    given_up_at = max(opened, default=now) + down
    if now >= min(until, given_up_at) or first >= min(until, given_up_at):
        return None
    spread_s = min(SPREAD_S * max(each.refused for each in refusals), MOST_SPREAD_S)
    wait_s = max((first - now).total_seconds(), 0.0) + draw * spread_s
    last_ask = given_up_at + down * draw * _GRACE
    return min(wait_s, (until - now).total_seconds(), (last_ask - now).total_seconds())

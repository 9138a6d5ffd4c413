"""Rows of circuit breakers. Closed breakers have no row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, select

from gatechart.stores.sql.columns import check_row, from_us, kinds_of, moment_or_none, readable, to_us, us_or_null
from gatechart.stores.sql.tables import breakers
from gatechart.values.breakers import BreakerRecord, BreakerState

_KINDS: Final = kinds_of(breakers)
_ALL: Final = select(breakers)


def breaker_row(breaker: BreakerRecord) -> dict[str, Any]:
    """Return the row of a circuit breaker."""
    return {
        "name": breaker.name,
        "state": breaker.state.value,
        "since_us": to_us(breaker.since),
        "retry_us": us_or_null(breaker.retry_at),
        "breaks": breaker.breaks,
        "reason": breaker.reason,
    }


def stored_breakers(connection: Connection) -> Sequence[BreakerRecord]:
    """Return the readable circuit breakers, by name; unreadable rows are logged."""
    found = (readable(row, _to_breaker, "breakers", "name") for row in connection.execute(_ALL))
    return sorted((breaker for breaker in found if breaker is not None), key=lambda breaker: breaker.name)


def _to_breaker(row: Row[Any]) -> BreakerRecord:
    check_row(row, _KINDS)
    retry_at = moment_or_none(row.retry_us)
    return BreakerRecord(row.name, BreakerState(row.state), from_us(row.since_us), retry_at, row.breaks, row.reason)

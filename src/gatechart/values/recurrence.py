"""When a recurring timer is due: after each period, or at the moments of a cron expression in a time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final, Literal, TypeAlias
from zoneinfo import ZoneInfo

from gatechart.values.cron import USUAL, CronError, library, library_expression
from gatechart.values.delays import DELAY_REMEDY, Delay, delay_text, seconds_of
from gatechart.values.frozen import value
from gatechart.values.zones import zone_named, zone_remedy

Missed: TypeAlias = Literal["one", "each", "none"]

MOST_MISSED: Final = 100
"""The maximum number of missed moments that `each` catches up on; older ones are skipped."""

LATE: Final = timedelta(minutes=1)
"""A moment handled later than this counts as missed."""

SHORTEST_S: Final = 0.001

LONGEST_CRON: Final = 1000
"""The maximum number of characters of a cron expression; realistic ones are much shorter."""

_END: Final = (OverflowError, ValueError, StopIteration)
"""Exceptions raised for a moment outside the years 1 to 9999, the range of datetime."""


@value
class Every:
    """When a recurring timer is due.

    Each moment is computed from the previous one, not from when that was handled, so nothing drifts. A period is
    elapsed time: `Every("1d")` is 24 hours. `Every(cron="0 9 * * MON-FRI", zone="Europe/Berlin")` follows the clocks of
    its zone. A time that they skip is due at the end of the gap; a time that they repeat is due once.

    missed: of the moments missed while no process ran, catch up on `one`, on `each` (the newest 100), or on `none`.

    >>> Every("1d").text, Every(cron="0 9 * * MON-FRI", zone="Europe/Berlin").text
    ('1d', '0 9 * * MON-FRI Europe/Berlin')
    """

    period: Delay | None = None
    cron: str = ""  # minute, hour, day of the month, month, day of the week
    zone: str = "UTC"  # of the cron expression
    missed: Missed = "one"

    @property
    def text(self) -> str:
        """The recurrence as text in drawings and charts."""
        if self.period is not None:
            return delay_text(self.period)
        return " ".join(self.cron.split()) + ("" if self.zone == "UTC" else f" {self.zone}")

    @property
    def fault(self) -> tuple[str, str] | None:
        """Problem and remedy if the recurrence is invalid; None if it is valid."""
        if (self.period is None) is (not self.cron):
            return "it has neither or both of a period and cron=", "write Every('1d') or Every(cron='0 9 * * MON-FRI')"
        if self.missed not in ("one", "each", "none"):
            return f"missed={self.missed!r:.100}", "write 'one', 'each' or 'none'"
        return self._cron_fault() if self.period is None else self._period_fault(self.period)

    def _period_fault(self, period: Delay) -> tuple[str, str] | None:
        seconds = seconds_of(period)
        if seconds is None:
            return f"{period!r:.100} is not a duration", DELAY_REMEDY
        if seconds < SHORTEST_S:
            return f"{period!r:.100} is too short a period", "write a millisecond or more"
        if self.zone != "UTC":
            return f"zone={self.zone!r:.100}, but a period is the same in all zones", "write cron=, or drop zone="
        return None

    def _cron_fault(self) -> tuple[str, str] | None:
        if zone_named(self.zone) is None:
            return f"unknown time zone {self.zone!r:.100}", zone_remedy()
        if not isinstance(self.cron, str):
            return f"{self.cron!r:.100} is not a cron expression", f"write a text such as '{USUAL}'"
        if len(self.cron) > LONGEST_CRON:
            return f"the cron expression has {len(self.cron):,} characters", f"write {LONGEST_CRON:,} or fewer"
        try:
            library_expression(self.cron)
        except CronError as error:
            return f"{self.cron!r:.100} is not a cron expression: {error}", f"write one such as '{error.remedy}'"
        return None

    def next_after(self, moment: datetime) -> datetime | None:
        """Return the first moment after this one, in UTC; for a period, one period later.

        None if there is none up to the end of the year 9999. Raises ValueError if the moment has no time zone.
        """
        if moment.tzinfo is None:
            raise ValueError(f"{moment!r} has no time zone; give it one, such as tzinfo=UTC")
        try:
            return moment + self._period() if self.period is not None else _next_cron(self.cron, self.zone, moment)
        except _END:
            return None

    def following(self, due: datetime, now: datetime) -> datetime | None:
        """Return the moment after the one handled now. It is in the past if another missed moment must be caught up on.

        None if there is none up to the end of the year 9999.
        """
        try:
            return self._following(due, now)
        except _END:
            return None

    def _following(self, due: datetime, now: datetime) -> datetime | None:
        if self.missed == "each":
            following = self.next_after(due)
            return None if following is None else max(following, self._oldest(due, now))
        if self.period is None:
            return self.next_after(max(due, now))
        periods = max((now - due) // self._period(), 0) + 1
        return due + periods * self._period()

    def is_skipped(self, due: datetime, now: datetime) -> bool:
        """Return whether the moment handled now was missed and must be skipped."""
        return self.missed == "none" and now - due > LATE

    def _period(self) -> timedelta:
        return timedelta(seconds=seconds_of(self.period) or 0)

    def _oldest(self, due: datetime, now: datetime) -> datetime:
        """Return the oldest missed moment to catch up on."""
        if self.period is not None:
            periods = (now - due) // self._period()
            return due + max(periods - MOST_MISSED + 1, 1) * self._period()
        return _oldest_cron(self.cron, self.zone, now)


def _next_cron(expression: str, zone: str, moment: datetime) -> datetime:
    moments = library().CronSim(library_expression(expression), moment.astimezone(ZoneInfo(zone)))
    # In the second pass of a repeated hour, the iterator first yields times of the first pass.
    following: datetime = next(utc for local in moments if (utc := local.astimezone(UTC)) > moment)
    return following


def _oldest_cron(expression: str, zone: str, now: datetime) -> datetime:
    """Return the oldest of the moments up to now to catch up on."""
    second = timedelta(seconds=1)
    earlier = library().CronSim(library_expression(expression), (now + second).astimezone(ZoneInfo(zone)), reverse=True)
    *_, oldest = islice(earlier, MOST_MISSED)
    return _next_cron(expression, zone, oldest.astimezone(UTC) - second)

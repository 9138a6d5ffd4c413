"""A clock that tests set by hand."""

from __future__ import annotations

import asyncio
from bisect import insort
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from gatechart.values.delays import Delay, seconds_in


@dataclass(frozen=True, order=True, slots=True)
class _Sleeper:
    due: datetime
    number: int  # with the same due time, the lower number wakes first
    woken: asyncio.Future[None] = field(compare=False)


class VirtualClock:
    """A Clock that moves only when a test moves it, so that no test ever waits.

    Pass it as `Runtime.open(..., clock=clock)`. Sleepers wake as soon as the clock reaches their moment, in order of
    their due times.

    >>> clock = VirtualClock(datetime(2030, 1, 1, tzinfo=UTC))
    >>> clock.advance("2d")
    >>> clock.now().isoformat()
    '2030-01-03T00:00:00+00:00'
    >>> clock.at = datetime(2031, 1, 1, tzinfo=UTC)
    >>> clock.now().year
    2031
    """

    def __init__(self, at: datetime = datetime(2000, 1, 1, tzinfo=UTC)) -> None:
        self._sleepers: list[_Sleeper] = []
        self._number = 0
        self.at = at

    @property
    def at(self) -> datetime:
        """The current time, in UTC. Set it to any aware datetime, even a past one; a naive one is a ValueError."""
        return self._at

    @at.setter
    def at(self, moment: datetime) -> None:
        if moment.tzinfo is None:
            raise ValueError(f"{moment!r} has no time zone; give it one, such as tzinfo=UTC")
        self._at = moment.astimezone(UTC)
        while self._sleepers and self._sleepers[0].due <= self._at:
            sleeper = self._sleepers.pop(0)
            if not sleeper.woken.done():
                sleeper.woken.set_result(None)

    @property
    def next_due(self) -> datetime | None:
        """The next moment when a sleeper is due; None if there is no sleeper."""
        return next((sleeper.due for sleeper in self._sleepers if not sleeper.woken.done()), None)

    @property
    def sleeping(self) -> int:
        """The number of sleepers."""
        return len(self._sleepers)

    def now(self) -> datetime:
        """See Clock."""
        return self._at

    def advance(self, by: Delay) -> None:
        """Move the clock forward, and wake every sleeper that is due. A negative number of seconds moves it back.

        Raises ValueError if it is not a duration.
        """
        self.at += timedelta(seconds=by if isinstance(by, int | float) else seconds_in(by))

    async def sleep_until(self, moment: datetime) -> None:
        """See Clock."""
        if moment <= self._at:
            return
        self._number += 1
        sleeper = _Sleeper(moment, self._number, asyncio.get_running_loop().create_future())
        insort(self._sleepers, sleeper)
        try:
            await sleeper.woken
        finally:
            self._sleepers = [other for other in self._sleepers if other is not sleeper]

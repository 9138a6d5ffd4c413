"""The system clock and random ids, the defaults of a runtime."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from functools import partial
from secrets import token_hex
from typing import Final

from gatechart.values.names import AgentId

LONGEST_NAP_S: Final = 5.0


class SystemClock:
    """The machine's clock."""

    now = staticmethod(partial(datetime.now, UTC))
    """Return the current time in UTC."""

    async def sleep_until(self, moment: datetime) -> None:
        """See Clock. Notices within a few seconds if the clock was set or the machine slept."""
        while (left_s := (moment - self.now()).total_seconds()) > 0:  # noqa: ASYNC110  a clock has no event to wait for
            await asyncio.sleep(min(left_s, LONGEST_NAP_S))


def random_id() -> AgentId:
    """Return 32 random hexadecimal digits: 128 bits from the operating system."""
    return token_hex(16)

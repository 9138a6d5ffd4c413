"""The clock and the ids of this machine, which a runtime uses unless it is given others."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from secrets import token_hex
from typing import Final

from gatechart.values import AgentId

LONGEST_NAP_S: Final = 5.0


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return datetime.now(UTC)

    async def sleep_until(self, moment: datetime) -> None:
        """See Clock. A clock that is set meanwhile, or a machine that slept, is noticed within a few seconds."""
        while (left_s := (moment - self.now()).total_seconds()) > 0:  # noqa: ASYNC110  a clock tells nobody that it goes on
            await asyncio.sleep(min(left_s, LONGEST_NAP_S))


def random_id() -> AgentId:
    """32 random hexadecimal digits: 128 bits from the operating system."""
    return token_hex(16)

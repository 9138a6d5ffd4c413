"""Calls of tools by the steps: through the tool box and its policies, in one place.

A step may be done again after a failure, so one that toggles, charges or pays looks first what was done already.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias
from zlib import crc32

from gatechart import Work
from statecharts.telecom_support.context import TelecomContext
from statecharts.telecom_support.tools import Services

TelecomWork: TypeAlias = Work[Services]

_WAIT_S: Final = 120  # for tools, at least
_SPREAD_S: Final = 120


async def call(work: TelecomWork, tool: str, **arguments: Any) -> Any:
    """Call a tool and return its answer: text, or what JSON holds. Raises ToolFailedError and OutcomeUnknownError."""
    return (await work.call(tool, **arguments)).unwrap()


async def look_up_line(context: TelecomContext, work: TelecomWork) -> Any:
    """Look up what the company knows of the user's line."""
    return await call(work, "get_details_by_id", id=context.line.line_id)


async def wait_for_tools(_context: TelecomContext, work: TelecomWork) -> None:
    """Wait until tools may work again, each agent for another time.

    A circuit breaker lets one call through when its break is over. If all who had failed were back at that moment, the
    others would be rejected, and fail again.
    """
    await work.sleep("for tools", _WAIT_S + crc32(work.agent_id.encode()) % _SPREAD_S)

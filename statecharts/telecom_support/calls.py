"""Calls of tools by the steps: through the tool box and its policies, in one place."""

from __future__ import annotations

from typing import Any, TypeAlias

from gatechart import Work
from statecharts.telecom_support import answers
from statecharts.telecom_support.context import TelecomContext
from statecharts.telecom_support.tools import Services

TelecomWork: TypeAlias = Work[Services]


async def call(work: TelecomWork, tool: str, **arguments: Any) -> Any:
    """Call a tool and return its answer: text, or what JSON holds. Raises ToolFailedError and OutcomeUnknownError."""
    return (await work.call(tool, **arguments)).unwrap()


async def switch(work: TelecomWork, tool: str, *, on: bool) -> None:
    """Call a tool that toggles a setting until it says that the setting is as wanted.

    Its answer decides, so it does not matter whether an earlier call, of which no answer came, had toggled it.
    """
    if answers.is_on(await call(work, tool)) is not on:
        await call(work, tool)


async def look_up_line(context: TelecomContext, work: TelecomWork) -> Any:
    """Look up what the company knows of the user's line."""
    return await call(work, "get_details_by_id", id=context.line.line_id)

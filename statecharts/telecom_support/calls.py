"""Calls of tools by the steps: through the tool box, in one place."""

from __future__ import annotations

from itertools import count
from typing import Any, Final, TypeAlias

from gatechart import Retry, Work
from gatechart.hosting.invoke_context import Step
from gatechart.tools import ToolContext
from statecharts.telecom_support import answers
from statecharts.telecom_support.context import TelecomContext
from statecharts.telecom_support.tools import Services

TelecomWork: TypeAlias = Work[Services]

RETRY: Final = Retry(attempts=4)


async def call(work: TelecomWork, tool: str, **arguments: Any) -> Any:
    """Call a tool and return its answer: text, or what JSON holds. Raises what the tool raises."""
    found = work.services.tools.get(tool)
    assert found is not None
    known = ToolContext(
        tool=tool, agent_id=work.agent_id, call_id="", idempotency_key="", attempt=1, services=work.services
    )
    return await work.step(Step(f"{tool} {next(_numbers)}", retry=RETRY), found.function, known, **arguments)


_numbers = count(1)


async def switch(work: TelecomWork, tool: str, *, on: bool) -> None:
    """Call a tool that toggles a setting until it says that the setting is as wanted.

    Its answer decides, so it does not matter whether an earlier call, of which no answer came, had toggled it.
    """
    if answers.is_on(await call(work, tool)) is not on:
        await call(work, tool)


async def look_up_line(context: TelecomContext, work: TelecomWork) -> Any:
    """Look up what the company knows of the user's line."""
    return await call(work, "get_details_by_id", id=context.line.line_id)

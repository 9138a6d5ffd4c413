"""Agents that the watchdog examines."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime

from pydantic import Field

from gatechart import AgentContext
from gatechart.errors import UnknownAgentError
from gatechart.values.framework import WATCHDOG_AGENT
from gatechart.watchdog import WatchdogTerms
from gatechart.watchdog.graph import WatchdogContext

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


UNLEARNED = WatchdogTerms(learns=False)


class Case(AgentContext):
    heard: list = Field(default_factory=list)


class Sink:
    def __init__(self):
        self.got = []

    async def deliver(self, alert):
        self.got.append(alert)


async def until(holds):
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def kept(runtime, holds):
    """What the watchdog keeps, as soon as this holds of it."""
    async with asyncio.timeout(30):
        while True:
            with suppress(UnknownAgentError):  # before its first look
                context = WatchdogContext.model_validate((await runtime.read(WATCHDOG_AGENT)).context)
                if holds(context):
                    return context
            await asyncio.sleep(0.01)

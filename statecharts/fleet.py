"""A fleet of agents at work in a process of its own, which may be killed at any moment and started again.

`python -m statecharts.fleet URL SIZE` starts the agents, or resumes those that the store knows, and sends each its
whole scenario. It writes a line for each event that was committed, now or before.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any, Final

from gatechart import Agent, Outcome, Runtime
from gatechart.errors import AgentExistsError
from statecharts.customer_service import customer_service
from statecharts.customer_service.scenarios import scenarios
from statecharts.scenario import Scenario, begin, tell
from statecharts.services import Services

COMMITTED: Final = "committed"
REPEATED: Final = "repeated"
LIVES: Final = tuple(scenario for scenario in scenarios if not scenario.takes_time)


def scenario_of(number: int) -> Scenario:
    """Return the scenario of the agent with this number."""
    return LIVES[number % len(LIVES)]


def agent_id_of(number: int) -> str:
    """Return the id of the agent with this number."""
    return f"agent-{number:04}"


def events_of(size: int) -> int:
    """How many events a fleet of this size is sent in all."""
    return sum(scenario_of(number).sent for number in range(size))


async def run_fleet(runtime: Runtime, size: int, on_outcome: Callable[[Outcome], None] = lambda _: None) -> None:
    """Brings every agent to the end of its scenario, all at once.

    Each event has an id, so one that was committed before a crash is not applied again: its outcome is a repeat.
    """
    async with asyncio.TaskGroup() as group:
        for number in range(size):
            group.create_task(_live(runtime, number, on_outcome))


async def _live(runtime: Runtime, number: int, on_outcome: Callable[[Outcome], None]) -> None:
    agent = await _begin_or_resume(runtime, number)
    scenario = scenario_of(number)
    for position in range(len(scenario.events)):
        outcome = await tell(agent, scenario, position)
        if outcome is not None:
            on_outcome(outcome)


async def _begin_or_resume(runtime: Runtime, number: int) -> Agent[Any]:
    try:
        return await begin(scenario_of(number), runtime, agent_id_of(number))
    except AgentExistsError:
        return await runtime.resume(agent_id_of(number))


async def _main(url: str, size: int) -> None:
    def tell(outcome: Outcome) -> None:
        sys.stdout.write(f"{REPEATED if outcome.repeat else COMMITTED}\n")
        sys.stdout.flush()

    async with Runtime.open(url, graphs=[customer_service], services=Services()) as runtime:
        await run_fleet(runtime, size, tell)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2])))

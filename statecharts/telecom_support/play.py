"""Plays tasks: one agent for each ticket, a world for each agent, and a clock that nobody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Final, Protocol, TypeVar

from gatechart import Agent, Runtime
from gatechart.values.frozen import value
from statecharts.telecom_support.context import TelecomContext
from statecharts.telecom_support.graph import telecom_support
from statecharts.telecom_support.score import Scored
from statecharts.telecom_support.ticket import Ticket
from statecharts.telecom_support.tools import Services
from statecharts.telecom_support.world import Failing, Used, World

POLICY_TIME: Final = datetime(2025, 2, 25, 17, 8, tzinfo=UTC)
"""The policy's current time, 2025-02-25 12:08:00 EST."""

ENDS: Final = ("RESOLVED", "TRANSFERRED", "UNSERVED")


class Task(Protocol):
    """A ticket, the world that it is about, and the judge of what became of it. An agent knows the ticket alone."""

    @property
    def id(self) -> str:
        """What the task is called."""
        ...

    @property
    def ticket(self) -> str:
        """The ticket."""
        ...

    @property
    def is_repairable(self) -> bool:
        """Whether the support can repair it; otherwise a person must take it."""
        ...

    @property
    def gold(self) -> tuple[Used, ...]:
        """The changes by which it can be repaired; there may be other ways."""
        ...

    def begin(self) -> World:
        """Return the world as the task finds it, the same each time."""
        ...

    def holds(self, world: World) -> bool:
        """Whether everything holds that must hold in the end; a transfer is not looked at."""
        ...


TaskT = TypeVar("TaskT", bound=Task)


@value
class Chances:
    """How tools fail: the share of their uses, from 0 to 1, and the seed of the draws."""

    failing: float = 0.0
    seed: int = 0


ALL_WORK: Final = Chances()  # no tool fails


async def play(
    tasks: Sequence[Task],
    runtime: Runtime,
    services: Services,
    chances: Chances = ALL_WORK,
    *,
    presumes_consent: bool = True,
    on_scored: Callable[[Scored], None] = lambda _: None,
    at_once: int = 20,
) -> None:
    """Play the tasks, so many at once, and call on_scored with each as it ends.

    runtime: open, with the graphs of `graph.graphs`, these services, and a clock that `hurried` moves.
    presumes_consent: see Ticket. at_once: 1 or more. Raises the first error of a task.
    """
    waiting = iter(enumerate(tasks, start=1))

    async def play_on() -> None:
        for number, task in waiting:
            ticket = Ticket(ticket=task.ticket, presumes_consent=presumes_consent)
            on_scored(await play_task(task, f"case-{number}", ticket, runtime, services, chances))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(play_on())
    except ExceptionGroup as problems:
        raise problems.exceptions[0] from None


async def play_task(
    task: Task, agent_id: str, ticket: Ticket, runtime: Runtime, services: Services, chances: Chances
) -> Scored:
    """Open the task's ticket, and wait for the end of its agent."""
    world = task.begin()
    failing = Failing(world, chances.failing, Random(f"{chances.seed} {task.id}"))
    services.worlds[agent_id] = failing
    try:
        agent = await runtime.start(telecom_support, at="OPEN_TICKET", payload=ticket, agent_id=agent_id)
        await agent.until(*ENDS)
    finally:
        del services.worlds[agent_id]
    return _scored(task, agent, failing, holds=task.holds(world))


def _scored(task: Task, agent: Agent[TelecomContext], failing: Failing, *, holds: bool) -> Scored:
    context, changes = agent.context, failing.changes
    return Scored(
        task.id,
        topic=context.request.topic or "",
        is_repairable=task.is_repairable,
        ended_in=agent.configuration[0],
        because=context.transferred_because,
        holds=holds,
        gold=len(task.gold),
        gold_made=sum(each in changes for each in task.gold),
        beyond_gold=sum(each not in task.gold for each in changes),
        uses=failing.uses,
        failures=failing.failures,
    )


def sample(tasks: Sequence[TaskT], number: int | None, seed: int) -> tuple[TaskT, ...]:
    """Draw so many of the tasks, and leave them in their order; all if None, or more than there are."""
    if number is None or number >= len(tasks):
        return tuple(tasks)
    return tuple(tasks[index] for index in sorted(Random(seed).sample(range(len(tasks)), number)))

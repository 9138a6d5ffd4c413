"""The verbs about schedules, which every home of agents has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from gatechart.api.arguments import made
from gatechart.api.commands import (
    Command,
    DeleteScheduleCommand,
    PauseScheduleCommand,
    ResumeScheduleCommand,
    RunScheduleCommand,
    ScheduleCommand,
    SchedulesCommand,
)
from gatechart.graph import AnyGraph, graph_name
from gatechart.turn import plain_payload
from gatechart.values import Delay, Missed, Name, Overlap, Schedule, delay_text, name_of


class SchedulingHome(ABC):
    """The part of `AgentHome` that is about schedules."""

    @abstractmethod
    async def execute(self, command: Command) -> Any:
        """See AgentHome."""
        ...

    async def schedule(
        self,
        name: str,
        graph: Name | AnyGraph,
        *,
        at: Name,
        payload: Any = None,
        every: Delay | None = None,
        cron: str = "",
        zone: str = "UTC",
        missed: Missed = "one",
        overlap: Overlap | str = Overlap.SKIP,
    ) -> Schedule:
        """Start agents again and again: at an entry point, with a payload, as `start` does.

        It can be repeated whenever a program begins: a schedule that is like this already goes on, and one that differs
        is changed. If it recurs otherwise, it begins anew now; else the next moment stays. The id of each agent is made
        of the name and the moment, so none is started twice.

        name: of the schedule, up to 200 characters. graph, at, payload: see `start`.
        every: the period, the first one from now; or cron: minute, hour, day, month and weekday in a time zone.
        zone, missed: see `Every`.
        overlap: what to do if the agent started last still lives: `skip` the moment, `queue_one` start for when it has
        ended, or `start` another one.

        Raises PayloadError, UnknownGraphError, EntryRefusedError, and AgentExistsError if an agent of another graph has
        the id of the schedule's own agent; then nothing changed.
        """
        command = made(
            ScheduleCommand,
            name=name,
            graph=graph_name(graph),
            at=name_of(at),
            payload=None if payload is None else plain_payload(payload, "schedule"),
            every=delay_text(every) if isinstance(every, timedelta) else every,
            cron=cron,
            zone=zone,
            missed=missed,
            overlap=overlap,
        )
        schedule: Schedule = await self.execute(command)
        return schedule

    async def schedules(self, *, after: str | None = None, limit: int = 100) -> Sequence[Schedule]:
        """List schedules in the order they were made, a page at a time: pass the name of the last as `after`.

        Raises PayloadError, and UnknownScheduleError for `after`.
        """
        found: Sequence[Schedule] = await self.execute(made(SchedulesCommand, after=after, limit=limit))
        return found

    async def pause_schedule(self, name: str) -> Schedule:
        """Let a schedule start no agents until it is resumed. Raises UnknownScheduleError."""
        schedule: Schedule = await self.execute(made(PauseScheduleCommand, name=name))
        return schedule

    async def resume_schedule(self, name: str) -> Schedule:
        """Let a paused schedule go on from now; what it missed is not made up for.

        One whose agent was rolled back, which drops its timer, goes on with the next moment that it had then.
        Raises UnknownScheduleError.
        """
        schedule: Schedule = await self.execute(made(ResumeScheduleCommand, name=name))
        return schedule

    async def run_schedule(self, name: str, *, idempotency_key: str | None = None) -> Schedule:
        """Start an agent of a schedule now, even if it is paused. The overlap policy holds.

        The agent is started soon after this returns; the moment counts neither as the next nor as missed.
        idempotency_key: repeating the call with the same key has no further effect.
        Raises UnknownScheduleError.
        """
        schedule: Schedule = await self.execute(made(RunScheduleCommand, name=name, idempotency_key=idempotency_key))
        return schedule

    async def delete_schedule(self, name: str) -> None:
        """Delete a schedule with its history. The agents that it started go on. Raises UnknownScheduleError."""
        await self.execute(made(DeleteScheduleCommand, name=name))

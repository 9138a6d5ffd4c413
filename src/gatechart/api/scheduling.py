"""Commands and verbs about schedules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AllowInfNan, Field, Strict

from gatechart.api.arguments import made
from gatechart.api.codec import DONE, SCHEDULE, SCHEDULES, Answer
from gatechart.api.command import Command, Executor, Limit, Plain, ScheduleName, WritingCommand
from gatechart.api.route import Route
from gatechart.graph.graph import AnyGraph, graph_name
from gatechart.turn.arguments import plain_payload
from gatechart.values.delays import Delay, delay_text
from gatechart.values.names import Name, name_of
from gatechart.values.recurrence import Missed
from gatechart.values.schedules import MOST_COUNTED, MOST_RUNNING, Overlap, Schedule


class ScheduleCommand(WritingCommand):
    """`schedule`. It says how a schedule should be, so it can be repeated as it is."""

    answer: ClassVar[Answer[Any]] = SCHEDULE
    route: ClassVar[Route] = Route("POST", "/schedules", "Schedule the start of agents, or change a schedule")
    verb: Literal["schedule"] = "schedule"
    name: ScheduleName
    graph: str
    at: str
    payload: Plain | None = None
    every: Annotated[float, Strict(), AllowInfNan(False)] | str | None = None
    cron: str = ""
    zone: str = "UTC"
    missed: Missed = "one"
    overlap: Overlap = Overlap.SKIP
    most_running: Annotated[int, Strict(), Field(ge=1, le=MOST_COUNTED)] = MOST_RUNNING


class SchedulesCommand(Command):
    """`schedules`."""

    answer: ClassVar[Answer[Any]] = SCHEDULES
    route: ClassVar[Route] = Route("GET", "/schedules", "List schedules in the order they were made, a page at a time")
    verb: Literal["schedules"] = "schedules"
    after: ScheduleName | None = None
    limit: Limit = 100


class PauseScheduleCommand(WritingCommand):
    """`pause_schedule`. A schedule that is paused stays so, so the command can be repeated as it is."""

    answer: ClassVar[Answer[Any]] = SCHEDULE
    route: ClassVar[Route] = Route("POST", "/schedules/{name}/pause", "Let a schedule start no agents for now")
    verb: Literal["pause_schedule"] = "pause_schedule"
    name: ScheduleName


class ResumeScheduleCommand(WritingCommand):
    """`resume_schedule`. A schedule that is not paused goes on, so the command can be repeated as it is."""

    answer: ClassVar[Answer[Any]] = SCHEDULE
    route: ClassVar[Route] = Route("POST", "/schedules/{name}/resume", "Let a paused schedule go on from now")
    verb: Literal["resume_schedule"] = "resume_schedule"
    name: ScheduleName


class RunScheduleCommand(WritingCommand):
    """`run_schedule`."""

    answer: ClassVar[Answer[Any]] = SCHEDULE
    route: ClassVar[Route] = Route("POST", "/schedules/{name}/run", "Start an agent of a schedule now", 202)
    verb: Literal["run_schedule"] = "run_schedule"
    name: ScheduleName
    idempotency_key: str | None = None


class DeleteScheduleCommand(WritingCommand):
    """`delete_schedule`. When repeated, it finds no such schedule, and says so."""

    answer: ClassVar[Answer[Any]] = DONE
    route: ClassVar[Route] = Route("DELETE", "/schedules/{name}", "Delete a schedule; its agents go on", 204)
    verb: Literal["delete_schedule"] = "delete_schedule"
    name: ScheduleName


class SchedulingHome(Executor):
    """The part of `AgentHome` that is about schedules."""

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
        most_running: int = MOST_RUNNING,
    ) -> Schedule:
        """Start agents again and again: at an entry point, with a payload, as `start` does.

        It can be repeated whenever a program begins: a schedule that is like this already goes on, and one that differs
        is changed. If it recurs otherwise, it begins anew now; else the next moment stays. The id of each agent is made
        of the name and the moment, so none is started twice.

        name: of the schedule, up to 200 characters. graph, at, payload: see `start`.
        every: the period of 100 ms or more, the first one from now; or cron: minute, hour, day, month and weekday in a
        time zone.
        zone, missed: see `Every`.
        overlap: what to do if the agent started last still lives: `skip` the moment, `queue_one` start for when it has
        ended, or `start` another one.
        most_running: with `start`, how many of its agents may live at once, from 1 to 1,000; further moments are passed
        over.

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
            most_running=most_running,
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

"""Commands and verbs for schedules."""

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
    """`schedule`. It declares the wanted state of a schedule, so it is safe to repeat."""

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
    route: ClassVar[Route] = Route("GET", "/schedules", "List schedules in the order created, a page at a time")
    verb: Literal["schedules"] = "schedules"
    after: ScheduleName | None = None
    limit: Limit = 100


class PauseScheduleCommand(WritingCommand):
    """`pause_schedule`. A repeat leaves the schedule paused, so it is safe."""

    answer: ClassVar[Answer[Any]] = SCHEDULE
    route: ClassVar[Route] = Route("POST", "/schedules/{name}/pause", "Pause a schedule, so that it starts no agents")
    verb: Literal["pause_schedule"] = "pause_schedule"
    name: ScheduleName


class ResumeScheduleCommand(WritingCommand):
    """`resume_schedule`. It does not change a running schedule, so it is safe to repeat."""

    answer: ClassVar[Answer[Any]] = SCHEDULE
    route: ClassVar[Route] = Route("POST", "/schedules/{name}/resume", "Resume a paused schedule from now on")
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
    """`delete_schedule`. A repeat raises UnknownScheduleError."""

    answer: ClassVar[Answer[Any]] = DONE
    route: ClassVar[Route] = Route("DELETE", "/schedules/{name}", "Delete a schedule; its agents continue", 204)
    verb: Literal["delete_schedule"] = "delete_schedule"
    name: ScheduleName


class SchedulingHome(Executor):
    """The part of `AgentHome` for schedules."""

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
        """Start agents repeatedly: at an entry point, with a payload, as `start` does.

        A program can call this whenever it starts: an identical schedule continues, and a different one is changed. If
        its recurrence changes, it restarts now; otherwise the next time stays. The id of each agent is built from the
        name and the time, so no agent is started twice.

        name: of the schedule, up to 200 characters. graph, at, payload: see `start`.
        every: a period of at least 100 ms, the first one from now; or cron: minute, hour, day, month and weekday in a
        time zone.
        zone, missed: see `Every`.
        overlap: what to do if the last started agent is still active: `skip` this start, `queue_one` start until that
        agent has ended, or `start` another agent.
        most_running: with `start`, the most agents that may be active at once, from 1 to 1,000; further starts are
        skipped.

        Raises PayloadError, UnknownGraphError, EntryRefusedError, and AgentExistsError if an agent of another graph has
        the id of the schedule's internal agent; then nothing changed.
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
        """List schedules in the order created, a page at a time: pass the name of the last as `after`.

        Raises PayloadError, and UnknownScheduleError for `after`.
        """
        schedules: Sequence[Schedule] = await self.execute(made(SchedulesCommand, after=after, limit=limit))
        return schedules

    async def pause_schedule(self, name: str) -> Schedule:
        """Pause a schedule: it starts no agents until it is resumed. Raises UnknownScheduleError."""
        schedule: Schedule = await self.execute(made(PauseScheduleCommand, name=name))
        return schedule

    async def resume_schedule(self, name: str) -> Schedule:
        """Resume a paused schedule from now on; missed starts are skipped.

        A rollback of the schedule's agent drops its timer; then it resumes with the next start stored at the time.
        Raises UnknownScheduleError.
        """
        schedule: Schedule = await self.execute(made(ResumeScheduleCommand, name=name))
        return schedule

    async def run_schedule(self, name: str, *, idempotency_key: str | None = None) -> Schedule:
        """Start an agent of a schedule now, even if it is paused. The overlap policy applies.

        The agent is started soon after this returns; the regular starts, next and missed, do not change.
        idempotency_key: repeating the call with the same key has no further effect.
        Raises UnknownScheduleError.
        """
        schedule: Schedule = await self.execute(made(RunScheduleCommand, name=name, idempotency_key=idempotency_key))
        return schedule

    async def delete_schedule(self, name: str) -> None:
        """Delete a schedule with its history. The agents that it started continue. Raises UnknownScheduleError."""
        await self.execute(made(DeleteScheduleCommand, name=name))

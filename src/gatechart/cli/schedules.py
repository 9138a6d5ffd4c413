"""Commands for schedules: list, set, pause, resume, run, delete."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from gatechart.cli.completion import complete_graphs, complete_schedules
from gatechart.cli.errors import UsageError
from gatechart.cli.late_imports import late
from gatechart.cli.options import TIMEOUT_S, PayloadOption, Settings, TimeoutOption, YesOption, read_payload
from gatechart.cli.output import Cell, emit, in_zone, is_confirmed, moment_text, print_hint, print_page, print_table
from gatechart.cli.reading import LimitOption
from gatechart.values.recurrence import Every, Missed
from gatechart.values.schedules import MOST_COUNTED, MOST_RUNNING, Overlap, Schedule, is_too_short

if TYPE_CHECKING:
    from gatechart.api import codec
    from gatechart.api.home import AgentHome
    from gatechart.cli import connection, loading
    from gatechart.cli.connection import HomeConnection
else:
    codec, connection, loading = late("gatechart.api.codec", "gatechart.cli.connection", "gatechart.cli.loading")

NameArgument = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="The name of the schedule.", show_default=False, autocompletion=complete_schedules
    ),
]
GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        autocompletion=complete_graphs,
        help="The graph whose agents the schedule starts.",
        show_default=False,
    ),
]
AtOption = Annotated[
    str, typer.Option("--at", metavar="ENTRY_POINT", help="The entry point to start at.", show_default=False)
]
EveryOption = Annotated[
    str | None, typer.Option("--every", metavar="DURATION", help="The period, such as 1d or 90m.", show_default=False)
]
CronOption = Annotated[
    str,
    typer.Option(
        "--cron",
        metavar="EXPRESSION",
        help="Minute, hour, day, month and weekday: '0 9 * * MON-FRI'.",
        show_default=False,
    ),
]
ZoneOption = Annotated[str, typer.Option("--zone", metavar="ZONE", help="The time zone of --cron: Europe/Berlin.")]
MissedOption = Annotated[
    Missed, typer.Option("--missed", help="Which missed moments to make up for, after a time without a host.")
]
OverlapOption = Annotated[
    Overlap,
    typer.Option(
        "--overlap",
        help="What to do if the agent started last is still active: skip, start another agent, or queue one.",
    ),
]
MostRunningOption = Annotated[
    int,
    typer.Option(
        "--most-running",
        min=1,
        max=MOST_COUNTED,
        metavar="NUMBER",
        help="With --overlap start: how many of its agents may be active at once; further moments are skipped.",
    ),
]
AfterOption = Annotated[
    str | None,
    typer.Option("--after", metavar="NAME", help="Only schedules created after this one.", show_default=False),
]
IdOption = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="ID",
        help="An id for this call: repeating the command with the same id has no further effect.",
        show_default=False,
    ),
]


async def list_schedules(settings: Settings, after: AfterOption = None, limit: LimitOption = 100) -> None:
    """List schedules, which start agents periodically, with the next start and the last agent of each.

    A host, such as `gatechart run`, starts the agents. Works without an app. Each schedule is also an agent: `gatechart
    history schedule:NAME` shows its turns.

    Examples:
      gatechart schedule
      gatechart schedule set nightly report --at COLLECTING --cron '0 3 * * *' --zone Europe/Berlin
      gatechart schedule set poll inbox --at READING --every 10m --overlap start
      gatechart schedule pause nightly
      gatechart schedule run nightly
      gatechart schedule delete nightly
    """
    async with connection.inspect(settings) as runtime:
        schedules = await runtime.schedules(after=after, limit=limit + 1)
    print_page(settings, "schedules", schedules, limit, _document, _print, key="name")


async def set_schedule(
    settings: Settings,
    name: NameArgument,
    graph: GraphArgument,
    at: AtOption,
    payload: PayloadOption = None,
    every: EveryOption = None,
    cron: CronOption = "",
    zone: ZoneOption = "UTC",
    missed: MissedOption = "one",
    overlap: OverlapOption = Overlap.SKIP,
    most_running: MostRunningOption = MOST_RUNNING,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Create a schedule that starts agents of a graph periodically, or change a schedule.

    A schedule that is set again with the same values continues unchanged. A host, such as `gatechart run`, starts the
    agents, one for each moment: their ids are made from the schedule's name and the moment.

    Examples:
      gatechart schedule set nightly report --at COLLECTING --cron '0 3 * * *' --zone Europe/Berlin
      gatechart schedule set poll inbox --at READING --every 10m --overlap start -p '{"folder": "new"}'
    """
    _check_recurrence(every, cron, zone)
    fields = read_payload(payload)

    async def schedule(home: AgentHome) -> Schedule:
        return await home.schedule(
            name,
            graph,
            at=at,
            payload=fields,
            every=every,
            cron=cron,
            zone=zone,
            missed=missed,
            overlap=overlap,
            most_running=most_running,
        )

    await _do(settings, schedule, timeout, needs_graphs=True)


def _check_recurrence(every: str | None, cron: str, zone: str) -> None:
    """Raise UsageError unless exactly one of --every and --cron is given and valid."""
    if (every is None) is (not cron):
        raise UsageError("give either --every, such as --every 1d, or --cron, such as --cron '0 9 * * MON-FRI'")
    if every is not None and zone != "UTC":
        raise UsageError("--zone needs --cron: a period does not depend on the zone")
    if fault := Every(every, cron=cron, zone=zone).fault:
        problem, remedy = fault
        raise UsageError(f"{'--cron and --zone' if cron else '--every'}: {problem}; {remedy}")
    if is_too_short(every):
        raise UsageError(f"--every: {every!r} is too short a period for a schedule; write 100ms or more")


async def pause_schedule(
    settings: Settings,
    name: NameArgument,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Pause a schedule, so that it starts no agents until it is resumed. Agents that it has started continue.

    Examples:
      gatechart schedule pause nightly
    """
    await _do(settings, lambda home: home.pause_schedule(name), timeout)


async def resume_schedule(
    settings: Settings,
    name: NameArgument,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Resume a paused schedule from now on. Missed moments are skipped.

    Examples:
      gatechart schedule resume nightly
    """
    await _do(settings, lambda home: home.resume_schedule(name), timeout)


async def run_schedule(
    settings: Settings,
    name: NameArgument,
    id: IdOption = None,  # noqa: A002
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Start an agent of a schedule now, even if the schedule is paused, unless its overlap policy forbids the start.

    Examples:
      gatechart schedule run nightly
    """
    await _do(settings, lambda home: home.run_schedule(name, idempotency_key=id), timeout)


async def delete_schedule(
    settings: Settings,
    name: NameArgument,
    yes: YesOption = False,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Delete a schedule with its history. Agents that it has started continue.

    Examples:
      gatechart schedule delete nightly --yes
    """
    await connection.check_there(settings)
    if not yes and not is_confirmed(settings, f"Delete the schedule {name!r} and its history?"):
        print_hint("nothing was deleted")
        return

    async def delete(reached: HomeConnection) -> None:
        await reached.home.delete_schedule(name)

    await connection.execute(settings, (), delete, timeout_s=timeout)
    emit(settings, {"name": name, "deleted": True}, f"the schedule {name} was deleted")


async def _do(
    settings: Settings,
    verb: Callable[[AgentHome], Awaitable[Schedule]],
    timeout_s: float,
    *,
    needs_graphs: bool = False,
) -> None:
    """Change a schedule, and print its new state."""
    graphs = loading.load_graphs(settings) if needs_graphs else ()
    if not needs_graphs:
        await connection.check_there(settings)

    async def work(reached: HomeConnection) -> bool:
        schedule = await verb(reached.home)
        emit(settings, _document(schedule), lambda: _print([schedule]))
        return reached.runtime is not None

    if await connection.execute(settings, graphs, work, timeout_s=timeout_s):
        print_hint("a host starts the agents, but no host is running; start one with `gatechart run`")


def _document(schedule: Schedule) -> dict[str, object]:
    document: dict[str, object] = codec.SCHEDULE.plain(schedule)
    return document


def _print(schedules: Sequence[Schedule]) -> None:
    headings = ("NAME", "STARTS", "WHEN", in_zone("NEXT"), "LAST AGENT", "SKIPPED", "PROBLEM")
    print_table(headings, map(_row, schedules))


def _row(schedule: Schedule) -> Sequence[Cell]:
    return (
        schedule.name,
        f"{schedule.graph} at {schedule.at}",
        schedule.every.text,
        "(paused)" if schedule.next is None else moment_text(schedule.next),
        schedule.started[-1] if schedule.started else "",
        str(schedule.skipped),
        schedule.problem,
    )

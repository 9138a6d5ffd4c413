"""Commands for Restate: run the service, register it, move agents to the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from enum import StrEnum
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gatechart.cli.errors import UsageError
from gatechart.cli.late_imports import late
from gatechart.cli.options import NamespaceOption, Settings, duration_option
from gatechart.cli.output import Document, emit, print_facts, print_hint, print_line, working, zoned_text
from gatechart.values.delays import LONGEST_S

if TYPE_CHECKING:
    from gatechart.cli import connection, deployment, loading
    from gatechart.restate.migration.report import MoveReport
else:
    connection, deployment, loading = late(
        "gatechart.cli.connection", "gatechart.cli.deployment", "gatechart.cli.loading"
    )


class Projection(StrEnum):
    """The process that copies turns to a database."""

    HERE = "here"
    ELSEWHERE = "elsewhere"
    ONLY = "only"
    NONE = "none"


BindOption = Annotated[
    str,
    typer.Option(
        "--bind", envvar="GATECHART_RESTATE_BIND", metavar="HOST:PORT", help="The address at which the service listens."
    ),
]
AdminOption = Annotated[
    str,
    typer.Option("--admin", envvar="GATECHART_RESTATE_ADMIN", metavar="URL", help="The admin address of the engine."),
]
IngressOption = Annotated[
    str | None,
    typer.Option(
        "--ingress",
        envvar="GATECHART_RESTATE_INGRESS",
        metavar="URL",
        help="The engine's address for calls, such as http://127.0.0.1:8080; schedules need it to start agents.",
    ),
]
ProjectionOption = Annotated[
    Projection,
    typer.Option(
        "--projection",
        metavar="here|elsewhere|only|none",
        help="Which process copies turns to a database, for reading: here, this process, which owns the --store; "
        "elsewhere, another process of the service; only, this process, which then hosts no agents; or none, "
        "without a history. Choose before the first agent starts, and do not change it.",
    ),
]
SharesOption = Annotated[
    bool,
    typer.Option(
        "--shares-address",
        help="Share the address with other processes that also set this option; each connection reaches one of them.",
    ),
]
TurnOption = Annotated[float, duration_option("--turn", 0.1, "The time limit of a turn.")]
InvokeOption = Annotated[
    float,
    duration_option("--invoke", 1.0, "The time limit of an invoke, all attempts included.", most_s=LONGEST_S),
]
BreakingOption = Annotated[
    bool,
    typer.Option("--breaking", help="Register even if the service no longer offers something that the engine knows."),
]
ServiceArgument = Annotated[
    str, typer.Argument(metavar="[SERVICE]", help="The URL at which the engine reaches the service.")
]


async def serve_engine(
    settings: Settings,
    bind: BindOption = "127.0.0.1:9080",
    namespace: NamespaceOption = "",
    ingress: IngressOption = None,
    projection: ProjectionOption = Projection.HERE,
    turn: TurnOption = 60.0,
    invoke: InvokeOption = 86_400.0,
    shares_address: SharesOption = False,
) -> None:
    """Run the agents of the app as a service for Restate, a distributed engine that stores them.

    The engine calls this service for every event; register the service once, with `gatechart restate register`. The
    service runs until Ctrl-C or SIGTERM. It stores nothing but a copy of the turns in --store, which `list`, `show` and
    `history` read. Requires the extra gatechart[restate].

    Examples:
      gatechart restate serve --store sqlite+aiosqlite:///projection.db
      gatechart restate serve --choosing myapp:choosing
      gatechart restate serve --bind 0.0.0.0:9080 --shares-address --projection elsewhere
      gatechart restate serve --bind 0.0.0.0:9081 --projection only
    """
    restate = _extra()
    graphs = loading.load_graphs(settings)
    async with (
        deployment.opened_choosing(settings) as choosing,
        deployment.opened_services(settings) as services,
        restate.serving(
            bind,
            graphs=graphs,
            services=services,
            projection=settings.store if projection in {Projection.HERE, Projection.ONLY} else None,
            is_projected_elsewhere=projection is Projection.ELSEWHERE,
            only_projects=projection is Projection.ONLY,
            shares_address=shares_address,
            namespace=namespace,
            ingress=ingress,
            terms=restate.Terms(turn_s=turn, invoke_s=invoke),
            choosing=choosing,
            packet_migrations=deployment.load_packet_migrations(),
            tool_policies=deployment.load_tool_policies(),
            stops_on_sigterm=True,
        ) as stop,
    ):
        names = ", ".join(graph.name for graph in loading.newest(graphs))
        who = f"the projection of {names} answers" if projection is Projection.ONLY else f"agents of {names} answer"
        print_hint(f"{who} the engine at {bind}; stop with Ctrl-C")
        await stop.wait()


async def register_service(
    settings: Settings,
    service: ServiceArgument = "http://127.0.0.1:9080",
    admin: AdminOption = "http://127.0.0.1:9070",
    breaking: BreakingOption = False,
) -> None:
    """Register a running service with Restate, so that the engine can call it.

    Do this once for each address, and again when a new release of gatechart changes the service's handlers.

    Examples:
      gatechart restate register
      gatechart restate register http://agents:9080 --admin http://restate:9070
    """
    names = await _extra().register(admin, service, breaking=breaking)
    registered = {"service": service, "admin": admin, "offers": list(names)}
    emit(settings, registered, f"registered {', '.join(names)} of {service} with {admin}")


def _extra() -> Any:
    """Import the package that needs the extra. Raises ExtraMissingError."""
    return import_module("gatechart.restate")


ToOption = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="URL",
        help="The engine's address for calls, such as http://127.0.0.1:8080.",
        show_default=False,
    ),
]
TurnsOption = Annotated[
    int | None,
    typer.Option(
        "--turns",
        min=1,
        metavar="NUMBER",
        help="Move only this many turns of each agent's history; the rest stays in the old database.",
        show_default=False,
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only check, and print the planned move.")]


async def move_agents(
    settings: Settings,
    to: ToOption,
    namespace: NamespaceOption = "",
    turns: TurnsOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Move all agents of the --store to Restate, for good.

    First stop the host, such as `gatechart run`, and start `gatechart restate serve` and register it with the engine.
    Agents move with their mail, timers, invokes, recorded steps, handoffs and event ids, and with their history if the
    service copies turns. Everything is checked before the move, and compared by count and digest before the agents
    start on Restate. Then the old database is sealed: it can be read, but no host can run its agents.

    If the move is interrupted, run the command again to continue. Until the database is sealed, its agents still work.

    --dry-run prints the planned move. It works while a host is running.

    Examples:
      gatechart move --to http://127.0.0.1:8080 --dry-run
      gatechart move --store sqlite+aiosqlite:///agents.db --to http://127.0.0.1:8080
      gatechart move --to http://restate:8080 --namespace shop --turns 1000 --json
    """
    if not to.startswith(("http://", "https://")):
        raise UsageError(f"--to: {to!r} is not the address of an engine; write it like http://127.0.0.1:8080")
    await connection.check_there(settings)
    moved = await _moved(settings.store, to, namespace=namespace, turns=turns, dry_run=dry_run)
    emit(settings, moved_document(moved), partial(_print_moved, moved))


async def _moved(store: str, to: str, **how: Any) -> MoveReport:
    """Move the agents. If interrupted, the KeyboardInterrupt contains the next step."""
    try:
        with working("looking") as show_progress:
            moved: MoveReport = await _mover().move_to_engine(
                store,
                to,
                tell=lambda doing, done, total: show_progress(f"{doing}: {done:,} of {total:,} agents"),
                **how,
            )
    except asyncio.CancelledError:
        raise KeyboardInterrupt("the move is not finished; run the command again to continue") from None
    return moved


def _mover() -> Any:
    """Import the module that needs the extra. Raises ExtraMissingError."""
    return import_module("gatechart.restate.migration.move")


def moved_document(moved: MoveReport) -> Document:
    """Describe a move. A move that was already finished has only its time, and the agents that start only now."""
    summary = {"dry_run": moved.is_dry, "source": moved.source, "to": moved.to, "awakened": moved.awakened}
    if moved.before is not None:
        return {**summary, "moved_before": moved.before}
    return {
        **summary,
        "agents": moved.agents,
        "ended": moved.ended,
        "yet_to_begin": moved.unborn,
        "mail": moved.mail,
        "invokes": moved.invokes,
        "steps": moved.steps,
        "journal_entries": moved.entries,
        "places": moved.places,
        "breakers": moved.breakers,
        "turns": moved.turns,
        "turns_left": moved.turns_left,
        "were_there": moved.were_there,
        "digest": moved.digest,
    }


def _print_moved(moved: MoveReport) -> None:
    if moved.before is not None:
        print_line(f"{moved.source} was moved to {moved.to} at {zoned_text(moved.before)}")
        if moved.awakened:
            print_line(f"{_count(moved.awakened, 'agent')} that had not yet started there continue now")
        return
    print_line(f"{'would move' if moved.is_dry else 'moved'} from {moved.source} to {moved.to}:")
    print_facts(_facts(moved))
    if moved.is_dry:
        print_hint("nothing was changed: this was a dry run")
    else:
        print_hint(f"{moved.source} can still be read; delete it when you no longer need it")


def _facts(moved: MoveReport) -> Iterator[tuple[str, str]]:
    more = [f"{moved.ended:,} of them ended"] * bool(moved.ended)
    more += [f"{moved.were_there:,} moved before"] * bool(moved.were_there)
    more += [f"{moved.unborn:,} more yet to start"] * bool(moved.unborn)
    yield "agents", f"{moved.agents:,}" + (f" ({', '.join(more)})" if more else "")
    yield "mail", f"{moved.mail:,}, timers included"
    yield "invokes", f"{moved.invokes:,} open, with {_count(moved.steps, 'recorded step')}"
    if moved.entries:
        yield "journals", _count(moved.entries, "entry", "entries")
    yield "places", f"{moved.places:,} held"
    if moved.breakers:
        yield "breakers", f"{moved.breakers:,} not closed"
    if not moved.is_dry:
        left = f"; {moved.turns_left:,} stay in the old database" if moved.turns_left else ""
        yield "history", f"{_count(moved.turns, 'turn')}{left}"
    yield "digest", f"{moved.digest[:16]}{'' if moved.is_dry else ', the same on both sides'}"


def _count(number: int, what: str, plural: str = "") -> str:
    return f"{number:,} {what if number == 1 else plural or f'{what}s'}"

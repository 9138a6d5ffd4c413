"""The commands that have to do with Restate: the service that the engine calls, and telling the engine of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gatechart.cli.apps import load_graphs, load_packet_migrations, newest, opened_services
from gatechart.cli.errors import ExtraMissingError, UsageError
from gatechart.cli.hosting import check_there
from gatechart.cli.options import Settings
from gatechart.cli.output import Document, print_document, print_facts, print_hint, print_line, working

if TYPE_CHECKING:
    from gatechart.restate.migration import Moved


class Projection(StrEnum):
    """Which process projects turns."""

    HERE = "here"
    ELSEWHERE = "elsewhere"
    ONLY = "only"
    NONE = "none"


BindOption = Annotated[
    str, typer.Option("--bind", envvar="GATECHART_RESTATE_BIND", metavar="HOST:PORT", help="Where the service answers.")
]
AdminOption = Annotated[
    str, typer.Option("--admin", envvar="GATECHART_RESTATE_ADMIN", metavar="URL", help="The engine's admin address.")
]
NamespaceOption = Annotated[
    str,
    typer.Option(
        "--namespace",
        envvar="GATECHART_RESTATE_NAMESPACE",
        metavar="NAME",
        help="Keeps applications on one engine apart; the same for all processes of one.",
    ),
]
ProjectionOption = Annotated[
    Projection,
    typer.Option(
        "--projection",
        metavar="here|elsewhere|only|none",
        help="Where turns are projected to a store: by this process, which owns the --store; by another process of "
        "the same service; by this process, which hosts no agents; or nowhere, and there is no history. The same for "
        "all agents from the first on.",
    ),
]
SharesOption = Annotated[
    bool,
    typer.Option(
        "--shares-address", metavar="", help="Listen where others do that say so, too; each connection goes to one."
    ),
]
TurnOption = Annotated[
    float, typer.Option("--turn", min=0.1, metavar="SECONDS", help="How long the actions of a turn may take.")
]
InvokeOption = Annotated[
    float, typer.Option("--invoke", min=1.0, metavar="SECONDS", help="How long an invoke may take in all.")
]
BreakingOption = Annotated[
    bool, typer.Option("--breaking", metavar="", help="Also where something is gone that the engine knew.")
]
ServiceArgument = Annotated[str, typer.Argument(metavar="[SERVICE]", help="Where the engine reaches the service.")]


async def serve_engine(
    settings: Settings,
    bind: BindOption = "127.0.0.1:9080",
    namespace: NamespaceOption = "",
    projection: ProjectionOption = Projection.HERE,
    turn: TurnOption = 60.0,
    invoke: InvokeOption = 86_400.0,
    shares_address: SharesOption = False,
) -> None:
    """Run the agents of the app for Restate, a distributed engine that keeps them.

    The engine calls this service for every event; it has to be told of it once, with `gatechart restate register`. The
    service stays until Ctrl-C or SIGTERM, and keeps nothing but the projection of turns into the --store, which can be
    read with `list`, `show` and `history`. Needs the extra gatechart[restate].

    Examples:
      gatechart restate serve --store sqlite+aiosqlite:///projection.db
      gatechart restate serve --bind 0.0.0.0:9080 --shares-address --projection elsewhere
      gatechart restate serve --bind 0.0.0.0:9081 --projection only
    """
    restate = _extra()
    graphs = load_graphs(settings.app)
    async with (
        opened_services(settings) as services,
        restate.serving(
            bind,
            graphs=graphs,
            services=services,
            projection=settings.store if projection in {Projection.HERE, Projection.ONLY} else None,
            is_projected_elsewhere=projection is Projection.ELSEWHERE,
            only_projects=projection is Projection.ONLY,
            shares_address=shares_address,
            namespace=namespace,
            terms=restate.Terms(turn_s=turn, invoke_s=invoke),
            packet_migrations=load_packet_migrations(),
            stops_on_sigterm=True,
        ) as stop,
    ):
        names = ", ".join(graph.name for graph in newest(graphs))
        who = f"the projection of {names} answers" if projection is Projection.ONLY else f"agents of {names} answer"
        print_hint(f"{who} the engine at {bind}; Ctrl-C ends it")
        await stop.wait()


async def register_service(
    settings: Settings,
    service: ServiceArgument = "http://127.0.0.1:9080",
    admin: AdminOption = "http://127.0.0.1:9070",
    breaking: BreakingOption = False,
) -> None:
    """Tell Restate of a service that runs, so that it can be called.

    Needed once for each address, and again when a release of gatechart changes what the service offers.

    Examples:
      gatechart restate register
      gatechart restate register http://agents:9080 --admin http://restate:9070
    """
    names = await _extra().register(admin, service, breaking=breaking)
    if settings.json:
        print_document({"service": service, "admin": admin, "offers": list(names)})
    else:
        print_line(f"{admin} knows {', '.join(names)} of {service}")


def _extra() -> Any:
    """The package, which needs what not everybody installs. Raises ExtraMissingError."""
    try:
        return import_module("gatechart.restate")
    except ModuleNotFoundError as error:
        raise ExtraMissingError("restate", "restate", error.name or "a package") from error


ToOption = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="URL",
        help="Where they go: the address at which an engine takes calls (http://127.0.0.1:8080).",
        show_default=False,
    ),
]
TurnsOption = Annotated[
    int | None,
    typer.Option(
        "--turns",
        min=1,
        metavar="NUMBER",
        help="Of each agent's history take only the newest turns along; the rest stays in the old database.",
        show_default=False,
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", metavar="", help="Only check and tell, and change nothing.")]


async def move_agents(
    settings: Settings,
    to: ToOption,
    namespace: NamespaceOption = "",
    turns: TurnsOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Take all agents of the --store to Restate, for good.

    End the host first (`gatechart run` and its like), and have `gatechart restate serve` run, registered with the
    engine. Agents go with all that they need: mail, timers, invokes with their recorded steps, handoffs as they stand,
    event ids; and with their history, where the service projects turns. All is checked before anything is moved,
    and compared, by count and digest, before anything begins there. Then the old database is sealed: it can be read,
    and nobody can run its agents any more.

    Interrupted, by Ctrl-C or a crash, run it again: it goes on. Until the database is sealed its agents live there.

    With --dry-run, tell what would be moved. That works while a host runs, too.

    Examples:
      gatechart move --to http://127.0.0.1:8080 --dry-run
      gatechart move --store sqlite+aiosqlite:///agents.db --to http://127.0.0.1:8080
      gatechart move --to http://restate:8080 --namespace shop --turns 1000 --json
    """
    if not to.startswith(("http://", "https://")):
        raise UsageError(
            f"--to {to!r} is no address of an engine, such as http://127.0.0.1:8080; there is no move to a database"
        )
    await check_there(settings)
    moved = await _moved(settings.store, to, namespace=namespace, turns=turns, dry_run=dry_run)
    if settings.json:
        print_document(moved_document(moved))
    else:
        _print_moved(moved)


async def _moved(store: str, to: str, **how: Any) -> Moved:
    """What was moved. Where it is interrupted, the KeyboardInterrupt says how to go on."""
    try:
        with working("looking") as tell:
            moved: Moved = await _mover().move_to_engine(
                store, to, tell=lambda doing, done, total: tell(f"{doing}: {done:,} of {total:,} agents"), **how
            )
    except asyncio.CancelledError:
        raise KeyboardInterrupt("the move is not finished: run it again, and it goes on") from None
    return moved


def _mover() -> Any:
    """The module, which needs what not everybody installs. Raises ExtraMissingError."""
    try:
        return import_module("gatechart.restate.migration.move")
    except ModuleNotFoundError as error:
        raise ExtraMissingError("move", "restate", error.name or "a package") from error


def moved_document(moved: Moved) -> Document:
    """A move as JSON values. One that was made before only tells when, and who goes on only now."""
    about = {"dry_run": moved.is_dry, "source": moved.source, "to": moved.to, "awakened": moved.awakened}
    if moved.before is not None:
        return {**about, "moved_before": moved.before}
    return {
        **about,
        "agents": moved.agents,
        "ended": moved.ended,
        "yet_to_begin": moved.unborn,
        "mail": moved.mail,
        "invokes": moved.invokes,
        "steps": moved.steps,
        "places": moved.places,
        "turns": moved.turns,
        "turns_left": moved.turns_left,
        "were_there": moved.were_there,
        "digest": moved.digest,
    }


def _print_moved(moved: Moved) -> None:
    if moved.before is not None:
        print_line(f"{moved.source} was moved to {moved.to} at {moved.before:%Y-%m-%d %H:%M:%S} UTC")
        if moved.awakened:
            print_line(f"{_count(moved.awakened, 'agent')} that still slept there go on now")
        return
    print_line(f"{'would be moved' if moved.is_dry else 'moved'} from {moved.source} to {moved.to}:")
    print_facts(_facts(moved))
    if moved.is_dry:
        print_hint("nothing was changed: this was a dry run")
    else:
        print_hint(f"{moved.source} is kept for reading, and can be thrown away when nobody needs it")


def _facts(moved: Moved) -> Iterator[tuple[str, str]]:
    more = [f"{moved.ended:,} of them ended"] * bool(moved.ended)
    more += [f"{moved.were_there:,} brought before"] * bool(moved.were_there)
    more += [f"{moved.unborn:,} more yet to begin"] * bool(moved.unborn)
    yield "agents", f"{moved.agents:,}" + (f" ({', '.join(more)})" if more else "")
    yield "mail", f"{moved.mail:,}, timers included"
    yield "invokes", f"{moved.invokes:,} open, with {_count(moved.steps, 'recorded step')}"
    yield "places", f"{moved.places:,} held"
    if not moved.is_dry:
        left = f"; {moved.turns_left:,} stay in the old database" if moved.turns_left else ""
        yield "history", f"{_count(moved.turns, 'turn')}{left}"
    yield "digest", f"{moved.digest[:16]}{'' if moved.is_dry else ', the same on both sides'}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"

"""The commands that have to do with Restate: the service that the engine calls, and telling the engine of it."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from typing import Annotated, Any

import typer

from gatechart.cli.errors import ExtraMissingError
from gatechart.cli.loading import load_graphs, load_packet_migrations, newest
from gatechart.cli.options import Settings
from gatechart.cli.printing import print_document, print_hint, print_line
from gatechart.cli.services import opened_services


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

"""The command `gatechart alarm`, which notifies agents of something that was noticed outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gatechart.cli import conditions
from gatechart.cli.completion import complete_agents
from gatechart.cli.errors import UsageError
from gatechart.cli.late_imports import late
from gatechart.cli.options import TIMEOUT_S, PayloadOption, Settings, TimeoutOption, read_payload
from gatechart.cli.output import emit
from gatechart.cli.reading import WhereOption
from gatechart.values.alarms import RaisedAlarm

if TYPE_CHECKING:
    from gatechart.cli import connection, loading
    from gatechart.cli.connection import HomeConnection
else:
    connection, loading = late("gatechart.cli.connection", "gatechart.cli.loading")

NameArgument = Annotated[
    str,
    typer.Argument(metavar="NAME", help="The name of the alarm; agents get the event alarm.NAME.", show_default=False),
]
AlarmIdOption = Annotated[
    str,
    typer.Option(
        "--id",
        metavar="ID",
        help="The id of the alarm: repeating the command with the same id notifies no agent again.",
        show_default=False,
    ),
]
ToOption = Annotated[
    list[str] | None,
    typer.Option(
        "--to",
        metavar="AGENT",
        autocompletion=complete_agents,
        help="An agent to notify. May be repeated.",
        show_default=False,
    ),
]
GraphOption = Annotated[
    str | None,
    typer.Option("--graph", metavar="GRAPH", help="Notify the active agents of this graph.", show_default=False),
]
MostOption = Annotated[
    int,
    typer.Option("--most", min=1, metavar="NUMBER", help="Notify at most this many agents, or none if more match."),
]


async def raise_alarm(
    settings: Settings,
    name: NameArgument,
    id: AlarmIdOption,  # noqa: A002
    to: ToOption = None,
    graph: GraphOption = None,
    where: WhereOption = None,
    most: MostOption = 100,
    payload: PayloadOption = None,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Raise an alarm: agents get the event alarm.NAME as durable mail.

    --to names the agents. Instead, --graph can select the active agents of a graph, and --where can narrow that
    selection. An agent whose state does not handle the event refuses it, as `gatechart mail --status refused` shows. A
    host, such as `gatechart run`, delivers the mail. Programs that watch agents can post alarms to `gatechart serve`.

    Examples:
      gatechart alarm disk --id m-4711 --to case-1 -p '{"level": 90}'
      gatechart alarm prices.changed --id 2026-07-01 --graph orders --where 'total>=10'
    """
    if bool(to) == (graph is not None):
        raise UsageError("name the recipients: either --to AGENT, or --graph GRAPH")
    if where and graph is None:
        raise UsageError("--where selects among the agents of a graph; add --graph")
    chosen = conditions.parsed(where) if where else None
    fields = read_payload(payload)
    graphs = loading.load_graphs(settings)

    async def raise_in(reached: HomeConnection) -> RaisedAlarm:
        return await reached.home.alarm(
            name, alarm_id=id, payload=fields, to=to or (), graph=graph, where=chosen, most=most
        )

    raised = await connection.execute(settings, graphs, raise_in, timeout_s=timeout)
    document = {"alarm_id": raised.alarm_id, "event": raised.event, "recipients": [*raised.recipients]}
    emit(settings, {**document, "repeat": raised.repeat}, _text(raised))


def _text(raised: RaisedAlarm) -> str:
    names = ", ".join(raised.recipients) or "no agent: none matches"
    again = "; it was raised before, so no agent is notified again" if raised.repeat else ""
    return f"{raised.event} goes to {names}{again}"

"""`gatechart accepts`: what can happen to an agent now. It works while another process owns the database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from gatechart.cli.completion import AgentArgument, complete_events
from gatechart.cli.errors import ExitCode, UsageError
from gatechart.cli.inputs import read_payload
from gatechart.cli.late import late
from gatechart.cli.options import PayloadOption, Settings
from gatechart.cli.output import Cell, emit, print_hint, print_table

if TYPE_CHECKING:
    from gatechart import api
    from gatechart.cli import connection, loading
    from gatechart.drawing import text as drawing_text
    from gatechart.values import AcceptedEvent
else:
    api, connection, loading, drawing_text = late(
        "gatechart.api", "gatechart.cli.connection", "gatechart.cli.loading", "gatechart.drawing.text"
    )

AskedEventArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[EVENT]", autocompletion=complete_events, help="Only what this event would do.", show_default=False
    ),
]


async def show_accepted(
    settings: Settings, agent: AgentArgument, event: AskedEventArgument = None, payload: PayloadOption = None
) -> ExitCode | None:
    """Show what can happen to an agent now: the events that it accepts, and whether its guards agree.

    Guards are asked, and nothing else happens. AGREES is yes, no, or depends: on the payload, which is not known. With
    an EVENT, only that one is asked about, with a --payload if there is one; the exit code is 1 if it would be refused.

    Examples:
      gatechart accepts case-1
      gatechart accepts case-1 FEEDBACK_RECEIVED -p '{"rating": 5}'
      gatechart accepts case-1 --json
    """
    if event is None and payload is not None:
        raise UsageError("a payload needs its event; name it behind the agent")
    graphs = loading.load_graphs(settings)
    async with connection.inspect(settings, graphs) as runtime:
        if event is None:
            found = await runtime.accepts(agent)
            emit(settings, api.AcceptsCommand.answer.plain(found), lambda: _print(found))
            return None
        asked = await runtime.can(agent, event, read_payload(payload))
    emit(settings, api.CanCommand.answer.plain(asked), lambda: _print((asked,)))
    return ExitCode.REFUSED if asked.agrees == "no" else None


def _print(found: Sequence[AcceptedEvent]) -> None:
    if found:
        print_table(
            ("EVENT", "AGREES", "LEADS TO", "IF", "WHY NOT"), (row for each in found for row in accepted_rows(each))
        )
    else:
        print_hint("nothing is accepted")


def accepted_rows(event: AcceptedEvent) -> Iterator[Sequence[Cell]]:
    """Yield a row for each transition, the first with the event: event, verdict, targets, guard, and why not."""
    if not event.transitions:
        yield event.event, event.agrees.value, "", "", event.why_not
    for place, each in enumerate(event.transitions):
        guard = drawing_text.function_text(each.guard) if each.guard else "else" if place else ""
        first = ("", "") if place else (event.event, event.agrees.value)
        yield *first, ", ".join(each.targets) or "(stays)", guard, each.why_not or each.raised

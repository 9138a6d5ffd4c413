"""Commands with which operators do something in the framework's place, and say why."""

from __future__ import annotations

from typing import Annotated

import typer

from gatechart.cli.agent_commands import ReasonOption
from gatechart.cli.documents import mail_document
from gatechart.cli.errors import UsageError
from gatechart.cli.hosting import check_there
from gatechart.cli.mail_commands import NumberArgument
from gatechart.cli.options import AgentArgument, Settings
from gatechart.cli.owners import TimeoutOption, Way, carried_out
from gatechart.cli.payload import read_json
from gatechart.cli.printing import print_document, print_line
from gatechart.clients.database import TIMEOUT_S
from gatechart.values import Mail, Receipt

InvokeArgument = Annotated[str, typer.Argument(metavar="INVOKE", help="The invoke's id.", show_default=False)]
ResultOption = Annotated[
    str | None,
    typer.Option(
        "--result",
        "-r",
        metavar="JSON",
        help="What it returns, in the place of its function: JSON, @FILE, or - for standard input; null if left out.",
        show_default=False,
    ),
]
ErrorOption = Annotated[
    str | None, typer.Option("--error", metavar="TEXT", help="Let it fail with this message.", show_default=False)
]
IdOption = Annotated[
    str | None,
    typer.Option("--id", help="The call's id: made again with it, nothing is ended again.", show_default=False),
]


async def fire_timer(
    settings: Settings,
    number: NumberArgument,
    reason: ReasonOption,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Deliver a timer now, instead of when it is due.

    `gatechart mail --agent AGENT` lists timers with their numbers. Other mail with a due time can be delivered in the
    same way. Whoever hosts the agent, such as `gatechart run`, delivers it; the history tells that an operator did it,
    and why.

    Examples:
      gatechart mail fire 17 --reason "the customer called before the five days were over"
    """
    await check_there(settings)

    async def fire(way: Way) -> Mail:
        return await way.verbs.fire_timer(number, reason=reason)

    fired = await carried_out(settings, (), fire, timeout_s=timeout)
    if settings.json:
        print_document(mail_document(fired))
    else:
        print_line(f"mail {fired.number} is due now for {fired.recipient}: {fired.event}")


async def end_invoke(
    settings: Settings,
    agent: AgentArgument,
    invoke: InvokeArgument,
    reason: ReasonOption,
    result: ResultOption = None,
    error: ErrorOption = None,
    id: IdOption = None,  # noqa: A002
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """End an invoke that an agent is running, with a result that you give or with an error.

    Its function is cancelled, and the agent gets `done.invoke.INVOKE` or `error.invoke.INVOKE`. The history tells that
    an operator did it, and why.

    Examples:
      gatechart end-invoke case-1 scan --result '{"clean": true}' --reason "scanned by hand"
      gatechart end-invoke case-1 scan --error "the scanner is gone" --reason "decommissioned"
    """
    if result is not None and error is not None:
        raise UsageError("--result and --error both say how the invoke ends; give one of them")
    given = read_json("--result", result)
    await check_there(settings)

    async def end(way: Way) -> Receipt:
        return await way.verbs.end_invoke(agent, invoke, given, error=error, reason=reason, once=id)

    receipt = await carried_out(settings, (), end, timeout_s=timeout)
    if settings.json:
        print_document({"agent_id": agent, "invoke": invoke, "mail": receipt.number, "repeat": receipt.repeat})
    elif receipt.repeat:
        print_line(f"a call of the id {id} was made before; nothing was ended again")
    else:
        print_line(f"invoke {invoke} of {agent} was ended; mail {receipt.number} tells the agent")

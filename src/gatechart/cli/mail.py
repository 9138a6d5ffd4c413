"""Commands for mail and invokes: post, list, show, retry, discard, fire, end-invoke."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gatechart.cli.agents import ReasonOption
from gatechart.cli.completion import AgentArgument, complete_events
from gatechart.cli.errors import UsageError
from gatechart.cli.late_imports import late
from gatechart.cli.options import TIMEOUT_S, PayloadOption, Settings, TimeoutOption, read_due, read_json, read_payload
from gatechart.cli.output import emit, print_page, print_warning
from gatechart.cli.reading import LimitOption
from gatechart.errors.operation import UnknownMailError
from gatechart.errors.root import GatechartError
from gatechart.values.homes import Role
from gatechart.values.mail import Mail, MailStatus, Receipt
from gatechart.values.queries import MailQuery

if TYPE_CHECKING:
    from gatechart import stores
    from gatechart.cli import agent_views, connection, loading
    from gatechart.cli.connection import HomeConnection
    from gatechart.hosting import registry
    from gatechart.ports import Store
    from gatechart.runtime import posted_mail
else:
    agent_views, connection, loading, posted_mail, registry, stores = late(
        "gatechart.cli.agent_views",
        "gatechart.cli.connection",
        "gatechart.cli.loading",
        "gatechart.runtime.posted_mail",
        "gatechart.hosting.registry",
        "gatechart.stores",
    )

EventArgument = Annotated[
    str,
    typer.Argument(metavar="EVENT", autocompletion=complete_events, help="The name of the event.", show_default=False),
]
IdOption = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="ID",
        help="The id of the mail: repeating the command with the same id does not post it again.",
        show_default=False,
    ),
]
DueOption = Annotated[
    str | None,
    typer.Option(
        "--due",
        metavar="MOMENT|DELAY",
        help="When to deliver it, such as 2026-07-01T12:00+02:00 or 30m. Default: at once.",
        show_default=False,
    ),
]
RecipientOption = Annotated[
    str | None, typer.Option("--agent", metavar="AGENT", help="Only mail for this agent.", show_default=False)
]
StatusOption = Annotated[
    MailStatus | None, typer.Option("--status", help="Only mail with this status.", show_default=False)
]
AfterOption = Annotated[
    int, typer.Option("--after", min=0, metavar="NUMBER", help="Only mail after this number.", show_default=False)
]
FrameworkMailOption = Annotated[
    bool, typer.Option("--framework", help="Also list mail to the agents of gatechart itself, such as schedules.")
]
NumberArgument = Annotated[
    int, typer.Argument(metavar="NUMBER", min=1, help="The number of the mail.", show_default=False)
]
NumbersArgument = Annotated[
    list[int],
    typer.Argument(metavar="NUMBER...", min=1, help="The number of the mail, or several numbers.", show_default=False),
]


async def post_event(
    settings: Settings,
    agent: AgentArgument,
    event: EventArgument,
    payload: PayloadOption = None,
    id: IdOption = None,  # noqa: A002
    due: DueOption = None,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Post mail: an event that an agent gets later.

    When the command returns, the mail is durable; a host, such as `gatechart run`, delivers it. Mail that the agent
    refuses, or that fails at every attempt, is listed by `gatechart mail`. To wait for the outcome, use `gatechart
    send`.

    Examples:
      gatechart post case-1 REMINDER_DUE --due 2h
      gatechart post case-1 FEEDBACK_RECEIVED -p '{"rating": 5}' --id form-4711
    """
    fields = read_payload(payload)
    moment = read_due("--due", due, datetime.now(UTC))
    async with stores.open_store(settings.store, role=Role.READER) as store:
        is_known = bool(await store.load_many([agent]))

    async def post(reached: HomeConnection) -> Receipt:
        return await reached.home.post(agent, event, fields, event_id=id, due=moment)

    receipt = await connection.execute(settings, (), post, timeout_s=timeout)
    emit(
        settings,
        {"agent_id": agent, "event": event, "mail": receipt.number, "repeat": receipt.repeat},
        f"mail with the id {id} was posted before; it was not posted again"
        if receipt.repeat
        else f"mail {receipt.number} waits for {agent}",
    )
    if not is_known:
        print_warning(f"unknown agent {agent!r}; the mail waits until it is started")


async def list_mail(
    settings: Settings,
    agent: RecipientOption = None,
    status: StatusOption = None,
    after: AfterOption = 0,
    limit: LimitOption = 100,
    framework: FrameworkMailOption = False,
) -> None:
    """List mail that is waiting, refused or dead, in the order accepted.

    Waiting mail is delivered in order, once it is due; timers are mail, too. Dead mail has failed at every attempt.
    Applied mail is in `gatechart history`. Mail to the agents of gatechart itself, such as schedules, is listed with
    --framework, or with --agent. Works without an app; with one, it also shows which mail is deferred.

    Examples:
      gatechart mail --status dead
      gatechart mail --agent case-1 --json
      gatechart mail show 17
      gatechart mail retry 17 18
      gatechart mail discard 17
    """
    query = MailQuery(agent, status, after, limit + 1, framework=framework or agent is not None)
    async with stores.open_store(settings.store, role=Role.READER) as store:
        mail = await _with_reasons(settings, store, await store.mail(query))
    print_page(settings, "mail", mail, limit, agent_views.mail_document, agent_views.print_mail)


async def show_mail(settings: Settings, number: NumberArgument) -> None:
    """Show mail with its payload, and why it was refused or is dead.

    Examples:
      gatechart mail show 17
    """
    async with stores.open_store(settings.store, role=Role.READER) as store:
        [mail] = await _with_reasons(settings, store, [await _numbered(store, number)])
    emit(settings, agent_views.mail_document(mail), partial(agent_views.print_whole_mail, mail))


async def _with_reasons(settings: Settings, store: Store, mail: Sequence[Mail]) -> Sequence[Mail]:
    """Add the reason why mail waits, if it is deferred and an app is named."""
    with suppress(GatechartError, UsageError):  # an app that cannot be loaded hides no mail
        if mail and loading.find_app(settings.app) is not None:
            graphs = registry.Registry(loading.load_graphs(settings))
            return await posted_mail.shown_mail(store, graphs, mail, datetime.now(UTC))
    return mail


async def retry_mail(
    settings: Settings,
    numbers: NumbersArgument,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Deliver refused or dead mail again, after the mail that is waiting for its agent.

    Failed mail that waits for its next attempt keeps its position, and is tried at once. A host, such as `gatechart
    run`, delivers the mail. If one of the numbers is wrong, nothing is done.

    Examples:
      gatechart mail retry 17
      gatechart mail --status dead --json | jq '.mail[].number' | xargs gatechart mail retry
    """
    async with stores.open_store(settings.store, role=Role.READER) as store:
        for number in numbers:
            mail = await _numbered(store, number)
            if mail.status is MailStatus.WAITING and mail.retry_at is None:
                raise UnknownMailError(number)
    _print_done(settings, await _for_all(settings, numbers, "retry", timeout), "is waiting again for")


async def discard_mail(
    settings: Settings,
    numbers: NumbersArgument,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Delete refused or dead mail for good. If one of the numbers is wrong, nothing is done.

    Examples:
      gatechart mail discard 17 18
    """
    async with stores.open_store(settings.store, role=Role.READER) as store:
        for number in numbers:
            if (await _numbered(store, number)).status is MailStatus.WAITING:
                raise UnknownMailError(number)
    _print_done(settings, await _for_all(settings, numbers, "discard", timeout), "was deleted, for")


async def _for_all(
    settings: Settings, numbers: Sequence[int], verb: Literal["retry", "discard"], timeout_s: float
) -> Sequence[Mail]:
    """Retry or discard mail by number, each once, even if the owner of the database ends meanwhile."""
    done: dict[int, Mail] = {}

    async def work(reached: HomeConnection) -> None:
        for number in numbers:
            if number not in done:
                done[number] = await getattr(reached.home, verb)(number)

    await connection.execute(settings, (), work, timeout_s=timeout_s)
    return list(done.values())


async def _numbered(store: Store, number: int) -> Mail:
    page = await store.mail(MailQuery(after=number - 1, limit=1))
    if not page or page[0].number != number:
        raise UnknownMailError(number)
    return page[0]


def _print_done(settings: Settings, mail: Sequence[Mail], what: str) -> None:
    lines = (f"mail {each.number} {what} {each.recipient}: {each.event}" for each in mail)
    emit(settings, {"mail": list(map(agent_views.mail_document, mail))}, "\n".join(lines))


InvokeArgument = Annotated[str, typer.Argument(metavar="INVOKE", help="The id of the invoke.", show_default=False)]
ResultOption = Annotated[
    str | None,
    typer.Option(
        "--result",
        "-r",
        metavar="JSON",
        help="The result: JSON, @FILE to read it from a file, or - for standard input. Default: null.",
        show_default=False,
    ),
]
ErrorOption = Annotated[
    str | None, typer.Option("--error", metavar="TEXT", help="Fail the invoke with this message.", show_default=False)
]
CallIdOption = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="ID",
        help="An id for this call: repeating the command with the same id has no further effect.",
        show_default=False,
    ),
]


async def fire_timer(
    settings: Settings,
    number: NumberArgument,
    reason: ReasonOption,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """Fire a timer now, before it is due.

    `gatechart mail --agent AGENT` lists timers with their numbers. Other mail that is not due can be delivered early in
    the same way. A host, such as `gatechart run`, delivers the mail. The history names the operator as the origin of
    the event, with the reason.

    Examples:
      gatechart mail fire 17 --reason "the customer called before the five days were over"
    """
    await connection.check_there(settings)

    async def fire(reached: HomeConnection) -> Mail:
        return await reached.home.fire_timer(number, reason=reason)

    fired = await connection.execute(settings, (), fire, timeout_s=timeout)
    emit(
        settings,
        agent_views.mail_document(fired),
        f"mail {fired.number} is due now for {fired.recipient}: {fired.event}",
    )


async def end_invoke(
    settings: Settings,
    agent: AgentArgument,
    invoke: InvokeArgument,
    reason: ReasonOption,
    result: ResultOption = None,
    error: ErrorOption = None,
    id: CallIdOption = None,  # noqa: A002
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
) -> None:
    """End a running invoke of an agent with a result or an error.

    The function is cancelled, and the agent gets `done.invoke.INVOKE` or `error.invoke.INVOKE`. The history names the
    operator as the origin of that event, with the reason.

    Examples:
      gatechart end-invoke case-1 scan --result '{"clean": true}' --reason "scanned by hand"
      gatechart end-invoke case-1 scan --error "the scanner is gone" --reason "decommissioned"
    """
    if result is not None and error is not None:
        raise UsageError("--result and --error contradict each other; give one of them")
    given = read_json("--result", result)
    await connection.check_there(settings)

    async def end(reached: HomeConnection) -> Receipt:
        return await reached.home.end_invoke(agent, invoke, given, error=error, reason=reason, idempotency_key=id)

    receipt = await connection.execute(settings, (), end, timeout_s=timeout)
    emit(
        settings,
        {"agent_id": agent, "invoke": invoke, "mail": receipt.number, "repeat": receipt.repeat},
        f"the invoke was ended before with the id {id}; nothing was done again"
        if receipt.repeat
        else f"invoke {invoke} of {agent} was ended; mail {receipt.number} notifies the agent",
    )

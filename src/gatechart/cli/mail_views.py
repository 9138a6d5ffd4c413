"""How people see mail, and what waits for an agent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from rich.text import Text

from gatechart.cli.printing import Cell, print_facts, print_line, print_table
from gatechart.values import ActiveInvocation, Event, Mail, MailStatus, Origin

_STYLES: Final = {
    MailStatus.WAITING: "green",
    MailStatus.REFUSED: "yellow",
    MailStatus.DEAD: "bold red",
    MailStatus.UNREADABLE: "bold red",
}


def print_mail(mail: Sequence[Mail]) -> None:
    """Mail, a row each."""
    columns = ("MAIL", "STATUS", "AGENT", "WHEN (UTC)", "EVENT, REASON")
    print_table(columns, map(_mail_row, mail), whole=("MAIL", "STATUS", "AGENT", "WHEN (UTC)"))


def print_whole_mail(mail: Mail) -> None:
    """All that is known of mail."""
    facts: list[tuple[str, Cell]] = [
        ("mail", str(mail.number)),
        ("agent", mail.recipient),
        ("event", mail.event),
        ("payload", json.dumps(mail.payload, ensure_ascii=False)),
        ("status", _status_text(mail)),
    ]
    known: list[tuple[str, Cell | None]] = [
        ("id", mail.id),
        ("sender", mail.sender),
        ("origin", origin_text(mail.happens(mail.accepted))),
        ("accepted", _time(mail.accepted)),
        ("due", _time(mail.due)),
        ("of state", mail.state),
        ("key", mail.key),
        ("attempts", str(mail.attempts) if mail.attempts else None),
        ("next attempt", _time(mail.retry_at)),
        ("reason", mail.reason or None),
    ]
    print_facts([*facts, *((name, value) for name, value in known if value is not None)])


def origin_text(event: Event) -> str:
    """Say who made an event happen, and an operator's reason."""
    if event.origin is Origin.OPERATOR:
        return f"operator: {event.operator_reason}"
    return f"agent {event.sender}" if event.origin is Origin.AGENT else event.origin.value


def print_waiting(mail: Sequence[Mail], running: Sequence[ActiveInvocation]) -> None:
    """What waits for an agent, and what its states have under way; nothing where there is neither."""
    if mail:
        print_line()
        print_table(("WAITS", "WHEN (UTC)", ""), [(each.event, _when(each), f"mail {each.number}") for each in mail])
    if running:
        print_line()
        rows = [(each.invocation.invoke, each.invocation.state) for each in running]
        print_table(("INVOKES", "IN"), rows)


def print_dead(mail: Sequence[Mail]) -> None:
    """Mail of an agent whose every attempt failed; nothing where there is none."""
    if mail:
        print_line()
        rows = [(Text(each.event, _STYLES[MailStatus.DEAD]), f"mail {each.number}", each.reason) for each in mail]
        print_table(("DEAD", "", "REASON"), rows)


def _mail_row(mail: Mail) -> Sequence[Cell]:
    told = Text(mail.event)
    if mail.reason:
        told.append(f"\n{mail.reason}", "dim")
    return str(mail.number), _status_text(mail), mail.recipient, _when(mail), told


def _status_text(mail: Mail) -> Text:
    tried = f", {mail.attempts} attempt{'s' * (mail.attempts != 1)}" if mail.attempts else ""
    return Text(f"{mail.status.value}{tried}", _STYLES[mail.status])


def _when(mail: Mail) -> str:
    """When it is to be delivered; of what is not, when it was accepted."""
    moment = (mail.retry_at or mail.due) if mail.status is MailStatus.WAITING else mail.accepted
    return _time(moment) or "at once"


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}"

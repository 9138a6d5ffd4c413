"""The tables of an alerts file: sinks, and what the watchdog does. Pydantic is needed, so only what runs imports it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from gatechart.alerts.mailbox import Mailbox
from gatechart.alerts.sinks import AlertSink
from gatechart.alerts.webhook import Webhook
from gatechart.cli.errors import UsageError
from gatechart.errors.root import GatechartError, suggestion
from gatechart.graph.handoff import Handoff
from gatechart.watchdog.home import Watchdog


def _listed(given: object) -> object:
    return [given] if isinstance(given, str) else given


_Text: TypeAlias = Annotated[str, Field(min_length=1)]
_Port: TypeAlias = Annotated[int, Field(ge=1, le=65535)]
_Addresses: TypeAlias = Annotated[list[str], BeforeValidator(_listed), Field(min_length=1)]


class _SinkTable(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class WebhookTable(_SinkTable):
    """A table with the url of a webhook."""

    url: _Text
    secret: _Text | None = None
    secret_file: _Text | None = None
    allow_internal: bool = False

    def sink(self, folder: Path) -> AlertSink:
        """Return the sink. folder: where relative paths begin. Raises ValueError and GatechartError."""
        secret = _secret("secret", self.secret, self.secret_file, folder)
        if secret is None:
            raise ValueError("secret: a webhook is signed; give secret, or the path of a file with it as secret_file")
        return Webhook(self.url, secret=secret, allow_internal=self.allow_internal)


class MailboxTable(_SinkTable):
    """A table with the host of a mail server."""

    host: _Text
    port: _Port = 587
    sender: _Text
    to: _Addresses
    user: str = ""
    password: _Text | None = None
    password_file: _Text | None = None
    starttls: bool = True

    def sink(self, folder: Path) -> AlertSink:
        """Return the sink. folder: where relative paths begin. Raises ValueError."""
        password = _secret("password", self.password, self.password_file, folder)
        if bool(self.user) != (password is not None):
            raise ValueError("user: a mail server asks a user for a password; give user and password, or neither")
        return Mailbox(
            self.host,
            sender=self.sender,
            to=self.to,
            port=self.port,
            user=self.user,
            password=password or "",
            starttls=self.starttls,
        )


class EscalationTable(_SinkTable):
    """A table that says who gets the work of an agent."""

    to: _Text
    at: str = ""


class WatchdogTable(_SinkTable):
    """A table that says what is done about findings."""

    acts: dict[_Text, Annotated[list[_Text], BeforeValidator(_listed)]] = Field(default_factory=dict)
    restart_at: dict[_Text, _Text] = Field(default_factory=dict)
    escalate_to: EscalationTable | None = None

    def watchdog(self, every: str, alerts: Iterable[str]) -> Watchdog:
        """Return the watchdog. every: how often it looks. alerts: names of sinks. Raises ValueError."""
        to = self.escalate_to
        return Watchdog(
            every,
            alerts=alerts,
            acts=self.acts,
            escalate_to=None if to is None else Handoff(to.to, at=to.at),
            restart_at=self.restart_at,
        )


_EXAMPLES: Final[Mapping[str, object]] = {
    "url": "https://hooks.example.org/gatechart",
    "allow_internal": False,
    "host": "smtp.example.org",
    "port": 587,
    "sender": "gatechart@example.org",
    "to": ["ops@example.org"],
    "starttls": True,
    "acts": {"stuck": ["restart"]},
    "restart_at": {"support": "ANSWERING"},
    "escalate_to": {"to": "desk"},
}


def sink_of(place: str, table: Mapping[str, object], folder: Path) -> AlertSink:
    """Return the sink of a table. folder: where relative paths begin. Raises UsageError, which names the place."""
    kind = WebhookTable if "url" in table else MailboxTable if "host" in table else None
    if kind is None:
        raise UsageError(f"{place}: give a url, of a webhook, or the host of a mail server")
    try:
        return kind.model_validate(table).sink(folder)
    except ValidationError as error:
        raise UsageError(f"{place}: {_problem(kind, error)}") from None  # it may quote a secret
    except (GatechartError, ValueError) as error:
        raise UsageError(f"{place}: {error}") from error


def watchdog_table(table: Mapping[str, object]) -> WatchdogTable:
    """Return what a table says about the watchdog. Raises UsageError."""
    try:
        return WatchdogTable.model_validate(table)
    except ValidationError as error:
        raise UsageError(f"[watchdog]: {_problem(WatchdogTable, error)}") from None


def _problem(kind: type[_SinkTable], error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    key = str(fault["loc"][0])
    if fault["type"] == "extra_forbidden":
        return f"unknown key {key!r}; {suggestion(key, [*kind.model_fields])}"
    return f"{key}: {fault['msg']}; write it as in {key} = {json.dumps(_EXAMPLES.get(key, '...'))}"


def _secret(key: str, given: str | None, name: str | None, folder: Path) -> str | None:
    """Return a secret that stands in the table, or in a file of its own. Raises ValueError."""
    if name is None:
        return given
    if given is not None:
        raise ValueError(f"{key}: it is given twice; leave out {key} or {key}_file")
    path = folder / name
    try:
        read = path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise ValueError(f"{key}_file: {str(path)!r} cannot be read: {error}") from error
    if not read:
        raise ValueError(f"{key}_file: {str(path)!r} is empty; write the {key} into it, or leave {key}_file out")
    return read

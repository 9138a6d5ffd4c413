"""The sink that mails alerts by SMTP."""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from collections.abc import Sequence
from contextlib import closing
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr

from pydantic_core import to_json

from gatechart.values.alerts import AlertMessage, Severity

_PRIORITIES = {Severity.NOTICE: "5", Severity.WARNING: "3", Severity.CRITICAL: "1"}


class Mailbox:
    """Mails alerts to a list of addresses, through one SMTP server.

    The connection is encrypted by STARTTLS. A server that does not support it receives nothing, unless
    `starttls=False`. The Message-ID comes from the alert's id, so mail programs recognise a repeat.
    """

    def __init__(
        self,
        host: str,
        *,
        sender: str,
        to: Sequence[str],
        port: int = 587,
        user: str = "",
        password: str = "",
        starttls: bool = True,
        timeout_s: float = 10.0,
        context: ssl.SSLContext | None = None,
    ) -> None:
        """Configure the server and the addresses.

        user, password: login at the server; without a user there is no login. context: the trusted certificates.
        Raises ValueError for an invalid address, for a user without a password, for a password without a user, and for
        a password that would be sent unencrypted.
        """
        self._to = (to,) if isinstance(to, str) else tuple(to)
        for address in (sender, *self._to):
            if "@" not in parseaddr(address)[1] or "\n" in address or "\r" in address:
                raise ValueError(f"{address!r} is not a mail address")
        if not self._to:
            raise ValueError("a mailbox needs at least one address in to=")
        if bool(user) != bool(password):
            raise ValueError("user and password belong together; give both, or neither")
        if user and not starttls:
            raise ValueError("a password is sent only over STARTTLS; remove starttls=False, or user and password")
        self._host, self._port, self._sender = host, port, sender
        self._user, self._password = user, password
        self._tls = (context or ssl.create_default_context()) if starttls else None
        self._timeout_s = timeout_s

    def __repr__(self) -> str:
        return f"Mailbox({self._host!r})"

    async def deliver(self, alert: AlertMessage) -> None:
        """See AlertSink. Passes on the exceptions of smtplib."""
        await asyncio.to_thread(self._send, self._letter(alert))

    def _letter(self, alert: AlertMessage) -> EmailMessage:
        letter = EmailMessage()
        letter["Subject"] = f"[{alert.severity.value}] {_one_line(alert.title)}"
        letter["From"], letter["To"] = self._sender, ", ".join(self._to)
        letter["Date"] = format_datetime(alert.at)
        letter["Message-ID"] = f"<{to_json(alert.id).hex()[:120]}@{parseaddr(self._sender)[1].partition('@')[2]}>"
        letter["X-Priority"] = _PRIORITIES[alert.severity]
        letter["Auto-Submitted"] = "auto-generated"
        about = [
            f"{name}: {_one_line(text)}" for name, text in (("agent", alert.agent_id), ("graph", alert.graph)) if text
        ]
        details = to_json(alert.details or {}, indent=2).decode()
        letter.set_content(
            "\n".join([alert.title, "", *about, f"at: {alert.at.isoformat()}", f"id: {alert.id}", details])
        )
        return letter

    def _send(self, letter: EmailMessage) -> None:
        with closing(smtplib.SMTP(self._host, self._port, timeout=self._timeout_s)) as server:
            if self._tls is not None:
                server.starttls(context=self._tls)  # raises if the server does not offer it
            if self._user:
                server.login(self._user, self._password)
            server.send_message(letter)
            server.quit()


def _one_line(text: str) -> str:
    return " ".join(text.split())

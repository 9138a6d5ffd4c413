"""What `run` and `serve` read of who is alerted, and of the watchdog: a file that charts have no part in."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypedDict

import typer

from gatechart.cli.errors import UsageError
from gatechart.cli.late import late
from gatechart.errors import GatechartError, suggestion

if TYPE_CHECKING:
    from gatechart.alerts import mailbox, sinks, webhook
    from gatechart.hosting import watching
else:
    mailbox, sinks, webhook, watching = late(
        "gatechart.alerts.mailbox", "gatechart.alerts.sinks", "gatechart.alerts.webhook", "gatechart.hosting.watching"
    )

AlertsFileOption = Annotated[
    Path | None,
    typer.Option(
        "--alerts-file",
        metavar="FILE",
        help="A TOML file with the sinks of alerts, each a table such as [sinks.ops].",
        show_default=False,
    ),
]
WatchdogOption = Annotated[
    str | None,
    typer.Option(
        "--watchdog",
        metavar="DURATION",
        help="Look this often for what is wrong, as `gatechart doctor` does, and tell agents and all sinks of it.",
        show_default=False,
    ),
]

_WEBHOOK: Final = ("url", "secret", "secret_file", "allow_internal")
_MAILBOX: Final = ("host", "port", "sender", "to", "user", "password", "password_file", "starttls")


class Watching(TypedDict):
    """Keywords of `Runtime.open`."""

    alerts: sinks.Alerts
    watchdog: watching.Watchdog | None


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of the file, and where it is."""

    place: str
    content: Mapping[str, Any]

    def checked(self, known: tuple[str, ...]) -> dict[str, Any]:
        """Return the values. Raises UsageError for a key that means nothing."""
        for key in self.content:
            if key not in known:
                raise UsageError(f"{self.place}: unknown key {key!r}; {suggestion(key, known)}")
        return {key: value for key, value in self.content.items() if not key.endswith("_file")} | self._from_files()

    def _from_files(self) -> dict[str, str]:
        """Return what stands in files of its own, so that this one has no secret."""
        read: dict[str, str] = {}
        for key, name in self.content.items():
            if key.endswith("_file"):
                try:
                    read[key.removesuffix("_file")] = Path(str(name)).read_text(encoding="utf-8").strip()
                except (OSError, UnicodeError) as error:
                    raise UsageError(f"{self.place}, {key}: {name!r} cannot be read: {error}") from error
        return read

    def made(self, kind: Callable[..., Any], known: tuple[str, ...]) -> Any:
        """Return a sink. Raises UsageError for what it does not take."""
        try:
            return kind(**self.checked(known))
        except (GatechartError, TypeError, ValueError) as error:
            raise UsageError(f"{self.place}: {error}") from error


def watching_of(file: Path | None, every: str | None) -> Watching:
    """Return who is alerted and what watches, by the options. Raises UsageError."""
    alerts = sinks.NO_ALERTS if file is None else sinks.Alerts(_sinks(file))
    if every is None:
        return {"alerts": alerts, "watchdog": None}
    try:
        return {"alerts": alerts, "watchdog": watching.Watchdog(every, alerts=alerts)}
    except (GatechartError, ValueError) as error:
        raise UsageError(f"--watchdog {every}: {error}") from error


def _sinks(file: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"--alerts-file {file}: {error}") from error
    named = _Table(str(file), content).checked(("sinks",)).get("sinks", {})
    if not isinstance(named, dict) or not named or not all(isinstance(each, dict) for each in named.values()):
        raise UsageError(f"--alerts-file {file}: it names no sink; write a table such as [sinks.ops] with a url")
    return {name: _sink(_Table(f"{file}, [sinks.{name}]", each)) for name, each in named.items()}


def _sink(table: _Table) -> Any:
    if "url" in table.content:
        return table.made(webhook.Webhook, _WEBHOOK)
    if "host" in table.content:
        return table.made(mailbox.Mailbox, _MAILBOX)
    raise UsageError(f"{table.place}: give a url, of a webhook, or the host of a mail server")

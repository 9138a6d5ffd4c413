"""What `run` and `serve` read of who is alerted, and of the watchdog: a file that charts have no part in."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from gatechart.cli.errors import UsageError
from gatechart.cli.late_imports import late
from gatechart.errors.root import GatechartError, suggestion

if TYPE_CHECKING:
    from gatechart.alerts import sinks
    from gatechart.cli import sink_tables
    from gatechart.watchdog import home as watching
else:
    sinks, sink_tables, watching = late(
        "gatechart.alerts.sinks", "gatechart.cli.sink_tables", "gatechart.watchdog.home"
    )

AlertsFileOption = Annotated[
    Path | None,
    typer.Option(
        "--alerts-file",
        metavar="FILE",
        help="A TOML file with the sinks of alerts, each a table such as [sinks.ops], and what --watchdog does.",
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


class Watching(TypedDict):
    """Keywords of `Runtime.open`."""

    alerts: sinks.Alerts
    watchdog: watching.Watchdog | None


def watching_of(file: Path | None, every: str | None) -> Watching:
    """Return who is alerted and what watches, by the options. Raises UsageError."""
    alerts, table = (sinks.NO_ALERTS, sink_tables.WatchdogTable()) if file is None else _read(file)
    if every is None:
        if table != sink_tables.WatchdogTable():
            raise UsageError(f"--alerts-file {file}: [watchdog]: nothing looks; give --watchdog DURATION, too")
        return {"alerts": alerts, "watchdog": None}
    try:
        return {"alerts": alerts, "watchdog": table.watchdog(every, alerts)}
    except (GatechartError, ValueError) as error:
        raise UsageError(f"--watchdog {every}: {error}") from error


def _read(file: Path) -> tuple[sinks.Alerts, sink_tables.WatchdogTable]:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
        _check(content)
        named: Mapping[str, Mapping[str, object]] = content.get("sinks", {})
        made = {name: sink_tables.sink_of(f"[sinks.{name}]", each, file.parent) for name, each in named.items()}
        return sinks.Alerts(made), sink_tables.watchdog_table(content.get("watchdog", {}))
    except (OSError, UnicodeError, tomllib.TOMLDecodeError, GatechartError, UsageError) as error:
        raise UsageError(f"--alerts-file {file}: {error}") from error


def _check(content: Mapping[str, object]) -> None:
    """Check that there is nothing but tables of sinks, and one of the watchdog. Raises UsageError."""
    for key in content:
        if key not in ("sinks", "watchdog"):
            raise UsageError(f"unknown key {key!r}; {suggestion(key, ('sinks', 'watchdog'))}")
    named = content.get("sinks")
    if named is None and "watchdog" in content:
        return
    if not isinstance(named, dict) or not named or not all(isinstance(each, dict) for each in named.values()):
        raise UsageError("it names no sink; write a table such as [sinks.ops] with a url")

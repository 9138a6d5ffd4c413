"""All printed output: tables, JSON, hints, errors and the log. In colour on a terminal, unbroken lines in a pipe.

Moments and ages are printed for people: in the local time zone, or in the zone of the environment variable TZ.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gatechart.cli.errors import UsageError
from gatechart.cli.late_imports import late
from gatechart.cli.options import Settings
from gatechart.values.agents import Status
from gatechart.values.names import EARLIEST

if TYPE_CHECKING:
    import pydantic_core

    from gatechart.drawing import text as drawing_text
else:
    pydantic_core, drawing_text = late("pydantic_core", "gatechart.drawing.text")

Cell: TypeAlias = str | Text  # in a str, unprintable characters are escaped
_ENDLESS: Final = 100_000  # columns; the reader of a pipe breaks lines
_STYLES: Final = {
    Status.ACTIVE: "green",
    Status.DONE: "cyan",
    Status.FAILED: "bold red",
    Status.STOPPED: "yellow",
    Status.UNREADABLE: "bold red",
}


def print_document(document: Document) -> None:
    """Print one JSON document."""
    typer.echo(text_of(document))


def print_json_line(document: Document, *, stderr: bool = False) -> None:
    """Print one of many JSON documents, on one line."""
    typer.echo(pydantic_core.to_json(document).decode(), err=stderr)


def emit(settings: Settings, document: Document, shown: Cell | Callable[[], None]) -> None:
    """Print the result of a command: the document with --json, else a line, or the output of a function."""
    if settings.json:
        print_document(document)
    elif callable(shown):
        shown()
    else:
        print_line(shown)


def print_facts(facts: Iterable[tuple[str, Cell]]) -> None:
    """Print names and values, one pair per row."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts:
        grid.add_row(name, _cell(value))
    _print(grid)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Cell]], *, whole: Sequence[str] = ()) -> None:
    """Print a table; columns in `whole` never wrap, the others do if the terminal is too narrow."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=column in whole, overflow="fold")
    for row in rows:
        table.add_row(*map(_cell, row))
    _print(table)


def print_line(line: Cell = "") -> None:
    """Print a line."""
    _print(line)


def print_hint(hint: str) -> None:
    """Print a hint, on stderr."""
    _print(Text(hint, "dim"), stderr=True)


def print_warning(message: str) -> None:
    """Print a warning, on stderr."""
    _print(Text.assemble(("warning: ", "bold yellow"), message), stderr=True)


def print_error(message: str) -> None:
    """Print an error, on stderr."""
    _print(Text.assemble(("error: ", "bold red"), message), stderr=True)


def is_confirmed(settings: Settings, question: str) -> bool:
    """Ask for confirmation at the terminal. Raises UsageError if there is no terminal."""
    if settings.json or not sys.stdin.isatty():
        raise UsageError("the command needs a confirmation and cannot ask for it here; add --yes")
    typer.echo(f"{question} [y/N]: ", err=True, nl=False)
    with interruptible():
        return sys.stdin.readline().strip().lower() in {"y", "yes"}


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C raise KeyboardInterrupt while a line is read: asyncio's handler would wait for the event loop."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Show progress on a terminal; call the yielded function to update the text."""
    with Console(stderr=True, highlight=False).status(Text(what)) as status:
        yield lambda details: status.update(Text(details))


def status_text(status: Status) -> Text:
    """Colour a status."""
    return Text(status.value, _STYLES[status])


def _cell(cell: Cell) -> Cell:
    return drawing_text.visible(cell) if isinstance(cell, str) else cell


def _print(content: Cell | Table, *, stderr: bool = False) -> None:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else _ENDLESS
    console = Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)
    with console.capture() as captured:
        console.print(content, soft_wrap=not isinstance(content, Table))
    lines = (line.rstrip() for line in captured.get().removesuffix("\n").split("\n"))
    typer.echo("\n".join(lines), err=stderr, color=True)  # rich has already chosen the colours


RowT = TypeVar("RowT")


def print_page(
    settings: Settings,
    kind: str,
    entries: Sequence[RowT],
    limit: int,
    document: Callable[[RowT], Document],
    table: Callable[[Sequence[RowT]], None],
    key: str = "number",
) -> None:
    """Print a page, and how to get the next one.

    kind: the name of the entries, also their key in JSON. found: the entries, and one more if there is another page.
    document: converts an entry to JSON. table: prints the entries. key: the field of the last entry for --after.
    """
    rows = entries[:limit]
    next_after = getattr(rows[-1], key) if len(entries) > limit else None

    def show() -> None:
        if rows:
            table(rows)
        else:
            print_hint(f"no {kind} found")
        if next_after is not None:
            print_hint(f"there are more; add --after {next_after}")

    emit(settings, {kind: list(map(document, rows)), "next": next_after}, show)


Document: TypeAlias = dict[str, Any]


def text_of(document: Document) -> str:
    """Write a document as indented JSON."""
    return pydantic_core.to_json(document, indent=2).decode()


_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


@contextmanager
def logging_to_stderr(*, verbose: bool) -> Iterator[None]:
    """Log warnings to stderr, but only errors of gatechart, as commands report the rest. verbose: log everything."""
    root, ours = logging.getLogger(), logging.getLogger("gatechart")
    levels = root.level, ours.level
    handler = logging.StreamHandler()
    handler.setFormatter(_FactsFormatter())
    root.addHandler(handler)
    root.setLevel(logging.INFO if verbose else logging.WARNING)
    ours.setLevel(logging.NOTSET if verbose else logging.ERROR)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(levels[0])
        ours.setLevel(levels[1])


@contextmanager
def logging_of_a_server(*, as_json: bool) -> Iterator[None]:
    """Inside `logging_to_stderr`, also log warnings of gatechart. as_json: a line of JSON for each record."""
    root, ours = logging.getLogger(), logging.getLogger("gatechart")
    level, handlers = ours.level, [each for each in root.handlers if isinstance(each.formatter, _FactsFormatter)]
    ours.setLevel(min(level, logging.WARNING))
    for handler in handlers if as_json else ():
        handler.setFormatter(_JsonFormatter())
    try:
        yield
    finally:
        ours.setLevel(level)
        for handler in handlers:
            handler.setFormatter(_FactsFormatter())


class _JsonFormatter(logging.Formatter):
    """Formats a record as a line of JSON, with its extra fields."""

    def format(self, record: logging.LogRecord) -> str:
        details = {
            "time": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in _STANDARD},
        }
        if record.exc_info:
            details["traceback"] = self.formatException(record.exc_info)
        return pydantic_core.to_json(details, fallback=repr).decode()


class _FactsFormatter(logging.Formatter):
    """Formats a record as its message, followed by the extra fields that are not in the message."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        details = _STANDARD.union(record.args if isinstance(record.args, Mapping) else ())
        facts = (f"{name}={value!r}" for name, value in vars(record).items() if name not in details)
        return " ".join([f"{record.levelname.lower()}: {record.name}: {record.message}", *facts])


_UNITS: Final = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def moment_text(moment: datetime) -> str:
    """Write a moment in local time, to the second; write "unknown" if the row is damaged and its time is lost."""
    return "unknown" if moment <= EARLIEST else f"{_local(moment):%Y-%m-%d %H:%M:%S}"


def clock_text(moment: datetime) -> str:
    """Write the time of day of a moment in local time."""
    return f"{_local(moment):%H:%M:%S}"


def zoned_text(moment: datetime) -> str:
    """Write a moment in local time, with the name of the time zone."""
    local = _local(moment)
    return f"{local:%Y-%m-%d %H:%M:%S} {local.tzname()}"


def in_zone(heading: str) -> str:
    """Add the local time zone to the heading of a column of moments."""
    return f"{heading} ({datetime.now().astimezone().tzname()})"


def age_text(age: timedelta) -> str:
    """Write a duration in its two largest units.

    >>> age_text(timedelta(minutes=125)), age_text(timedelta(seconds=7)), age_text(timedelta(days=3, hours=2))
    ('2h 5m', '7s', '3d 2h')
    """
    left, counts = max(0, int(age.total_seconds())), []
    for unit, seconds in _UNITS:
        count, left = divmod(left, seconds)
        counts.append((count, unit))
    largest = next((place for place, (count, _) in enumerate(counts) if count), len(counts) - 1)
    details = [f"{count}{unit}" for count, unit in counts[largest : largest + 2] if count]
    return " ".join(details) or "0s"


def _local(moment: datetime) -> datetime:
    try:
        return moment.astimezone()
    except (OverflowError, OSError):  # the first or the last year of the calendar
        return moment.astimezone(UTC)

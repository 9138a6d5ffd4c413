"""What people read: facts, tables and errors. In colour on a terminal only, and without line breaks in a pipe."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final, Protocol, TypeAlias, TypeVar

import typer
from pydantic_core import to_json
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gatechart.cli.options import Settings
from gatechart.drawing.text import visible
from gatechart.values import Status

Cell: TypeAlias = str | Text  # of a text, what cannot be printed is written out
_ENDLESS: Final = 100_000  # columns; whoever reads a pipe breaks lines as they like
_STYLES: Final = {
    Status.ACTIVE: "green",
    Status.DONE: "cyan",
    Status.FAILED: "bold red",
    Status.STOPPED: "yellow",
    Status.UNREADABLE: "bold red",
}


def print_document(document: Document) -> None:
    """One JSON document on stdout."""
    typer.echo(text_of(document))


def print_json_line(document: Document, *, stderr: bool = False) -> None:
    """One of many JSON documents, in one line."""
    typer.echo(to_json(document).decode(), err=stderr)


def print_facts(facts: Iterable[tuple[str, Cell]]) -> None:
    """Names and what they stand for, one below the other."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts:
        grid.add_row(name, _cell(value))
    _print(grid)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Cell]], *, whole: Sequence[str] = ()) -> None:
    """A table; the columns in `whole` are never broken, the others where the terminal is too narrow."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=column in whole, overflow="fold")
    for row in rows:
        table.add_row(*map(_cell, row))
    _print(table)


def print_line(line: Cell = "") -> None:
    """One line on stdout."""
    _print(line)


def print_hint(hint: str) -> None:
    """A line on stderr that helps on, and is no part of what was asked for."""
    _print(Text(hint, "dim"), stderr=True)


def print_warning(message: str) -> None:
    """What may be wrong, on stderr."""
    _print(Text.assemble(("warning: ", "bold yellow"), message), stderr=True)


def print_error(message: str) -> None:
    """What went wrong, on stderr."""
    _print(Text.assemble(("error: ", "bold red"), message), stderr=True)


def is_confirmed(question: str) -> bool:
    """Whether whoever sits at the terminal answers yes. Ctrl-C ends the command, as everywhere."""
    typer.echo(f"{question} [y/N]: ", err=True, nl=False)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio's waits for the event loop
    try:
        return sys.stdin.readline().strip().lower() in {"y", "yes"}
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Shows on a terminal that something goes on; call what it gives with how far that is."""
    with Console(stderr=True, highlight=False).status(Text(what)) as status:
        yield lambda told: status.update(Text(told))


def status_text(status: Status) -> Text:
    """The status in its colour."""
    return Text(status.value, _STYLES[status])


def _cell(cell: Cell) -> Cell:
    return visible(cell) if isinstance(cell, str) else cell


def _print(content: Cell | Table, *, stderr: bool = False) -> None:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else _ENDLESS
    console = Console(stderr=stderr, width=width, markup=False, highlight=False, emoji=False)
    with console.capture() as captured:
        console.print(content, soft_wrap=not isinstance(content, Table))
    lines = (line.rstrip() for line in captured.get().removesuffix("\n").split("\n"))
    typer.echo("\n".join(lines), err=stderr, color=True)  # rich has left out the colours where there should be none


class Numbered(Protocol):
    """What a page holds."""

    @property
    def number(self) -> int:
        """Its place among all, from which the next page goes on."""
        ...


RowT = TypeVar("RowT", bound=Numbered)


def print_page(
    settings: Settings,
    kind: str,
    found: Sequence[RowT],
    limit: int,
    document: Callable[[RowT], Document],
    table: Callable[[Sequence[RowT]], None],
) -> None:
    """A page, and how to get at the next one.

    kind: what the rows are, in a JSON document the key as well. found: those of the page, and one more where there are
    more. document, table: a row as machines read it, and rows as people do.
    """
    rows = found[:limit]
    next_after = rows[-1].number if len(found) > limit else None
    if settings.json:
        print_document({kind: list(map(document, rows)), "next": next_after})
        return
    if rows:
        table(rows)
    else:
        print_hint(f"no {kind} found")
    if next_after is not None:
        print_hint(f"there are more: add --after {next_after}")


Document: TypeAlias = dict[str, Any]


def text_of(document: Document) -> str:
    """The document as JSON text, indented."""
    return to_json(document, indent=2).decode()


_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


@contextmanager
def logging_to_stderr(*, verbose: bool) -> Iterator[None]:
    """Shows warnings; of gatechart's own, which the commands tell in their words, errors only. `verbose` shows all."""
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
    """Inside `logging_to_stderr`: shows gatechart's own warnings, too; as_json: a line of JSON for each record."""
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
    """One JSON object in one line, with the facts that came as fields."""

    def format(self, record: logging.LogRecord) -> str:
        told = {
            "time": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in _STANDARD},
        }
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        return to_json(told, fallback=repr).decode()


class _FactsFormatter(logging.Formatter):
    """The message, and behind it the facts that came as fields and are not in the message already."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        told = _STANDARD.union(record.args if isinstance(record.args, Mapping) else ())
        facts = (f"{name}={value!r}" for name, value in vars(record).items() if name not in told)
        return " ".join([f"{record.levelname.lower()}: {record.name}: {record.message}", *facts])

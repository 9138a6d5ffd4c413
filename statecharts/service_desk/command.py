"""What the commands that replay conversations share: arguments, a bar of progress, errors in one line, exit codes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeAlias, TypeVar

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from gatechart.errors import GatechartError
from statecharts.service_desk.catalogue import Catalogue
from statecharts.service_desk.conversations import Conversation
from statecharts.service_desk.problems import ConversationsError
from statecharts.service_desk.report import Report, Unplayed

File: TypeAlias = Annotated[
    Path | None,
    typer.Argument(envvar="GATECHART_CONVERSATIONS", help="Conversations, one a line as JSON; .gz is unpacked."),
]
Store: TypeAlias = Annotated[str, typer.Option(help="URL of the store; 'memory:' keeps nothing.")]
Services: TypeAlias = Annotated[
    Path | None, typer.Option(help="What the services can do; services.json beside FILE where left out.")
]

ReportT = TypeVar("ReportT", bound=Report)
PlayedT_co = TypeVar("PlayedT_co", bound=Report, covariant=True)


class Load(Protocol):
    """Reads a file of conversations, and one of services."""

    def __call__(
        self, file: Path, services: Path | None, on_problem: Callable[[ConversationsError], None]
    ) -> tuple[tuple[Conversation, ...], Catalogue]:
        """Report each line that is no conversation. Raises ConversationsError."""
        ...


class Play(Protocol[PlayedT_co]):
    """Plays conversations."""

    def __call__(
        self, conversations: Sequence[Conversation], catalogue: Catalogue, on_acts: Callable[[int], None]
    ) -> Coroutine[Any, Any, PlayedT_co]:
        """Call on_acts with the acts of each conversation as it ends."""
        ...


def run(
    file: Path | None,
    services: Path | None,
    load: Load,
    play: Play[ReportT],
    tables: Callable[[ReportT], RenderableType],
) -> None:
    """Load, play and report. Raises typer.Exit: 2 without a file, 1 if something could not be read or played."""
    if file is None:
        raise _complaint("nothing to replay; name a FILE of conversations, or set GATECHART_CONVERSATIONS", code=2)
    unread = list[Unplayed]()
    console = Console()
    try:
        conversations, catalogue = load(file, services, lambda one: unread.append(Unplayed(one.place, one.problem)))
        with _without_refusals(), _progress(console) as progress:
            bar = progress.add_task("acts", total=sum(len(one.acts) for one in conversations))
            report = asyncio.run(play(conversations, catalogue, lambda acts: progress.advance(bar, acts)))
    except GatechartError as error:
        raise _complaint("\n".join([str(error), *_unread(unread)])) from None
    report = replace(report, unplayed=(*unread, *report.unplayed))
    console.print(tables(report))
    if report.unplayed:
        raise typer.Exit(1)


@contextmanager
def _without_refusals() -> Iterator[None]:
    """Keep refusals out of the log meanwhile: the report lists them."""
    ours = logging.getLogger("gatechart")
    level = ours.level
    ours.setLevel(logging.ERROR)
    try:
        yield
    finally:
        ours.setLevel(level)


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
    )


def _unread(lines: Sequence[Unplayed]) -> list[str]:
    """Tell of the lines that could not be read, by the first of them."""
    return [f"{lines[0].conversation}: {lines[0].problem} (lines that cannot be read: {len(lines):,})"] if lines else []


def _complaint(text: str, code: int = 1) -> typer.Exit:
    """Print the text unwrapped, and return the exception that ends the command."""
    Console(stderr=True).print(text, markup=False, soft_wrap=True)
    return typer.Exit(code)

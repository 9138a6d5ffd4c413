"""Lists that come a page at a time, each row with a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from gatechart.cli.documents import Document
from gatechart.cli.options import Settings
from gatechart.cli.printing import print_document, print_hint


class Numbered(Protocol):
    """What a page holds."""

    @property
    def number(self) -> int: ...  # noqa: D102


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

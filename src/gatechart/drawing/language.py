"""Statements of Graphviz's DOT language and its HTML-like labels, from names that may contain any character.

Sources: https://graphviz.org/doc/info/lang.html, https://graphviz.org/doc/info/shapes.html#html
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias
from urllib.parse import quote

from gatechart.drawing.text import one_line, visible


class Markup(str):
    """Text of an HTML-like label: written between angle brackets, not between quotes."""

    __slots__ = ()


Value: TypeAlias = Markup | str | float


def identity(name: str) -> str:
    """Return a name as part of an identifier: unique, and free of colons, so that parts can be joined.

    >>> identity("IDLE"), identity('say "hi": 1')
    ('IDLE', 'say%20%22hi%22%3A%201')
    """
    return quote(name, safe="", errors="surrogatepass")


def statement(subject: str, **attributes: Value) -> str:
    """Return a DOT statement: the subject with its attributes.

    >>> statement(node("IDLE"), label="Idle", penwidth=1.5)
    '"IDLE" [label="Idle", penwidth=1.5]'
    """
    written = ", ".join(f"{name}={_written(value)}" for name, value in attributes.items())
    return f"{subject} [{written}]"


def node(identifier: str) -> str:
    """Return the quoted name of a node or a graph. identifier: built from results of `identity`."""
    return f'"{identifier}"'


def edge(tail: str, head: str) -> str:
    """Return an edge from node to node."""
    return f"{node(tail)} -> {node(head)}"


def tooltip(text: str) -> str:
    r"""Return the text escaped for a tooltip, where Graphviz replaces entities and codes such as `\N` twice.

    >>> tooltip("R&D")
    'R&amp;D'
    """
    return one_line(text).replace("&", "&amp;").replace('"', "&quot;").replace("\\", "\\" * 4)


def _written(value: Value) -> str:
    if isinstance(value, Markup):
        return f"<{value}>"
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"


_ENTITIES: Final = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "]": "&#93;",  # after a tag, Graphviz 2.43 reads it as the end of the label
    "\\": "<FONT>\\</FONT>",  # separated from the next character, since Graphviz replaces codes such as `\N`
}


def escape(text: str) -> str:
    r"""Return any text escaped for an HTML-like label.

    >>> escape("a<b&c\n")
    'a&lt;b&amp;c<FONT>\\</FONT>n'
    """
    return "".join(_ENTITIES.get(character, character) for character in visible(text))


def font(text: str, size: float, color: str) -> str:
    """Return the text as markup. size: in points."""
    return f'<FONT POINT-SIZE="{size:g}" COLOR="{color}">{escape(text)}</FONT>'


def left_lines(lines: Iterable[str]) -> str:
    """Return lines of markup, aligned to the left."""
    return '<BR ALIGN="LEFT"/>'.join(lines) + '<BR ALIGN="LEFT"/>'


def cell(content: str) -> str:
    """Return a table cell with markup."""
    return f'<TD ALIGN="LEFT">{content}</TD>'


def row(cells: str) -> str:
    """Return a table row with cells."""
    return f"<TR>{cells}</TR>"


def table(rows: Iterable[str], *, padding: int) -> Markup:
    """Return a table with one cell in each row."""
    return bare_table("".join(map(row, rows)), padding=padding)


def bare_table(rows: str, *, padding: int) -> Markup:
    """Return a table of rows, without borders."""
    head = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="{padding}">'
    return Markup(f"{head}{rows}</TABLE>")

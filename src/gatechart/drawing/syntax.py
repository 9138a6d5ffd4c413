"""Statements of Graphviz's DOT language, from names and values that may hold anything.

Source: https://graphviz.org/doc/info/lang.html
"""

from __future__ import annotations

from typing import TypeAlias
from urllib.parse import quote

from gatechart.drawing.text import one_line


class Markup(str):
    """Text of an HTML-like label: written between angle brackets, not between quotes."""

    __slots__ = ()


Value: TypeAlias = Markup | str | float


def identity(name: str) -> str:
    """A name as part of an identifier: other for every other name, and free of colons, so that parts can be joined.

    >>> identity("IDLE"), identity('say "hi": 1')
    ('IDLE', 'say%20%22hi%22%3A%201')
    """
    return quote(name, safe="", errors="surrogatepass")


def statement(subject: str, **attributes: Value) -> str:
    """The subject with its attributes.

    >>> statement(node("IDLE"), label="Idle", penwidth=1.5)
    '"IDLE" [label="Idle", penwidth=1.5]'
    """
    written = ", ".join(f"{name}={_written(value)}" for name, value in attributes.items())
    return f"{subject} [{written}]"


def node(identifier: str) -> str:
    """A node, or a graph's name, as the language has it. identifier: made of identities."""
    return f'"{identifier}"'


def edge(tail: str, head: str) -> str:
    """An edge from node to node."""
    return f"{node(tail)} -> {node(head)}"


def tooltip(text: str) -> str:
    r"""Text for a tooltip, in which Graphviz would replace entities, and `\N` and its like, twice.

    >>> tooltip("R&D")
    'R&amp;D'
    """
    return one_line(text).replace("&", "&amp;").replace('"', "&quot;").replace("\\", "\\" * 4)


def _written(value: Value) -> str:
    if isinstance(value, Markup):
        return f"<{value}>"
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"

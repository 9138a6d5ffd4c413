"""Drawings as files: the only part of the drawing that calls a program or touches a disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Final
from uuid import uuid4

import graphviz

from gatechart.drawing.dot import write_dot
from gatechart.drawing.mermaid import write_mermaid
from gatechart.drawing.outline import sketch
from gatechart.drawing.shapes import Map, Outline
from gatechart.drawing.syntax import Value
from gatechart.errors import DrawingError, listing
from gatechart.graph import StateTransitionGraph
from gatechart.values import HistoryEntry, Snapshot

_DOTS_PER_INCH = 192  # sharp on a screen with two pixels to a point
_INSTALL = (
    "install Graphviz (`apt install graphviz`, `brew install graphviz`, `winget install graphviz`, or what your system "
    "has) so that `dot` is on the PATH, or draw to a .dot or .mmd file, which needs no program"
)


def draw(
    graph: StateTransitionGraph | Sequence[StateTransitionGraph],
    path: str | PathLike[str],
    *,
    highlight: Snapshot | None = None,
    trail: Sequence[HistoryEntry] = (),
) -> Path:
    """Writes the drawing of a graph to a file, whole or not at all, and returns where.

    graph: one, with what happens in it; or several, for their map: the doors of each and the handoffs between them.
    path: .svg, .png or .pdf, drawn by Graphviz; .dot or .mmd (Mermaid), as text. Missing folders are made.
    highlight: its active states stand out. trail: so does the way that these turns took, oldest first, numbered.
    Raises DrawingError; UnknownGraphError and UnknownStateError where `highlight` or `trail` do not fit the graph.
    """
    file = Path(path)
    content_of = _FORMATS.get(file.suffix.lower())
    if content_of is None:
        raise DrawingError(f"{str(file)!r} ends in none of {listing(tuple(_FORMATS))}; name a file that does")
    _write(file, content_of(sketch(graph, highlight=highlight, trail=trail)))
    return file


def _render(drawing: Outline | Map, kind: str, **attributes: Value) -> bytes:
    try:
        content: bytes = graphviz.pipe("dot", kind, write_dot(drawing, **attributes).encode(), quiet=True)
    except graphviz.ExecutableNotFound as error:
        raise DrawingError(f"there is no program `dot`; {_INSTALL}") from error
    except graphviz.CalledProcessError as error:
        told = error.stderr.decode(errors="replace").strip() or f"it returned {error.returncode}"
        raise DrawingError(f"Graphviz failed ({told}); draw to a .dot file to see what it was given") from error
    return content


def _write(file: Path, content: bytes) -> None:
    """Beside the file first, then in its place, so that nobody finds half a drawing."""
    unfinished = file.with_name(f".{uuid4().hex}.unfinished")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            unfinished.write_bytes(content)
            unfinished.replace(file)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise DrawingError(f"{file} cannot be written ({error.strerror}); name a file that you may write") from error


_FORMATS: Final[Mapping[str, Callable[[Outline | Map], bytes]]] = MappingProxyType(
    {
        ".svg": partial(_render, kind="svg"),
        ".png": partial(_render, kind="png", dpi=_DOTS_PER_INCH),
        ".pdf": partial(_render, kind="pdf"),
        ".dot": lambda drawing: write_dot(drawing).encode(),
        ".mmd": lambda drawing: write_mermaid(drawing).encode(),
    }
)

ENDINGS: Final = tuple(_FORMATS)
"""Of files that can be drawn to."""

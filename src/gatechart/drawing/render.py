"""Drawings as files: the only part of the drawing that calls a program or touches a disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from subprocess import TimeoutExpired
from types import MappingProxyType
from typing import Final
from uuid import uuid4

import graphviz
from graphviz.backend.dot_command import command
from graphviz.backend.execute import run_check

from gatechart.drawing.dot import write_dot
from gatechart.drawing.labels import Value
from gatechart.drawing.mermaid import write_mermaid
from gatechart.drawing.outline import sketch
from gatechart.drawing.shapes import Map, Outline
from gatechart.errors import DrawingError, listing
from gatechart.graph import AnyGraph
from gatechart.values import HistoryEntry, Snapshot

LIMIT_S: Final = 60.0
_DOTS_PER_INCH = 192  # sharp on a screen with two pixels to a point
_INSTALL = (
    "install Graphviz (`apt install graphviz`, `brew install graphviz`, `winget install graphviz`, or what your system "
    "has) so that `dot` is on the PATH, or draw to a .dot or .mmd file, which needs no program"
)


def draw(
    graph: AnyGraph | Sequence[AnyGraph],
    path: str | PathLike[str],
    *,
    highlight: Snapshot | None = None,
    trail: Sequence[HistoryEntry] = (),
    limit_s: float = LIMIT_S,
) -> Path:
    """Write the drawing of a graph to a file, whole or not at all, and returns where.

    graph: one, with what happens in it; or several, for their map: the doors of each and the handoffs between them.
    path: .svg, .png or .pdf, drawn by Graphviz; .dot or .mmd (Mermaid), as text. Missing folders are made.
    highlight: its active states stand out. trail: so does the way that these turns took, oldest first, numbered.
    limit_s: how long Graphviz may take, for which a chart of thousands of transitions would take hours.
    Raises DrawingError; UnknownGraphError and UnknownStateError where `highlight` or `trail` do not fit the graph.
    """
    file = Path(path)
    written = _FORMATS.get(file.suffix.lower())
    if written is None:
        raise DrawingError(f"{str(file)!r} ends in none of {listing(tuple(_FORMATS))}; name a file that does")
    _write(file, written(sketch(graph, highlight=highlight, trail=trail), limit_s))
    return file


def _render(drawing: Outline | Map, limit_s: float, *, kind: str, **attributes: Value) -> bytes:
    text = write_dot(drawing, **attributes).encode()
    try:
        done = run_check(command("dot", kind), input=text, capture_output=True, quiet=True, timeout=limit_s)
    except TimeoutExpired as error:
        raise DrawingError(
            f"Graphviz took longer than {limit_s:g} s; draw to a .dot or .mmd file, or raise limit_s"
        ) from error
    except graphviz.ExecutableNotFound as error:
        raise DrawingError(f"the program `dot` is missing; {_INSTALL}") from error
    except graphviz.CalledProcessError as error:
        told = error.stderr.decode(errors="replace").strip() or f"it returned {error.returncode}"
        raise DrawingError(f"Graphviz failed ({told}); draw to a .dot file to see what it was given") from error
    content: bytes = done.stdout
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


_FORMATS: Final[Mapping[str, Callable[[Outline | Map, float], bytes]]] = MappingProxyType(
    {
        ".svg": partial(_render, kind="svg"),
        ".png": partial(_render, kind="png", dpi=_DOTS_PER_INCH),
        ".pdf": partial(_render, kind="pdf"),
        ".dot": lambda drawing, _: write_dot(drawing).encode(),
        ".mmd": lambda drawing, _: write_mermaid(drawing).encode(),
    }
)

ENDINGS: Final = tuple(_FORMATS)
"""Of files that can be drawn to."""

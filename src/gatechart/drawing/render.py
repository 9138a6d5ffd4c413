"""Write drawings to files: the only module of `drawing` that runs a program or touches a disk."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from subprocess import TimeoutExpired
from types import MappingProxyType
from typing import Any, Final
from uuid import uuid4

import graphviz
from graphviz.backend.dot_command import command
from graphviz.backend.execute import run_check

from gatechart.drawing.dot import write_dot
from gatechart.drawing.endpoints import spread
from gatechart.drawing.language import Value
from gatechart.drawing.mermaid import write_mermaid
from gatechart.drawing.mirror import in_order
from gatechart.drawing.plain_dot import ENGINE, write_plain_dot, write_plain_map
from gatechart.drawing.shapes import Map, Outline
from gatechart.drawing.sketch import DrawingStyle, look_of, sketch
from gatechart.errors.outside import DrawingError
from gatechart.errors.root import listing
from gatechart.graph.graph import AnyGraph
from gatechart.values.agents import Snapshot
from gatechart.values.queries import HistoryEntry

LIMIT_S: Final = 20.0
_log = logging.getLogger(__name__)
_DOTS_PER_INCH = 192  # sharp on a screen with two pixels per point
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
    theme: str = "light",
    legend: bool = False,
    payloads: bool = False,
    loads: Mapping[str, str] = MappingProxyType({}),
    limit_s: float = LIMIT_S,
) -> Path:
    """Write the drawing of a graph to a file, atomically, and return its path.

    graph: one graph for its states and transitions; several for their map: the entry points and the handoffs between
    the graphs.
    path: .svg, .png or .pdf, drawn by Graphviz; .dot or .mmd (Mermaid), as text. Missing folders are created.
    highlight: its active states stand out. trail: turns, oldest first, whose transitions stand out and are numbered.
    theme: "light" or "dark". legend: whether to explain the signs that occur.
    payloads: whether to write declared events with their payloads.
    loads: texts for entry points on a map, such as their current work, by "graph.ENTRY_POINT".
    limit_s: time limit for the layout. A chart that takes longer gets a plainer layout with a note, and a warning is
    logged.
    Raises DrawingError; UnknownGraphError and UnknownStateError if `highlight` or `trail` do not fit the graph.
    """
    file = Path(path)
    render_format = _FORMATS.get(file.suffix.lower())
    if render_format is None:
        raise DrawingError(f"{str(file)!r} ends in none of {listing(tuple(_FORMATS))}; name a file that does")
    look = look_of(theme, legend=legend)
    drawing = sketch(graph, highlight=highlight, trail=trail, payloads=payloads, loads=loads)
    _write(file, render_format(drawing, look, limit_s))
    return file


def to_svg(
    graph: AnyGraph | Sequence[AnyGraph],
    *,
    highlight: Snapshot | None = None,
    trail: Sequence[HistoryEntry] = (),
    theme: str = "light",
    legend: bool = False,
    limit_s: float = LIMIT_S,
) -> str:
    """Return the drawing of a graph as SVG text. Arguments and errors are those in `draw`."""
    look = look_of(theme, legend=legend)
    return _FORMATS[".svg"](sketch(graph, highlight=highlight, trail=trail), look, limit_s).decode()


async def draw_async(
    graph: AnyGraph | Sequence[AnyGraph],
    path: str | PathLike[str],
    *,
    highlight: Snapshot | None = None,
    trail: Sequence[HistoryEntry] = (),
    theme: str = "light",
    legend: bool = False,
    payloads: bool = False,
    loads: Mapping[str, str] = MappingProxyType({}),
    limit_s: float = LIMIT_S,
) -> Path:
    """Run `draw` in a thread, so that the event loop is not blocked. A cancellation stops only the waiting."""
    options: dict[str, Any] = {"highlight": highlight, "trail": trail, "theme": theme, "legend": legend}
    return await asyncio.to_thread(draw, graph, path, payloads=payloads, loads=loads, limit_s=limit_s, **options)


def _render(drawing: Outline | Map, look: DrawingStyle, limit_s: float, *, kind: str, **attributes: Value) -> bytes:
    """Render with the usual layout, or with a plain one if that takes too long."""
    try:
        layout = _graphviz("dot", "dot", write_dot(drawing, look, linelength=0, **attributes), limit_s)
        ordered = in_order(layout.decode(), drawing) if isinstance(drawing, Outline) else layout.decode()
        return _graphviz("neato", kind, spread(ordered), limit_s, "-n2")
    except TimeoutExpired:
        return _render_plainly(drawing, look, limit_s, kind, attributes)


def _render_plainly(
    drawing: Outline | Map, look: DrawingStyle, limit_s: float, kind: str, attributes: Mapping[str, Value]
) -> bytes:
    if isinstance(drawing, Map):
        names, text = (
            ", ".join(card.name for card in drawing.cards if card.is_known),
            write_plain_map(drawing, look, **attributes),
        )
    else:
        names, text = drawing.name, write_plain_dot(drawing, look, **attributes)
    facts = {"graph": names, "limit_s": limit_s}
    _log.warning("a chart is drawn with a plainer layout, because the usual one takes too long", extra=facts)
    try:
        return _graphviz(ENGINE, kind, text, limit_s)
    except TimeoutExpired as error:
        raise _too_slow(limit_s) from error


def _too_slow(limit_s: float) -> DrawingError:
    return DrawingError(f"Graphviz took longer than {limit_s:g} s; draw to a .dot or .mmd file, or raise limit_s")


def _graphviz(engine: str, kind: str, text: str, limit_s: float, *options: str) -> bytes:
    """Run a layout engine of Graphviz. Raises TimeoutExpired, or DrawingError if it is missing or fails."""
    try:
        call = [*command(engine, kind), *options]
        done = run_check(call, input=text.encode(), capture_output=True, quiet=True, timeout=limit_s)
    except graphviz.ExecutableNotFound as error:
        raise DrawingError(f"the program `dot` is missing; {_INSTALL}") from error
    except graphviz.CalledProcessError as error:
        problem = error.stderr.decode(errors="replace").strip() or f"it returned {error.returncode}"
        raise DrawingError(f"Graphviz failed ({problem}); draw to a .dot file to see what it was given") from error
    content: bytes = done.stdout
    return content


def _write(file: Path, content: bytes) -> None:
    """Write a temporary file beside it, then rename, so that no reader finds half a drawing."""
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


_FORMATS: Final[Mapping[str, Callable[[Outline | Map, DrawingStyle, float], bytes]]] = MappingProxyType(
    {
        ".svg": partial(_render, kind="svg"),
        ".png": partial(_render, kind="png", dpi=_DOTS_PER_INCH),
        ".pdf": partial(_render, kind="pdf"),
        ".dot": lambda drawing, look, _: write_dot(drawing, look).encode(),
        ".mmd": lambda drawing, look, _: write_mermaid(drawing, look).encode(),
    }
)

ENDINGS: Final = tuple(_FORMATS)
"""File endings that `draw` accepts."""

"""Choose the direction of each line in a drawing, so that most lines point down. Pure.

A label is a small node in the middle of its line. If Graphviz reversed the arrows that close a cycle, it would reverse
one half of a line, so this module decides for whole lines.
Source: depth-first search for the arrows that close cycles, then layers by longest path; E. R. Gansner et al., "A
technique for drawing directed graphs", IEEE Trans. Software Eng. 19(3), 1993, section 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gatechart.drawing.shapes import Arrow, Box, Outline
from gatechart.values.names import StateName

_LeafPair: TypeAlias = tuple[StateName, StateName]  # source and target leaf


@dataclass(frozen=True, slots=True)
class Line:
    """The direction of an arrow: its source leaf, and whether it points up."""

    arrow: Arrow
    source: StateName
    runs_up: bool
    is_direct: bool  # whether it leads down to the next layer


@dataclass(frozen=True, slots=True)
class _Order:
    upward: frozenset[_LeafPair]
    depths: Mapping[StateName, int]  # of the leaves that arrows touch; 0 at the top


def lines_of(drawing: Outline) -> tuple[Line, ...]:
    """Return a line for each arrow, in the same order."""
    boxes = {box.name: box for box in drawing.every_box()}
    leaf_pairs = {
        arrow: (_entered(boxes, arrow.source), _entered(boxes, arrow.target))
        for arrow in drawing.arrows
        if not arrow.is_roaming
    }
    order = _order(leaf_pairs.values(), [_entered(boxes, door.state) for door in drawing.doors])
    return tuple(_line(boxes, order, arrow, leaf_pairs.get(arrow)) for arrow in drawing.arrows)


def _line(boxes: Mapping[StateName, Box], order: _Order, arrow: Arrow, leaf_pair: _LeafPair | None) -> Line:
    """Return the line of an arrow. One that points down starts at the lowest leaf of its source above its end."""
    if leaf_pair is None:
        return Line(arrow, arrow.source, runs_up=False, is_direct=False)
    start, end = leaf_pair
    if leaf_pair in order.upward:
        return Line(arrow, start, runs_up=True, is_direct=False)
    above = (leaf for leaf in leaves_of(boxes[arrow.source]) if order.depths.get(leaf, 0) < order.depths[end])
    source = max(above, key=lambda leaf: order.depths.get(leaf, 0))
    return Line(arrow, source, runs_up=False, is_direct=order.depths[end] == order.depths.get(source, 0) + 1)


def _entered(boxes: Mapping[StateName, Box], state: StateName) -> StateName:
    """Return the leaf that becomes active when the state is entered; in a parallel state, the first region's leaf."""
    box = boxes[state]
    first = box.initial or tuple(region.name for region in box.boxes)
    return _entered(boxes, first[0]) if first else state


def leaves_of(box: Box) -> tuple[StateName, ...]:
    """Return the leaves inside a state; the state itself if it has no children."""
    return tuple(leaf for child in box.boxes for leaf in leaves_of(child)) or (box.name,)


def _order(leaf_pairs: Iterable[_LeafPair], starts: Sequence[StateName]) -> _Order:
    ends: dict[StateName, list[StateName]] = {}
    for start, end in leaf_pairs:
        ends.setdefault(start, []).append(end)
    finished, upward = _search(ends, [*starts, *ends])
    depths = dict.fromkeys(finished, 0)
    for start in reversed(finished):
        for end in ends.get(start, ()):
            if (start, end) not in upward:
                depths[end] = max(depths[end], depths[start] + 1)
    return _Order(frozenset(upward), depths)


def _search(
    ends: Mapping[StateName, Sequence[StateName]], starts: Iterable[StateName]
) -> tuple[list[StateName], set[_LeafPair]]:
    """Search depth first. Return the leaves in order of completion, and the leaf pairs that close a cycle."""
    finished: dict[StateName, None] = {}
    upward: set[_LeafPair] = set()
    for start in starts:
        path = {} if start in finished else {start: iter(ends.get(start, ()))}
        while path:
            current, successors = next(reversed(path.items()))
            end = next(successors, None)
            if end is None:
                finished[current] = None
                del path[current]
            elif end in path:
                upward.add((current, end))
            elif end not in finished:
                path[end] = iter(ends.get(end, ()))
    return list(finished), upward

"""Move apart the overlapping ends of lines, along the border that they touch. Pure.

`dot` aims every line at the middle of its node, so lines from one side end at one point. Ports would separate them, but
tangle the layout, since Graphviz orders the neighbours of a node by its ports. So the layout is computed without ports,
as text with positions, and only the overlapping ends are moved before it is drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

_Point: TypeAlias = tuple[float, float]

APART: Final = 7.0
"""Points between the ends of two lines, where the border is long enough."""

_CORNER: Final = 4.0  # points at each end of a border, where it is rounded
NAME: Final = r'("[^"\n]*"|[\w.]+)'
EDGE: Final = re.compile(rf"^(\t*){NAME}(?::\w+)* -> {NAME}(?::\w+)*\t\[(.*?)\];$", re.DOTALL | re.MULTILINE)
NODE: Final = re.compile(rf"^\t*{NAME}\t\[(.*?)\];$", re.DOTALL | re.MULTILINE)
POSITION: Final = re.compile(r'\bpos="([^"]*)"')
_SIZE: Final = re.compile(r"\b(width|height)=([\d.]+)(?=[,\]]|$)")
_LABELS: Final = ("way:", "hand:")  # name prefixes of nodes that are labels of lines


@dataclass(slots=True)
class _Path:
    """A line of a layout: its control points, and its tip if it has an arrowhead."""

    lead: str  # "s" or "e" if the line has an arrowhead
    points: list[_Point]  # the tip first if there is one

    @classmethod
    def read(cls, text: str) -> _Path:
        lead, _, _ = text.partition(",")
        lead = lead if lead in ("s", "e") else ""
        pairs = text.removeprefix(f"{lead},").split()
        return cls(lead, [(float(x), float(y)) for x, y in (pair.split(",") for pair in pairs)])

    def write(self) -> str:
        pairs = " ".join(f"{x:g},{y:g}" for x, y in self.points)
        return f"{self.lead},{pairs}" if self.lead else pairs

    def indexes(self, *, is_head: bool) -> tuple[int, ...]:
        """Return the indexes of the points of an end: its tip, the last point, and the one before."""
        first = 1 if self.lead else 0
        inner = (len(self.points) - 1, len(self.points) - 2) if is_head else (first, first + 1)
        return (0, *inner) if self.lead == ("e" if is_head else "s") else inner

    def curve(self, *, is_head: bool) -> _Point:
        """Return the start of the last curve towards an end."""
        return self.points[-4 if is_head else 4 if self.lead else 3]


@dataclass(slots=True)
class _End:
    """One end of a line, at a node that is not a label."""

    node: str
    path: _Path
    is_head: bool

    @property
    def point(self) -> _Point:
        return self.path.points[self.path.indexes(is_head=self.is_head)[0]]

    def slope(self, axis: int) -> float:
        """Return the slope of the line relative to the border: negative from below or from the left."""
        inner, tip = self.path.curve(is_head=self.is_head), self.point
        return (inner[axis] - tip[axis]) / max(abs(inner[1 - axis] - tip[1 - axis]), 1.0)

    def move(self, by: float, axis: int) -> None:
        for index in self.path.indexes(is_head=self.is_head):
            x, y = self.path.points[index]
            self.path.points[index] = (x + by, y) if axis == 0 else (x, y + by)


def spread(layout: str) -> str:
    """Return a layout as written by `dot -Tdot`, with the overlapping ends of lines moved apart."""
    paths: dict[int, _Path] = {}
    ends: dict[str, list[_End]] = {}
    for match in EDGE.finditer(layout):
        position = POSITION.search(match[4])
        if position is None or ";" in position[1]:  # several curves, which only merged lines have
            continue
        path = paths[match.start()] = _Path.read(position[1])
        for name, is_head in ((match[2], False), (match[3], True)):
            if not name.strip('"').startswith(_LABELS):
                ends.setdefault(name, []).append(_End(name, path, is_head))
    sizes = dict(_sizes(layout))
    for name, several in ends.items():
        for bundle in _bundles(several):
            _part(bundle, sizes.get(name))
    return NODE.sub(_unsized, EDGE.sub(lambda edge: _moved(edge, paths), layout))


def _sizes(layout: str) -> Iterator[tuple[str, tuple[_Point, _Point]]]:
    """Yield the middle of each node and its width and height, in points."""
    for match in NODE.finditer(layout):
        position, size = POSITION.search(match[2]), dict(_SIZE.findall(match[2]))
        if position is not None and len(size) == 2:
            x, y = map(float, position[1].split(","))
            yield match[1], ((x, y), (72 * float(size["width"]), 72 * float(size["height"])))


def _bundles(ends: Iterable[_End]) -> list[list[_End]]:
    """Return the groups of ends that overlap."""
    bundles: list[list[_End]] = []
    for end in sorted(ends, key=lambda end: end.point):
        near = next((bundle for bundle in bundles if any(_are_near(end, other) for other in bundle)), None)
        if near is None:
            bundles.append([end])
        else:
            near.append(end)
    return [bundle for bundle in bundles if len(bundle) > 1]


def _are_near(one: _End, other: _End) -> bool:
    return all(abs(first - second) < APART * 0.8 for first, second in zip(one.point, other.point, strict=True))


def _part(bundle: Sequence[_End], size: tuple[_Point, _Point] | None) -> None:
    """Move the ends of a bundle apart along the border, in the order of the slopes of their lines."""
    axis = _axis(bundle[0], size)
    ordered = sorted(bundle, key=lambda end: end.slope(axis))
    middle = sum(end.point[axis] for end in ordered) / len(ordered)
    step = APART
    if size is not None:
        center, extent = size[0][axis], max(size[1][axis] - 2 * _CORNER, 0.0)
        step = min(APART, extent / (len(ordered) - 1))
        reach = (extent - step * (len(ordered) - 1)) / 2
        middle = min(max(middle, center - reach), center + reach)
    for number, end in enumerate(ordered):
        end.move(middle + (number - (len(ordered) - 1) / 2) * step - end.point[axis], axis)


def _axis(end: _End, size: tuple[_Point, _Point] | None) -> int:
    """Return the direction of the border at an end: 0 for the top and bottom of a node, 1 for its sides."""
    if size is None:
        return 0
    (x, y), (width, height) = size
    across, upright = abs(abs(end.point[0] - x) - width / 2), abs(abs(end.point[1] - y) - height / 2)
    return 1 if across < upright else 0


def _moved(match: re.Match[str], paths: dict[int, _Path]) -> str:
    path = paths.get(match.start())
    return match[0] if path is None else POSITION.sub(f'pos="{path.write()}"', match[0], count=1)


def _unsized(match: re.Match[str]) -> str:
    """Remove the size of a node with a double border, so that Graphviz does not add the outer border again."""
    return _SIZE.sub(r"\1=0", match[0]) if "peripheries=2" in match[2] else match[0]

"""Draws a run: how far gatechart is from its raw limits and its peers.

Each measure has a line with gatechart's own figure, and below it a bar for each raw limit and peer, all on one scale of
ratios. `python -m benchmarks.run --json > run.json`, then `python -m benchmarks.chart run.json > chart.svg`.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from benchmarks.measure import Better, Role
from benchmarks.table import figure_text

WIDTH, NAMES = 1000, 330  # of the whole, of the names on the left
LEFT, RIGHT = 400, 930  # where the scale begins and ends, with room for figures beside
ROW, GAP, TOP = 19, 12, 62
LEAST, MOST = 0.001, 1000.0  # times as good as gatechart
COLOURS: Final = {Role.RAW: "#8a929c", Role.PEER: "#d4762a"}
OURS: Final = "#1f5fbf"
STYLE: Final = (
    "text{font:12px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}"
    ".own{font-weight:600;fill:#1f5fbf}.small{fill:#57606a;font-size:11px}"
)


def main() -> int:
    """0, or 2 where it is called in another way."""
    if len(sys.argv) < 2:
        print("usage: python -m benchmarks.chart RUN.json [MEASURE ...]", file=sys.stderr)
        return 2
    run = json.loads(Path(sys.argv[1]).read_text())
    print(drawn(run["measures"], sys.argv[2:]))
    return 0


def drawn(measures: Sequence[dict[str, Any]], names: Sequence[str] = ()) -> str:
    """The SVG text of those measures, all where none are named, that have a figure and something to compare it with."""
    blocks: list[str] = []
    y = TOP
    for measure in measures:
        own, others = _own(measure), _others(measure)
        if own and others and (not names or measure["name"] in names):
            blocks += _block(measure, own, others, y)
            y += ROW * (2 + len(others)) + GAP
    return "\n".join((_head(y), *_axis(y), *blocks, "</svg>"))


def _head(height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
        f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#fff"/>'
    )


def _axis(height: int) -> Iterator[str]:
    yield _text(NAMES, 20, "times as good as gatechart", "title", "end")
    yield _text(_x(1) - 8, 20, "worse", "small", "end") + _text(_x(1) + 8, 20, "better", "small")
    for power in range(round(math.log10(LEAST)), round(math.log10(MOST)) + 1):
        x = _x(10.0**power)
        colour, width = (OURS, 2) if power == 0 else ("#e3e6ea", 1)
        ends = f'x1="{x:.1f}" y1="{TOP - 18}" x2="{x:.1f}" y2="{height}"'
        yield f'<line {ends} stroke="{colour}" stroke-width="{width}"/>'
        yield _text(x, TOP - 24, f"{10.0**power:g}", "small", "middle")


def _block(measure: dict[str, Any], own: dict[str, Any], others: Sequence[dict[str, Any]], y: int) -> Iterator[str]:
    yield f'<rect x="0" y="{y}" width="{WIDTH}" height="{ROW}" fill="#f4f6f8"/>'
    yield _text(8, y + 13, f"{measure['title']} ({measure['unit']})", "title")
    yield _text(NAMES, y + ROW + 13, own["name"], "own", "end")
    yield _text(_x(1) + 5, y + ROW + 13, figure_text(own["median"]), "own")
    for number, other in enumerate(others, start=2):
        ratio = other["median"] / own["median"]
        yield from _bar(other, 1 / ratio if measure["better"] == Better.LOWER else ratio, y + number * ROW)


def _bar(other: dict[str, Any], ratio: float, y: int) -> Iterator[str]:
    x = _x(min(max(ratio, LEAST), MOST))
    left, right = sorted((x, _x(1)))
    yield _text(NAMES, y + 13, other["name"], "", "end")
    size = f'x="{left:.1f}" y="{y + 3}" width="{right - left:.1f}" height="{ROW - 6}"'
    yield f'<rect {size} fill="{COLOURS[Role(other["role"])]}"/>'
    figure = figure_text(other["median"])
    yield _text(x + 5, y + 13, figure, "small") if ratio >= 1 else _text(x - 5, y + 13, figure, "small", "end")


def _own(measure: dict[str, Any]) -> dict[str, Any] | None:
    """The first of ours that has a target, or the first."""
    own = [each for each in measure["results"] if each["role"] == Role.OURS and each["median"]]
    return next((each for each in own if each["target"] is not None), next(iter(own), None))


def _others(measure: dict[str, Any]) -> Sequence[dict[str, Any]]:
    return [each for each in measure["results"] if each["role"] != Role.OURS and each["median"]]


def _x(ratio: float) -> float:
    low, high = math.log10(LEAST), math.log10(MOST)
    return LEFT + (RIGHT - LEFT) * (math.log10(ratio) - low) / (high - low)


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>'


if __name__ == "__main__":
    sys.exit(main())

"""The results of a run, for people and for machines."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks.measure import Better
from benchmarks.rounds import Result, Results, ratio

HEADINGS = ("", "median", "spread", "× raw", "× best peer", "target", "")
PACKAGES = (
    "gatechart",
    "pydantic",
    "sqlalchemy",
    "aiosqlite",
    "asyncpg",
    "transitions",
    "python-statemachine",
    "langgraph",
    "langgraph-checkpoint-sqlite",
)


def environment() -> dict[str, Any]:
    """What a figure depends on besides the code."""
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _version(name: str) -> str:
    """The version of a package; "" if it is not installed, as libraries to compare with need not be."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def as_json(run: Sequence[Results], *, quick: bool) -> dict[str, Any]:
    """All figures, those of every round included."""
    return {"environment": environment(), "quick": quick, "measures": [_measure_json(results) for results in run]}


def as_table(run: Sequence[Results], *, quick: bool) -> str:
    """All measures below one another, in the same columns."""
    about = environment()
    packages = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
    blocks = [(results, [_cells(results, result) for result in results.results]) for results in run]
    rows = [HEADINGS, *(row for _, block in blocks for row in block)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = [f"Python {about['python']}, {about['system']} {about['machine']}, {about['cores']} cores", packages, ""]
    if quick:
        lines += ["A quick run: few rounds, short ones, and far smaller numbers than the titles say.", ""]
    lines.append(_line(HEADINGS, widths))
    for results, block in blocks:
        measure = results.measure
        lines += ["", f"{measure.title} ({measure.unit}, {measure.better} is better)"]
        lines += [_line(row, widths) for row in block]
    return "\n".join(lines)


def _measure_json(results: Results) -> dict[str, Any]:
    measure = results.measure
    return {
        "name": measure.name,
        "title": measure.title,
        "unit": measure.unit,
        "better": measure.better,
        "results": [_result_json(results, result) for result in results.results],
    }


def _result_json(results: Results, result: Result) -> dict[str, Any]:
    return {
        "name": result.contestant.name,
        "role": result.contestant.role,
        "median": result.median,
        "times_raw": ratio(result, results.raw),
        "times_best_peer": ratio(result, results.best_peer),
        "target": result.contestant.target,
        "met": results.is_met(result),
        "figures": result.figures,
    }


def _cells(results: Results, result: Result) -> tuple[str, ...]:
    target = result.contestant.target
    sign = "≥" if results.measure.better is Better.HIGHER else "≤"
    return (
        f"  {result.contestant.name}",
        "failed" if result.median is None else figure_text(result.median),
        _spread(result),
        _times(ratio(result, results.raw)),
        _times(ratio(result, results.best_peer)),
        "" if target is None else f"{sign} {figure_text(target)}",
        {None: "", True: "met", False: "missed"}[results.is_met(result)],
    )


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(_aligned(cells, widths)).rstrip()


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    texts = {0, len(cells) - 1}
    for column, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        yield cell.ljust(width) if column in texts else cell.rjust(width)


def figure_text(figure: float) -> str:
    """
    >>> figure_text(568213.4), figure_text(3.14159), figure_text(0.02847)
    ('568,213', '3.14', '0.0285')
    """
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"


def _spread(result: Result) -> str:
    """From the lowest to the highest figure, in hundredths of the median."""
    if not result.median or len(result.figures) < 2:
        return ""
    low, high = (round(100 * (edge / result.median - 1)) for edge in (min(result.figures), max(result.figures)))
    return f"{low:+d}…{high:+d} %"


def _times(times: float | None) -> str:
    return "" if times is None else figure_text(times)

"""The command that evaluates learned choices of handoff targets, and the timing of handoffs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from gatechart.cli.directory import known_graphs
from gatechart.cli.late_imports import late
from gatechart.cli.options import ServerOption, Settings
from gatechart.cli.output import Cell, emit, print_facts, print_table
from gatechart.values.homes import Role

if TYPE_CHECKING:
    from gatechart import stores
    from gatechart.cli import connection, deployment
    from gatechart.graph.graph import AnyGraph
    from gatechart.hosting import evaluating, timeliness
    from gatechart.ports import Store
    from gatechart.selection import evaluation, exploration, learned, rehearsal
else:
    stores, connection, deployment, evaluating, evaluation, exploration, learned, rehearsal = late(
        "gatechart.stores",
        "gatechart.cli.connection",
        "gatechart.cli.deployment",
        "gatechart.hosting.evaluating",
        "gatechart.selection.evaluation",
        "gatechart.selection.exploration",
        "gatechart.selection.learned",
        "gatechart.selection.rehearsal",
    )

ShareOption = Annotated[
    float, typer.Option("--exploring", min=0, max=1, metavar="SHARE", help="The share of choices to draw at random.")
]
ConfidenceOption = Annotated[
    float,
    typer.Option("--confidence", min=0.5, max=0.999, metavar="NUMBER", help="The confidence level of the intervals."),
]


async def evaluate_directory(
    settings: Settings, exploring: ShareOption = 0.0, confidence: ConfidenceOption = 0.95, server: ServerOption = None
) -> None:
    """Evaluate, from recorded choices, whether learning beats text scores and when work should be handed on.

    The verdict is better, worse or undecided, with confidence intervals. A table then counts, by signal and threshold,
    how often people rated a handoff needless, in time or too late. The last table shows when those signals would fire
    in the same histories with the current graphs of the app. To try another threshold, change it in a graph and
    evaluate again. Histories are played without services. The settings learned= and reward= of --choosing define the
    learning and the rewards.

    Nothing is changed. Needs numpy: pip install 'gatechart[learning]'

    Examples:
      gatechart directory evaluate
      gatechart directory evaluate --app shop_next:graphs
      gatechart directory evaluate --exploring 0.1 --json
      gatechart directory evaluate --choosing shop:choosing
    """
    drawn = exploration.Exploring(share=exploring) if exploring else exploration.BEST
    graphs = () if server is not None else known_graphs(settings)
    async with (
        deployment.opened_choosing(settings) as choosing,
        connection.looked_at(settings, server, None, "") as home,
        _played_from(settings, graphs) as store,
    ):
        results = await evaluating.evaluate_directory(
            home,
            choosing.learned,
            drawn,
            reward=choosing.reward,
            confidence=confidence,
            store=store,
            graphs=graphs,
        )
    emit(settings, _document(results), lambda: _print(results))


@asynccontextmanager
async def _played_from(settings: Settings, graphs: Sequence[AnyGraph]) -> AsyncIterator[Store | None]:
    """Open the database whose histories are played; yield None without graphs."""
    if not graphs:
        yield None
        return
    async with stores.open_store(settings.store, role=Role.READER) as store:
        yield store


def _document(results: evaluating.DirectoryEvaluation) -> dict[str, object]:
    learning = results.learning
    intervals = {
        name: {"estimate": each.estimate, "low": each.low, "high": each.high}
        for name, each in (
            ("ips", learning.propensity),
            ("snips", learning.normalised),
            ("doubly_robust", learning.robust),
        )
    }
    return {
        "learning": {
            "verdict": learning.verdict.value,
            "details": learning.details,
            "choices": learning.choices,
            "evidence": learning.evidence,
            "overlap": learning.overlap,
            **intervals,
        },
        "timeliness": [
            {name: getattr(row, name) for name in ("signal", "detector", "threshold", *_COUNTS)}
            for row in results.timeliness
        ],
        "retimed": [
            {"signal": each.signal, "said": each.said.value, **{name: getattr(each, name) for name in _SHIFTS}}
            for each in results.retimed
        ],
    }


_COUNTS = ("needless", "in_time", "late", "needed")
_SHIFTS = ("sooner", "same", "later", "unknown")


def _print(results: evaluating.DirectoryEvaluation) -> None:
    learning = results.learning
    print_facts(
        [
            ("learning is", learning.verdict.value),
            ("because", learning.details),
            ("choices", str(learning.choices)),
            ("evidence", f"{learning.evidence} of them"),
            ("doubly robust", str(learning.robust)),
            ("inverse propensity", str(learning.propensity)),
            ("self-normalised", str(learning.normalised)),
        ]
    )
    if results.timeliness:
        print_table(("SIGNAL", "DETECTOR", "THRESHOLD", "NEEDLESS", "IN TIME", "TOO LATE", "NEEDED"), _rows(results))
    if results.retimed:
        headings = ("SIGNAL", "RATED", "FIRES SOONER NOW", "AS BEFORE", "LATER OR NOT", "UNKNOWN")
        print_table(headings, map(_shifts, results.retimed))


def _rows(results: evaluating.DirectoryEvaluation) -> Sequence[Sequence[Cell]]:
    return [
        (each.signal or "(no signal)", each.detector, each.threshold, *(str(getattr(each, name)) for name in _COUNTS))
        for each in results.timeliness
    ]


def _shifts(each: timeliness.Retimed) -> Sequence[Cell]:
    rating = each.said.value.replace("_", " ").replace("late", "too late")
    return (each.signal, rating, *(str(getattr(each, name)) for name in _SHIFTS))

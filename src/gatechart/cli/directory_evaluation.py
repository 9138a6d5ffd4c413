"""The command that tells whether learning whom to hand work to is better, and when to hand work on."""

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
    float, typer.Option("--exploring", min=0, max=1, metavar="SHARE", help="Part of the choices that would be drawn.")
]
ConfidenceOption = Annotated[
    float, typer.Option("--confidence", min=0.5, max=0.999, metavar="NUMBER", help="Of the intervals.")
]


async def evaluate_directory(
    settings: Settings, exploring: ShareOption = 0.0, confidence: ConfidenceOption = 0.95, server: ServerOption = None
) -> None:
    """Tell from recorded choices whether learning is better than text scores, and when to hand work on.

    Better, worse, or that it cannot be told, with intervals. Then, by signal and threshold, how often people said that
    handing on was needless, in time or too late. Last, when those signals would fire in the same histories by the
    graphs of the app as they are now: change a threshold, and evaluate again. Histories are played without services.
    What learning would be, and what an outcome is worth, is as --choosing says, by its learned= and reward=.

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
        found = await evaluating.evaluate_directory(
            home,
            choosing.learned,
            drawn,
            reward=choosing.reward,
            confidence=confidence,
            store=store,
            graphs=graphs,
        )
    emit(settings, _document(found), lambda: _print(found))


@asynccontextmanager
async def _played_from(settings: Settings, graphs: Sequence[AnyGraph]) -> AsyncIterator[Store | None]:
    """Open the database whose histories are played; none without graphs."""
    if not graphs:
        yield None
        return
    async with stores.open_store(settings.store, role=Role.READER) as store:
        yield store


def _document(found: evaluating.DirectoryEvaluation) -> dict[str, object]:
    told = found.learning
    intervals = {
        name: {"estimate": each.estimate, "low": each.low, "high": each.high}
        for name, each in (("ips", told.propensity), ("snips", told.normalised), ("doubly_robust", told.robust))
    }
    return {
        "learning": {
            "verdict": told.verdict.value,
            "details": told.details,
            "choices": told.choices,
            "evidence": told.evidence,
            "overlap": told.overlap,
            **intervals,
        },
        "timeliness": [
            {name: getattr(each, name) for name in ("signal", "detector", "threshold", *_COUNTS)}
            for each in found.timeliness
        ],
        "retimed": [
            {"signal": each.signal, "said": each.said.value, **{name: getattr(each, name) for name in _SHIFTS}}
            for each in found.retimed
        ],
    }


_COUNTS = ("needless", "in_time", "late", "needed")
_SHIFTS = ("sooner", "same", "later", "unknown")


def _print(found: evaluating.DirectoryEvaluation) -> None:
    told = found.learning
    print_facts(
        [
            ("learning is", told.verdict.value),
            ("because", told.details),
            ("choices", str(told.choices)),
            ("evidence", f"{told.evidence} of them"),
            ("doubly robust", str(told.robust)),
            ("inverse propensity", str(told.propensity)),
            ("self-normalised", str(told.normalised)),
        ]
    )
    if found.timeliness:
        print_table(("SIGNAL", "DETECTOR", "THRESHOLD", "NEEDLESS", "IN TIME", "TOO LATE", "NEEDED"), _rows(found))
    if found.retimed:
        headings = ("SIGNAL", "SAID", "FIRES SOONER NOW", "AS BEFORE", "LATER OR NOT", "NOT KNOWN")
        print_table(headings, map(_shifts, found.retimed))


def _rows(found: evaluating.DirectoryEvaluation) -> Sequence[Sequence[Cell]]:
    return [
        (each.signal or "(no signal)", each.detector, each.threshold, *(str(getattr(each, name)) for name in _COUNTS))
        for each in found.timeliness
    ]


def _shifts(each: timeliness.Retimed) -> Sequence[Cell]:
    said = each.said.value.replace("_", " ").replace("late", "too late")
    return (each.signal, said, *(str(getattr(each, name)) for name in _SHIFTS))

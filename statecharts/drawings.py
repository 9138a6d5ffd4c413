"""The drawings in `diagrams/`: `python -m statecharts.drawings` draws them anew."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from gatechart import Runtime, Snapshot, draw
from gatechart.drawing import to_dot
from gatechart.graph.graph import AnyGraph
from gatechart.results import HistoryEntry
from statecharts import examples
from statecharts.circling import circling
from statecharts.circling import play as play_circling
from statecharts.customer_service import customer_service
from statecharts.customer_service.scenarios import HARD_TO_SOLVE
from statecharts.online_shop.graphs import automatic, online_shop
from statecharts.scenario import play
from statecharts.services import Services
from statecharts.telecom_support import telecom_support
from statecharts.tool_ring import ring
from statecharts.transfers import research, review

FOLDER: Final = Path(__file__).parent.parent / "diagrams"
TRAIL: Final = "customer_service.trail"
CIRCLES: Final = "circling.trail"
MAP: Final = "online_shop.map"
CHARTS: Final = {
    **{graph.name: graph for graph in (*examples, telecom_support)},
    **{f"online_shop.{graph.name}": graph for graph in automatic},
    **{f"transfers.{graph.name}": graph for graph in (research, review)},
    "tool_ring": ring(),
}


async def lived() -> tuple[Snapshot, tuple[HistoryEntry, ...]]:
    """Where an agent of the customer service is after a difficult case, and how it got there."""
    async with Runtime.open("memory:", graphs=[customer_service], services=Services()) as runtime:
        agent = await play(HARD_TO_SOLVE, runtime)
        return agent.snapshot, tuple(await agent.history())


async def circled() -> tuple[Snapshot, tuple[HistoryEntry, ...]]:
    """Where an agent is that went round in circles, and how it got there."""
    async with Runtime.open("memory:", graphs=[circling]) as runtime:
        agent = await play_circling(runtime)
        return agent.snapshot, tuple(await agent.history())


def ways() -> dict[str, tuple[AnyGraph, Snapshot, tuple[HistoryEntry, ...]]]:
    """Return the agents whose way is drawn, by the name of the drawing: graph, snapshot and history."""
    return {TRAIL: (customer_service, *asyncio.run(lived())), CIRCLES: (circling, *asyncio.run(circled()))}


def texts() -> dict[str, str]:
    """Return the DOT text of every drawing, by its name. The SVG made from it differs between versions of Graphviz."""
    plain = {name: to_dot(graph) for name, graph in CHARTS.items()}
    gone = {name: to_dot(graph, highlight=at, trail=trail) for name, (graph, at, trail) in ways().items()}
    return {**plain, MAP: to_dot(online_shop), **gone}


def draw_all(folder: Path = FOLDER) -> tuple[Path, ...]:
    """Draws every example chart as SVG, and some with the path of an agent; returns what was written."""
    drawn = [draw(graph, folder / f"{name}.svg") for name, graph in CHARTS.items()]
    drawn.append(draw(online_shop, folder / f"{MAP}.svg"))
    for name, (graph, at, trail) in ways().items():
        drawn.append(draw(graph, folder / f"{name}.svg", highlight=at, trail=trail))
    return tuple(drawn)


def main() -> None:
    """Draws into `diagrams/`, each drawing with the DOT text that it came from beside it."""
    draw_all()
    for name, dot in texts().items():
        (FOLDER / f"{name}.dot").write_text(dot, encoding="utf-8")


if __name__ == "__main__":
    main()

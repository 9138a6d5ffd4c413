"""The drawings in `diagrams/`: `python -m statecharts.drawings` draws them anew."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from gatechart import Runtime, Snapshot
from gatechart.drawing import draw, to_dot
from gatechart.results import HistoryEntry
from statecharts import examples
from statecharts.customer_service import customer_service
from statecharts.customer_service.scenarios import HARD_TO_SOLVE
from statecharts.online_shop.graphs import automatic, online_shop
from statecharts.scenario import play
from statecharts.services import Services
from statecharts.telecom_support import telecom_support
from statecharts.transfers import research, review

FOLDER: Final = Path(__file__).parent.parent / "diagrams"
TRAIL: Final = "customer_service.trail"
MAP: Final = "online_shop.map"
CHARTS: Final = {
    **{graph.name: graph for graph in (*examples, telecom_support)},
    **{f"online_shop.{graph.name}": graph for graph in automatic},
    **{f"transfers.{graph.name}": graph for graph in (research, review)},
}


async def lived() -> tuple[Snapshot, tuple[HistoryEntry, ...]]:
    """Where an agent of the customer service is after a difficult case, and how it got there."""
    async with Runtime.open("memory:", graphs=[customer_service], services=Services()) as runtime:
        agent = await play(HARD_TO_SOLVE, runtime)
        return agent.snapshot, tuple(await agent.history())


def texts() -> dict[str, str]:
    """Return the DOT text of every drawing, by its name. The SVG made from it differs between versions of Graphviz."""
    snapshot, trail = asyncio.run(lived())
    plain = {name: to_dot(graph) for name, graph in CHARTS.items()}
    return {**plain, MAP: to_dot(online_shop), TRAIL: to_dot(customer_service, highlight=snapshot, trail=trail)}


def draw_all(folder: Path = FOLDER) -> tuple[Path, ...]:
    """Draws every example chart as SVG, and one with the path of an agent; returns what was written."""
    snapshot, trail = asyncio.run(lived())
    drawn = [draw(graph, folder / f"{name}.svg") for name, graph in CHARTS.items()]
    drawn.append(draw(online_shop, folder / f"{MAP}.svg"))
    return (*drawn, draw(customer_service, folder / f"{TRAIL}.svg", highlight=snapshot, trail=trail))


def main() -> None:
    """Draws into `diagrams/`, each drawing with the DOT text that it came from beside it."""
    draw_all()
    for name, dot in texts().items():
        (FOLDER / f"{name}.dot").write_text(dot, encoding="utf-8")


if __name__ == "__main__":
    main()

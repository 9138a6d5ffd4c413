"""`python -m statecharts.transfers` plays both charts, each with a good model and with one that never leaves a loop."""

from __future__ import annotations

import asyncio

from pydantic import BaseModel
from rich.console import Console

from gatechart import Runtime
from gatechart.graph.graph import AnyGraph
from statecharts.transfers import Scripted, Services, Stubborn, research, review
from statecharts.transfers.context import Draft, Question
from statecharts.transfers.models import Model

console = Console(highlight=False)


async def play(graph: AnyGraph, payload: BaseModel, ends: tuple[str, ...], model: Model) -> None:
    """Play a chart to one of its ends, and show how it got there."""
    async with Runtime.open("memory:", graphs=[graph], services=Services(model)) as runtime:
        agent = await runtime.start(graph, at=next(iter(graph.entry_points)), payload=payload)
        await agent.until(*ends)
        console.rule(f"{graph.name}, {type(model).__name__.lower()} model")
        for turn in await agent.history():
            left = f"  (left: {turn.event.payload['left']})" if "left" in turn.event.payload else ""
            console.print(f"{turn.event.name:36} {', '.join(turn.target)}{left}")


async def main() -> None:
    """Play all four."""
    for model in (Scripted("transfer_to_deep_searcher", "transfer_to_doc_generator"), Stubborn()):
        await play(research, Question(question="tides"), ("published",), model)
    for model in (Scripted("transfer_to_fix", "transfer_to_approve"), Stubborn()):
        await play(review, Draft(text="The tides"), ("approve", "escalate"), model)


if __name__ == "__main__":
    asyncio.run(main())

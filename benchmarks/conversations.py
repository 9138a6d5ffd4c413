"""How the cost of a turn of a conversation with a model grows: processor time and bytes written at turns 5 and 300.

python -m benchmarks.conversations prints the figures; `--profile` adds where the last turns spend their time.
"""

from __future__ import annotations

import asyncio
import cProfile
import pstats
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from benchmarks.databases import DISK, new_file, url
from benchmarks.measure import Better, Contestant, Effort, Measure
from gatechart import (
    ConversationContext,
    Event,
    Invoke,
    ModelLoop,
    Runtime,
    State,
    StateTransitionGraph,
    ToolBox,
    Transition,
    tool,
)
from gatechart.handoff import Message, ToolCall
from gatechart.models import Finish, ModelReply, ModelRequest, Usage, keep_messages

EARLY, LATE = 5, 300  # turns
AROUND = 5  # turns of which the median is taken
QUESTION = "Where is my order 4711? It should have been here two weeks ago, and the shop does not answer my letters."
ANSWER = "It was shipped on Monday. The parcel service says that it is in Basel, and that it comes tomorrow morning."


@tool(repeat="safe")
async def look_up(order: str) -> dict[str, str]:
    """Look up an order."""
    return {"order": order, "status": "shipped", "where": "Basel", "by": "parcel service"}


class ScriptedModel:
    """A model that looks the order up, then answers."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Return a call after a question, else the answer."""
        if request.messages[-1].role == "user":
            calls = (ToolCall(name="look_up", arguments={"order": "4711"}),)
            return _reply(Message(role="agent", tool_calls=calls), Finish.CALLS)
        return _reply(Message(role="agent", content=ANSWER), Finish.ANSWERED)


def _reply(message: Message, finish: Finish) -> ModelReply:
    return ModelReply(message=message, finish=finish, usage=Usage(input_tokens=10))


class Services:
    """What the loop uses."""

    def __init__(self) -> None:
        self.model = ScriptedModel()
        self.tools = ToolBox([look_up])


def hear(context: ConversationContext, event: Event) -> None:
    """Add the question."""
    context.say("user", event.payload["text"], time=event.time)


talking = StateTransitionGraph(
    "talking",
    context=ConversationContext,
    states=[State("THINKING", invoke=Invoke(ModelLoop(tools=[look_up]), id="think"))],
    transitions=[
        Transition("LISTENING", "ASKED", "THINKING", actions=hear),
        Transition("THINKING", "done.invoke.think", "LISTENING", actions=keep_messages),
    ],
    entry_points=["LISTENING"],
)


async def costs(turns: int, at: Callable[[int], Any] = lambda _: None) -> list[tuple[float, int]]:
    """Return the processor time of each turn, in milliseconds, and the bytes that it wrote. at: called before each."""
    figures: list[tuple[float, int]] = []
    with new_file(DISK) as path:
        async with Runtime.open(url(path), graphs=[talking], services=Services()) as runtime:
            agent = await runtime.start(talking, at="LISTENING", agent_id="a")
            for number in range(1, turns + 1):
                at(number)
                began, written = process_time(), _written()
                await agent.send("ASKED", {"text": QUESTION})
                await agent.until("LISTENING")
                figures.append(((process_time() - began) * 1000, _written() - written))
    return figures


def _written() -> int:
    """Return the bytes that the process wrote; 0 where the system does not count them."""
    try:
        lines = Path("/proc/self/io").read_text().splitlines()
    except OSError:
        return 0
    return int(next(line for line in lines if line.startswith("wchar")).split()[1])


def _around(figures: list[float], turn: int) -> float:
    return median(figures[turn - 1 : turn - 1 + AROUND])


async def growth(effort: Effort) -> float:
    """Return the processor time of a turn after 300 turns, in proportion to one after 5; a quick run takes 20."""
    late = effort.part_of(LATE, 20)
    times = [each for each, _ in await costs(late + AROUND)]
    return _around(times, late) / _around(times, EARLY)


measure = Measure(
    "conversations",
    f"Processor time of turn {LATE} of a conversation with a model, in proportion to turn {EARLY}",
    "times as much",
    Better.LOWER,
    (Contestant("gatechart", growth, target=1.5),),
    most_rounds=3,
)


async def _main() -> None:
    profile = cProfile.Profile()

    def at(number: int) -> None:
        if number == LATE and "--profile" in sys.argv:
            profile.enable()

    figures = await costs(LATE + AROUND, at)
    profile.disable()
    times, written = [each for each, _ in figures], [float(each) for _, each in figures]
    for turn in (EARLY, 50, 100, 200, LATE):
        print(f"turn {turn}: {_around(times, turn):.1f} ms, {_around(written, turn):,.0f} bytes written")
    if "--profile" in sys.argv:
        pstats.Stats(profile).sort_stats("tottime").print_stats(45)


if __name__ == "__main__":
    asyncio.run(_main())

"""The child of `benchmarks.compare`: runs the measures that it is told on standard input, with the gatechart it finds.

It uses only what every version of gatechart has had at its top level, so that it can be run with older checkouts.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, TypeAlias

_began = (perf_counter(), process_time())
from gatechart import (  # noqa: E402  it is timed
    AgentContext,
    ConversationContext,
    EntryPoint,
    Handoff,
    HandoffPacket,
    Invoke,
    Runtime,
    State,
    StateTransitionGraph,
    Transition,
)
from gatechart.handoff import Mode  # noqa: E402  it is timed

IMPORT = {"wall": perf_counter() - _began[0], "cpu": process_time() - _began[1]}
FOLDER = next((folder for folder in ("/dev/shm",) if Path(folder).is_dir()), None)  # so that no disk is timed
STATES = ("RED", "GREEN", "AMBER")
SAID = ("My parcel is late.", "Which order is it?", "Number 4711.", "It was sent on Monday.", "I want my money back.")
MEMORY, SQLITE = "memory", "sqlite"


class RingContext(AgentContext):
    """How often an agent moved, and how often it arrived."""

    moves: int = 0
    arrivals: int = 0


def is_allowed(context: RingContext, event: Any) -> bool:
    return context.moves >= 0


def count_move(context: RingContext, event: Any) -> None:
    context.moves += 1


def count_arrival(context: RingContext, event: Any) -> None:
    context.arrivals += 1


async def work(context: RingContext, work: Any) -> int:
    return context.moves


def say_all(context: ConversationContext, event: object) -> None:
    for number, text in enumerate(SAID):
        context.say("agent" if number % 2 else "user", text)


def answer(context: ConversationContext, event: object) -> None:
    context.say("agent", f"I have read {len(context.messages)} messages.")


def decide(context: ConversationContext, event: object, turn: Any) -> None:
    turn.send(turn.agent_id, "DECIDED")


ring = StateTransitionGraph(
    "ring",
    context=RingContext,
    states=[State(state, on_entry=count_arrival) for state in STATES],
    transitions=[
        Transition(source, "CHANGED", target, guard=is_allowed, actions=count_move)
        for source, target in zip(STATES, (*STATES[1:], STATES[0]), strict=True)
    ],
    entry_points=STATES[:1],
)
worker = StateTransitionGraph(
    "worker",
    context=RingContext,
    states=[State("IDLE"), State("WORKING", invoke=Invoke(work)), State("DONE", final=True)],
    transitions=[
        Transition("IDLE", "ASKED", "WORKING"),
        Transition("WORKING", "done.invoke.work", "DONE", actions=count_move),
    ],
    entry_points=["IDLE"],
)
orders = StateTransitionGraph(
    "orders",
    context=ConversationContext,
    states=[State("TALKING", on_entry=say_all), State("HANDED_OVER", final=True), State("ANSWERED", final=True)],
    transitions=[
        Transition("TALKING", "REFUND_ASKED", "WAITING", actions=Handoff("refunds", at="REVIEWING")),
        Transition("WAITING", "handoff.accepted", "HANDED_OVER"),
        Transition(
            "TALKING", "OPINION_ASKED", "AWAITING", actions=Handoff("refunds", at="DECIDING", mode=Mode.DELEGATE)
        ),
        Transition("AWAITING", "handoff.completed", "ANSWERED"),
    ],
    entry_points=["TALKING"],
)
refunds = StateTransitionGraph(
    "refunds",
    context=ConversationContext,
    states=[
        State("REVIEWING", on_entry=answer),
        State("DECIDING", on_entry=(answer, decide)),
        State("DONE", final=True, data=lambda _context, _event: {"refund": "granted"}),
    ],
    transitions=[Transition("REVIEWING", "PAID", "REVIEWING"), Transition("DECIDING", "DECIDED", "DONE")],
    entry_points=[EntryPoint("REVIEWING", takes=HandoffPacket), EntryPoint("DECIDING", takes=HandoffPacket)],
)
GRAPHS = (ring, worker, orders, refunds)


@dataclass(slots=True)
class Watch:
    """Times what is done inside `running`."""

    wall: float = 0
    cpu: float = 0  # of all threads

    @contextmanager
    def running(self) -> Iterator[None]:
        gc.collect()
        gc.freeze()
        wall, cpu = perf_counter(), process_time()
        yield
        self.wall += perf_counter() - wall
        self.cpu += process_time() - cpu
        gc.unfreeze()


Measure: TypeAlias = Callable[[Runtime, int, Watch], Awaitable[None]]


async def starts(runtime: Runtime, count: int, watch: Watch) -> None:
    with watch.running():
        await _started(runtime, "ring", "RED", count)


async def events_of_one(runtime: Runtime, count: int, watch: Watch) -> None:
    (agent,) = await _started(runtime, "ring", "RED", 1)
    with watch.running():
        for _ in range(count):
            await agent.send("CHANGED")
    _check(agent.snapshot.version == 1 + count)


async def events_of_many(runtime: Runtime, count: int, watch: Watch) -> None:
    agents = await _started(runtime, "ring", "RED", 1000)

    async def send(agent: Any) -> None:
        for _ in range(count // len(agents)):
            await agent.send("CHANGED")

    with watch.running():
        await asyncio.gather(*map(send, agents))


async def posts(runtime: Runtime, count: int, watch: Watch) -> None:
    agents = await _started(runtime, "ring", "RED", 1000)
    each = count // len(agents)

    async def post(agent: Any) -> None:
        for _ in range(each):
            await runtime.post(agent.id, "CHANGED")

    with watch.running():
        await asyncio.gather(*map(post, agents))
        while any(agent.snapshot.version < 1 + each for agent in agents):  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def transfers(runtime: Runtime, count: int, watch: Watch) -> None:
    await _through(runtime, count, watch, "orders", "TALKING", "REFUND_ASKED", "HANDED_OVER")


async def delegations(runtime: Runtime, count: int, watch: Watch) -> None:
    await _through(runtime, count, watch, "orders", "TALKING", "OPINION_ASKED", "ANSWERED")


async def invokes(runtime: Runtime, count: int, watch: Watch) -> None:
    await _through(runtime, count, watch, "worker", "IDLE", "ASKED", "DONE")


async def _through(runtime: Runtime, count: int, watch: Watch, graph: str, door: str, event: str, end: str) -> None:
    """Agents at once, each from an event until its end."""
    agents = await _started(runtime, graph, door, count)

    async def go(agent: Any) -> None:
        await agent.send(event)
        await agent.until(end)

    with watch.running():
        await asyncio.gather(*map(go, agents))


async def _started(runtime: Runtime, graph: str, door: str, count: int) -> Sequence[Any]:
    return await asyncio.gather(*(runtime.start(graph, at=door) for _ in range(count)))


def _check(holds: bool) -> None:
    if not holds:
        raise RuntimeError("not all the work was done")


async def restoring(url: str, count: int, watch: Watch) -> None:
    """Agents read one after the other, by a runtime that opens what another has closed."""
    async with _open(url) as runtime:
        ids = [agent.id for agent in await _started(runtime, "ring", "RED", count)]
    async with _open(url) as runtime:
        with watch.running():
            for each in ids:
                await runtime.resume(each)


@asynccontextmanager
async def _open(url: str) -> AsyncIterator[Runtime]:
    async with Runtime.open(url, graphs=GRAPHS) as runtime:
        yield runtime


MEASURES: Mapping[str, tuple[Measure, str, int]] = {
    "start, in memory": (starts, MEMORY, 3000),
    "start, SQLite, all at once": (starts, SQLITE, 2000),
    "event of one agent, in memory": (events_of_one, MEMORY, 10_000),
    "event of one agent, SQLite": (events_of_one, SQLITE, 500),
    "event of 1,000 agents at once, SQLite": (events_of_many, SQLITE, 5000),
    "mail posted until applied, in memory": (posts, MEMORY, 5000),
    "mail posted until applied, SQLite": (posts, SQLITE, 3000),
    "transfer, in memory": (transfers, MEMORY, 1000),
    "transfer, SQLite": (transfers, SQLITE, 1000),
    "delegation, in memory": (delegations, MEMORY, 1000),
    "delegation, SQLite": (delegations, SQLITE, 1000),
    "invoke, in memory": (invokes, MEMORY, 2000),
    "invoke, SQLite": (invokes, SQLITE, 1000),
    "agent restored, SQLite": (restoring, SQLITE, 500),  # type: ignore[dict-item]  it opens by itself
}
"""What is done how often, by name."""


async def timed(name: str, part: float = 1) -> dict[str, float]:
    """The seconds of a round, for each repetition."""
    run, kind, whole = MEASURES[name]
    count = max(round(whole * part), 10)
    watch = Watch()
    with TemporaryDirectory(prefix="gatechart-bench-", dir=FOLDER) as folder:
        url = "memory:" if kind == MEMORY else f"sqlite+aiosqlite:///{folder}/agents.db"
        if run is restoring:
            await restoring(url, count, watch)
        else:
            async with _open(url) as runtime:
                await run(runtime, count, watch)
    return {"wall": watch.wall / count, "cpu": watch.cpu / count}


def answers(lines: Iterable[str]) -> Iterator[dict[str, float]]:
    yield IMPORT
    for line in lines:
        yield asyncio.run(timed(line.strip()))


def main() -> int:
    gc.set_threshold(50_000, 20, 20)  # as `gatechart run` has it
    for each in answers(sys.stdin):
        print(json.dumps(each), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

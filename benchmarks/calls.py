"""How many tools a second an invoke calls, one after the other, with and without policies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import Any, Final

from benchmarks.databases import new_file
from benchmarks.measure import Better, Contestant, Measure, Role, per_second
from gatechart import (
    AgentContext,
    Event,
    Invoke,
    Retry,
    Runtime,
    State,
    StateTransitionGraph,
    ToolBox,
    Transition,
    Work,
    tool,
)
from gatechart.graph.signals import Signal
from gatechart.signals import handing_on, looping
from gatechart.tools import BreakerPolicy, ToolPolicies

NO_POLICIES: Final = ToolPolicies(retry="off", breaker="off")
ALL_POLICIES: Final = ToolPolicies(
    total_s=600,
    alternatives="bare",
    retry=Retry(attempts=4, jitter=0.1),
    breaker=BreakerPolicy(failure_ratio=0.5, failures_in_a_row=5),
    bulkhead=100,
    rate="10000/s",
    timeout_s=60,
)


class Took(AgentContext):
    """The context of an agent that calls tools."""

    seconds: float = 0.0


async def look(order: int) -> int:
    return order


bare = tool(name="bare", repeat="safe", policies=NO_POLICIES)(look)
guarded = tool(name="guarded", repeat="safe", policies=ALL_POLICIES)(look)
unrepeatable = tool(name="unrepeatable", policies=ALL_POLICIES)(look)

Call = Callable[[Work[Any], int], Awaitable[object]]


async def in_step(work: Work[Any], number: int) -> object:
    return await work.step(f"look {number}", look, number)


async def in_breaker(work: Work[Any], number: int) -> object:
    async with work.breaker("look"):
        return await look(number)


def through(name: str) -> Call:
    async def call(work: Work[Any], number: int) -> object:
        return (await work.call(name, order=number)).unwrap()

    return call


async def by_hand(count: int) -> float:
    """The function, awaited."""
    began = perf_counter()
    for number in range(count):
        await look(number)
    return perf_counter() - began


def in_memory(call: Call, signals: Sequence[Signal] = ()) -> Callable[[int], Awaitable[float]]:
    async def repeat(count: int) -> float:
        return await seconds("memory:", call, count, signals)

    return repeat


def in_sqlite(call: Call, signals: Sequence[Signal] = ()) -> Callable[[int], Awaitable[float]]:
    async def repeat(count: int) -> float:
        with new_file() as path:
            return await seconds(f"sqlite+aiosqlite:///{path}", call, count, signals)

    return repeat


async def seconds(store: str, call: Call, count: int, signals: Sequence[Signal]) -> float:
    """How long an invoke takes for so many calls, and an agent with signals for the turns that these tell it of."""

    async def run(_context: Took, work: Work[Any]) -> float:
        began = perf_counter()
        for number in range(count):
            await call(work, number)
        return perf_counter() - began

    graph = StateTransitionGraph(
        "caller",
        context=Took,
        states=[State("CALLING", invoke=Invoke(run)), "CALLED"],
        transitions=[Transition("CALLING", "done.invoke.run", "CALLED", actions=keep)],
        entry_points=["CALLING"],
        signals=signals,
    )
    services = {"tools": ToolBox([bare, guarded, unrepeatable])}
    async with Runtime.open(store, graphs=[graph], services=services) as runtime:
        began = perf_counter()
        agent = await runtime.start(graph, at="CALLING")
        await agent.until("CALLED")
        return perf_counter() - began if signals else agent.context.seconds


def keep(context: Took, event: Event) -> None:
    context.seconds = event.payload["result"]


NOTICED: Final = (through("guarded"), (*handing_on(), *looping()))

measure = Measure(
    "calls",
    "Calls of an invoke, each recorded unless it says otherwise, one after the other",
    "calls/s",
    Better.HIGHER,
    (
        Contestant("the function, awaited", per_second(by_hand), Role.RAW),
        Contestant("a bare step, in memory", per_second(in_memory(in_step))),
        Contestant("a circuit breaker around the function, not recorded", per_second(in_memory(in_breaker))),
        Contestant("a tool without policies, in memory", per_second(in_memory(through("bare")))),
        Contestant("a tool with all policies, in memory", per_second(in_memory(through("guarded")))),
        Contestant("the same, not to be repeated, in memory", per_second(in_memory(through("unrepeatable")))),
        Contestant("a tool with all policies, its agent with signals, in memory", per_second(in_memory(*NOTICED))),
        Contestant("a bare step, on disk", per_second(in_sqlite(in_step))),
        Contestant("a tool with all policies, on disk", per_second(in_sqlite(through("guarded")))),
        Contestant("the same, not to be repeated, on disk", per_second(in_sqlite(through("unrepeatable")))),
        Contestant("a tool with all policies, its agent with signals, on disk", per_second(in_sqlite(*NOTICED))),
    ),
)

"""How many agents a second begin, entry action and first turn included."""

from __future__ import annotations

from secrets import token_hex
from time import perf_counter

from benchmarks import peers
from benchmarks.measure import Better, Contestant, Measure, Role, per_second
from benchmarks.ring import STATES, RingContext, count_arrival, ring
from gatechart import Runtime

MODELS = 100  # of a machine


async def bare(count: int) -> float:
    """An id, a context, the entry action, a place in a dict."""
    agents = {}
    began = perf_counter()
    for _ in range(count):
        context = RingContext()
        count_arrival(context, None)
        agents[token_hex(16)] = (STATES[0], context)
    return perf_counter() - began


async def runtime_start(count: int) -> float:
    async with Runtime.open("memory:", graphs=[ring]) as runtime:
        began = perf_counter()
        for _ in range(count):
            await runtime.start("ring", at=STATES[0])
        return perf_counter() - began


async def add_model(count: int) -> float:
    """Each machine looks through the models it has before it takes one more, so it is spared a long list."""
    machines = [peers.async_machine() for _ in range(0, count, MODELS)]
    models = []
    began = perf_counter()
    for number in range(count):
        models.append(peers.Model())
        machines[number // MODELS].add_model(models[-1])
    return perf_counter() - began


async def new_chart(count: int) -> float:
    charts = []
    began = perf_counter()
    for _ in range(count):
        charts.append(peers.AsyncChart())
        await charts[-1].activate_initial_state()
    return perf_counter() - began


measure = Measure(
    "starts",
    "Agents started in the memory runtime",
    "agents/s",
    Better.HIGHER,
    (
        Contestant("id, context and entry action in a dict", per_second(bare), Role.RAW),
        Contestant("gatechart, Runtime.start", per_second(runtime_start), target=50_000),
        Contestant(f"transitions, AsyncMachine of {MODELS} models", per_second(add_model), Role.PEER),
        Contestant("python-statemachine, async engine", per_second(new_chart), Role.PEER),
    ),
)

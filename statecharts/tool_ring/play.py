"""Plays the ring: many agents, with and without their plan, in situations in which tools fail."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from statistics import median
from typing import Final

from gatechart import Agent, Limits, Runtime, Status
from gatechart.contrib.human_desk import human_desk
from gatechart.graph.graph import AnyGraph
from gatechart.results import HistoryEntry
from gatechart.testing import VirtualClock
from gatechart.values.frozen import replaced, value
from statecharts.hurry import hurried
from statecharts.tool_ring.ring import RingContext, ring
from statecharts.tool_ring.tools import Chances, RingServices, tools_of

BEGINNING: Final = datetime(2026, 1, 1, tzinfo=UTC)
WAIT: Final = "trail.wait"  # event by which a call begins to wait for a circuit breaker
CALL: Final = "trail.call"  # event of the end of a call
WITH_A_PERSON: Final = "with a person"
ENDS: Final = ("FINISHED", WITH_A_PERSON, "EXHAUSTED")


@value
class Situation:
    """How tools fail, and which ways out are closed."""

    name: str
    chances: Chances
    closed: tuple[str, ...] = ()
    has_plan: bool = True

    @property
    def graph(self) -> AnyGraph:
        """The graph of its agents."""
        return ring(has_plan=self.has_plan, closed=self.closed)

    @property
    def services(self) -> RingServices:
        """The services of its agents."""
        return RingServices(tools_of(self.chances, has_alternative="tool" not in self.closed))


def situations(seed: int = 0) -> tuple[Situation, ...]:
    """Return the situations of the ring: random failures, and a database that never answers, with each way closed."""
    usual, never = Chances(seed=seed), Chances(db_tool=1.0, seed=seed)
    spoilt = Chances(0.0, 0.0, 0.0, spoils=True, seed=seed)
    return (
        Situation("random failures, no plan", usual, has_plan=False),
        Situation("random failures", usual),
        Situation("no database, no plan", never, has_plan=False),
        Situation("no database", never),
        Situation("no database, nor another tool", never, closed=("tool",)),
        Situation("a spoilt cursor, no plan", spoilt, has_plan=False),
        Situation("a spoilt cursor, neither tool nor route", spoilt, closed=("tool", "route")),
        Situation("no database, nor any other way", never, closed=("tool", "route", "rollback")),
    )


@value
class Played:
    """What became of the agents of a situation."""

    ends: tuple[tuple[str, int], ...]  # how many ended so, in the order of ENDS
    steps: tuple[int, ...]  # of each agent, sorted
    ways: tuple[tuple[str, int], ...]  # how many attempts were made by each strategy
    waited_s: tuple[float, ...] = ()  # of each agent for circuit breakers, sorted; empty unless it was asked for

    @property
    def count(self) -> int:
        """How many agents were played."""
        return sum(count for _, count in self.ends)

    @property
    def finished(self) -> int:
        """How many finished."""
        return dict(self.ends)["FINISHED"]

    @property
    def usual_steps(self) -> float:
        """Median of the steps."""
        return median(self.steps)


async def play(
    situation: Situation,
    agents: int,
    url: str = "memory:",
    on_ended: Callable[[], None] = lambda: None,
    *,
    beginning: datetime = BEGINNING,
    first: int = 0,
    measures_waits: bool = False,
) -> Played:
    """Play a situation with so many agents at once, which share their circuit breakers, on a clock of their own.

    url: of a store; agents that are there already go on. on_ended: called as each agent ends. beginning: when it is
    played, by that clock. first: number of the first agent, as the draws of failures depend on the agents' ids.
    measures_waits: whether to add up how long each agent waited for circuit breakers, which reads all histories.
    """
    graph = situation.graph
    async with _hosted(situation, graph, url, beginning, agents) as runtime:
        numbers = range(first, first + agents)
        playing = [_played(runtime, graph, f"ring-{number}", on_ended) for number in numbers]
        ended = await asyncio.gather(*playing)
        waits = [waited_s(await each.history()) for each in ended] if measures_waits else []
        return replaced(_summary(ended), waited_s=tuple(sorted(waits)))


async def play_apart(situation: Situation, agents: int, on_ended: Callable[[], None] = lambda: None) -> Played:
    """Play a situation with so many agents, each with tools and circuit breakers of its own."""
    ended: list[Agent[RingContext]] = []
    graph = situation.graph
    for number in range(agents):
        async with _hosted(situation, graph, "memory:", BEGINNING, 1) as runtime:
            ended.append(await _played(runtime, graph, f"ring-{number}", on_ended))
    return _summary(ended)


@asynccontextmanager
async def _hosted(
    situation: Situation, graph: AnyGraph, url: str, beginning: datetime, agents: int
) -> AsyncIterator[Runtime]:
    clock, graphs = VirtualClock(beginning), [graph, human_desk]
    # The clock moves once all work waits for it, so no invoke may wait for another's place.
    limits = Limits(invokes=agents, timers=max(agents, Limits().timers))
    opened = Runtime.open(url, graphs=graphs, services=situation.services, clock=clock, limits=limits)
    async with opened as runtime, hurried(clock, runtime):
        yield runtime


async def _played(runtime: Runtime, graph: AnyGraph, agent_id: str, on_ended: Callable[[], None]) -> Agent[RingContext]:
    agent: Agent[RingContext] = await runtime.start(graph, at="A", agent_id=agent_id, idempotency_key=agent_id)
    await agent.until(ended=True)
    on_ended()
    return agent


def waited_s(history: Sequence[HistoryEntry]) -> float:
    """Return how many seconds an agent waited for circuit breakers. history: oldest first."""
    total, began = 0.0, None
    for turn in history:
        if turn.event.name == WAIT:
            began = turn.event.time
        elif began is not None and (turn.event.name == CALL or turn.source != turn.target):
            total, began = total + (turn.event.time - began).total_seconds(), None
    return total


def ended_in(agent: Agent[RingContext]) -> str:
    """Return where an agent has ended: in one of ENDS."""
    state = agent.configuration[0]
    return WITH_A_PERSON if agent.snapshot.status is Status.DONE and state != "FINISHED" else state


def _summary(agents: Sequence[Agent[RingContext]]) -> Played:
    ends = Counter(map(ended_in, agents))
    ways = Counter(each.strategy for agent in agents for each in agent.snapshot.trail.escapes.tried)
    return Played(
        tuple((name, ends[name]) for name in _ordered(ends)),
        tuple(sorted(agent.context.steps for agent in agents)),
        tuple(ways.most_common()),
    )


def _ordered(ends: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*ENDS, *ends)))

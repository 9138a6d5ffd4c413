"""Rehearsals: one agent in memory with a virtual clock, so that nothing waits and nothing is left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, Final, Generic

from gatechart.agent import Agent
from gatechart.context import ContextT
from gatechart.graph import ANY, ROOT, AnyGraph, Default, EntryPoint, Initial, StateTransitionGraph
from gatechart.runtime import Runtime
from gatechart.runtime.live_agent import LiveAgent
from gatechart.testing.clock import VirtualClock
from gatechart.turn import plain_payload, raised_name
from gatechart.values import (
    Delay,
    Event,
    Name,
    Outcome,
    Snapshot,
    StateName,
    delay_text,
    is_reserved,
    name_of,
    seconds_in,
)

START: Final = "initial state of the graph"  # the entry point that a rehearsal adds
PATIENCE: Final = 100  # rounds of the event loop that an invoke may take without sleeping on the clock


@asynccontextmanager
async def rehearse(
    graph: StateTransitionGraph[ContextT],
    at: Name | None = None,
    payload: Any = None,
    *,
    services: Any = None,
    clock: VirtualClock | None = None,
    as_framework: bool = False,
) -> AsyncIterator[Rehearsal[ContextT]]:
    """Start an agent of the graph in memory, and let it come to rest.

    at: the entry point; None for the initial state of the graph, which need not be an entry point of it.
    payload: what the entry point takes; at the initial state, the fields of the context.
    services: passed to actions and invokes. clock: starts in the year 2000 by default.
    as_framework: let `send` accept the framework's own events too, such as the end of an invoke.

    Raises what `Runtime.start` raises.
    """
    time = clock or VirtualClock()
    played = _with_start(graph, takes_payload=payload is not None) if at is None else graph
    async with Runtime.open("memory:", graphs=[played], services=services, clock=time) as runtime:
        agent = await runtime.start(played.name, at=START if at is None else at, payload=payload)
        rehearsal = Rehearsal(agent, time, lambda: runtime.pending_work, as_framework=as_framework)
        await rehearsal.settle()
        yield rehearsal


class Rehearsal(Generic[ContextT]):
    """An agent whose clock moves only when the test moves it. Created by `rehearse`."""

    def __init__(
        self, agent: Agent[ContextT], clock: VirtualClock, under_way: Callable[[], int], *, as_framework: bool
    ) -> None:
        self.agent = agent
        self.clock = clock
        self._under_way = under_way
        self._as_framework = as_framework

    @property
    def leaves(self) -> tuple[StateName, ...]:
        """The active states without active children, in document order."""
        return self.agent.configuration

    @property
    def snapshot(self) -> Snapshot:
        """The newest committed snapshot."""
        return self.agent.snapshot

    @property
    def context(self) -> ContextT:
        """A copy of the committed context."""
        return self.agent.context

    async def send(self, event: Name, payload: Any = None) -> Outcome:
        """Send an event, let everything that follows from it at this moment happen, and return the event's outcome.

        Raises what `Agent.send` raises.
        """
        is_played = self._as_framework and is_reserved(raised_name(event))
        outcome = await (self._play(event, payload) if is_played else self.agent.send(event, payload))
        await self.settle()
        return outcome

    async def _play(self, event: Name, payload: Any) -> Outcome:
        """Send an event that no caller of a runtime can send."""
        host, name = self.agent._host, raised_name(event)
        assert isinstance(host, LiveAgent)  # the runtime is in this process
        return await host.happen(Event(name, plain_payload(payload, name), self.clock.now()))

    async def advance(self, by: Delay) -> None:
        """Move the clock forward. Whatever falls due on the way happens at its own time, in order.

        by: "2d", "1h30m", "PT1H30M", a timedelta, or a number of seconds. Raises ValueError for anything else.
        """
        end = self.clock.at + timedelta(seconds=seconds_in(by))
        while await self._next_due(end):
            pass
        self.clock.at = end

    async def until(self, *states: Name, within: Delay = "366d") -> Snapshot:
        """Move the clock forward until one of the states is active; return the snapshot.

        The clock stops at the moment at which the state is entered, and does not move if it is active already.
        Raises UnknownStateError, and AssertionError if none is active within this time, where the clock then stands.
        """
        graph = self.agent._host.graph
        wanted = frozenset(leaf for state in states for leaf in graph.leaves(state))
        end = self.clock.at + timedelta(seconds=seconds_in(within))
        while wanted.isdisjoint(self.leaves):
            if not await self._next_due(end):
                names = " or ".join(repr(name_of(state)) for state in states)
                raise AssertionError(f"{names} is not active within {delay_text(within)}: the agent is {self.agent!r}")
        return self.snapshot

    async def _next_due(self, end: datetime) -> bool:
        """Move the clock to the next moment at which something is due; return False if that is none up to the end."""
        due = self.clock.next_due
        if due is None or due > end:
            return False
        self.clock.at = due
        await self.settle()
        return True

    async def settle(self) -> None:
        """Wait until all pending work waits for the clock.

        An invoke that waits for something other than the clock gets 100 rounds of the event loop.
        """
        for _ in range(PATIENCE):
            await asyncio.sleep(0)
            # Everything under way sleeps on the clock, so nothing more happens until it moves.
            if self._under_way() == self.clock.sleeping:
                return


def _with_start(graph: AnyGraph, *, takes_payload: bool) -> AnyGraph:
    """Return the graph with one more entry point, at its initial state."""
    default = graph.nodes[ROOT].default
    start = EntryPoint(ANY, START, takes=graph.context if takes_payload else None)
    return StateTransitionGraph(
        graph.name,
        version=graph.version,
        context=graph.context,
        states=graph.tree,
        transitions=graph.transitions,
        entry_points=[*graph.entry_points.values(), start],
        initial=None if default is None else _initial(default),
        on_refusal=graph.on_refusal,
        description=graph.description,
        max_microsteps=graph.max_microsteps,
        migrations=graph.migrations,
        accepts=graph.accepts,
        events=graph.event_types.values(),
        events_closed=graph.events_closed,
    )


def _initial(default: Default) -> Initial:
    return Initial(default.targets, actions=[step.function for step in default.steps])

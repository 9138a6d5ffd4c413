"""Rehearsals: one agent in memory with a virtual clock, so that no test waits or leaves data behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, Generic

from gatechart.agent import Agent
from gatechart.context import ContextT
from gatechart.errors.operation import MailFailedError, NoInvokeError
from gatechart.graph.callables import callable_name
from gatechart.graph.compile import ROOT, Default
from gatechart.graph.definition import ANY, EntryPoint, Initial, Invoke, State
from gatechart.graph.graph import AnyGraph, StateTransitionGraph
from gatechart.hosting.limits import Limits
from gatechart.runtime.live_agent import LiveAgent
from gatechart.runtime.runtime import Runtime
from gatechart.testing.clock import VirtualClock
from gatechart.turn.arguments import plain_payload, raised_name
from gatechart.values.agents import Event, Outcome, Snapshot
from gatechart.values.delays import Delay, delay_text, seconds_in
from gatechart.values.mail import Mail
from gatechart.values.names import Name, StateName, is_reserved, name_of

START: Final = "initial state of the graph"  # the entry point that a rehearsal adds
DEFAULTS: Final = Limits()
PATIENCE: Final = 100  # rounds of the event loop that an invoke may take without sleeping on the clock
_PAUSE_S: Final = 0.001


@asynccontextmanager
async def rehearse(
    graph: StateTransitionGraph[ContextT],
    at: Name | None = None,
    payload: Any = None,
    *,
    services: Any = None,
    clock: VirtualClock | None = None,
    as_framework: bool = False,
    context: Mapping[str, Any] | None = None,
    holds_invokes: bool = False,
    limits: Limits = DEFAULTS,
) -> AsyncIterator[Rehearsal[ContextT]]:
    """Start an agent of the graph in memory, and wait until it is at rest.

    at: the entry point; None for the graph's initial state, which need not be an entry point.
    payload: the payload of the entry point; at the initial state, the fields of the context.
    services: passed to actions and invokes. clock: starts in the year 2000 by default.
    as_framework: let `send` accept the framework's own events too, such as the end of an invoke.
    context: the fields of the context; the agent then starts in the state `at`, which need not be an entry point.
    holds_invokes: let invoked functions wait for `Rehearsal.end_invoke` instead of running. limits: of the runtime.

    Raises the exceptions of `Runtime.start`, UnknownStateError, and MailFailedError as `Rehearsal.settle` does.
    """
    time = clock or VirtualClock()
    waiting: dict[str, asyncio.Future[Any]] = {}
    is_anywhere = at is None or context is not None
    start = _start(graph, at, takes_fields=payload is not None or context is not None) if is_anywhere else None
    played = _played(graph, start, waiting if holds_invokes else None) if start or holds_invokes else graph
    async with Runtime.open("memory:", graphs=[played], services=services, clock=time, limits=limits) as runtime:
        start_payload = payload if context is None else context
        entry = START if start or at is None else at
        agent = await runtime.start(played.name, at=entry, payload=start_payload, agent_id=graph.name)
        rehearsal = Rehearsal(agent, time, runtime, waiting, as_framework=as_framework)
        await rehearsal.settle()
        yield rehearsal


class Rehearsal(Generic[ContextT]):
    """An agent whose clock moves only when the test moves it. Created by `rehearse`."""

    def __init__(
        self,
        agent: Agent[ContextT],
        clock: VirtualClock,
        runtime: Runtime,
        waiting: dict[str, asyncio.Future[Any]],
        *,
        as_framework: bool,
    ) -> None:
        self.agent = agent
        self.clock = clock
        self.runtime = runtime  # in memory, which hosts the agent
        self._held = waiting
        self._as_framework = as_framework
        self._reported: set[int] = set()  # numbers of failed mail

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
        """Send an event, process all its consequences at this moment, and return the event's outcome.

        Raises the exceptions of `Agent.send`, and MailFailedError as `settle` does, or at once if the agent takes
        nothing before the next attempt at failed mail.
        """
        if blocking := await self._failed_mail(is_waiting=True):
            raise _failure_of(blocking)
        is_played = self._as_framework and is_reserved(raised_name(event))
        outcome = await (self._play(event, payload) if is_played else self.agent.send(event, payload))
        await self.settle()
        return outcome

    async def _play(self, event: Name, payload: Any) -> Outcome:
        """Send an event that callers of a runtime cannot send."""
        host, name = self.agent._host, raised_name(event)
        assert isinstance(host, LiveAgent)  # the runtime is in this process
        return await host.happen(Event(name, plain_payload(payload, name), self.clock.now()))

    async def advance(self, by: Delay) -> None:
        """Move the clock forward. Everything that becomes due happens at its own time, in order.

        by: "2d", "1h30m", "PT1H30M", a timedelta, or a number of seconds. Raises ValueError for anything else, and
        MailFailedError as `settle` does: the clock then shows the moment of the failure.
        """
        end = self.clock.at + timedelta(seconds=seconds_in(by))
        while await self._next_due(end):
            pass
        self.clock.at = end

    async def until(self, *states: Name, within: Delay = "366d") -> Snapshot:
        """Move the clock forward until one of the states is active; return the snapshot.

        The clock stops at the moment when the agent enters the state, and does not move if the state is active already.
        Raises UnknownStateError, MailFailedError as `settle` does, and AssertionError if no state is active within this
        time; the clock then shows the end of that time.
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
        """Move the clock to the next moment when something is due; return False if there is none up to the end."""
        due = self.clock.next_due
        if due is None or due > end:
            return False
        self.clock.at = due
        await self.settle()
        return True

    @property
    def invokes(self) -> tuple[str, ...]:
        """The ids of the invoked functions that wait for `end_invoke`."""
        return tuple(self._held)

    async def end_invoke(self, invoke: str, result: Any = None, *, error: Exception | None = None) -> None:
        """End an invoked function that waits, with a result or with an exception, which may be retried.

        Raises NoInvokeError, and MailFailedError as `settle` does.
        """
        waiting = self._held.get(invoke)
        if waiting is None:
            raise NoInvokeError(self.agent.id, invoke, self.invokes)
        if error is None:
            waiting.set_result(result)
        else:
            waiting.set_exception(error)
        await self.settle()

    async def settle(self) -> None:
        """Wait until all pending work waits for the clock.

        An invoke that waits for something other than the clock gets 100 rounds of the event loop. Raises
        MailFailedError if the turn of a timer or of other mail to the agent failed, once for each mail. A caller that
        then moves the clock rehearses the further attempts.
        """
        for number in range(PATIENCE):
            await asyncio.sleep(0 if number < PATIENCE // 2 else _PAUSE_S)  # a thread needs time to run
            # All pending work sleeps on the clock, so nothing more happens until it moves.
            if self.runtime.pending_work == self.clock.sleeping:
                break
        failed = await self._failed_mail()
        if failed is not None:
            self._reported.add(failed.number)
            raise _failure_of(failed)

    async def _failed_mail(self, *, is_waiting: bool = False) -> Mail | None:
        """Return the first mail to the agent whose turn failed and was not reported.

        is_waiting: return mail that waits for its next attempt, reported or not. Other mail waits behind it.
        """
        for mail in await self.runtime.mail(self.agent.id):
            if is_waiting and mail.retry_at is not None and mail.retry_at > self.clock.at:
                return mail
            if not is_waiting and mail.attempts and mail.number not in self._reported:
                return mail
        return None


def _failure_of(mail: Mail) -> MailFailedError:
    return MailFailedError(
        mail.recipient, mail.event, mail.state or "", mail.due is not None, mail.reason, mail.retry_at
    )


def _start(graph: AnyGraph, at: Name | None, *, takes_fields: bool) -> EntryPoint:
    """Return an entry point at a state, by default the initial one. Its payload is the context's fields, or nothing."""
    state = ANY if at is None else name_of(at)
    door = graph.entry_points.get(state)
    if door is not None:
        state = door.state
    if state != ANY:
        graph.leaves(state)  # raises UnknownStateError
    # A function, so that a context that allows further fields receives them, too.
    start = EntryPoint(state, START, takes=graph.context, maps=dict) if takes_fields else EntryPoint(state, START)
    return start if door is None else replace(start, signals=door.signals, profile=door.profile)


def _played(graph: AnyGraph, start: EntryPoint | None, waiting: dict[str, asyncio.Future[Any]] | None) -> AnyGraph:
    """Return the graph with one more entry point. waiting: invoked functions to hold instead of running them."""
    default = graph.nodes[ROOT].default
    tree = [state for state in graph.tree if state.name not in graph.escape_states]  # escape= adds those again
    return StateTransitionGraph(
        graph.name,
        version=graph.version,
        context=graph.context,
        states=tree if waiting is None else [_holding(state, waiting) for state in tree],
        transitions=graph.transitions,
        entry_points=[*graph.entry_points.values(), *([start] if start else [])],
        initial=None if default is None else _initial(default),
        on_refusal=graph.on_refusal,
        description=graph.description,
        max_microsteps=graph.max_microsteps,
        migrations=graph.migrations,
        accepts=graph.accepts,
        events=graph.event_types.values(),
        events_closed=graph.events_closed,
        searchable=graph.searchable,
        tools=graph.tools,
        signals=graph.signals,
        escape=graph.escape,
        profile=graph.profile,
        precedence=graph.precedence,
    )


def _holding(state: State[Any], waiting: dict[str, asyncio.Future[Any]]) -> State[Any]:
    """Return the state, with invoked functions that wait for `end_invoke`."""
    holding_state = copy(state)
    invokes = tuple(replace(each, function=_waits(each, waiting)) if each.function else each for each in state.invoke)
    vars(holding_state).update(invoke=invokes, states=tuple(_holding(each, waiting) for each in state.states))
    return holding_state


def _waits(invoke: Invoke, waiting: dict[str, asyncio.Future[Any]]) -> Callable[..., Any]:
    async def wait(_context: Any, _work: Any) -> Any:
        waiting[invoke.id] = asyncio.get_running_loop().create_future()
        try:
            return await waiting[invoke.id]
        finally:
            del waiting[invoke.id]

    wait.__name__ = callable_name(invoke.function)  # its name in drawings
    return wait


def _initial(default: Default) -> Initial:
    return Initial(default.targets, actions=[step.function for step in default.steps])

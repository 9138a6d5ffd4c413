"""The timers and invokes of one agent's active states, and what it sends itself, carried out in this process.

What they come to is an event for the agent. Each timer or invoke belongs to one entry of a state and ends when the
state is left; one that has come to its event by then is dropped. What was sent ends when it is withdrawn.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from inspect import isawaitable
from typing import Any

from gatechart.context import AgentContext
from gatechart.graph import Invoke, StateTransitionGraph
from gatechart.ports import Clock
from gatechart.runtime.core import Core
from gatechart.values import AgentId, Call, Cancel, Effect, EventName, Send, StateName, Timer, Withdraw


@dataclass(frozen=True, slots=True)
class Work:
    """What an invoked function is handed beside the context."""

    agent_id: AgentId
    services: Any  # as given to Runtime.open
    clock: Clock

    @property
    def now(self) -> datetime:
        """The present moment, aware, in UTC."""
        return self.clock.now()


class Entered:
    """One entry of a state, for as long as the state is active, or what was sent under one id, until it has arrived.

    What belongs to another entry is another object.
    """

    __slots__ = ("is_active", "tasks")

    def __init__(self) -> None:
        self.is_active = True
        self.tasks: list[asyncio.Task[None]] = []

    def leave(self) -> None:
        """Ends what belongs to the entry."""
        self.is_active = False
        for task in self.tasks:
            task.cancel()


Deliver = Callable[[Entered, EventName, Mapping[str, Any]], Awaitable[None]]


class Attendance:
    """Carries out an agent's effects. `deliver` takes what comes of them to the agent."""

    __slots__ = ("_core", "_deliver", "_entered", "_graph", "_sent")

    def __init__(self, core: Core, graph: StateTransitionGraph, deliver: Deliver) -> None:
        self._core = core
        self._graph = graph
        self._deliver = deliver
        self._entered: dict[StateName, Entered] = {}
        self._sent: dict[str, Entered] = {}

    def carry_out(self, effects: Sequence[Effect], agent_id: AgentId, context: AgentContext) -> None:
        """Begins and ends what a committed turn asks for. context: a copy that invokes may read."""
        for effect in effects:
            if isinstance(effect, Cancel):
                _end(self._entered, effect.state)
            elif isinstance(effect, Withdraw):
                _end(self._sent, effect.id)
            elif isinstance(effect, Send):
                sent = self._sent.setdefault(effect.id, Entered())
                sent.tasks.append(self._core.attend(self._send(sent, effect)))
            else:
                self._attend(effect, agent_id, context)

    def _attend(self, effect: Timer | Call, agent_id: AgentId, context: AgentContext) -> None:
        entered = self._entered.setdefault(effect.state, Entered())
        if isinstance(effect, Timer):
            work = self._ring(entered, effect)
        else:
            work = self._call(entered, effect, context, Work(agent_id, self._core.services, self._core.clock))
        entered.tasks.append(self._core.attend(work))

    def end(self) -> None:
        """Ends all of it."""
        for running in (self._entered, self._sent):
            for key in tuple(running):
                _end(running, key)

    async def _send(self, sent: Entered, send: Send) -> None:
        await self._core.clock.sleep_until(send.due)
        await self._deliver(sent, send.event, send.payload)
        if all(task.done() or task is asyncio.current_task() for task in sent.tasks) and sent.is_active:
            del self._sent[send.id]

    async def _ring(self, entered: Entered, timer: Timer) -> None:
        await self._core.clock.sleep_until(timer.due)
        await self._deliver(entered, timer.event, {})

    async def _call(self, entered: Entered, call: Call, context: AgentContext, work: Work) -> None:
        invoke = next(each for each in self._graph.nodes[call.state].invokes if each.id == call.invoke)
        try:
            async with asyncio.timeout(invoke.timeout_s):
                result = await _result(invoke, context, work)
        except Exception as error:
            await self._deliver(entered, f"error.invoke.{invoke.id}", _told(error))
        else:
            await self._deliver(entered, f"done.invoke.{invoke.id}", {"result": result})


def _end(running: dict[str, Entered], key: str) -> None:
    entered = running.pop(key, None)
    if entered is not None:
        entered.leave()


async def _result(invoke: Invoke, context: AgentContext, work: Work) -> Any:
    result = invoke.function(context, work)
    return await result if isawaitable(result) else result


def _told(error: Exception) -> dict[str, str]:
    text = "".join(traceback.format_exception(error))
    return {"type": type(error).__name__, "message": str(error), "traceback": text}

"""The handle of an agent, without `await`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec

from gatechart import agent
from gatechart.context import ContextT
from gatechart.sync.loop_thread import LoopThread
from gatechart.sync.verbs import Mirror, waiting
from gatechart.values.agents import Snapshot, Status
from gatechart.values.names import AgentId, StateName

P = ParamSpec("P")


class Agent(Generic[ContextT]):
    """The handle of an agent, from `start` or `resume`: `gatechart.Agent` with blocking methods."""

    def __init__(self, thread: LoopThread, mirrored: agent.Agent[ContextT]) -> None:
        self._thread = thread
        self._mirrored = mirrored

    def __repr__(self) -> str:
        return repr(self._mirrored)

    def _repr_svg_(self) -> str | None:
        return self._mirrored._repr_svg_()

    @property
    def id(self) -> AgentId:
        """The agent's id, for `resume`."""
        return self._mirrored.id

    @property
    def snapshot(self) -> Snapshot:
        """The newest committed snapshot."""
        return self._mirrored.snapshot

    @property
    def configuration(self) -> tuple[StateName, ...]:
        """The active leaf states."""
        return self._mirrored.configuration

    @property
    def status(self) -> Status:
        """Whether the agent is active, or how it ended."""
        return self._mirrored.status

    @property
    def context(self) -> ContextT:
        """A copy of the committed context; only actions change an agent's context."""
        return self._mirrored.context

    send = waiting(agent.Agent[Any].send)
    accepts = waiting(agent.Agent[Any].accepts)
    can = waiting(agent.Agent[Any].can)
    history = waiting(agent.Agent[Any].history)
    snapshot_at = waiting(agent.Agent[Any].snapshot_at)
    rollback = waiting(agent.Agent[Any].rollback)
    until = waiting(agent.Agent[Any].until)


def handing(
    verb: Callable[Concatenate[Any, P], Coroutine[Any, Any, agent.Agent[ContextT]]],
) -> Callable[Concatenate[Any, P], Agent[ContextT]]:
    """Return a blocking method for a verb whose coroutine returns the handle of an agent."""
    waits = waiting(verb)

    @wraps(verb)
    def call(self: Mirror, /, *args: P.args, **kwargs: P.kwargs) -> Agent[ContextT]:
        return Agent(self._thread, waits(self, *args, **kwargs))

    return call

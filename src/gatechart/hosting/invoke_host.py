"""The services of a runtime for the invocations that it runs."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar

from gatechart.errors.operation import InvocationOverError
from gatechart.graph.definition import EntryPoint
from gatechart.hosting.breakers import BreakerPermits
from gatechart.hosting.idleness import Idleness
from gatechart.hosting.invoke_trail import TrailHost
from gatechart.hosting.tool_gates import ToolGates
from gatechart.values.agents import Outcome, Snapshot
from gatechart.values.commits import JournalRecord
from gatechart.values.mail import Invocation, Mail
from gatechart.values.names import EventName, Payload

T = TypeVar("T")


class TransferHost(Protocol):
    """The services of a runtime for transfers that invocations choose."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...

    async def snapshot(self, invocation: Invocation) -> Snapshot:
        """Return the agent's newest snapshot. Raises InvocationOverError if the state has been left."""
        ...

    def entry_point(self, graph: str, name: str) -> EntryPoint | None:
        """Return an entry point of a graph; None if it is not registered here."""
        ...

    async def choose(self, invocation: Invocation, event: EventName, payload: Payload, event_id: str) -> Outcome:
        """Process the event of a choice in a turn and return its outcome. A repeat gets the first outcome.

        Raises InvocationOverError if the state has been left, and the errors of the turn.
        """
        ...


class InvokeHost(TransferHost, TrailHost, Protocol):
    """The services of a runtime for the invocations that it runs."""

    async def sleep(self, seconds: float) -> None:
        """Wait by the runtime's clock."""
        ...

    async def recorded(self, invocation: Invocation) -> Mapping[str, str]:
        """Return the recorded steps: JSON texts by name."""
        ...

    async def record(
        self, invocation: Invocation, name: str, text: str, replaces: Sequence[str] = (), tells: Mail | None = None
    ) -> str:
        """Record the result of a step and return the recorded one, which may come from an earlier attempt.

        tells: mail for the agent, committed together with the result; a repeat of the step sends none. Raises
        InvocationOverError if the agent has left the state.
        """
        ...

    async def journal(self, invocation: Invocation, name: str) -> Mapping[str, str]:
        """Return the entries of one of the agent's journals: JSON texts by name, in the order of writing."""
        ...

    async def enter(self, record: JournalRecord) -> str:
        """Write an entry of one of the agent's journals and return the journal's entry with this name.

        It may come from an earlier attempt, whose mail was then accepted. Raises InvocationOverError if the state has
        been left.
        """
        ...

    async def progress(self, invocation: Invocation, payload: Payload) -> None:
        """Send the agent a progress report, durably. Raises InvocationOverError if the state has been left."""
        ...

    def publish(self, invocation: Invocation, item: Any) -> None:
        """Send the item to the invoke's current subscribers. May be called from any thread."""
        ...

    @property
    def breakers(self) -> BreakerPermits:
        """The circuit breakers of the runtime."""
        ...

    @property
    def gates(self) -> ToolGates:
        """The bulkheads and rates that the tool calls of the process share."""
        ...

    async def within(
        self, seconds: float | None, function: Coroutine[Any, Any, T], idleness: Idleness | None = None
    ) -> T:
        """Return the function's result. Raises TimeoutError if it takes longer than `seconds`.

        idleness: the limit pauses while it is idle.
        """
        ...


def check_not_over(snapshot: Snapshot, call: Invocation) -> None:
    """Raise InvocationOverError if the state of the invocation has been left."""
    if (call.state, call.epoch) not in snapshot.entered:
        raise InvocationOverError(call.agent_id, call.state, call.invoke)

"""Errors in a call to a runtime: full queues, closed or read-only runtimes, mail, timers, invokes and steps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from gatechart.errors.root import EventError, FromHost, listing, suggestion


@dataclass(eq=False)
class TurnTimeoutError(EventError):
    """The actions of a turn took too long. The whole turn is undone."""

    agent_id: str
    event: str
    limit_s: float

    def __str__(self) -> str:
        return (
            f"the turn of agent {self.agent_id!r} on {self.event!r} took longer than {self.limit_s:g} s and is undone; "
            "move slow work into an invoke, or raise Limits(turn_s=...)"
        )


@dataclass(eq=False)
class GuardBudgetError(EventError):
    """A guard would process more data than allowed. It counts as a guard that raised."""

    expression: str
    steps: int  # upper bound
    limit: int

    def __str__(self) -> str:
        return (
            f"{self.expression!r} may take {self.steps:,} steps on this data, and the limit is {self.limit:,}; "
            "pass shorter lists, or write the guard as a named function"
        )


@dataclass(eq=False)
class InboxFullError(EventError):
    """The agent's inbox is full. Nothing was posted."""

    agent_id: str
    limit: int  # events that may wait; 0 if bytes are the cause
    limit_bytes: int = 0  # bytes that they and the agent's state may take; 0 if their number is the cause
    size: int = 0  # bytes with the refused event; 0 if their number is the cause

    def __str__(self) -> str:
        if not self.limit:
            return (
                f"the inbox of agent {self.agent_id!r} is full: with this event, its state and the waiting events "
                f"would take {self.size:,} bytes, and the limit is {self.limit_bytes:,}; post later or send less, "
                "or raise the limit `inbox_bytes` of the service's terms"
            )
        return (
            f"{self.limit} events already wait for agent {self.agent_id!r}; post later, "
            "or open the runtime with Limits(when_full=WhenFull.WAIT) or a larger inbox"
        )


@dataclass(eq=False)
class BacklogFullError(EventError):
    """Too much mail waits for agents that do not exist, or for its due time. Nothing was posted."""

    agent_id: str
    backlog: str  # name of the limit: unclaimed or scheduled
    limit: int

    def __str__(self) -> str:
        waits = "for agents that do not exist" if self.backlog == "unclaimed" else "for its due time"
        return (
            f"no mail was posted for agent {self.agent_id!r}: {self.limit:,} events already wait {waits}; "
            "start the agents, erase those that you do not need, wait, or "
            f"open the runtime with a larger Limits({self.backlog}=...)"
        )


@dataclass(eq=False)
class UnknownMailError(EventError):
    """No refused or dead mail has this number; for a retry, no failed mail that waits for its next attempt either."""

    number: int

    def __str__(self) -> str:
        return (
            f"there is no refused or dead mail {self.number}, and none with this number waits for another attempt; "
            "list them with mail(status='refused') or 'dead'"
        )


@dataclass(eq=False)
class NoTimerError(EventError):
    """No timer, or other mail with a due time, waits under this number. Nothing was changed."""

    number: int

    def __str__(self) -> str:
        return f"mail {self.number} is not a waiting timer; find its number with mail(), or `gatechart mail`"


@dataclass(eq=False)
class MailFailedError(EventError):
    """A turn for mail to a rehearsed agent failed and is undone. The agent applies nothing before the next attempt."""

    private: ClassVar[tuple[str, ...]] = ("reason",)

    agent_id: str
    event: str
    state: str  # the state that the mail belongs to; may be empty
    is_timer: bool
    reason: str
    retry_at: datetime | None  # None if it is dead

    def __str__(self) -> str:
        noun, origin = "timer" if self.is_timer else "mail", f" of state {self.state!r}" if self.state else ""
        then = (
            "it is dead"
            if self.retry_at is None
            else f"nothing else happens before its next attempt, at {self.retry_at}"
        )
        return (
            f"{noun} {self.event!r}{origin} of agent {self.agent_id!r} failed: {self.reason}; {then}. Fix the cause, "
            "or advance the clock of the rehearsal past all attempts"
        )


@dataclass(eq=False)
class NoInvokeError(EventError):
    """The agent is not running an invoke with this id. Nothing was changed."""

    agent_id: str
    invoke: str
    running: tuple[str, ...]  # ids of the running invokes

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} is not running an invoke {self.invoke!r}; it runs {listing(self.running)}. "
            "An invoke that delegates to another agent ends with its handoff: cancel the handoff"
        )


@dataclass(eq=False)
class NotFailedError(EventError):
    """The agent has not failed, so there is no failure to show or to undo. Nothing was changed."""

    agent_id: str
    status: str

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} is {self.status}, and has not failed after its first turn; "
            "go back to any version with rollback()"
        )


@dataclass(eq=False)
class UndeclaredInvokeError(EventError):
    """The agent's graph declares no such invoke, or one that delegates to an agent. Nothing was changed."""

    graph: str
    invoke: str
    invokes: tuple[str, ...]  # ids of the invokes that call a function

    def __str__(self) -> str:
        offer = suggestion(self.invoke, self.invokes)
        return f"{self.graph!r} has no invoke {self.invoke!r} that calls a function: {offer}"


@dataclass(eq=False)
class RollbackError(EventError):
    """A different version of the graph drove the agent at the requested version. Nothing was changed."""

    agent_id: str
    version: int
    graph_then: str
    graph_now: str

    def __str__(self) -> str:
        return (
            f"at its version {self.version}, agent {self.agent_id!r} ran version {self.graph_then!r} of its graph, "
            f"and it runs version {self.graph_now!r} now; go back to a later version of the agent"
        )


@dataclass(eq=False)
class TakingBackError(EventError):
    """The agent was compensating calls at the requested version. Nothing was changed."""

    agent_id: str
    version: int

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} was compensating calls at version {self.version}, for an escape that has ended; "
            "choose a version before or after the compensation"
        )


@dataclass(eq=False)
class FeedLaggedError(EventError):
    """A subscriber of a feed was too slow. It may continue iterating after the gap."""

    lost: int
    limit: int

    def __str__(self) -> str:
        return (
            f"{self.lost} items were lost, because at most {self.limit} wait for a subscriber; "
            "consume them faster, or open the runtime with a larger Limits(feed=...)"
        )


@dataclass(eq=False)
class BreakerOpenError(EventError):
    """A circuit breaker is not closed, so the call was not made."""

    private: ClassVar[tuple[str, ...]] = ("reason",)

    breaker: str
    state: str
    retry_at: datetime | None  # None: it refuses calls until an operator closes it
    reason: str  # why it opened
    open_since: datetime | None = None  # when it first opened since it was last closed; None if unknown
    refused: int = 1  # known refusals since it last opened, including this one

    def __str__(self) -> str:
        why = f" ({self.reason})" if self.reason else ""
        when = f"try again at {self.retry_at:%Y-%m-%d %H:%M:%S} UTC, or " if self.retry_at else ""
        return (
            f"the circuit breaker {self.breaker!r} is {self.state}{why}, so the call was not made; "
            f"{when}close it with close_breaker({self.breaker!r})"
        )


@dataclass(eq=False)
class ChoiceFailedError(EventError):
    """The target of a handoff could not be chosen. No agent was notified; the choice is retried like mail."""

    handoff: str
    problem: str

    def __str__(self) -> str:
        return (
            f"no target could be chosen for the handoff {self.handoff!r}: {self.problem}; fix the function that "
            "computes vectors, or the filter or scorer. After the last attempt, the next fallback is used"
        )


@dataclass(eq=False)
class StepRepeatedError(EventError):
    """Two steps, or two waits, of an invocation have the same name."""

    agent_id: str
    invoke: str
    step: str

    def __str__(self) -> str:
        return (
            f"{self.invoke!r} of agent {self.agent_id!r} has already used the name {self.step!r}; "
            "give each step or wait of an invocation a unique name; in a loop, number them"
        )


@dataclass(eq=False)
class StepResultError(EventError):
    """The result of a step cannot be stored."""

    agent_id: str
    step: str
    problems: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"the result of step {self.step!r} of agent {self.agent_id!r} cannot be stored: {'; '.join(self.problems)}"
            "; return JSON values or a pydantic model, and declare its type with returns="
        )


@dataclass(eq=False)
class InvocationOverError(EventError):
    """The agent has left the state of an invocation, so the invocation's further work has no effect."""

    agent_id: str
    state: str
    invoke: str

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} has left {self.state!r}, which invoked {self.invoke!r}; "
            "let the invoke end when it is cancelled"
        )


@dataclass(eq=False)
class InsideTurnError(EventError):
    """A call that waits for a turn was made inside a turn, where it could wait forever."""

    call: str
    agent_id: str

    def __str__(self) -> str:
        return (
            f"{self.call}() was called by an action inside a turn of agent {self.agent_id!r}; in an action, "
            "use turn.send and turn.after for later events, and move waiting into an invoke of a state"
        )


@dataclass(eq=False)
class InsideLoopError(EventError):
    """A call of `gatechart.sync` was made in the event loop that must execute it, so it would wait forever."""

    call: str

    def __str__(self) -> str:
        return (
            f"{self.call}() was called in the event loop of gatechart.sync, which it would block; "
            "call it in a thread: `await asyncio.to_thread(...)`"
        )


@dataclass(eq=False)
class IncompatibleGraphError(EventError):
    """The registered graph cannot continue the stored agent. The agent is unchanged."""

    private: ClassVar[tuple[str, ...]] = ("problem",)  # may contain the error of a migration

    agent_id: str
    graph: str
    problem: str

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} cannot continue with the registered graph {self.graph!r}: {self.problem}; "
            "register the graph that the agent was started with, or migrations from that graph"
        )


@dataclass(eq=False)
class RuntimeClosedError(EventError):
    """The runtime is closed; its agents are kept in the store."""

    call: str

    def __str__(self) -> str:
        return (
            f"{self.call}() was called after the runtime was closed; call it inside `async with Runtime.open(...)`, "
            "or inside `with sync.open(...)`"
        )


@dataclass(eq=False)
class ReadOnlyError(EventError):
    """The runtime was opened for reading, and the call needs the owner of the database."""

    call: str
    instead: str = ""  # an alternative for a reader

    def __str__(self) -> str:
        instead = f", or {self.instead}" if self.instead else ""
        return (
            f"{self.call}() is for the owner of the database, but this runtime only reads the database; "
            f"open it for writing{instead}"
        )


@dataclass(eq=False)
class UnwritableError(EventError):
    """The database refuses the data, and will refuse it every time. Nothing was written."""

    problem: str

    def __str__(self) -> str:
        return (
            f"the database cannot store the data: {self.problem}; nothing was written. A retry will not help: "
            "store large values elsewhere, and keep their keys in the context"
        )


@dataclass(eq=False)
class AgentTooLargeError(EventError):
    """An agent's state, or the mail that a turn sends, is larger than the engine allows. The turn is undone."""

    agent_id: str
    size: int
    most: int

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} would store or send {self.size} bytes, and the limit is {self.most}; "
            "store large values elsewhere and keep their keys in the context, or raise "
            "Terms(most_bytes=..., inbox_bytes=...)"
        )


@dataclass(eq=False)
class ElsewhereError(EventError):
    """The runtime does not support the call, as its `capabilities` show."""

    call: str
    home: str
    instead: str

    def __str__(self) -> str:
        return f"{self.call}() is not available on {self.home}: {self.instead}"


@dataclass(eq=False)
class AgentAsleepError(EventError):
    """The agent is being moved here and does nothing until the move ends. Its mail is kept."""

    agent_id: str

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} is being moved here and does nothing yet; call again when `gatechart move` has "
            "ended; if the move was interrupted, run `gatechart move` again"
        )


class RemoteEventError(FromHost, EventError):
    """The host of the agents raised an EventError that has no class here."""

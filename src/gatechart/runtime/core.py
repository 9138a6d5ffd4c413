"""What all agents of a runtime share, and the conditions under which it may be called."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any, TypeVar

from gatechart.errors import InsideTurnError, ReadOnlyError, RuntimeClosedError, TimersNotKeptError
from gatechart.ports import Clock, Ids, Store
from gatechart.runtime.commits import Committer
from gatechart.values import AgentId, Send, Snapshot, TurnRecord

T = TypeVar("T")


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return datetime.now(UTC)

    async def sleep_until(self, moment: datetime) -> None:
        """See Clock."""
        await asyncio.sleep(max(0.0, (moment - self.now()).total_seconds()))


def random_id() -> AgentId:
    """32 random hexadecimal digits: 128 bits from the operating system."""
    return token_hex(16)


class OpenTurn:
    """Marks what runs inside it, and the tasks begun there, as part of a turn, for as long as the turn is open."""

    __slots__ = ("_token", "agent_id", "is_open")

    def __init__(self, agent_id: AgentId) -> None:
        self.agent_id = agent_id
        self.is_open = False

    def __enter__(self) -> None:
        self.is_open = True
        self._token = _open_turn.set(self)

    def __exit__(self, *_: object) -> None:
        self.is_open = False
        _open_turn.reset(self._token)


_open_turn: ContextVar[OpenTurn | None] = ContextVar("open_turn", default=None)


@dataclass(slots=True)
class Core:
    """The store, the clock, the services and the tasks of one runtime."""

    store: Store
    committer: Committer
    services: Any
    clock: Clock
    ids: Ids
    read_only: bool
    is_open: bool = True
    erasures: int = 0  # so far; what was read before one may be gone, or another agent by now
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    attending: set[asyncio.Task[None]] = field(default_factory=set)  # timers and invokes
    watching: set[asyncio.Future[Snapshot]] = field(default_factory=set)  # callers that wait for a state

    def admit(self, call: str, *, writes: bool) -> None:
        """Raises RuntimeClosedError, InsideTurnError or, where the call writes, ReadOnlyError."""
        if not self.is_open:
            raise RuntimeClosedError(call)
        turn = _open_turn.get()
        if turn is not None and turn.is_open:
            raise InsideTurnError(call, turn.agent_id)
        if writes and self.read_only:
            raise ReadOnlyError(call)

    def check_kept(self, turn: TurnRecord) -> None:
        """Raises TimersNotKeptError where the turn sent something that a durable store would lose."""
        if self.store.is_durable and any(isinstance(effect, Send) for effect in turn.effects):
            raise TimersNotKeptError(turn.snapshot.graph, turn.snapshot.configuration)

    def attend(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs a timer or an invoke, until its end, its cancellation or the runtime's close."""
        return _kept(work, self.attending)

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Runs the work in a task of the runtime's own, which no caller can cancel."""
        return _kept(work, self.tasks)

    async def close(self) -> None:
        """Takes no more calls, and lets the work under way end."""
        self.is_open = False
        for task in self.attending:
            task.cancel()
        for reached in self.watching:
            if not reached.done():
                reached.set_exception(RuntimeClosedError("until"))
        while self.tasks or self.attending:
            await asyncio.wait(self.tasks | self.attending)


def _kept(work: Coroutine[Any, Any, T], tasks: set[asyncio.Task[T]]) -> asyncio.Task[T]:
    """A task for the work, held in the set until it ends: the event loop itself holds tasks only weakly."""
    task = asyncio.create_task(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
    return task


def run_at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of work that never suspends, without a task.

    >>> async def double(number):
    ...     return 2 * number
    >>> run_at_once(double(21))
    42
    """
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    work.close()
    raise RuntimeError(f"{work!r} suspended, though its store and its graph declare that they never do")

"""Subscriptions to a runtime's feeds, and callers that wait for a state. Nothing is kept for later ones."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from typing import Generic, Protocol, TypeVar

from gatechart.errors import AgentEndedError, FeedLaggedError, RuntimeClosedError
from gatechart.values import Awaited, Snapshot, Status

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class Waiting(Protocol):
    """How a home waits on behalf of its callers."""

    def called(self, call: str, waiting: asyncio.Future[Snapshot], /) -> Awaitable[Snapshot]:
        """Wait for a future, but no longer than the home is open."""
        ...

    def alarm(self, seconds: float) -> asyncio.Task[None]:
        """Begin a task that ends after so many seconds."""
        ...


class Subscription(Generic[T]):
    """The items of a feed from the subscription on, oldest first: an async iterator that stops when the feed ends.

    Raises FeedLaggedError if so many items were waiting that some were lost.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._items: deque[T] = deque()
        self._lost = 0
        self._end: Exception | None = None
        self._news = asyncio.Event()

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        while not self._items:
            if self._end is not None:
                raise self._end
            self._news.clear()
            await self._news.wait()
        if self._lost:
            lost, self._lost = self._lost, 0
            raise FeedLaggedError(lost, self._most)
        return self._items.popleft()

    def put(self, item: T) -> None:
        """Add an item; if too many are waiting, the oldest is lost."""
        if len(self._items) >= self._most:
            self._items.popleft()
            self._lost += 1
        self._items.append(item)
        self._news.set()

    def end(self, error: Exception) -> None:
        """End the iteration after the waiting items: with the error, or normally for StopAsyncIteration."""
        self._end = error
        self._news.set()


class Feeds(Generic[K, T]):
    """Feeds of items by key."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.watched: defaultdict[K, set[Subscription[T]]] = defaultdict(set)  # only keys that have a subscriber

    def subscribe(self, key: K) -> Subscription[T]:
        """Return a subscription to the items from now on; end it with `leave`."""
        subscription: Subscription[T] = Subscription(self._most)
        self.watched[key].add(subscription)
        return subscription

    def leave(self, key: K, subscription: Subscription[T]) -> None:
        """End a subscription."""
        watching = self.watched.get(key, set())
        watching.discard(subscription)
        if not watching:
            self.watched.pop(key, None)

    def publish(self, key: K, item: T) -> None:
        """Give the item to the subscribers of the key."""
        for subscription in self.watched.get(key, ()):
            subscription.put(item)

    def end(self, key: K) -> None:
        """End the subscriptions to the key."""
        for subscription in self.watched.pop(key, ()):
            subscription.end(StopAsyncIteration())

    def close(self, call: str) -> None:
        """End all subscriptions, because the runtime is closing."""
        for watching in self.watched.values():
            for subscription in watching:
                subscription.end(RuntimeClosedError(call))
        self.watched.clear()


class Watchers:
    """The callers that wait for states of one agent."""

    __slots__ = ("_home", "_waiting")

    def __init__(self, home: Waiting) -> None:
        self._home = home
        self._waiting: list[tuple[Awaited, asyncio.Future[Snapshot]]] = []

    @property
    def are_waiting(self) -> bool:
        """Whether there are any callers."""
        return bool(self._waiting)

    async def wait(self, awaited: Awaited, timeout_s: float | None, late: Callable[[], Exception]) -> Snapshot:
        """Return the first snapshot from now on in which the agent is there.

        late: makes the error to raise after the timeout. Raises AgentEndedError.
        """
        reached: asyncio.Future[Snapshot] = asyncio.get_running_loop().create_future()
        watcher = (awaited, reached)

        def expire(_: asyncio.Task[None]) -> None:
            if not reached.done():
                reached.set_exception(late())

        self._waiting.append(watcher)
        alarm = None if timeout_s is None else self._home.alarm(timeout_s)
        if alarm is not None:
            alarm.add_done_callback(expire)
        try:
            return await self._home.called("until", reached)
        finally:
            self._waiting.remove(watcher)
            if alarm is not None:
                alarm.cancel()

    def see(self, snapshot: Snapshot) -> None:
        """Wake the callers whose state is active, and all of them if the agent has ended."""
        for awaited, reached in self._waiting:
            if reached.done():
                continue
            if awaited.is_reached_in(snapshot):
                reached.set_result(snapshot)
            elif snapshot.status is not Status.ACTIVE:
                reached.set_exception(ended(snapshot, awaited))

    def fail(self, error: Callable[[Awaited], Exception]) -> None:
        """Fail all waiting callers. error: makes the error for a caller."""
        for awaited, reached in self._waiting:
            if not reached.done():
                reached.set_exception(error(awaited))


def ended(snapshot: Snapshot, awaited: Awaited) -> AgentEndedError:
    """Return the error for an agent that ended elsewhere."""
    return AgentEndedError(snapshot.agent_id, str(awaited), snapshot.configuration, snapshot.status)

"""Feeds: what happens in a runtime, for those who watch as it happens. Nothing is kept for those who do not."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Hashable
from typing import Generic, TypeVar

from gatechart.errors import FeedLaggedError, RuntimeClosedError

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class Subscription(Generic[T]):
    """The items of a feed since the subscription, oldest first: an async iterator, until the feed ends.

    Raises FeedLaggedError where so many items waited that some were lost.
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
        """Adds an item; the oldest one is lost where too many wait."""
        if len(self._items) >= self._most:
            self._items.popleft()
            self._lost += 1
        self._items.append(item)
        self._news.set()

    def end(self, error: Exception) -> None:
        """Ends the iteration behind the items that wait; with an error, unless it is StopAsyncIteration."""
        self._end = error
        self._news.set()


class Feeds(Generic[K, T]):
    """Items under keys, for those who subscribed to a key."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._subscriptions: defaultdict[K, set[Subscription[T]]] = defaultdict(set)

    def is_watched(self, key: K) -> bool:
        """Whether anybody would see an item."""
        return key in self._subscriptions

    def subscribe(self, key: K) -> Subscription[T]:
        """A subscription to the items from now on; end it with `leave`."""
        subscription: Subscription[T] = Subscription(self._most)
        self._subscriptions[key].add(subscription)
        return subscription

    def leave(self, key: K, subscription: Subscription[T]) -> None:
        """Ends a subscription."""
        watching = self._subscriptions.get(key, set())
        watching.discard(subscription)
        if not watching:
            self._subscriptions.pop(key, None)

    def publish(self, key: K, item: T) -> None:
        """Gives the item to those who watch."""
        for subscription in self._subscriptions.get(key, ()):
            subscription.put(item)

    def end(self, key: K) -> None:
        """Tells those who watch that no more items come."""
        for subscription in self._subscriptions.pop(key, ()):
            subscription.end(StopAsyncIteration())

    def close(self, call: str) -> None:
        """Tells all who watch that the runtime is closing."""
        for watching in self._subscriptions.values():
            for subscription in watching:
                subscription.end(RuntimeClosedError(call))
        self._subscriptions.clear()

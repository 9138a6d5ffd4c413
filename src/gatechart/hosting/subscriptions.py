"""Subscriptions to a runtime's feeds. A feed keeps no items for later subscribers."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Hashable
from typing import Generic, TypeVar

from gatechart.errors.operation import FeedLaggedError, RuntimeClosedError

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class Subscription(Generic[T]):
    """Iterates over the items published after the subscription, oldest first, until the feed ends.

    Raises FeedLaggedError if items were dropped because too many were waiting.
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
        """Add an item. If too many are waiting, drop the oldest."""
        if len(self._items) >= self._most:
            self._items.popleft()
            self._lost += 1
        self._items.append(item)
        self._news.set()

    def end(self, error: Exception) -> None:
        """End the iteration after the waiting items, with this error. StopAsyncIteration ends it normally."""
        self._end = error
        self._news.set()


class Feeds(Generic[K, T]):
    """Feeds of items by key."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.watched: defaultdict[K, set[Subscription[T]]] = defaultdict(set)  # only keys that have a subscriber

    def subscribe(self, key: K) -> Subscription[T]:
        """Return a subscription to future items; end it with `leave`."""
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
        """Send the item to the subscribers of the key."""
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

"""Turn asynchronous verbs into blocking methods with the same parameters, types and docstrings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from gatechart.sync.loop_thread import Items, LoopThread

P = ParamSpec("P")
T = TypeVar("T")


class Mirror(Protocol):
    """An object with blocking versions of another object's asynchronous verbs."""

    _thread: LoopThread

    @property
    def _mirrored(self) -> Any: ...


def waiting(verb: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Any, P], T]:
    """Return a method that waits for a verb's coroutine and returns its result."""
    name = verb.__name__

    @wraps(verb)
    def call(self: Mirror, /, *args: P.args, **kwargs: P.kwargs) -> T:
        method = getattr(self._mirrored, name)
        result: T = self._thread.run(name, lambda: method(*args, **kwargs))
        return result

    return call


def called(verb: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Return a method that calls a synchronous verb in the loop, where it may start tasks."""
    name = verb.__name__

    @wraps(verb)
    def call(self: Mirror, /, *args: P.args, **kwargs: P.kwargs) -> T:
        async def in_loop() -> T:
            result: T = getattr(self._mirrored, name)(*args, **kwargs)
            return result

        return self._thread.run(name, in_loop)

    return call


def iterating(verb: Callable[Concatenate[Any, P], AsyncIterator[T]]) -> Callable[Concatenate[Any, P], Iterator[T]]:
    """Return a method with a blocking iterator over the items of a verb's asynchronous iterator."""
    name = verb.__name__

    @wraps(verb)
    def call(self: Mirror, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return Items(self._thread, name, getattr(self._mirrored, name)(*args, **kwargs))

    return call


def subscribing(
    verb: Callable[Concatenate[Any, P], AbstractAsyncContextManager[AsyncIterator[T]]],
) -> Callable[Concatenate[Any, P], AbstractContextManager[Iterator[T]]]:
    """Return a method with a blocking context manager and iterator, for a verb with asynchronous ones."""
    name = verb.__name__

    @wraps(verb)
    @contextmanager
    def call(self: Mirror, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[Iterator[T]]:
        method = getattr(self._mirrored, name)
        with self._thread.entered(name, lambda: method(*args, **kwargs)) as items:
            yield Items(self._thread, name, items)

    return call

"""How an asynchronous verb becomes one that waits: its parameters, types and docstring stay what they are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from gatechart.sync.loop_thread import Items, LoopThread

P = ParamSpec("P")
T = TypeVar("T")


class Mirror(Protocol):
    """An object whose verbs are those of an asynchronous one."""

    _thread: LoopThread

    @property
    def _mirrored(self) -> Any: ...


def waiting(verb: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Any, P], T]:
    """Return a method that returns what the coroutine of a verb returns."""
    name = verb.__name__

    @wraps(verb)
    def call(self: Mirror, /, *args: P.args, **kwargs: P.kwargs) -> T:
        method = getattr(self._mirrored, name)
        result: T = self._thread.run(name, lambda: method(*args, **kwargs))
        return result

    return call


def called(verb: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Return a method that calls one that is not asynchronous, in the loop, where it may begin tasks."""
    name = verb.__name__

    @wraps(verb)
    def call(self: Mirror, /, *args: P.args, **kwargs: P.kwargs) -> T:
        async def there() -> T:
            result: T = getattr(self._mirrored, name)(*args, **kwargs)
            return result

        return self._thread.run(name, there)

    return call


def iterating(verb: Callable[Concatenate[Any, P], AsyncIterator[T]]) -> Callable[Concatenate[Any, P], Iterator[T]]:
    """Return a method whose iterator has the items of a verb's asynchronous one."""
    name = verb.__name__

    @wraps(verb)
    def call(self: Mirror, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return Items(self._thread, name, getattr(self._mirrored, name)(*args, **kwargs))

    return call


def subscribing(
    verb: Callable[Concatenate[Any, P], AbstractAsyncContextManager[AsyncIterator[T]]],
) -> Callable[Concatenate[Any, P], AbstractContextManager[Iterator[T]]]:
    """Return a method whose context manager gives the items of the iterator that a verb's gives."""
    name = verb.__name__

    @wraps(verb)
    @contextmanager
    def call(self: Mirror, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[Iterator[T]]:
        method = getattr(self._mirrored, name)
        with self._thread.entered(name, lambda: method(*args, **kwargs)) as items:
            yield Items(self._thread, name, items)

    return call

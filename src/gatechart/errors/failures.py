"""Failures of application code, as opposed to the end of a task or of the interpreter."""

from __future__ import annotations

from asyncio import CancelledError, Task, current_task
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeVar

from gatechart.errors.root import DefinitionError, EventError

T = TypeVar("T")


@dataclass(eq=False)
class ExitRaisedError(EventError):
    """Application code raised something other than an Exception, such as SystemExit. It counts as a failure."""

    private: ClassVar[tuple[str, ...]] = ("raised",)

    raised: str

    def __str__(self) -> str:
        return (
            f"the application's code raised {self.raised}, which would have ended the agent's host; "
            "raise an Exception there, and leave sys.exit() to the main program"
        )


def is_failure(error: BaseException) -> bool:
    """Return whether an error is a failure of the code that raised it.

    SystemExit counts, as does a CancelledError in a task that was not cancelled, and a GeneratorExit in a running task.
    KeyboardInterrupt does not, because a person ends the process. Nor does a GeneratorExit outside of tasks: there the
    interpreter closes a coroutine.

    >>> [is_failure(error) for error in (KeyError(), SystemExit(3), KeyboardInterrupt(), GeneratorExit())]
    [True, True, False, False]
    """
    if isinstance(error, BaseExceptionGroup):
        return all(map(is_failure, error.exceptions))
    if isinstance(error, CancelledError):
        task = _task()
        return task is None or task.cancelling() == 0
    if isinstance(error, GeneratorExit):
        return _task() is not None
    return not isinstance(error, KeyboardInterrupt)


def _task() -> Task[Any] | None:
    """Return the running task; None in a thread without one."""
    try:
        return current_task()
    except RuntimeError:
        return None


def contain(error: BaseException | None) -> None:
    """Raise an ExitRaisedError in place of a failure that `except Exception` would not catch."""
    if error is not None and not isinstance(error, Exception) and is_failure(error):
        raise ExitRaisedError(_in_words(error)) from error


class _Contained:
    """The context manager of `contained`. It has no state, so one instance serves all callers.

    It takes a fifth of the time that a context manager made from a generator would take.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        """Enter the block."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        contain(error)


_CONTAINED: Final = _Contained()


def contained() -> AbstractContextManager[None, None]:
    """Turn every failure of application code inside the block into an Exception. See `contain`."""
    return _CONTAINED


def call_contained(function: Callable[[], T]) -> T:
    """Call an application function in a thread. Its failures become an Exception, except KeyboardInterrupt.

    This includes a GeneratorExit: no generator is closed here, so the function must have raised it itself.
    """
    try:
        with contained():
            return function()
    except GeneratorExit as error:
        raise ExitRaisedError(_in_words(error)) from error


@dataclass(eq=False)
class SelectionFunctionError(DefinitionError):
    """An application function that helps to choose the target of a handoff raised an exception."""

    private: ClassVar[tuple[str, ...]] = ("raised",)

    function: str  # such as "load=" or "the scorer 'nearness'"
    raised: str

    def __str__(self) -> str:
        return f"{self.function} raised {self.raised}; fix that function"


@dataclass(eq=False)
class SelectionAnswerError(DefinitionError):
    """An application function that helps to choose the target of a handoff returned an unusable value."""

    private: ClassVar[tuple[str, ...]] = ("answer",)

    function: str  # such as "load=" or "the scorer 'nearness'"
    answer: str  # its repr, and the candidate
    wanted: str

    def __str__(self) -> str:
        return f"{self.function} returned {self.answer}; it must return {self.wanted}"


@contextmanager
def asking(function: str) -> Iterator[None]:
    """Raise SelectionFunctionError in place of every failure inside the block. function: the name of the function."""
    try:
        with contained():
            yield
    except Exception as error:
        raise SelectionFunctionError(function, _in_words(failure_in(error))) from error


def failure_in(error: BaseException) -> BaseException:
    """Return the original exception behind an ExitRaisedError; return any other error unchanged."""
    return error.__cause__ or error if isinstance(error, ExitRaisedError) else error


def message_of(error: BaseException) -> str:
    """Return the exception's message, in characters that every store accepts; empty if it cannot produce one."""
    try:
        return str(error).encode(errors="replace").decode()
    except Exception:  # a broken `__str__` of application code must not hide the error itself
        return ""


def _in_words(error: BaseException) -> str:
    message = message_of(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__

"""What an application's code raises: told apart into its failures, and the end of a task or of the interpreter."""

from __future__ import annotations

from asyncio import CancelledError, current_task
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Final

from gatechart.errors.root import EventError

_INTERPRETER: Final = (KeyboardInterrupt, GeneratorExit)


@dataclass(eq=False)
class ExitRaisedError(EventError):
    """Code of the application raised what is not an Exception, such as SystemExit. It counts as a failure."""

    private: ClassVar[tuple[str, ...]] = ("raised",)

    raised: str

    def __str__(self) -> str:
        return (
            f"the application's code raised {self.raised}, which would have ended what hosts the agent; "
            "raise an Exception there, and leave sys.exit() to the main program"
        )


def is_failure(error: BaseException) -> bool:
    """Whether it is a failure of the code that raised it, rather than the end of its task or of the interpreter.

    SystemExit counts, as does a CancelledError in a task that nobody cancelled. KeyboardInterrupt is a person who ends
    the process, GeneratorExit a coroutine that is being closed.

    >>> [is_failure(error) for error in (KeyError(), SystemExit(3), KeyboardInterrupt(), GeneratorExit())]
    [True, True, False, False]
    """
    if isinstance(error, BaseExceptionGroup):
        return all(map(is_failure, error.exceptions))
    if isinstance(error, CancelledError):
        task = current_task()
        return task is None or task.cancelling() == 0
    return not isinstance(error, _INTERPRETER)


def contain(error: BaseException | None) -> None:
    """Raise an ExitRaisedError in the place of a failure that `except Exception` would not catch."""
    if error is not None and not isinstance(error, Exception) and is_failure(error):
        raise ExitRaisedError(_told(error)) from error


@contextmanager
def contained() -> Iterator[None]:
    """Within it, all failures of an application's code are Exceptions. See `contain`."""
    try:
        yield
    except BaseException as error:
        contain(error)
        raise


def failure_in(error: BaseException) -> BaseException:
    """What the application's code raised, where the error stands for that."""
    return error.__cause__ or error if isinstance(error, ExitRaisedError) else error


def _told(error: BaseException) -> str:
    try:
        message = str(error).encode(errors="replace").decode()
    except Exception:
        message = ""
    return f"{type(error).__name__}: {message}" if message else type(error).__name__

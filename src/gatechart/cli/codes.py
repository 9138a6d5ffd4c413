"""What the exit of the command tells a script."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import typer

from gatechart.errors import DefinitionError, EventError, EventRefusedError, OutsideError


class ExitCode(IntEnum):
    """See the docstring of `gatechart.cli`."""

    DONE = 0
    REFUSED = 1
    USAGE = 2
    DEFINITION = 3
    EVENT = 4
    OUTSIDE = 5
    BUG = 70  # EX_SOFTWARE of sysexits.h
    INTERRUPTED = 130  # as a shell has it for SIGINT
    BROKEN_PIPE = 141  # as a shell has it for SIGPIPE


_CODES: Final[tuple[tuple[type[BaseException], ExitCode], ...]] = (
    (typer.TyperException, ExitCode.USAGE),
    (EventRefusedError, ExitCode.REFUSED),
    (DefinitionError, ExitCode.DEFINITION),
    (EventError, ExitCode.EVENT),
    (OutsideError, ExitCode.OUTSIDE),
    (KeyboardInterrupt, ExitCode.INTERRUPTED),
    (BrokenPipeError, ExitCode.BROKEN_PIPE),
)


def code_of(error: BaseException) -> ExitCode:
    """The exit code for what a command raised.

    >>> code_of(KeyboardInterrupt()), code_of(KeyError())
    (<ExitCode.INTERRUPTED: 130>, <ExitCode.BUG: 70>)
    """
    return next((code for kind, code in _CODES if isinstance(error, kind)), ExitCode.BUG)

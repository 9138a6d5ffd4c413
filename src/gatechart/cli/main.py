"""From the command line to an exit code; the one place that prints the errors of commands."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from io import UnsupportedOperation
from typing import TYPE_CHECKING, Final, TextIO

import typer

from gatechart.cli.commands import parse
from gatechart.cli.errors import ExitCode, OutputError, UsageError, code_of
from gatechart.cli.late_imports import late
from gatechart.cli.options import DEBUG_VARIABLE, JSON_VARIABLE, Job, is_set
from gatechart.cli.output import Document, logging_to_stderr, print_error, print_json_line
from gatechart.cli.remedies import in_commands
from gatechart.errors.root import GatechartError

if TYPE_CHECKING:
    from gatechart.api import errors
else:
    errors = late("gatechart.api.errors")


def error_document(error: BaseException, message: str, code: ExitCode, trace: str | None) -> Document:
    """Describe an error; `facts` are those of the error, and `traceback` is there if it was asked for."""
    return {
        "error": type(error).__name__,
        "message": message,
        "exit_code": int(code),
        "facts": errors.facts_of(error),
        **({} if trace is None else {"traceback": trace}),
    }


_PERHAPS: Final = "a turn under way may have been committed; see `gatechart show`"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code. arguments: those of the process by default."""
    if arguments is None:
        _put_off_the_collector()
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    _replace_closed_streams()
    try:
        code = _carry_out(given)
        sys.stdout.flush()
    except BrokenPipeError as error:
        _drop_output(sys.stdout)
        return code_of(error)
    except (Exception, KeyboardInterrupt) as error:
        return _tell(_of_output(error), given)
    return code


def _put_off_the_collector() -> None:
    """Let the garbage collector of the process run seldom. Nearly all commands end before there is any garbage.

    Scanning the libraries that a command imports, again and again, would take a sixth of its time.
    """
    gc.set_threshold(200_000, 20, 100)


def _replace_closed_streams() -> None:
    """Let output go nowhere that a shell has closed, as in `gatechart list >&-`."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115  until the process ends


_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def _of_output(error: BaseException) -> BaseException:
    """Return what to tell about an error: OutputError if a disk refused the output.

    Libraries print, too, such as typer its help; and whatever else meets a full disk, such as a database, says so with
    an error of its own.
    """
    if not isinstance(error, OSError) or error.errno not in _FULL:
        return error
    _drop_output(sys.stdout)
    told = OutputError(error.strerror or str(error))
    told.__cause__ = error
    return told


def _carry_out(arguments: Sequence[str]) -> int:
    _check_text(arguments)
    asked = parse(arguments)
    if not isinstance(asked, Job):  # typer did it all, such as --help
        if asked == ExitCode.INTERRUPTED:
            raise KeyboardInterrupt
        return asked
    with logging_to_stderr(verbose=asked.settings.verbose):
        return asyncio.run(asked.work()) or ExitCode.DONE


def _check_text(arguments: Sequence[str]) -> None:
    """Raise UsageError for bytes that are not UTF-8: Python lets them pass, and a database does not."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UsageError(f"the argument {argument!a} is not valid UTF-8") from None


def _tell(error: BaseException, arguments: Sequence[str]) -> ExitCode:
    code, message = code_of(error), _message(error)
    trace = "".join(traceback.format_exception(error)) if is_set(arguments, "--debug", DEBUG_VARIABLE) else None
    try:
        if is_set(arguments, "--json", JSON_VARIABLE):
            print_json_line(
                error_document(error, message, code, trace), stderr=True
            )  # one line, as lines of a log may precede it
        else:
            typer.echo(trace or "", err=True, nl=False)
            print_error(message)
    except OSError:  # stderr is full or gone; the exit code still tells
        _drop_output(sys.stderr)
    return code


def _message(error: BaseException) -> str:
    if isinstance(error, typer.TyperException):
        return _usage_message(error)
    if isinstance(error, KeyboardInterrupt):
        return f"interrupted; {error if error.args else _PERHAPS}"
    if isinstance(error, GatechartError):
        return in_commands(str(error))
    raised = "".join(traceback.format_exception_only(error)).strip()
    return f"{raised}; this is a bug: please run the command again with --debug and report the traceback"


def _usage_message(error: typer.TyperException) -> str:
    """Put typer's message in one line, and name the help to see."""
    context, message = getattr(error, "ctx", None), error.format_message().replace(": Value error, ", ": ", 1)
    if context is None:
        return message
    return f"{' '.join(message.split()).rstrip('.')}; see `{context.command_path} --help`"


def _drop_output(stream: TextIO) -> None:
    """Let the interpreter flush, at its end, output that nobody reads any more."""
    with suppress(UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

"""What the libraries log, on stderr."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

from pydantic_core import to_json

_STANDARD: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


@contextmanager
def logging_to_stderr(*, verbose: bool) -> Iterator[None]:
    """Shows warnings; of gatechart's own, which the commands tell in their words, errors only. `verbose` shows all."""
    root, ours = logging.getLogger(), logging.getLogger("gatechart")
    levels = root.level, ours.level
    handler = logging.StreamHandler()
    handler.setFormatter(_FactsFormatter())
    root.addHandler(handler)
    root.setLevel(logging.INFO if verbose else logging.WARNING)
    ours.setLevel(logging.NOTSET if verbose else logging.ERROR)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(levels[0])
        ours.setLevel(levels[1])


@contextmanager
def logging_of_a_server(*, as_json: bool) -> Iterator[None]:
    """Inside `logging_to_stderr`: shows gatechart's own warnings, too; as_json: a line of JSON for each record."""
    root, ours = logging.getLogger(), logging.getLogger("gatechart")
    level, handlers = ours.level, [each for each in root.handlers if isinstance(each.formatter, _FactsFormatter)]
    ours.setLevel(min(level, logging.WARNING))
    for handler in handlers if as_json else ():
        handler.setFormatter(_JsonFormatter())
    try:
        yield
    finally:
        ours.setLevel(level)
        for handler in handlers:
            handler.setFormatter(_FactsFormatter())


class _JsonFormatter(logging.Formatter):
    """One JSON object in one line, with the facts that came as fields."""

    def format(self, record: logging.LogRecord) -> str:
        told = {
            "time": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in _STANDARD},
        }
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        return to_json(told, fallback=repr).decode()


class _FactsFormatter(logging.Formatter):
    """The message, and behind it the facts that came as fields and are not in the message already."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        told = _STANDARD.union(record.args if isinstance(record.args, Mapping) else ())
        facts = (f"{name}={value!r}" for name, value in vars(record).items() if name not in told)
        return " ".join([f"{record.levelname.lower()}: {record.name}: {record.message}", *facts])

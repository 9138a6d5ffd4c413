"""What the libraries log, on stderr."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

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


class _FactsFormatter(logging.Formatter):
    """The message, and behind it the facts that came as fields."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        facts = (f"{name}={value!r}" for name, value in vars(record).items() if name not in _STANDARD)
        return " ".join([f"{record.levelname.lower()}: {record.name}: {record.message}", *facts])

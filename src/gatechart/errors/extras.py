"""Packages that only one feature needs, and that an extra of gatechart installs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gatechart.errors.root import OutsideError


@dataclass(eq=False)
class ExtraMissingError(OutsideError):
    """What is used needs packages that are not installed."""

    what: str
    extra: str
    module: str

    def __str__(self) -> str:
        return f"{self.what} needs {self.module!r}, which is not installed; run `pip install 'gatechart[{self.extra}]'`"


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """Import what an extra brings, for what is named. Raises ExtraMissingError if it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "gatechart":
            raise
        raise ExtraMissingError(what, extra, error.name or "a package") from error

"""Packages that only one feature needs, and that an extra of gatechart installs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gatechart.errors.root import OutsideError


@dataclass(eq=False)
class ExtraMissingError(OutsideError):
    """A feature needs packages that are not installed."""

    what: str
    extra: str
    module: str

    def __str__(self) -> str:
        return f"{self.what} needs {self.module!r}, which is not installed; run `pip install 'gatechart[{self.extra}]'`"


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """Raise ExtraMissingError if an import in the block needs an extra. what: the feature that needs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "gatechart":
            raise
        raise ExtraMissingError(what, extra, error.name or "a package") from error

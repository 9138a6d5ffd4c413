"""Retry policies."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retry:
    """A retry policy: how often to try, with waits that grow up to a limit.

    >>> retry = Retry(attempts=5, first_s=1, factor=3, most_s=10)
    >>> [retry.wait_s(failed) for failed in (1, 2, 3, 4, 5)]
    [1, 3, 9, 10, None]
    >>> Retry(attempts=10_000, factor=10.0).wait_s(9_999)  # ten to the power of that is no float
    60.0
    """

    attempts: int = 5  # in total; 1 never retries
    first_s: float = 1.0  # wait after the first failure
    factor: float = 2.0  # growth of each wait over the previous one
    most_s: float = 60.0

    def __post_init__(self) -> None:
        if self.attempts < 1 or self.first_s < 0 or self.factor < 1 or self.most_s < 0:
            raise ValueError(f"{self} is not possible: attempts and factor are 1 or more, first_s and most_s 0 or more")

    def wait_s(self, failed: int) -> float | None:
        """Return the seconds to wait after this many failed attempts; None to give up."""
        if failed >= self.attempts:
            return None
        try:
            return min(self.first_s * self.factor ** (failed - 1), self.most_s)
        except OverflowError:
            return self.most_s if self.first_s else 0.0

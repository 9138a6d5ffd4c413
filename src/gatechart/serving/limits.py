"""How much a server takes from those who ask, and how long it waits for them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """The bounds of a server. Each has a default that suits most.

    A body has a limit of values beside that of bytes: checking them is what takes time, and nothing else is answered
    meanwhile.
    """

    header_bytes: int = 2**16  # of the request line and the headers
    header_s: float = 10.0  # that they may take to come
    body_bytes: int = 2**20
    body_values: int = 100_000
    body_s: float = 30.0  # that a body may take to come
    idle_s: float = 75.0  # that a silent connection is kept; clients keep theirs for less, not to write into its end
    answer_bytes: int = 8 * 2**20  # of the entries in one answer, of which there is at least one

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise ValueError(f"ServerLimits({field.name}={value!r}) leaves no room; give a number above 0")


DEFAULTS: Final = ServerLimits()

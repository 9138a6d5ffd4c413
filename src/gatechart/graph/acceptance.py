"""Which handoffs agents of a graph take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Policy: TypeAlias = Callable[[Any], bool | str]  # asked with the packet; a text says why not


@dataclass(frozen=True)
class Accepts:
    """The bounds within which handoffs to agents of a graph are accepted, at whatever entry point.

    A handoff holds its place from before the turn that takes it until it is over.
    """

    capacity: int | None = None  # handoffs that its agents have at once; None: any number
    policy: Policy | None = None  # False or a text: not accepted, and not if it is tried again

    def __post_init__(self) -> None:
        if self.capacity is not None and self.capacity < 0:
            raise ValueError(f"Accepts(capacity={self.capacity!r}) cannot be; give 0 or more, or None for no bound")

    def objection(self, packet: Any) -> str:
        """Why the policy does not accept the packet; empty where it does."""
        answer = True if self.policy is None else self.policy(packet)
        return answer if isinstance(answer, str) else "" if answer else "its policy does not accept it"

"""How much a runtime takes on, and how long it waits."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from gatechart.values import Retry


class WhenFull(Enum):
    """What `post` does where the recipient's inbox is full."""

    RAISE = "raise"  # an InboxFullError
    WAIT = "wait"  # until there is room


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of a runtime. Each has a default that suits most."""

    turn_s: float = 60.0  # that the actions of one turn may take; the turn is undone then
    mail_retry: Retry = field(default_factory=lambda: Retry(attempts=5, first_s=1.0, factor=2.0, most_s=60.0))
    inbox: int = (
        10_000  # mail, timers aside, that waits for one agent when `post` brings no more; it bounds `post` alone
    )
    when_full: WhenFull = WhenFull.RAISE
    unclaimed: int = 100_000  # mail of `post` that waits for agents that do not exist, for all of them together
    scheduled: int = 1_000_000  # mail of `post` with a due time that waits, for all agents together
    resident: int = 10_000  # idle agents that stay in memory
    invokes: int = 1_000  # that run at once; the others wait
    timers: int = 10_000  # that are kept in memory, those due first; the store keeps all
    feed: int = 10_000  # items that wait for one subscriber of a feed
    close_s: float = 10.0  # that turns and invokes under way get to end when the runtime closes

    def __post_init__(self) -> None:
        for name in ("turn_s", "inbox", "unclaimed", "scheduled", "resident", "invokes", "timers", "feed", "close_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"Limits({name}={getattr(self, name)!r}) leaves no room; give a number above 0")

"""The limits of a runtime: how much work it accepts and how long it waits."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from gatechart.values.delays import Retry
from gatechart.values.directory import MOST_ENTRIES
from gatechart.values.hosts import BEAT_S


class WhenFull(Enum):
    """What `post` does if the recipient's inbox is full."""

    RAISE = "raise"  # an InboxFullError
    WAIT = "wait"  # until there is room


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a runtime. The defaults suit most applications."""

    turn_s: float = 60.0  # for the actions of one turn; a turn that takes longer is undone
    mail_retry: Retry = field(default_factory=lambda: Retry(attempts=5, first_s=1.0, factor=2.0, most_s=60.0))
    inbox: int = 10_000  # mail waiting for one agent, timers aside, before `post`, and only `post`, refuses more
    when_full: WhenFull = WhenFull.RAISE
    unclaimed: int = 100_000  # posted mail waiting for agents that do not exist, for all of them together
    scheduled: int = 1_000_000  # posted mail waiting for its due time, for all agents together
    resident: int = 10_000  # idle agents that stay in memory
    invokes: int = 1_000  # invokes that run at once; the others wait, and idle invokes do not count
    timers: int = 10_000  # timers in memory, those due first; the store keeps all
    feed: int = 10_000  # items waiting for one subscriber of a feed
    entries: int = MOST_ENTRIES  # that one named registrant has in the directory; operators have as many as they like
    beat_s: float = BEAT_S  # between two heartbeats of the host
    close_s: float = 10.0  # for running turns and invokes to end when the runtime closes

    def __post_init__(self) -> None:
        sizes = ("inbox", "unclaimed", "scheduled", "resident", "invokes", "timers", "feed", "entries")
        for name in ("turn_s", *sizes, "close_s", "beat_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"Limits({name}={getattr(self, name)!r}) leaves no room; give a number above 0")

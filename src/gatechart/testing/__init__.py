"""The time by hand, and graphs tried out in memory. Beside it, what needs pytest: `contracts` for stores, `paths`."""

from gatechart.testing.clock import VirtualClock
from gatechart.testing.rehearsal import Rehearsal, rehearse

__all__ = ["Rehearsal", "VirtualClock", "rehearse"]

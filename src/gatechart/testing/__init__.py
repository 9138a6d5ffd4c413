"""Test helpers: a virtual clock and rehearsals in memory. `contracts` (for stores) and `paths` need pytest."""

from gatechart.testing.clock import VirtualClock
from gatechart.testing.rehearsal import Rehearsal, rehearse

__all__ = ["Rehearsal", "VirtualClock", "rehearse"]

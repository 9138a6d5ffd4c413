"""Test helpers: a virtual clock, rehearsals in memory, replays. `contracts` (for stores) and `paths` need pytest."""

from gatechart.testing.clock import VirtualClock
from gatechart.testing.rehearsal import Rehearsal, rehearse
from gatechart.testing.replay import ReplayReport, replay

__all__ = ["Rehearsal", "ReplayReport", "VirtualClock", "rehearse", "replay"]

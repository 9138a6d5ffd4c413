"""The watchdog: find agents, mail and hosts that are stuck or overdue, and report or restart them."""

from gatechart.watchdog.home import Watchdog
from gatechart.watchdog.terms import Act, WatchdogTerms

__all__ = [
    "Act",
    "Watchdog",
    "WatchdogTerms",
]

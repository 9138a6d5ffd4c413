"""What hosts agents."""

from gatechart.runtime.feeds import Subscription
from gatechart.runtime.limits import Limits, WhenFull
from gatechart.runtime.runtime import Runtime
from gatechart.runtime.work import Work

__all__ = ["Limits", "Runtime", "Subscription", "WhenFull", "Work"]

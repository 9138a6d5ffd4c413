"""The embedded runtime, which hosts agents in the application's process."""

from gatechart.hosting.invoke_context import Step, Work
from gatechart.hosting.limits import Limits, WhenFull
from gatechart.hosting.subscriptions import Subscription
from gatechart.runtime.runtime import Runtime

__all__ = ["Limits", "Runtime", "Step", "Subscription", "WhenFull", "Work"]

"""The embedded runtime, which hosts agents in the application's process."""

from gatechart.hosting.invoke_context import Step, Work
from gatechart.hosting.limits import Limits, WhenFull
from gatechart.hosting.retention import Retention
from gatechart.hosting.subscriptions import Subscription
from gatechart.hosting.transfers import TransferOutcome
from gatechart.runtime.runtime import Runtime
from gatechart.turn import TransferOffer

__all__ = [
    "Limits",
    "Retention",
    "Runtime",
    "Step",
    "Subscription",
    "TransferOffer",
    "TransferOutcome",
    "WhenFull",
    "Work",
]

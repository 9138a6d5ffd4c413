"""The embedded runtime, which hosts agents in the application's process, and its settings."""

from gatechart.hosting.choosing import Choosing
from gatechart.hosting.invoke_context import Step, Work
from gatechart.hosting.limits import Limits, WhenFull
from gatechart.hosting.retention import Retention
from gatechart.hosting.subscriptions import Subscription
from gatechart.runtime.runtime import Runtime
from gatechart.values.homes import Role

__all__ = [
    "Choosing",
    "Limits",
    "Retention",
    "Role",
    "Runtime",
    "Step",
    "Subscription",
    "WhenFull",
    "Work",
]

"""The runtime without `await`, for scripts and notebooks: each call returns when its coroutine would.

The runtime runs in an event loop in a separate thread, so it also works inside a running event loop, such as a
notebook's. Several threads may call it. Its methods raise the errors of the asynchronous ones.
"""

from gatechart.sync.agent import Agent
from gatechart.sync.home import Home, Runtime, open, use  # noqa: A004

__all__ = ["Agent", "Home", "Runtime", "open", "use"]

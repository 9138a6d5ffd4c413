"""The same runtime without `await`, for scripts and notebooks: each call returns when its coroutine would.

The runtime runs in an event loop in a thread of its own, so it works inside a running event loop, too, such as a
notebook's. It may be called from several threads. Errors are those of the verbs.
"""

from gatechart.sync.agent import Agent
from gatechart.sync.home import Home, Runtime, open, use  # noqa: A004

__all__ = ["Agent", "Home", "Runtime", "open", "use"]

"""Where snapshots and history are kept."""

from gatechart.stores.memory import MemoryStore
from gatechart.stores.opening import DEFAULT_URL, open_store, upgrade_store

__all__ = ["DEFAULT_URL", "MemoryStore", "open_store", "upgrade_store"]

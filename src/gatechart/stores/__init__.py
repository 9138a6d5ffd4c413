"""Stores that keep agents: in memory, in SQLite and in PostgreSQL."""

from gatechart.stores.entries import entry_of
from gatechart.stores.memory import MemoryStore
from gatechart.stores.opening import open_store, upgrade_store
from gatechart.values.names import DEFAULT_URL

__all__ = ["DEFAULT_URL", "MemoryStore", "entry_of", "open_store", "upgrade_store"]

"""Stores that keep agents: in memory, in SQLite and in PostgreSQL."""

from gatechart.stores.entries import entry_of
from gatechart.stores.memory import MemoryStore
from gatechart.stores.opening import DEFAULT_URL, open_store, upgrade_store

__all__ = ["DEFAULT_URL", "MemoryStore", "entry_of", "open_store", "upgrade_store"]

"""How a runtime or a store is opened."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a process is to a database that it opens. One process owns a database at a time."""

    OWNER = "owner"
    """Own the database and host its agents. Raises StoreOwnedError if another process owns it."""
    STANDBY = "standby"
    """Wait until the owner ends, however long, and take over within two seconds; cancel to stop waiting."""
    TAKE_OVER = "take_over"
    """Own the database even though another process does, which then cannot write any more: for a frozen owner."""
    VISITOR = "visitor"
    """Own the database for a moment, and do only what is called for.

    An agent that is resumed takes its own mail that is due; other mail, timers and invokes are left to the next owner.
    """
    READER = "reader"
    """Read beside any owner, and write nothing."""

"""Roles in which a process opens a runtime or a store."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """The role of a process that opens a database. One process owns a database at a time."""

    OWNER = "owner"
    """Own the database and host its agents. Raises StoreOwnedError if another process owns it."""
    STANDBY = "standby"
    """Wait until the owner ends, however long, and take over within two seconds; cancel to stop waiting."""
    TAKE_OVER = "take_over"
    """Take the database from another owner, which can no longer write. Meant for a frozen owner."""
    VISITOR = "visitor"
    """Own the database for a moment, and do only what is called for.

    A resumed agent processes its own due mail; other mail, timers and invokes are left to the next owner.
    """
    READER = "reader"
    """Read alongside any owner; never write."""

"""Homes of agents: what one offers, and the role in which a process opens it."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The features of a runtime beyond those that every runtime has. A False field marks one that others have.

    Turns, mail, timers, invokes and steps behave the same everywhere and have no field.
    """

    home: str  # the kind of runtime, in words
    is_durable: bool = True  # accepted events survive the process
    finds_at_once: bool = True  # `find` sees every committed turn; otherwise it lags
    tells_at_once: bool = True  # `history` sees every committed turn; otherwise it lags
    shows_at_once: bool = True  # a handle shows the committed state; otherwise the state of the handle's last call
    reads_back_at_once: bool = True  # `snapshot_at` and `rollback` need not wait for a projection
    watches_changes: bool = True  # `changes` and `stream` are available
    migrates_ahead: bool = True  # `migrate` upgrades all agents at once; otherwise each waits for its next mail
    bounds_inboxes: bool = True  # `post` raises InboxFullError
    bounds_backlogs: bool = True  # `post` raises BacklogFullError
    withdraws: bool = True  # a cancelled caller withdraws a request that has not begun; otherwise the request stands
    tells_repeats: bool = True  # the receipt of `post` has the mail's number and says whether the id is a repeat
    lists_all_mail: bool = True  # `mail` needs no recipient, and sees accepted mail at once
    takes_a_clock: bool = True  # a virtual clock can be passed
    forgets_at_once: bool = True  # `erase` leaves nothing behind; otherwise the engine keeps journals until they expire
    prunes: bool = True  # `prune` is available
    keeps_ids: int | None = None  # how many of an agent's newest event ids are recognised; None: all until pruned
    looks_back: bool = True  # escape plans look back at an agent's turns; otherwise only where there is a projection
    knows_hosts: bool = True  # `hosts` lists the processes that host agents, and the watchdog looks after them
    counts_work_at_once: bool = True  # the directory knows all open work; otherwise only what is projected
    chooses_alike: bool = True  # `choose` answers as the home chooses; otherwise by words alone, nothing learned
    settles_at_once: bool = True  # `handoffs` shows the current status; otherwise it lags, most for unaccepted offers

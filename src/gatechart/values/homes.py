"""Homes of agents: the role of a process that opens one, and its capabilities."""

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
    """Own the database briefly, and do only what the caller requests.

    A resumed agent processes its due mail; other mail, timers and invokes are left to the next owner.
    """
    READER = "reader"
    """Read alongside any owner; never write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The optional features of a runtime. A False field marks a feature that other runtimes have.

    Turns, mail, timers, invokes and steps behave the same everywhere and have no field.
    """

    home: str  # kind of the runtime, in words
    is_durable: bool = True  # accepted events survive the process
    finds_at_once: bool = True  # `find` sees every committed turn; otherwise it lags
    tells_at_once: bool = True  # `history` sees every committed turn; otherwise it lags
    shows_at_once: bool = True  # a handle shows the committed state; otherwise the state of the handle's last call
    reads_back_at_once: bool = True  # `snapshot_at` and `rollback` need not wait for a projection
    watches_changes: bool = True  # `changes` and `stream` are available
    migrates_ahead: bool = True  # `migrate` upgrades all agents at once; otherwise each waits for its next mail
    bounds_inboxes: bool = True  # `post` raises InboxFullError
    bounds_backlogs: bool = True  # `post` raises BacklogFullError
    withdraws: bool = True  # a cancelled caller withdraws a request that has not started; otherwise it stays
    tells_repeats: bool = True  # the receipt of `post` has the mail's number and a flag for repeated ids
    lists_all_mail: bool = True  # `mail` needs no recipient, and sees accepted mail at once
    takes_a_clock: bool = True  # a virtual clock can be passed
    forgets_at_once: bool = True  # `erase` leaves nothing behind; otherwise the engine keeps journals until they expire
    prunes: bool = True  # `prune` is available
    keeps_ids: int | None = None  # number of an agent's newest event ids that are recognised; None: all until pruned
    looks_back: bool = True  # escape plans can read an agent's past turns; otherwise only with a projection
    knows_hosts: bool = True  # `hosts` lists the processes that host agents, and the watchdog monitors them
    counts_work_at_once: bool = True  # the directory counts all open work; otherwise only projected work
    chooses_alike: bool = True  # `choose` ranks as handoffs do; otherwise only by texts, without learned scores
    settles_at_once: bool = True  # `handoffs` shows the current status; otherwise it lags, most for unaccepted offers

"""What a home of agents can do, and where it differs from one process with a database."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a runtime has beyond what all promise. Where a field is False, the other homes have it and this has not.

    The promises of a turn, of mail, timers, invokes and steps are the same everywhere and stand in no field.
    """

    home: str  # in words, for people
    is_durable: bool = True  # what is accepted outlives the process
    finds_at_once: bool = True  # `find` knows every committed turn; else it lags
    tells_at_once: bool = True  # `history` knows every committed turn; else it lags
    shows_at_once: bool = True  # what a handle shows is what is committed; else it is as new as the handle's last call
    reads_back_at_once: bool = True  # `snapshot_at` and `rollback` need not wait for a projection
    watches_changes: bool = True  # `changes` and `stream` can be had
    migrates_ahead: bool = True  # `migrate` brings all agents to a new version; else each is when mail comes to it
    bounds_inboxes: bool = True  # `post` raises InboxFullError
    bounds_backlogs: bool = True  # `post` raises BacklogFullError
    withdraws: bool = True  # a caller that is cancelled takes back what has not begun; else what is asked is asked
    tells_repeats: bool = True  # the receipt of `post` says whether its id came before, and numbers the mail
    lists_all_mail: bool = True  # `mail` needs no recipient, and knows at once what was accepted
    takes_a_clock: bool = True  # a virtual clock can be given
    forgets_at_once: bool = True  # `erase` leaves nothing behind; else the engine keeps journals until their end
    prunes: bool = True  # `prune` forgets the past
    keeps_ids: int | None = None  # newest event ids of an agent that are recognised; None: until they are pruned
    settles_at_once: bool = True  # `handoffs` knows how each stands; else it lags, most where nobody took one

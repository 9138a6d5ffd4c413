"""The lifecycle of a handoff: a table of the allowed changes of status."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from gatechart.errors.event import HandoffStateError
from gatechart.values.handoffs import HandoffStatus

LEGAL: Final[Mapping[HandoffStatus, tuple[HandoffStatus, ...]]] = MappingProxyType(
    {
        HandoffStatus.CHOOSING: (
            HandoffStatus.PENDING,
            HandoffStatus.REJECTED,
            HandoffStatus.CANCELLED,
            HandoffStatus.EXPIRED,
        ),
        HandoffStatus.PENDING: (
            HandoffStatus.ACCEPTED,
            HandoffStatus.REJECTED,
            HandoffStatus.CANCELLED,
            HandoffStatus.EXPIRED,
        ),
        HandoffStatus.ACCEPTED: (HandoffStatus.COMPLETED, HandoffStatus.FAILED, HandoffStatus.CANCELLED),
        HandoffStatus.REJECTED: (),
        HandoffStatus.COMPLETED: (),
        HandoffStatus.FAILED: (),
        HandoffStatus.CANCELLED: (),
        HandoffStatus.EXPIRED: (),
        HandoffStatus.UNREADABLE: (),
    }
)
"""Statuses that may follow each status; none follow a final one."""

FINAL: Final = frozenset(status for status, following in LEGAL.items() if not following)
"""Statuses of handoffs that are over."""


def is_open(status: HandoffStatus) -> bool:
    """Return whether a handoff in this status can still change.

    >>> is_open(HandoffStatus.ACCEPTED), is_open(HandoffStatus.EXPIRED)
    (True, False)
    """
    return status not in FINAL


def check_change(before: HandoffStatus, after: HandoffStatus, handoff_id: str = "") -> None:
    """Check that a status may follow another. Raises HandoffStateError, which names the allowed ones.

    handoff_id: only for the text of the error.
    """
    if after not in LEGAL[before]:
        raise illegal_change(before, after, handoff_id)


def illegal_change(before: HandoffStatus, after: HandoffStatus, handoff_id: str) -> HandoffStateError:
    """Return the error for a status that may not follow another."""
    return HandoffStateError(before.value, after.value, tuple(each.value for each in LEGAL[before]), handoff_id)

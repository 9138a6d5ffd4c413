"""The life of a handoff as a table: from which status to which."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from gatechart.errors import HandoffStateError
from gatechart.values import HandoffStatus

LEGAL: Final[Mapping[HandoffStatus, tuple[HandoffStatus, ...]]] = MappingProxyType(
    {
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
"""What may follow each status; nothing follows an end."""


def is_open(status: HandoffStatus) -> bool:
    """Whether a handoff in this status can still change.

    >>> is_open(HandoffStatus.ACCEPTED), is_open(HandoffStatus.EXPIRED)
    (True, False)
    """
    return bool(LEGAL[status])


def check_change(before: HandoffStatus, after: HandoffStatus, handoff_id: str = "") -> None:
    """Nothing, where the one status may follow the other. Raises HandoffStateError, which names what may.

    handoff_id: for the text of the error only.
    """
    if after not in LEGAL[before]:
        raise HandoffStateError(before.value, after.value, tuple(each.value for each in LEGAL[before]), handoff_id)

"""What stands for a packet that cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from gatechart.handoff.packet import HandoffPacket
from gatechart.handoff.texts import readable

RAW: Final = "raw"
"""The unknown field that keeps the packet as it came."""

_WAY: Final = (
    "handoff_id",
    "request",
    "session_id",
    "user_id",
    "source_agent",
    "source_graph",
    "source_state",
    "target_agent",
    "target_graph",
    "entry_point",
    "is_new",
    "mode",
    "reason",
    "deadline",
    "path",
    "ladder",
    "attempts",
)


def unreadable(payload: Mapping[str, Any], error: str) -> HandoffPacket:
    """A packet that keeps the raw one and says why it cannot be read, with what shows the way to somebody who can."""
    way = {name: payload[name] for name in _WAY if name in payload and _is_readable(name, payload[name])}
    return HandoffPacket.model_validate({**way, "evidence": readable(error), RAW: dict(payload)})


def _is_readable(name: str, value: object) -> bool:
    try:
        HandoffPacket.model_validate({name: value})
    except ValidationError:
        return False
    return True

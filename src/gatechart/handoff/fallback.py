"""What stands for a packet that cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from gatechart.handoff.packet import HandoffPacket
from gatechart.handoff.parts import Rung
from gatechart.handoff.texts import readable

RAW: Final = "raw"
"""The unknown field that keeps the packet as it came."""

_RUNGS: Final = TypeAdapter(tuple[Rung, ...])
_WAY: Final = ("handoff_id", "request", "session_id", "source_agent", "target_agent", "target_graph", "entry_point")


def unreadable(payload: Mapping[str, Any], error: str) -> HandoffPacket:
    """A packet that keeps the raw one and says why it cannot be read, with what shows the way to somebody who can."""
    way = {name: payload[name] for name in _WAY if isinstance(payload.get(name), str)}
    try:
        ladder = _RUNGS.validate_python(payload.get("ladder", ()))
    except ValidationError:
        ladder = ()
    return HandoffPacket.model_validate({**way, "ladder": ladder, "evidence": readable(error), RAW: dict(payload)})

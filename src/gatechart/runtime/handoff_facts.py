"""The facts that are reported about a handoff, from a stored handoff, a packet, or the memory of its agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, Final

from gatechart.values.commits import TurnRecord
from gatechart.values.frozen import value
from gatechart.values.handoffs import HandoffRecord, Obstacle, OpenHandoff, Side
from gatechart.values.names import Payload


@value
class Facts:
    """The facts that are reported about a handoff."""

    handoff: str  # its id
    source: str
    source_graph: str
    target: str
    target_graph: str
    mode: str
    reason: str

    def fields(self) -> dict[str, str]:
        """Return all facts as fields of a log record."""
        return {name: getattr(self, name) for name in _FACTS}


_FACTS: Final = tuple(each.name for each in fields(Facts))


def facts_of_record(record: HandoffRecord) -> Facts:
    """Return the facts of a stored handoff."""
    return Facts(
        record.id,
        record.source,
        record.source_graph,
        record.target,
        record.target_graph,
        record.mode.value,
        record.reason.value,
    )


def facts_of_packet(packet: Mapping[str, Any]) -> Facts:
    """Return the facts in a packet of JSON values, with "" for missing ones."""
    names = ("handoff_id", "source_agent", "source_graph", "target_agent", "target_graph", "mode", "reason")
    return Facts(*(str(packet.get(name, "")) for name in names))


def facts_of_open(handoff: OpenHandoff, turn: TurnRecord) -> Facts:
    """Return the facts known to the agent of the turn, which took the handoff."""
    agent, source = turn.snapshot, handoff.path[-1]["graph"] if handoff.path else ""
    return Facts(
        handoff.id, handoff.peer, source, agent.agent_id, agent.graph, handoff.mode.value, handoff.reason.value
    )


def taken_by(handoffs: Sequence[OpenHandoff], handoff: str) -> OpenHandoff | None:
    """Return the agent's own record of a handoff that it took; None if it has none."""
    return next((each for each in handoffs if each.id == handoff and each.side is Side.TOOK), None)


def closes_loop(record: HandoffRecord) -> bool:
    """Return whether the requested handoff would have closed a loop, and so was redirected or rejected."""
    attempts = record.packet.get("attempts")
    last = attempts[-1] if attempts else {}
    return last.get("handoff_id") == record.id and last.get("obstacle") == Obstacle.LOOP


def latency_s(packet: Payload, now: datetime) -> float | None:
    """Return the seconds since the offer; None if the packet, perhaps an older one, has no times."""
    try:
        steps = [entries[-1] for entries in (packet["path"], packet["attempts"]) if entries]
        offered = max(datetime.fromisoformat(step["time"]) for step in steps)
        return max(0.0, (now - offered).total_seconds())
    except (LookupError, TypeError, ValueError):
        return None

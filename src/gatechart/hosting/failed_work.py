"""The work that an agent handed on and that came to nothing, as its handoffs tell."""

from __future__ import annotations

from gatechart.api import AgentHome
from gatechart.handoff import Attempt
from gatechart.values import AgentId, HandoffRecord, HandoffStatus, Obstacle

_PAGE = 100


async def just_failed(home: AgentHome, agent_id: AgentId) -> tuple[Attempt, ...]:
    """Return the attempt of the delegation of an agent that failed last, unless one offered after it completed."""
    failed = await _last_failed(home, agent_id)
    if failed is None:
        return ()
    since = await home.handoffs(source=agent_id, status=HandoffStatus.COMPLETED, after=failed.number, limit=1)
    return () if since else (_attempt(failed),)


async def _last_failed(home: AgentHome, agent_id: AgentId) -> HandoffRecord | None:
    last, failed = None, HandoffStatus.FAILED
    while page := await home.handoffs(source=agent_id, status=failed, after=last.number if last else 0, limit=_PAGE):
        last = page[-1]
    return last


def _attempt(record: HandoffRecord) -> Attempt:
    return Attempt(
        handoff_id=record.id,
        graph=record.target_graph,
        entry_point=record.entry_point,
        agent="" if record.is_new else record.target,
        recipient=str(record.packet.get("recipient", "")),
        obstacle=Obstacle.FAILURE,
        time=record.changes[-1].time,
    )

"""Find work that an agent handed on and that failed, from its handoffs."""

from __future__ import annotations

from functools import partial

from gatechart.api.home import AgentHome
from gatechart.handoff.packet import Attempt
from gatechart.values.handoffs import HandoffRecord, HandoffStatus, Obstacle
from gatechart.values.names import AgentId


async def just_failed(home: AgentHome, agent_id: AgentId) -> tuple[Attempt, ...]:
    """Return the attempt of an agent's newest failed delegation, unless a delegation offered after it completed."""
    newest = partial(home.handoffs, source=agent_id, newest_first=True, limit=1)
    failed = await newest(status=HandoffStatus.FAILED)
    if not failed:
        return ()
    completed = await newest(status=HandoffStatus.COMPLETED)
    return () if completed and completed[0].number > failed[0].number else (_attempt(failed[0]),)


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

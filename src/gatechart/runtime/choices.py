"""Handoffs with a target to be chosen: the choice, outside the turn that offers the work."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gatechart.api.home import AgentHome
from gatechart.handoff.packet import HandoffPacket
from gatechart.hosting.directory import OpenWork
from gatechart.ports import Store
from gatechart.runtime.core import Core
from gatechart.turn.choices import take_choice, undecided
from gatechart.turn.handoff_acceptance import RejectedOffer, Void
from gatechart.values.agents import Event, Snapshot
from gatechart.values.commits import TurnRecord
from gatechart.values.mail import Mail
from gatechart.values.names import WITHDRAWN


async def chosen(
    core: Core, previous: Snapshot, event: Event, queued: Collection[Mail]
) -> TurnRecord | RejectedOffer | Void:
    """Choose a target for the work in an agent's own mail, and return the turn that offers the work.

    queued: the agent's mail in memory, which may grow meanwhile. If it withdraws the handoff, nothing is chosen: the
    withdrawal ends the handoff. Raises the chooser's exceptions.
    """
    packet = undecided(previous, event, core.packet_migrations)
    if not isinstance(packet, HandoffPacket):
        return packet
    if _is_withdrawn(packet.handoff_id, queued):
        return Void()
    choice = await core.chooser.choose(packet, event.time)
    return Void() if _is_withdrawn(packet.handoff_id, queued) else take_choice(previous, event, packet, choice)


def _is_withdrawn(handoff: str, queued: Collection[Mail]) -> bool:
    return any(mail.event == WITHDRAWN and mail.payload.get("handoff") == handoff for mail in queued)


class StoredWork(OpenWork):
    """The open work on an embedded runtime, as counted by its store."""

    def __init__(self, home: AgentHome, store: Store) -> None:
        """Bind to a home and its store."""
        super().__init__(home)
        self._store = store

    async def held(self) -> Mapping[str, int]:
        """See Work."""
        return await self._store.held()

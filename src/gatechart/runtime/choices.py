"""Handoffs whose target is chosen: the choice outside the turn that offers the work."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gatechart.api.home import AgentHome
from gatechart.handoff.packet import HandoffPacket
from gatechart.hosting.directory import OpenWork
from gatechart.ports import Store
from gatechart.runtime.core import Core
from gatechart.turn.choices import take_choice, undecided
from gatechart.turn.handoff_acceptance import Rejection, Void
from gatechart.values.agents import Event, Snapshot
from gatechart.values.commits import TurnRecord
from gatechart.values.mail import Mail
from gatechart.values.names import WITHDRAWN


async def chosen(
    core: Core, previous: Snapshot, event: Event, queued: Collection[Mail]
) -> TurnRecord | Rejection | Void:
    """Choose a target for the work that an agent's own mail asks about, and return the turn that offers it.

    queued: the mail that the agent has in memory, which may grow meanwhile. If it withdraws the handoff, nothing is
    chosen: the withdrawal takes it from there. Raises what the chooser raises.
    """
    asked = undecided(previous, event, core.packet_migrations)
    if not isinstance(asked, HandoffPacket):
        return asked
    if _is_withdrawn(asked.handoff_id, queued):
        return Void()
    choice = await core.chooser.choose(asked, event.time)
    return Void() if _is_withdrawn(asked.handoff_id, queued) else take_choice(previous, event, asked, choice)


def _is_withdrawn(handoff: str, queued: Collection[Mail]) -> bool:
    return any(mail.event == WITHDRAWN and mail.payload.get("handoff") == handoff for mail in queued)


class StoredWork(OpenWork):
    """The work under way on an embedded runtime, as its store counts it."""

    def __init__(self, home: AgentHome, store: Store) -> None:
        """Bind to a home and its store."""
        super().__init__(home)
        self._store = store

    async def held(self) -> Mapping[str, int]:
        """See Work."""
        return await self._store.held()

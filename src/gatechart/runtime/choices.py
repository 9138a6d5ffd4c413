"""Handoffs whose target is chosen: the choice outside the turn that offers the work."""

from __future__ import annotations

from collections.abc import Mapping

from gatechart.api import AgentHome
from gatechart.handoff import HandoffPacket
from gatechart.hosting.directory import OpenWork
from gatechart.ports import Store
from gatechart.runtime.core import Core
from gatechart.turn import Rejection, Void, take_choice, undecided
from gatechart.values import Event, Snapshot, TurnRecord


async def chosen(core: Core, previous: Snapshot, event: Event) -> TurnRecord | Rejection | Void:
    """Choose a target for the work that an agent's own mail asks about, and return the turn that offers it.

    The agent's other mail waits meanwhile, a withdrawal as well: it finds either no choice, or one that was told.
    Raises what the chooser raises.
    """
    asked = undecided(previous, event, core.packet_migrations)
    if not isinstance(asked, HandoffPacket):
        return asked
    choice = await core.chooser.choose(asked, event.time)
    return take_choice(previous, event, asked, choice)


class StoredWork(OpenWork):
    """The work under way on an embedded runtime, as its store counts it."""

    def __init__(self, home: AgentHome, store: Store) -> None:
        """Bind to a home and its store."""
        super().__init__(home)
        self._store = store

    async def held(self) -> Mapping[str, int]:
        """See Work."""
        return await self._store.held()

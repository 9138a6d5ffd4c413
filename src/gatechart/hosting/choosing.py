"""The choice of a target for a handoff, made by a home of agents outside turns."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from gatechart.errors import contained
from gatechart.handoff import HandoffPacket, SelectionTerms
from gatechart.hosting.directory import Directory
from gatechart.selection import choose
from gatechart.values import Choice


class Chooser(Protocol):
    """Chooses the targets of handoffs that name none."""

    async def choose(self, packet: HandoffPacket, now: datetime) -> Choice:
        """Choose a target for the work in a packet, by the packet's own terms.

        The handoff's id seeds the draw among equals, so that a choice that is repeated over the same directory is the
        same. Raises what filters, scorers and the functions of an application raise: the choice is then tried again.
        """
        ...


class DirectoryChooser:
    """Chooses among the entries of a home's directory. Fulfils Chooser."""

    def __init__(self, directory: Directory) -> None:
        """Create the chooser of a home."""
        self._directory = directory

    async def choose(self, packet: HandoffPacket, now: datetime) -> Choice:
        """See Chooser."""
        candidates = await self._directory.candidates()
        asking = self._directory.registry.graph(packet.source_graph)
        terms, seed = packet.selection or SelectionTerms(), packet.handoff_id
        with contained():
            return choose(packet, terms, candidates, now=now, seed=seed, functions=asking.selectors)

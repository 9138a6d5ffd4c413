"""The directory from the view of a service's process: its graphs, the projection, and the entries that it hosts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from gatechart.api.command import Command
from gatechart.api.handoffs import HandoffsCommand
from gatechart.api.home import AgentHome
from gatechart.api.search import FindCommand
from gatechart.handoff.packet import HandoffPacket
from gatechart.hosting.choosing import USUAL, Choosing, DirectoryChooser
from gatechart.hosting.directory import Directory
from gatechart.hosting.registry import Registry, handoff_query
from gatechart.hosting.search import agent_query
from gatechart.ports import Store
from gatechart.values.homes import Capabilities
from gatechart.values.profiles import Choice

FRESH: Final = timedelta(seconds=1)  # maximum age of the directory before it is read again


class ServiceChooser:
    """Chooses targets within journaled runs of a service, which must not wait for the engine."""

    def __init__(
        self, registry: Registry, now: Callable[[], datetime], store: Store | None = None, choosing: Choosing = USUAL
    ) -> None:
        """Bind to a process.

        store: the projection; None if another process has it: choices then know neither the open work nor the entries
            hosted by other processes, nor the failures of earlier turns.
        """
        self._work = _ProjectedWork(store)
        home = _ProjectedHome(registry, store)
        self.directory = Directory(home, None, registry, now, self._work, load=choosing.load, fresh=FRESH)
        self._chooser = DirectoryChooser(self.directory, choosing, keeps=False)

    async def choose(self, packet: HandoffPacket, now: datetime, broken: Sequence[str]) -> Choice:
        """Choose a target. broken: names of the open circuit breakers. Raises the exceptions of `Chooser.choose`."""
        self._work.broken = tuple(broken)
        return await self._chooser.choose(packet, now)


class _ProjectedWork:
    """The open work, as counted by the projection. Fulfils Work."""

    def __init__(self, store: Store | None) -> None:
        self._store = store
        self.broken: tuple[str, ...] = ()

    async def held(self) -> Mapping[str, int]:
        """See Work. The engine counts slots, so an entry with a capacity counts by the handoffs that chose it."""
        return {} if self._store is None else await self._store.held()

    async def open_breakers(self) -> Sequence[str]:
        """See Work."""
        return self.broken


class _ProjectedHome(AgentHome):
    """The agents of a service. It lists only projected agents and their handoffs."""

    def __init__(self, registry: Registry, store: Store | None) -> None:
        self._registry = registry
        self._store = store

    @property
    def capabilities(self) -> Capabilities:
        """See AgentHome."""
        return Capabilities(home="a service of Restate", finds_at_once=False)

    async def execute(self, command: Command) -> Any:
        """Execute `find` and `handoffs`, which finds none without a projection. Raises ElsewhereError otherwise."""
        if isinstance(command, HandoffsCommand):
            return () if self._store is None else await self._store.handoffs(handoff_query(command))
        if not isinstance(command, FindCommand) or self._store is None:
            self._elsewhere(command.verb, "ask a RestateRuntime")
        return await self._store.find(agent_query(self._registry, command))

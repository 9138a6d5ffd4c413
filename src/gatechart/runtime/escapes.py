"""Escapes for the agents of an embedded runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gatechart.escape.scene import ToolFacts
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.escapes import past_turns
from gatechart.hosting.rollback import check_given_away
from gatechart.hosting.tool_facts import tool_facts
from gatechart.runtime.core import Core
from gatechart.values.agents import Snapshot
from gatechart.values.escapes import PastTurn
from gatechart.values.lessons import NO_LESSONS, Lessons


class StoredPast:
    """Facts about an agent from the store and the services of a runtime. Fulfils EscapeHost."""

    def __init__(self, core: Core) -> None:
        """Bind to a runtime."""
        self._core = core

    @property
    def services(self) -> Any:
        """See EscapeHost."""
        return self._core.services

    async def tools(self, graph: AnyGraph, snapshot: Snapshot) -> Mapping[str, ToolFacts]:
        """See EscapeHost."""
        return tool_facts(
            graph, snapshot.configuration, self._core.services, self._core.gates.policies, self._core.breakers.record
        )

    async def past(self, snapshot: Snapshot, most: int) -> Sequence[PastTurn]:
        """See EscapeHost."""
        after = max(snapshot.version - most, 0)
        return past_turns(await self._core.store.history(snapshot.agent_id, after=after))

    async def back_to(self, snapshot: Snapshot, version: int) -> Snapshot:
        """See EscapeHost."""
        target = await self._core.store.snapshot_at(snapshot.agent_id, version)
        await check_given_away(self._core.store, snapshot, target)
        return target

    async def lessons(self, graph: AnyGraph) -> Lessons:
        """See EscapeHost."""
        book = self._core.lessons
        return NO_LESSONS if book is None else await book.read(graph.name)

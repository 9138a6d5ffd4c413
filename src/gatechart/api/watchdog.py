"""The verbs about what is wrong in a home of agents, which every home has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from gatechart.api.arguments import made
from gatechart.api.commands import Command
from gatechart.api.watchdog_commands import FindingsCommand, HostsCommand
from gatechart.values import FindingKind, HealthFinding, HostRecord


class WatchdogHome(ABC):
    """The part of `AgentHome` that is about what is wrong."""

    @abstractmethod
    async def execute(self, command: Command) -> Any:
        """See AgentHome."""
        ...

    async def findings(
        self, *, about: FindingKind | str | None = None, after: str | None = None, limit: int = 100
    ) -> Sequence[HealthFinding]:
        """Look for what is wrong now, a page at a time: pass the key of the last finding as `after`.

        Nothing is changed, and nobody is told. The limits are those of the watchdog, if one is configured.
        about: only of this kind. Raises PayloadError.
        """
        found: Sequence[HealthFinding] = await self.execute(
            made(FindingsCommand, about=about, after=after, limit=limit)
        )
        return found

    async def hosts(self, *, after: str | None = None, limit: int = 100) -> Sequence[HostRecord]:
        """List the hosts with their newest signs of life, in the order started, a page at a time.

        after: the id of the last host of the page before. One that was killed stays listed for a day. Raises
        PayloadError, and ElsewhereError where hosts are the engine's affair.
        """
        found: Sequence[HostRecord] = await self.execute(made(HostsCommand, after=after, limit=limit))
        return found

"""Commands and verbs that look for problems in a home of agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from gatechart.api.arguments import made
from gatechart.api.codec import FINDINGS, HOSTS, Answer
from gatechart.api.command import Command, Executor, Limit
from gatechart.api.route import Route
from gatechart.values.findings import FindingKind, HealthFinding
from gatechart.values.hosts import HostRecord


class FindingsCommand(Command):
    """`findings`."""

    answer: ClassVar[Answer[Any]] = FINDINGS
    route: ClassVar[Route] = Route("GET", "/findings", "Look for problems: agents, mail, breakers, hosts, sinks")
    verb: Literal["findings"] = "findings"
    about: FindingKind | None = None
    after: Annotated[str, Field(max_length=1000)] | None = None
    limit: Limit = 100


class HostsCommand(Command):
    """`hosts`."""

    answer: ClassVar[Answer[Any]] = HOSTS
    route: ClassVar[Route] = Route("GET", "/hosts", "List hosts with their latest signs of life")
    verb: Literal["hosts"] = "hosts"
    after: Annotated[str, Field(max_length=1000)] | None = None
    limit: Limit = 100


class WatchdogHome(Executor):
    """The part of `AgentHome` that looks for problems."""

    async def findings(
        self, *, about: FindingKind | str | None = None, after: str | None = None, limit: int = 100
    ) -> Sequence[HealthFinding]:
        """Look for current problems, a page at a time: pass the key of the last finding as `after`.

        Changes nothing, and notifies no agent or operator. Uses the limits of the watchdog, if one is configured.
        about: only findings of this kind. Raises PayloadError.
        """
        findings: Sequence[HealthFinding] = await self.execute(
            made(FindingsCommand, about=about, after=after, limit=limit)
        )
        return findings

    async def hosts(self, *, after: str | None = None, limit: int = 100) -> Sequence[HostRecord]:
        """List the hosts with their latest signs of life, in the order started, a page at a time.

        after: the id of the last host of the page before. A killed host stays listed for a day.
        Raises PayloadError, and ElsewhereError if the engine manages the hosts.
        """
        found: Sequence[HostRecord] = await self.execute(made(HostsCommand, after=after, limit=limit))
        return found

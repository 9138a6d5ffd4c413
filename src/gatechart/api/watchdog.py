"""Commands and verbs about what is wrong in a home of agents."""

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
    route: ClassVar[Route] = Route("GET", "/findings", "Look for what is wrong: agents, mail, breakers, hosts, sinks")
    verb: Literal["findings"] = "findings"
    about: FindingKind | None = None
    after: Annotated[str, Field(max_length=1000)] | None = None
    limit: Limit = 100


class HostsCommand(Command):
    """`hosts`."""

    answer: ClassVar[Answer[Any]] = HOSTS
    route: ClassVar[Route] = Route("GET", "/hosts", "List hosts with their newest signs of life")
    verb: Literal["hosts"] = "hosts"
    after: Annotated[str, Field(max_length=1000)] | None = None
    limit: Limit = 100


class WatchdogHome(Executor):
    """The part of `AgentHome` that is about what is wrong."""

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

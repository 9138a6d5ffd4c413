"""Commands about what is found in a home of agents, and about its hosts."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from gatechart.api.base_command import BaseCommand, Limit
from gatechart.api.codec import FINDINGS, HOSTS, Answer
from gatechart.api.route import Route
from gatechart.values import FindingKind


class FindingsCommand(BaseCommand):
    """`findings`."""

    answer: ClassVar[Answer[Any]] = FINDINGS
    route: ClassVar[Route] = Route("GET", "/findings", "Look for what is wrong: agents, mail, breakers, hosts, sinks")
    verb: Literal["findings"] = "findings"
    about: FindingKind | None = None
    after: Annotated[str, Field(max_length=1000)] | None = None
    limit: Limit = 100


class HostsCommand(BaseCommand):
    """`hosts`."""

    answer: ClassVar[Answer[Any]] = HOSTS
    route: ClassVar[Route] = Route("GET", "/hosts", "List hosts with their newest signs of life")
    verb: Literal["hosts"] = "hosts"
    after: Annotated[str, Field(max_length=1000)] | None = None
    limit: Limit = 100

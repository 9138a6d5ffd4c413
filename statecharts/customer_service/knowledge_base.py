"""The knowledge base, and how the chart asks it: outside turns, while the agent goes on hearing its customer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final, Protocol

from gatechart import Work
from statecharts.customer_service.context import SupportContext


class KnowledgeBase(Protocol):
    """Where solutions are found."""

    async def solutions(self, query: str) -> list[str]:
        """Return the solutions that fit the query, the likeliest first; empty if nothing is known."""
        ...


class Services(Protocol):
    """What the chart needs from outside."""

    @property
    def knowledge_base(self) -> KnowledgeBase:
        """Where solutions are found."""
        ...


async def search(context: SupportContext, work: Work[Services]) -> str | None:
    """Return the likeliest solution that the customer has not turned down; None if there is none.

    What the knowledge base says is recorded, so a search that is begun again after a crash does not ask it twice.
    """
    found = await work.step("solutions", work.services.knowledge_base.solutions, context.query)
    return next((solution for solution in found if solution not in context.solutions_rejected), None)


@dataclass(frozen=True)
class Shelf:
    """A knowledge base that lies in memory: solutions by a word that the query must hold."""

    articles: tuple[tuple[str, tuple[str, ...]], ...]
    damaged: frozenset[str] = frozenset()  # words of which reading fails
    endless: frozenset[str] = frozenset()  # words of which reading does not end

    async def solutions(self, query: str) -> list[str]:
        """See KnowledgeBase."""
        words = set(query.lower().replace("?", "").split())
        if words & self.damaged:
            raise ConnectionError("the archive does not answer")
        if words & self.endless:
            await asyncio.Event().wait()
        return [solution for word, solutions in self.articles if word in words for solution in solutions]


SHELF: Final = Shelf(
    articles=(
        ("router", ("Update the firmware to 2.4",)),
        ("invoice", ("Issue a corrected invoice",)),
        ("printer", ("Change the cartridge", "Clean the heads", "Install the driver again")),
    ),
    damaged=frozenset({"currency"}),
    endless=frozenset({"battery"}),
)

"""Application agents that use an id or graph name of the framework. Earlier releases did not refuse them."""

from __future__ import annotations

import logging
from typing import Final

from gatechart.ports import AgentStore
from gatechart.values.framework import (
    loss_from,
)
from gatechart.values.queries import Page, Query

logger = logging.getLogger(__name__)

_REPORTED: Final = 20  # ids named in the log
_MISPLACED: Final = (
    "the id or the graph of agent %(agent_id)s, graph %(graph)s, belongs to gatechart itself, so %(loss)s; "
    "`gatechart doctor` explains what to do"
)


async def misplaced(store: AgentStore, most: int) -> Page:
    """Return at most `most` such agents, in the order of their start."""
    return await store.find(Query(misplaced=True, limit=most))


async def report_misplaced(store: AgentStore) -> None:
    """Log a warning for each such agent when a home opens. The agents stay as they are."""
    page = await misplaced(store, _REPORTED)
    for agent in page.agents:
        facts = {"agent_id": agent.agent_id, "graph": agent.graph, "loss": loss_from(agent.agent_id)}
        logger.warning(_MISPLACED, facts, extra=facts)
    if page.next is not None:
        logger.warning("there are more such agents; `gatechart doctor` lists them")

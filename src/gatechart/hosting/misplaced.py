"""Agents of an application that have ids or graphs of the framework, from a release that did not refuse them."""

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
    "`gatechart doctor` says what to do"
)


async def misplaced(store: AgentStore, most: int) -> Page:
    """Return such agents, in the order started, at most `most`."""
    return await store.find(Query(misplaced=True, limit=most))


async def report_misplaced(store: AgentStore) -> None:
    """Log a warning for each such agent when a home opens. The agents stay as they are."""
    page = await misplaced(store, _REPORTED)
    for each in page.agents:
        facts = {"agent_id": each.agent_id, "graph": each.graph, "loss": loss_from(each.agent_id)}
        logger.warning(_MISPLACED, facts, extra=facts)
    if page.next is not None:
        logger.warning("there are more such agents; `gatechart doctor` lists them")

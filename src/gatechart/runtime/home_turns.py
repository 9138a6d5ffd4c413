"""What becomes of mail that no turn can decide: of offers without a place, of choices, of ways out."""

from __future__ import annotations

from collections.abc import Collection

from gatechart.graph import AnyGraph
from gatechart.hosting.escapes import way_out
from gatechart.runtime.choices import chosen
from gatechart.runtime.core import Core
from gatechart.runtime.escapes import StoredPast
from gatechart.runtime.offers import no_place
from gatechart.turn import Rejection, Void, asks_for_choice, asks_for_way_out
from gatechart.values import OFFERED, Event, Mail, Outcome, Snapshot, TurnRecord


async def decide_with_home(
    core: Core, graph: AnyGraph, before: Snapshot, event: Event, waiting: Collection[Mail]
) -> TurnRecord | Outcome | Rejection | Void | None:
    """Return what becomes of an event that only the agent's home can decide; None for others.

    waiting: mail of the agent that is yet to be applied.
    """
    if event.sender is not None and event.name.startswith(OFFERED):
        return await no_place(core, graph, event)
    if asks_for_choice(event, before.agent_id):
        return await chosen(core, before, event, waiting)
    if asks_for_way_out(event, before.agent_id):
        return await way_out(StoredPast(core), graph, before, event, core.limits.turn_s)
    return None

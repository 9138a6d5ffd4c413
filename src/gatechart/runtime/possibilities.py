"""The events that an agent could take now, given the room for deferred events that its stored mail leaves."""

from __future__ import annotations

from collections.abc import Sequence

from gatechart.graph.graph import AnyGraph
from gatechart.hosting.migration import waiting_mail
from gatechart.hosting.turn_guard import OpenTurn
from gatechart.runtime.core import Core
from gatechart.turn.mail import has_room
from gatechart.turn.possibilities import accepted, possible, without_room
from gatechart.values.agents import Snapshot
from gatechart.values.names import EventName, Payload
from gatechart.values.possibilities import AcceptedEvent


async def accepted_now(core: Core, graph: AnyGraph, snapshot: Snapshot) -> Sequence[AcceptedEvent]:
    """Return the events that the agent could take or defer now. Raises as `accepted` does."""
    with OpenTurn(snapshot.agent_id):
        answers = accepted(graph, snapshot, core.clock.now())
    return await _limited(core, graph, snapshot, *answers)


async def possible_now(
    core: Core, graph: AnyGraph, snapshot: Snapshot, event: EventName, payload: Payload | None
) -> AcceptedEvent:
    """Return the effect that an event would have now. payload: None if it is unknown. Raises as `possible` does."""
    with OpenTurn(snapshot.agent_id):
        unlimited = possible(graph, snapshot, event, payload, core.clock.now())
    (answer,) = await _limited(core, graph, snapshot, unlimited)
    return answer


async def _limited(
    core: Core, graph: AnyGraph, snapshot: Snapshot, *answers: AcceptedEvent
) -> tuple[AcceptedEvent, ...]:
    """Return the answers, with deferred events refused if the agent cannot defer any more.

    The store is answers, because a runtime that only reads has no queue.
    """
    if not any(answer.deferred for answer in answers):
        return answers
    mail = await waiting_mail(core.store, snapshot.agent_id)
    return answers if has_room(graph, snapshot, mail, core.clock.now()) else tuple(map(without_room, answers))

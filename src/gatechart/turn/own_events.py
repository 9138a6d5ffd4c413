"""The gate for events of the framework's agents, which checks every event at the start of its turn.

Only the framework sends reserved names, so the name of an event proves its origin. The sender of a timer is the agent
itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from gatechart.graph.graph import AnyGraph
from gatechart.kernel.select import accepted_events, deferred_events
from gatechart.values.agents import Event, Refusal, RefusalReason
from gatechart.values.framework import (
    is_framework_event,
)
from gatechart.values.frozen import replaced
from gatechart.values.names import FRAMEWORK, AgentId, StateName, is_reserved

_LESSON: Final = re.compile(r"(tried|judged):[0-9]+:[0-9a-f]{24}")


def admitted(graph: AnyGraph, agent_id: AgentId, event: Event) -> Event | None:
    """Return the event under its current name; None if the gate stops it.

    The gate stops framework events for an application's agent, even if that agent accepts every event.
    """
    if not graph.is_framework:
        return None if is_framework_event(event.name) else event
    if is_reserved(event.name) or event.sender == agent_id:
        return event
    is_legacy = _LEGACY.get(event.name)
    return replaced(event, name=f"{FRAMEWORK}{event.name.lower()}") if is_legacy and is_legacy(event) else None


def not_admitted(graph: AnyGraph, configuration: tuple[StateName, ...]) -> Refusal:
    """Return the refusal of an event that the gate stops."""
    if graph.is_framework:
        return Refusal(RefusalReason.NOT_FROM_FRAMEWORK, configuration, ())
    accepts, defers = accepted_events(graph, configuration), deferred_events(graph, configuration)
    return Refusal(RefusalReason.FOR_FRAMEWORK, configuration, accepts, defers=defers)


def _has_id(of: Callable[[Event], object]) -> Callable[[Event], bool]:
    """Return a test for mail that an agent sent in its turn with the id that the function builds."""
    return lambda event: event.sender is not None and event.id is not None and event.id == of(event)


# Earlier releases sent these names, and callers could send them, too. The gate recognises waiting mail of these
# releases by its sender and its id, and its payload is validated as usual. This release sends no such mail.
_LEGACY: Final[Mapping[str, Callable[[Event], bool]]] = MappingProxyType(
    {
        "ALERT": _has_id(lambda event: event.payload.get("id")),
        "OUTCOME": _has_id(lambda event: f"{event.payload.get('ended')}:{event.payload.get('handoff')}"),
        "CHOSEN": _has_id(lambda event: f"chosen:{event.payload.get('handoff')}"),
        "LEARN": lambda event: event.sender is not None and _LESSON.fullmatch(event.id or "") is not None,
        "FORGET": lambda event: event.sender is None and event.id is None,  # posted when an agent was erased
        "RUN": lambda event: event.sender is None,  # from a schedule that deferred it
    }
)

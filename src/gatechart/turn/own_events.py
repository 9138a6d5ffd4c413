"""The gate at the framework's agents: the events that they take, whoever sent them and wherever they were stored.

Reserved names are sent by the framework alone, so an event's name shows that it comes from there. A timer shows it by
its sender, the agent itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from gatechart.graph import AnyGraph
from gatechart.kernel import accepted_events
from gatechart.values import (
    AgentId,
    Event,
    Refusal,
    RefusalReason,
    StateName,
    is_reserved,
)
from gatechart.values.framework import (
    is_framework_event,
)
from gatechart.values.frozen import replaced
from gatechart.values.names import FRAMEWORK

_LESSON: Final = re.compile(r"(tried|judged):[0-9]+:[0-9a-f]{24}")


def is_gated(graph: AnyGraph, event: Event) -> bool:
    """Return whether the event must pass the gate: it is for an agent of the framework, or is an event for one."""
    return graph.is_framework or is_framework_event(event.name)


def admitted(graph: AnyGraph, agent_id: AgentId, event: Event) -> Event | None:
    """Return the event as the agent takes it; None if the gate is closed to it.

    An application's agent takes no event that is for agents of the framework, even if it waits for every event.
    """
    if not graph.is_framework:
        return None if is_framework_event(event.name) else event
    if is_reserved(event.name) or event.sender == agent_id:
        return event
    is_legacy = _LEGACY.get(event.name)
    return replaced(event, name=f"{FRAMEWORK}{event.name.lower()}") if is_legacy and is_legacy(event) else None


def not_admitted(graph: AnyGraph, configuration: tuple[StateName, ...]) -> Refusal:
    """Return the refusal of an event to which the gate is closed."""
    accepts = () if graph.is_framework else accepted_events(graph, configuration)
    return Refusal(
        RefusalReason.NOT_FROM_FRAMEWORK if graph.is_framework else RefusalReason.FOR_FRAMEWORK, configuration, accepts
    )


def _has_id(of: Callable[[Event], object]) -> Callable[[Event], bool]:
    """Return a test for mail that an agent sent in its turn, under the id that this function builds."""
    return lambda event: event.sender is not None and event.id is not None and event.id == of(event)


# Earlier releases sent these names, which anybody could send. Mail of theirs that still waits is recognised by what
# only they sent it with, and its payload is validated like any other. Nobody can send it any more.
_LEGACY: Final[Mapping[str, Callable[[Event], bool]]] = MappingProxyType(
    {
        "ALERT": _has_id(lambda event: event.payload.get("id")),
        "OUTCOME": _has_id(lambda event: f"{event.payload.get('ended')}:{event.payload.get('handoff')}"),
        "CHOSEN": _has_id(lambda event: f"chosen:{event.payload.get('handoff')}"),
        "LEARN": lambda event: event.sender is not None and _LESSON.fullmatch(event.id or "") is not None,
        "FORGET": lambda event: event.sender is None and event.id is None,  # posted when an agent was erased
        "RUN": lambda event: event.sender is None,  # of a schedule that deferred it
    }
)

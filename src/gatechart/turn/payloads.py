"""Payloads of declared events: `event.data` for guards and actions, and the problems of invalid payloads."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from gatechart.context import problems_of
from gatechart.errors.event import PayloadError, UndeclaredEventError
from gatechart.errors.failures import contained
from gatechart.graph.events import EventType
from gatechart.graph.graph import AnyGraph
from gatechart.graph.payload_schema import JsonSchema
from gatechart.kernel.select import accepted_events, deferred_events
from gatechart.secrets import has_secrets, marked_by
from gatechart.turn.arguments import plain_payload
from gatechart.turn.turn_context import one_line
from gatechart.values.agents import Event, Outcome, Refusal, RefusalReason
from gatechart.values.frozen import replaced, value
from gatechart.values.names import EventName, Payload, StateName, is_reserved
from gatechart.values.secrets import revealed_text


@value
class TypedEvent(Event):
    """An event with its payload parsed as its declared type."""

    data: Any = None


def with_data(event: Event, data: Any) -> Event:
    """Return the event with its payload parsed as its declared type in `data`."""
    return TypedEvent(event.name, event.payload, event.time, event.id, event.sender, event.operator_reason, data)


def payload_data(graph: AnyGraph, event: EventName, payload: Payload) -> Any:
    """Parse the payload as its declared type, a model or JSON values; None if no type is declared.

    Raises PayloadError, and UndeclaredEventError if the graph is closed to events that are not declared.
    """
    check_known(graph, event)
    declared = graph.event_types.get(event)
    if declared is None or declared.takes is None:
        return None
    text = revealed_text(to_json(payload, inf_nan_mode="constants").decode())
    if isinstance(declared.takes, JsonSchema):
        return _by_schema(graph, declared, declared.takes, text)
    return _by_model(graph, declared, text)


def with_marks(graph: AnyGraph, event: Event) -> Event:
    """Mark each secret in the payload of an event that was parsed as its declared type.

    A payload that was sent as plain JSON has no marks yet.
    """
    declared = graph.event_types.get(event.name)
    takes = None if declared is None else declared.takes
    if isinstance(takes, JsonSchema):
        payload = marked_by(takes.plain, event.payload)
        return event if payload is event.payload else replaced(event, payload=payload)
    if takes is None or not has_secrets(takes):
        return event
    return replaced(event, payload=plain_payload(event.data, event.name))


def check_known(graph: AnyGraph, event: EventName) -> None:
    """Raise UndeclaredEventError if the graph is closed to undeclared events and does not declare this one."""
    if graph.events_closed and event not in graph.event_types and not is_reserved(event):
        raise UndeclaredEventError(graph.name, event, tuple(graph.event_types))


def refused_as(
    misfit: PayloadError | UndeclaredEventError, graph: AnyGraph, configuration: tuple[StateName, ...]
) -> Refusal:
    """Convert an error of `payload_data` to the refusal of the event."""
    accepts, defers = accepted_events(graph, configuration), deferred_events(graph, configuration)
    if isinstance(misfit, PayloadError):
        problems = tuple(map(one_line, misfit.problems))
        return Refusal(RefusalReason.PAYLOAD_MISFIT, configuration, accepts, problems=problems, defers=defers)
    return Refusal(RefusalReason.UNDECLARED, configuration, accepts, defers=defers)


def check_declared(graph: AnyGraph, outcome: Outcome) -> None:
    """Raise PayloadError or UndeclaredEventError if the event was refused because of the graph's declarations.

    The agent refuses such an event in every state, so the error is the sender's.
    """
    event, refusal = outcome.event, outcome.refusal
    if refusal is None:
        return
    if refusal.reason is RefusalReason.UNDECLARED:
        raise UndeclaredEventError(graph.name, event, tuple(graph.event_types))
    if refusal.reason is RefusalReason.PAYLOAD_MISFIT:
        raise _misfit(graph, graph.event_types[event], refusal.problems)


def _by_schema(graph: AnyGraph, declared: EventType, schema: JsonSchema, text: str) -> Any:
    payload = from_json(text)
    problems = schema.problems(payload)
    if problems:
        raise _misfit(graph, declared, problems)
    return payload


def _by_model(graph: AnyGraph, declared: EventType, text: str) -> Any:
    model: Any = declared.takes
    try:
        with contained():
            return model.model_validate_json(text, by_alias=True, by_name=True)
    except ValidationError as error:
        raise _misfit(graph, declared, problems_of(error)) from error
    except Exception as error:  # raised by a validator; its text may be private
        raise _misfit(graph, declared, (f"reading it raised {type(error).__name__}",)) from error


def _misfit(graph: AnyGraph, declared: EventType, problems: tuple[str, ...]) -> PayloadError:
    return PayloadError(f"event {declared.name!r} of {graph.name!r}", problems, declared.expected)

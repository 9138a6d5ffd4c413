"""List the events that an agent could take now. Guards run as in a turn, on a separate context, without effects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NoReturn

from pydantic import ValidationError

from gatechart.context import problems_of, read_only_context
from gatechart.errors import IncompatibleGraphError, PayloadError, UndeclaredEventError, is_failure
from gatechart.graph import AnyGraph, Edge
from gatechart.kernel import accepted_events, candidates, deferred_events, defers, may_defer
from gatechart.turn.macrostep import active_states, agrees
from gatechart.turn.mail import deferred_reason
from gatechart.turn.payloads import check_known, payload_data, with_data
from gatechart.turn.turn_context import one_line, own_copy, told
from gatechart.values import (
    AcceptedEvent,
    Agrees,
    Event,
    EventName,
    Payload,
    PossibleTransition,
    RefusalReason,
    Refused,
    Snapshot,
    Status,
)
from gatechart.values.frozen import replaced


def accepted(graph: AnyGraph, snapshot: Snapshot, now: datetime) -> tuple[AcceptedEvent, ...]:
    """Return the events that the agent could take or defer now.

    Events are in the order of their transitions. Events that a state defers and no transition takes come last. The
    framework's own events are left out. A guard that looks at the payload makes the answer depend on it. The number of
    events deferred already is not considered: see `without_room`.
    Raises IncompatibleGraphError if the graph cannot read the context.
    """
    if snapshot.status is not Status.ACTIVE or graph.is_framework:
        return ()
    inquiry = _Inquiry(graph, snapshot)
    return tuple(inquiry.answer(_UnknownEvent(graph, name, now)) for name in _names(graph, snapshot))


def possible(
    graph: AnyGraph, snapshot: Snapshot, event: EventName, payload: Payload | None, now: datetime
) -> AcceptedEvent:
    """Return the effect that an event would have now. payload: None if it is unknown. Errors as in `accepted`."""
    if snapshot.status is not Status.ACTIVE:
        return AcceptedEvent(event, Agrees.NO, why_not=str(RefusalReason.AGENT_ENDED))
    if graph.is_framework:
        return AcceptedEvent(event, Agrees.NO, why_not=str(RefusalReason.NOT_FROM_FRAMEWORK))
    try:
        asked = _asked(graph, event, payload, now)
    except UndeclaredEventError as error:
        return AcceptedEvent(event, Agrees.NO, why_not=str(error))
    except PayloadError as error:
        reason = f"{RefusalReason.PAYLOAD_MISFIT} ({one_line('; '.join(error.problems))})"
        return AcceptedEvent(event, Agrees.NO, (), reason, *_declared(graph, event))
    return _Inquiry(graph, snapshot).answer(asked)


def without_room(asked: AcceptedEvent) -> AcceptedEvent:
    """Return the answer for an agent that has deferred as many events as it can: deferred events become refused."""
    if not asked.deferred:
        return asked
    return replaced(asked, deferred=False, why_not=str(RefusalReason.DEFERRED_TOO_MANY))


def _asked(graph: AnyGraph, event: EventName, payload: Payload | None, now: datetime) -> Event:
    """Return the event to pass to guards. Raises the errors of `payload_data`."""
    if payload is None:
        check_known(graph, event)
        return _UnknownEvent(graph, event, now)
    data = payload_data(graph, event, payload)
    given = own_copy(Event(event, payload, now))
    return given if data is None else with_data(given, data)


def _declared(graph: AnyGraph, event: EventName) -> tuple[str, Payload | None]:
    """Return the description of an event and the schema of its payload."""
    declared = graph.event_types.get(event)
    return ("", None) if declared is None else (declared.description, declared.payload_schema)


def _names(graph: AnyGraph, snapshot: Snapshot) -> tuple[EventName, ...]:
    """Return the names and patterns to list.

    First come awaited events, then deferred ones, then declared events that only a pattern takes or defers.
    """
    here = snapshot.configuration
    words = [word.removesuffix(".") for each in accepted_events(graph, here) for word in each.split()]
    words += deferred_events(graph, here)
    if graph.events_closed:
        words = [word for word in words if word in graph.event_types]
    matched = (name for name in graph.event_types if candidates(graph, here, name) or may_defer(graph, here, name))
    return tuple(dict.fromkeys((*words, *matched)))


def _is_wildcard(name: EventName) -> bool:
    return name == "*" or name.endswith(".*")


class _PayloadReadError(BaseException):
    """A guard reads a payload that is not known. Not an Exception, so that guards do not handle it."""


class _UnknownEvent(Event):
    """An event with an unknown payload. Reading it ends the guard, and is noted even if the guard continues."""

    __slots__ = ("_has_data", "_reads")

    _has_data: bool
    _reads: list[bool]

    def __init__(self, graph: AnyGraph, name: EventName, now: datetime) -> None:
        super().__init__(name, {}, now)
        declared = graph.event_types.get(name)
        has_data = _is_wildcard(name) or (declared is not None and declared.takes is not None)
        object.__setattr__(self, "_has_data", has_data)
        object.__setattr__(self, "_reads", [])

    @property
    def payload(self) -> Any:
        """Raise _PayloadReadError."""
        self._read()

    @property
    def data(self) -> Any:
        """None if no payload could change that; otherwise raise _PayloadReadError."""
        return self._read() if self._has_data else None

    def was_read(self) -> bool:
        """Return whether the payload was read since the last call."""
        was = bool(self._reads)
        self._reads.clear()
        return was

    def _read(self) -> NoReturn:
        self._reads.append(True)
        raise _PayloadReadError


class _Inquiry:
    """The evaluation of events against one agent's current snapshot."""

    def __init__(self, graph: AnyGraph, snapshot: Snapshot) -> None:
        self._graph = graph
        self._snapshot = snapshot

    def answer(self, event: Event) -> AcceptedEvent:
        """Return the effect that the event would have."""
        groups = candidates(self._graph, self._snapshot.configuration, event.name)
        found = [tuple(self._group(edges, event)) for edges in groups]
        several = tuple({each.label: each for group in found for each in group}.values())
        said = {each.agrees for each in several}
        verdict = next((each for each in (Agrees.YES, Agrees.DEPENDS) if each in said), Agrees.NO)
        is_open = verdict is not Agrees.YES
        deferred = is_open and defers(self._graph, self._snapshot.configuration, event.name)
        why_not = self._why_not(several, deferred=deferred) if is_open else ""
        described = _declared(self._graph, event.name)
        return AcceptedEvent(event.name, verdict, several, why_not, *described, _is_wildcard(event.name), deferred)

    def _group(self, edges: Sequence[Edge], event: Event) -> Iterator[PossibleTransition]:
        """Yield the transitions of one active leaf up to the one that would surely be taken."""
        for edge in edges:
            asked = self._guard(edge, event)
            yield asked
            if asked.agrees is Agrees.YES:
                return

    def _why_not(self, several: Sequence[PossibleTransition], *, deferred: bool) -> str:
        if not several and not deferred:
            return f"{RefusalReason.NO_TRANSITION} in {', '.join(self._snapshot.configuration)}"
        refusing = (each for each in several if each.agrees is Agrees.NO)
        reasons = [each.why_not or f"{each.guard} {'raised' if each.raised else 'said no'}" for each in refusing]
        if deferred:
            reasons.append(deferred_reason(self._snapshot))
        return "; ".join(dict.fromkeys(reasons))

    def _guard(self, edge: Edge, event: Event) -> PossibleTransition:
        """Evaluate the guard of a transition, with a context that no other guard sees."""
        ask = edge.ask
        if ask is None:
            return PossibleTransition(edge.label, edge.targets, Agrees.YES)
        why_not = raised = ""
        try:
            third = (active_states(self._graph, self._snapshot.configuration),) if ask.takes_configuration else ()
            given = (self._snapshot.transfers,) if ask.takes_counts else (self._context(), event, *third)
            answer = ask.function(*given)
            verdict = Agrees.YES if agrees(answer, ask.name) else Agrees.NO
            why_not = one_line(answer.reason) if isinstance(answer, Refused) else ""
        except _PayloadReadError:
            verdict = Agrees.DEPENDS
        except BaseException as error:
            if not is_failure(error):
                raise
            verdict, raised = Agrees.NO, told(error)
        if isinstance(event, _UnknownEvent) and event.was_read():
            verdict, why_not, raised = Agrees.DEPENDS, "", ""
        return PossibleTransition(edge.label, edge.targets, verdict, ask.name, why_not, raised)

    def _context(self) -> Any:
        try:
            return read_only_context(self._graph.context, self._snapshot.context_text)
        except ValidationError as error:
            problem = f"its context is no {self._graph.context.__name__}: {'; '.join(problems_of(error))}"
            raise IncompatibleGraphError(self._snapshot.agent_id, self._graph.name, problem) from error

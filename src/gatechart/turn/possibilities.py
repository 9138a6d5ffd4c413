"""The events that an agent could take now: evaluate guards as a turn does, on a separate context, without effects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, NoReturn

from pydantic import ValidationError

from gatechart.context import problems_of, read_only_context
from gatechart.errors.event import PayloadError, UndeclaredEventError
from gatechart.errors.failures import is_failure
from gatechart.errors.operation import IncompatibleGraphError
from gatechart.graph.compile import Edge
from gatechart.graph.graph import AnyGraph
from gatechart.kernel.select import accepted_events, candidates, deferred_events, defers, may_defer
from gatechart.turn.macrostep import active_states, agrees
from gatechart.turn.mail import deferred_reason
from gatechart.turn.payloads import check_known, payload_data, with_data
from gatechart.turn.turn_context import one_line, own_copy, told
from gatechart.values.agents import Event, RefusalReason, Refused, Snapshot, Status
from gatechart.values.frozen import replaced
from gatechart.values.names import EventName, Payload
from gatechart.values.possibilities import AcceptedEvent, Agrees, PossibleTransition


def accepted(graph: AnyGraph, snapshot: Snapshot, now: datetime) -> tuple[AcceptedEvent, ...]:
    """Return the events that the agent could take or defer now.

    Events are in the order of their transitions. Events that a state defers and no transition takes come last. The
    framework's own events are left out. If a guard reads the payload, the answer is that it depends. The number of
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
        asked = _event_to_ask(graph, event, payload, now)
    except UndeclaredEventError as error:
        return AcceptedEvent(event, Agrees.NO, why_not=str(error))
    except PayloadError as error:
        reason = f"{RefusalReason.PAYLOAD_MISFIT} ({one_line('; '.join(error.problems))})"
        return AcceptedEvent(event, Agrees.NO, (), reason, *_declared(graph, event))
    return _Inquiry(graph, snapshot).answer(asked)


def without_room(asked: AcceptedEvent) -> AcceptedEvent:
    """Return the answer for an agent that cannot defer more events: deferred events become refused."""
    if not asked.deferred:
        return asked
    return replaced(asked, deferred=False, why_not=str(RefusalReason.DEFERRED_TOO_MANY))


def _event_to_ask(graph: AnyGraph, event: EventName, payload: Payload | None, now: datetime) -> Event:
    """Return the event to evaluate guards with. Raises what `payload_data` raises."""
    if payload is None:
        check_known(graph, event)
        return _UnknownEvent(graph, event, now)
    data = payload_data(graph, event, payload)
    event_copy = own_copy(Event(event, payload, now))
    return event_copy if data is None else with_data(event_copy, data)


def _declared(graph: AnyGraph, event: EventName) -> tuple[str, Payload | None]:
    """Return the description of an event and the schema of its payload."""
    declared = graph.event_types.get(event)
    return ("", None) if declared is None else (declared.description, declared.payload_schema)


def _names(graph: AnyGraph, snapshot: Snapshot) -> tuple[EventName, ...]:
    """Return the names and patterns to list.

    First come awaited events, then deferred ones, then declared events that only a pattern takes or defers.
    """
    configuration = snapshot.configuration
    listed = " ".join(accepted_events(graph, configuration))
    words = [word.removesuffix(".") for word in listed.split()]
    words += deferred_events(graph, configuration)
    if graph.events_closed:
        words = [word for word in words if word in graph.event_types]

    def is_possible(name: EventName) -> bool:
        return bool(candidates(graph, configuration, name)) or may_defer(graph, configuration, name)

    return tuple(dict.fromkeys((*words, *filter(is_possible, graph.event_types))))


def _is_wildcard(name: EventName) -> bool:
    return name == "*" or name.endswith(".*")


class _PayloadReadError(BaseException):
    """A guard reads an unknown payload. It is not an Exception, so that guards do not catch it."""


class _UnknownEvent(Event):
    """An event whose payload is unknown. Reading it ends the guard, and is recorded even if the guard continues."""

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
        by_leaf = [tuple(self._group(edges, event)) for edges in groups]
        transitions = tuple({edge.label: edge for group in by_leaf for edge in group}.values())
        verdicts = {edge.agrees for edge in transitions}
        verdict = next((answer for answer in (Agrees.YES, Agrees.DEPENDS) if answer in verdicts), Agrees.NO)
        is_unsure = verdict is not Agrees.YES
        deferred = is_unsure and defers(self._graph, self._snapshot.configuration, event.name)
        why_not = self._why_not(transitions, deferred=deferred) if is_unsure else ""
        described = _declared(self._graph, event.name)
        return AcceptedEvent(event.name, verdict, transitions, why_not, *described, _is_wildcard(event.name), deferred)

    def _group(self, edges: Sequence[Edge], event: Event) -> Iterator[PossibleTransition]:
        """Yield the transitions of one active leaf, up to the first that is certain to be taken."""
        for edge in edges:
            transition = self._guard(edge, event)
            yield transition
            if transition.agrees is Agrees.YES:
                return

    def _why_not(self, transitions: Sequence[PossibleTransition], *, deferred: bool) -> str:
        if not transitions and not deferred:
            return f"{RefusalReason.NO_TRANSITION} in {', '.join(self._snapshot.configuration)}"
        refused = (transition for transition in transitions if transition.agrees is Agrees.NO)
        reasons = [edge.why_not or f"{edge.guard} {'raised' if edge.raised else 'said no'}" for edge in refused]
        if deferred:
            reasons.append(deferred_reason(self._snapshot))
        return "; ".join(dict.fromkeys(reasons))

    def _guard(self, edge: Edge, event: Event) -> PossibleTransition:
        """Evaluate the guard of a transition on a context that no other guard shares."""
        ask = edge.ask
        if ask is None:
            return PossibleTransition(edge.label, edge.targets, Agrees.YES)
        why_not = raised = ""
        try:
            active = (active_states(self._graph, self._snapshot.configuration),) if ask.takes_configuration else ()
            arguments = (self._snapshot.transfers,) if ask.takes_counts else (self._context(), event, *active)
            answer = ask.function(*arguments)
            verdict = Agrees.YES if agrees(answer, ask.name) else Agrees.NO
            why_not = one_line(answer.reason) if isinstance(answer, Refused) else ""
        except _PayloadReadError:
            verdict = Agrees.DEPENDS
        except BaseException as error:
            if not is_failure(error):
                raise
            verdict, raised = Agrees.NO, told(error)
        if isinstance(event, _UnknownEvent) and event.was_read():  # also if the guard caught the error
            verdict, why_not, raised = Agrees.DEPENDS, "", ""
        return PossibleTransition(edge.label, edge.targets, verdict, ask.name, why_not, raised)

    def _context(self) -> Any:
        try:
            return read_only_context(self._graph.context, self._snapshot.context_text)
        except ValidationError as error:
            problem = f"its context is not a valid {self._graph.context.__name__}: {'; '.join(problems_of(error))}"
            raise IncompatibleGraphError(self._snapshot.agent_id, self._graph.name, problem) from error

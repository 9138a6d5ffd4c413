"""Validation that reports all faults of a definition at once, each with a remedy. Never raises."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import Any, Final

from pydantic import BaseModel

from gatechart.context import AgentContext, has_any_field
from gatechart.errors.definition import Fault
from gatechart.errors.root import nearest, suggestion
from gatechart.graph.callables import callable_name, fits, is_async
from gatechart.graph.compile import ROOT, delayed_transitions, walk
from gatechart.graph.definition import ANY, Allow, EntryPoint, OnRefusal, Precedence, State, Transition
from gatechart.graph.escape import EscapePlan
from gatechart.graph.escape_edges import adding, escaping, plans_in
from gatechart.graph.escape_faults import escape_faults
from gatechart.graph.events import EventType, event_faults
from gatechart.graph.function_faults import (
    acceptance_faults,
    action_faults,
    agent_faults,
    framework_faults,
    guard_faults,
    invoke_faults,
)
from gatechart.graph.names import texts
from gatechart.graph.packet_fields import packet_fields
from gatechart.graph.searchable import searchable_faults
from gatechart.graph.selection_faults import profile_faults
from gatechart.graph.signal_edges import answering, declared_signals
from gatechart.graph.signal_faults import answer_faults, signal_faults
from gatechart.graph.signals import Signals
from gatechart.graph.structure_faults import (
    defer_faults,
    end_faults,
    expectation_faults,
    failure_faults,
    history_faults,
    initial_faults,
    kind_faults,
    region_faults,
    shared_invoke_faults,
    tool_faults,
    transition_faults,
)
from gatechart.graph.transfer_edges import answers, choices_first, choices_last
from gatechart.graph.transfer_faults import transfer_faults
from gatechart.values.delays import DELAY_REMEDY
from gatechart.values.names import LONGEST_NAME, unkept
from gatechart.values.profiles import Profile

_CODE: Final = re.compile(r"GC[0-9]{3}")  # form of a code; `gatechart.checks` knows the existing ones
_MOST_FAULTS: Final = 100  # faults reported in allowances; the rest is reported once these are fixed


@dataclass(frozen=True, slots=True)
class Draft:
    """A definition before validation; `root` holds all states, including the inferred ones."""

    name: Any
    version: Any
    context: Any
    root: State[Any]
    transitions: Sequence[Any]
    entry_points: Sequence[EntryPoint]
    on_refusal: Any
    description: str
    max_microsteps: Any
    accepts: Any
    event_types: Sequence[Any] = ()
    events_closed: Any = False
    searchable: Sequence[Any] = ()
    tools: Mapping[Any, Any] = field(default_factory=dict)
    signals: Signals | None = None
    escape: Any = None
    known: Sequence[str] = ()  # names of the states without those added by escape plans
    profile: Profile | None = None
    is_framework: bool = False  # the graph belongs to the framework itself
    precedence: Any = Precedence.SPECIFIC


def find_faults(draft: Draft) -> tuple[Fault, ...]:
    """Return all faults of a definition; empty if it is valid. Invalid parts come first; the other checks skip them."""
    root = draft.root
    states = tuple(walk(root.states))
    delayed = (
        transition for state in states if isinstance(state.name, str) for transition in delayed_transitions(state)
    )
    written = (*draft.transitions, *delayed)
    transitions = tuple(transition for transition in written if not any(_transition_misfits(transition)))
    doors = tuple(entry for entry in draft.entry_points if not any(_entry_misfits(entry)))
    misfits = (
        *(_no_state_name(state) for state in states if not isinstance(state.name, str)),
        *(fault for transition in written for fault in _transition_misfits(transition)),
    )
    return (
        *misfits,
        *(fault for entry in draft.entry_points for fault in _entry_misfits(entry)),
        *_graph_faults(draft),
        *(() if draft.is_framework else framework_faults("graph", "its name", draft.name)),
        *_name_faults(states),
        *_unkept_faults(states, transitions, doors),
        *failure_faults(root),
        *initial_faults("graph", root),
        *(fault for state in states for fault in _state_faults(state)),
        *(fault for state in states for fault in (*kind_faults(state), *_waiting_faults(state))),
        *(fault for state in states for fault in end_faults(state, root)),
        *(fault for state in states for fault in defer_faults(state, is_framework=draft.is_framework)),
        *(fault for state in states for fault in expectation_faults(state)),
        *transfer_faults(root),
        *signal_faults("signals", draft.signals, states, draft.context),
        *(
            fault
            for entry in draft.entry_points
            for fault in signal_faults(f"entry point {entry.name!r}, signals", entry.signals, states, draft.context)
        ),
        *answer_faults(draft.signals, draft.entry_points),
        *escape_faults(
            draft.escape,
            states,
            draft.entry_points,
            draft.context,
            declared_signals(draft.signals, draft.entry_points),
        ),
        *profile_faults("graph, profile", draft.profile),
        *(
            fault
            for entry in draft.entry_points
            for fault in profile_faults(f"entry point {entry.name!r}, profile", entry.profile)
        ),
        *tool_faults("graph", draft.tools.items()),
        *(fault for state in states for fault in tool_faults(f"state {state.name!r}", state.tools)),
        *(fault for state in (root, *states) for fault in history_faults(state)),
        *region_faults(root, transitions),
        *shared_invoke_faults(root),
        *transition_faults(root.states, transitions),
        *(fault for entry in doors if not misfits for fault in _door_faults(entry, states)),
        *(fault for entry in doors for fault in _entry_faults(entry, draft.context)),
        *_trigger_faults(doors),
        *acceptance_faults(draft.accepts),
        *event_faults(draft.event_types, draft.events_closed, is_framework=draft.is_framework),
        *searchable_faults(draft.searchable, draft.context),
    )


def _no_state_name(state: State[Any]) -> Fault:
    """Build the fault for a name that no state can have."""
    return Fault(f"state {state.name!r}", "this cannot name a state", f"use a text that is neither '' nor {ANY!r}")


def _transition_misfits(transition: object) -> Iterator[Fault]:
    """Yield a fault for each name of a transition that is not a text, or for a value that is not a transition."""
    if not isinstance(transition, Transition):
        yield Fault(f"transition {transition!r}", "it is not a transition", "write Transition(source, event, target)")
        return
    place = f"transition {transition.label!r}"
    yield from _no_text(place, "source", transition.source)
    for target in transition.targets:
        yield from _no_text(place, "target", target)


def _entry_misfits(entry: EntryPoint) -> Iterator[Fault]:
    """Yield a fault for each name of an entry point that is not a text."""
    place = f"entry point {entry.name!r}"
    yield from _no_text(place, "state", entry.state)
    if entry.name is not entry.state:
        yield from _no_text(place, "name", entry.name)
    for trigger in entry.opens_on:
        yield from _no_text(place, "trigger", trigger)
    for name in entry.entities:
        yield from _no_text(place, "entity", name)


def _unkept_names(place: str, what: str, names: Iterable[object], longest: int = LONGEST_NAME) -> Iterator[Fault]:
    """Yield a fault for each text among the names that a database could not keep."""
    for name in texts(names):
        problem = unkept(name.replace("\0", ""), longest)  # stores can escape NUL
        if problem:
            yield Fault(place, f"its {what}: {problem}", "give it a shorter name, of characters that a text can have")


def _no_text(place: str, what: str, value: object) -> Iterator[Fault]:
    if not isinstance(value, str):
        yield Fault(place, f"its {what} is {value!r}", "use a text, or an Enum member")


def _graph_faults(draft: Draft) -> Iterator[Fault]:
    for what, text in (("name", draft.name), ("version", draft.version)):
        if not isinstance(text, str) or not text:
            yield Fault("graph", f"its {what} is {text!r}", "give it a text that is not empty")
        else:
            yield from _unkept_names("graph", what, [text])
    if not (isinstance(draft.context, type) and issubclass(draft.context, AgentContext)):
        yield Fault("context", f"{draft.context!r} is not a context type", "pass a subclass of AgentContext")
    yield from _option_faults("on_refusal", "policy", draft.on_refusal, OnRefusal)
    yield from _option_faults("precedence", "precedence", draft.precedence, Precedence)
    if not isinstance(draft.max_microsteps, int) or draft.max_microsteps < 1:
        yield Fault("max_microsteps", f"{draft.max_microsteps!r} is not a bound", "pass a whole number of 1 or more")
    if not draft.entry_points:
        yield Fault(
            "entry_points",
            "no entry point is listed, so no agent could start",
            "list the states in which an agent may start",
        )
    for double in _doubles(entry.name for entry in draft.entry_points):
        yield Fault(f"entry point {double!r}", "the name occurs twice", "give each entry point a name of its own")


def _option_faults(option: str, kind: str, value: Any, options: type[Enum]) -> Iterator[Fault]:
    if not isinstance(value, options):
        yield Fault(option, f"{value!r} is not a {kind}", f"pass one of {', '.join(map(str, options))}")


def _name_faults(states: Sequence[State[Any]]) -> Iterator[Fault]:
    for state in states:
        if state.name in ("", ANY):
            yield _no_state_name(state)
    for double in _doubles(state.name for state in states):
        yield Fault(f"state {double!r}", "the name occurs twice", "rename one; names are unique in a graph")


def _unkept_faults(
    states: Sequence[State[Any]], transitions: Sequence[Transition[Any]], doors: Sequence[EntryPoint]
) -> Iterator[Fault]:
    """Yield a fault for each name that a database could not keep, or that does not fit its indexes."""
    for state in states:
        place = f"state {state.name!r}"
        yield from _unkept_names(place, "name", [state.name])
        yield from _unkept_names(place, "invoke", [invoke.id for invoke in state.invoke])
    for entry in doors:
        yield from _unkept_names(f"entry point {entry.name!r}", "name", [entry.name])
    for event in dict.fromkeys(
        transition.event for transition in transitions
    ):  # done.invoke.* may be longer than the name of its invoke
        yield from _unkept_names(f"event {event!r}", "name", [event], longest=2 * LONGEST_NAME)


def _doubles(names: Iterable[object]) -> Iterator[str]:
    return (name for name, count in Counter(texts(names)).items() if count > 1)


def _state_faults(state: State[Any]) -> Iterator[Fault]:
    place = f"state {state.name!r}"
    yield from initial_faults(place, state)
    for slot, actions in (("on_entry", state.on_entry), ("on_exit", state.on_exit)):
        yield from action_faults(f"{place}, {slot}", actions)
    if state.data is not None and not (callable(state.data) and fits(state.data, 2, 3)):
        data = callable_name(state.data) if callable(state.data) else repr(state.data)
        yield Fault(place, f"data={data} does not take (context, event)", "pass one of two parameters")


def _waiting_faults(state: State[Any]) -> Iterator[Fault]:
    """Yield faults of invalid delays and recurrences, and of invokes that are invalid or have duplicate ids."""
    place = f"state {state.name!r}"
    for after in state.after:
        if after.delay_s is None:
            yield Fault(place, f"{after.delay!r} is not a duration", DELAY_REMEDY)
    yield from _recurrence_faults(place, state)
    for double in _doubles(invoke.id for invoke in state.invoke):
        yield Fault(place, f"the invoke {double!r} occurs twice", "give each an id= of its own")
    for invoke in state.invoke:
        yield from (agent_faults if invoke.agent else invoke_faults)(place, invoke)
    if (state.after or state.every or state.invoke) and ((state.final and not state.states) or state.history):
        yield Fault(place, "nothing can wait in a final or a history state", "let another state wait")


def _recurrence_faults(place: str, state: State[Any]) -> Iterator[Fault]:
    for recurring in state.every:
        fault = recurring.every.fault
        if fault is not None:
            yield Fault(place, f"every {recurring.every.text}: {fault[0]}", fault[1])
    for double in _doubles(recurring.every.text for recurring in state.every):
        yield Fault(place, f"every {double} occurs twice", "put what follows into one")


def _door_faults(entry: EntryPoint, states: Sequence[State[Any]]) -> Iterator[Fault]:
    """Yield faults of an entry point's state. Call it only if all names are readable, since each may be meant."""
    place, names = f"entry point {entry.name!r}", tuple(dict.fromkeys(state.name for state in states))
    if entry.state == ANY and not names:
        yield Fault(place, "the graph has no states", "list some, or write transitions between them")
    elif entry.state not in (*names, ANY):
        yield Fault(place, f"unknown state {entry.state!r}", suggestion(entry.state, names))


def _entry_faults(entry: EntryPoint, context: object) -> Iterator[Fault]:
    place = f"entry point {entry.name!r}"
    if entry.guard is not None:
        yield from guard_faults(place, entry.guard)
    if not (entry.takes is None or (isinstance(entry.takes, type) and issubclass(entry.takes, BaseModel))):
        yield Fault(place, f"takes={entry.takes!r} is not a schema", "pass a pydantic model")
    elif isinstance(context, type) and issubclass(context, BaseModel):
        yield from _entity_faults(place, entry, packet_fields(entry, context))
        if entry.takes and not (entry.maps is None and getattr(entry.takes, "fits_every_context", False)):
            yield from _mapping_faults(place, entry, entry.takes, context)
    if entry.takes is None and entry.maps is not None:
        yield Fault(place, "it maps a payload but takes none", "declare takes=, or drop maps=")


def _entity_faults(place: str, entry: EntryPoint, fields: tuple[str, ...]) -> Iterator[Fault]:
    """Yield faults of entities whose names are not fields that a packet fills here."""
    for name in entry.entities:
        if name not in fields:
            remedy = suggestion(name, fields) if fields else "drop it: no packet fills fields here"
            yield Fault(place, f"entities= has {name!r}, and a packet fills no field of that name", remedy)
    for double in _doubles(entry.entities):
        yield Fault(place, f"entities= has {double!r} twice", "list it once")


def _mapping_faults(place: str, entry: EntryPoint, takes: type[BaseModel], context: type[BaseModel]) -> Iterator[Fault]:
    if callable(entry.maps):
        if is_async(entry.maps):
            yield Fault(place, f"maps={callable_name(entry.maps)} is async", "pass a plain function of (payload)")
        elif not fits(entry.maps, 1):
            yield Fault(place, f"maps={callable_name(entry.maps)} does not take (payload)", "give it one parameter")
        return
    if not isinstance(entry.maps, Mapping | None):
        yield Fault(
            place, f"maps={entry.maps!r} is not a mapping", "pass a mapping of fields, or a function of (payload)"
        )
        return
    fields = {name: name for name in takes.model_fields} if entry.maps is None else entry.maps
    sources, targets = tuple(takes.model_fields), tuple(context.model_fields)
    for source, target in fields.items():
        if source not in sources and not has_any_field(takes):
            yield Fault(place, f"{takes.__name__} has no field {source!r} to map", suggestion(source, sources))
        if target not in targets and not has_any_field(context):
            remedy = f"add it to {context.__name__}, or map it with maps=; {suggestion(target, targets)}"
            yield Fault(place, f"{context.__name__} has no field {target!r} for the payload's {source!r}", remedy)


def _trigger_faults(entry_points: Sequence[EntryPoint]) -> Iterator[Fault]:
    for entry in entry_points:
        if "" in entry.opens_on:
            yield Fault(f"entry point {entry.name!r}", "it opens on the trigger ''", "use a text that is not empty")
    for trigger in _doubles(trigger for entry in entry_points for trigger in entry.opens_on):
        place, doors = f"trigger {trigger!r}", [entry.name for entry in entry_points if trigger in entry.opens_on]
        if len(doors) == 1:
            yield Fault(place, f"{doors[0]} lists it twice", "list it once")
        else:
            yield Fault(place, f"it opens {', '.join(doors)}", "let one entry point of a graph open on it")


def allowance_faults(allow: Sequence[Any], draft: Draft) -> tuple[Fault, ...]:
    """Return the faults of a graph's allowances: unknown codes, unknown places, missing reasons."""
    if not allow:
        return ()
    places = tuple(dict.fromkeys(_places(draft)))
    known = frozenset(places)
    faults = (
        fault
        for index, allowance in enumerate(allow)
        for fault in _faults_of_allowance(f"allow[{index}]", allowance, places, known)
    )
    return tuple(islice(faults, _MOST_FAULTS))


def _faults_of_allowance(here: str, allowance: Any, places: Sequence[str], known: frozenset[str]) -> Iterator[Fault]:
    if not isinstance(allowance, Allow) or not all(
        isinstance(text, str) for text in (allowance.code, allowance.place, allowance.reason)
    ):
        yield Fault(here, f"{allowance!r} is not an allowance", "write Allow(code, place, reason), all of them texts")
        return
    if not _CODE.fullmatch(allowance.code):
        yield Fault(f"{here}, code", f"{allowance.code!r} is not the code of a finding", "write it as in GC102")
    if allowance.place not in known:
        near = nearest(allowance.place, places, 3)
        remedy = f"did you mean {' or '.join(near)}?" if near else "write it as `check` does, such as state 'WAITING'"
        yield Fault(f"{here}, place", f"unknown place {allowance.place!r}", remedy)
    if not allowance.reason.strip():
        yield Fault(f"{here}, reason", "it gives no reason", "say why it is meant to be so")


def _places(draft: Draft) -> Iterator[str]:
    """Yield all possible places of findings, as findings name them."""
    states, doors = tuple(walk(draft.root.states)), draft.entry_points
    yield from (f"state {name!r}" for name in (*(state.name for state in states), ROOT))
    yield from (f"entry point {entry.name!r}" for entry in draft.entry_points)
    yield from (f"event {event_type.name!r}" for event_type in draft.event_types if isinstance(event_type, EventType))
    declared = [("signals", draft.signals), *((f"entry point {door.name!r}, signals", door.signals) for door in doors)]
    yield from (f"{place}, {signal.name}" for place, signals in declared if signals for signal in signals.signals)
    planned = [("escape", draft.escape), *((f"state {state.name!r}, escape", state.escape) for state in states)]
    yield from (name for place, plan in planned if isinstance(plan, EscapePlan) for name in _of_plan(place, plan))
    written = (transition for transition in draft.transitions if isinstance(transition, Transition))
    delayed = (transition for state in states for transition in delayed_transitions(state))
    added = [choice.transition for state in states for choice in (*choices_first(state), *choices_last(state, ()))]
    labels: Counter[str] = Counter()
    answering_signals = answering(declared_signals(draft.signals, draft.entry_points))
    escapes = escaping(adding(plans_in(draft.escape, states)), draft.known)
    for transition in (*written, *delayed, *answers(draft.root), *answering_signals, *escapes, *added):
        label = transition.label
        labels[label] += 1
        yield f"transition {label if labels[label] == 1 else f'{label} #{labels[label]}'!r}"
        if transition.event is not None:
            yield f"state {transition.source!r}, event {transition.event!r}"


def _of_plan(place: str, plan: EscapePlan) -> Iterator[str]:
    yield place
    yield from (f"{place}, {name}" for name in (*plan.signals, *(strategy.name for strategy in plan.every)))

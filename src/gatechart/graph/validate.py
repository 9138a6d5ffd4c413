"""Validation that reports every fault of a definition at once, with what would have worked. Nothing here raises."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from pydantic import BaseModel

from gatechart.context import AgentContext
from gatechart.errors import Fault, suggestion
from gatechart.graph.callables import fits, is_async, yields
from gatechart.graph.compile import delayed_transitions, walk
from gatechart.graph.definition import ANY, EntryPoint, OnRefusal, State, Transition, callable_name
from gatechart.graph.handoff import Handoff
from gatechart.graph.handoff_faults import acceptance_faults, agent_faults, function_faults, handoff_faults
from gatechart.graph.misfits import entry_misfits, no_state_name, texts, transition_misfits, unkept_names
from gatechart.values import LONGEST_NAME


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


def find_faults(draft: Draft) -> tuple[Fault, ...]:
    """Return all faults of a definition; empty if it is valid. Misfits come first; the rest is checked without them."""
    root = draft.root
    states = tuple(walk(root.states))
    delayed = (each for state in states if isinstance(state.name, str) for each in delayed_transitions(state))
    written = (*draft.transitions, *delayed)
    transitions = tuple(each for each in written if not any(transition_misfits(each)))
    doors = tuple(entry for entry in draft.entry_points if not any(entry_misfits(entry)))
    misfits = (
        *(no_state_name(state) for state in states if not isinstance(state.name, str)),
        *(fault for each in written for fault in transition_misfits(each)),
    )
    return (
        *misfits,
        *(fault for entry in draft.entry_points for fault in entry_misfits(entry)),
        *_graph_faults(draft),
        *_name_faults(states),
        *_unkept_faults(states, transitions, doors),
        *_failure_faults(root),
        *_initial_faults("graph", root),
        *(fault for state in states for fault in _state_faults(state)),
        *(fault for state in states for fault in (*_kind_faults(state), *_waiting_faults(state))),
        *(fault for state in states for fault in _end_faults(state, root)),
        *(fault for state in (root, *states) for fault in _history_faults(state)),
        *_region_faults(root, transitions),
        *_shared_invoke_faults(root),
        *_transition_faults(root.states, transitions),
        *(fault for entry in doors if not misfits for fault in _door_faults(entry, states)),
        *(fault for entry in doors for fault in _entry_faults(entry, draft.context)),
        *_trigger_faults(doors),
        *acceptance_faults(draft.accepts),
    )


def _graph_faults(draft: Draft) -> Iterator[Fault]:
    for what, text in (("name", draft.name), ("version", draft.version)):
        if not isinstance(text, str) or not text:
            yield Fault("graph", f"its {what} is {text!r}", "give it a text that is not empty")
        else:
            yield from unkept_names("graph", what, [text])
    if not (isinstance(draft.context, type) and issubclass(draft.context, AgentContext)):
        yield Fault("context", f"{draft.context!r} is not a context type", "pass a subclass of AgentContext")
    if not isinstance(draft.on_refusal, OnRefusal):
        known = ", ".join(map(str, OnRefusal))
        yield Fault("on_refusal", f"{draft.on_refusal!r} is not a policy", f"pass one of {known}")
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


def _name_faults(states: Sequence[State[Any]]) -> Iterator[Fault]:
    for state in states:
        if state.name in ("", ANY):
            yield no_state_name(state)
    for double in _doubles(state.name for state in states):
        yield Fault(f"state {double!r}", "the name occurs twice", "rename one; names are unique in a graph")


def _unkept_faults(
    states: Sequence[State[Any]], transitions: Sequence[Transition[Any]], doors: Sequence[EntryPoint]
) -> Iterator[Fault]:
    """Yield a fault for each name that no database could keep, or that does not fit its indexes."""
    for state in states:
        place = f"state {state.name!r}"
        yield from unkept_names(place, "name", [state.name])
        yield from unkept_names(place, "invoke", [invoke.id for invoke in state.invoke])
    for entry in doors:
        yield from unkept_names(f"entry point {entry.name!r}", "name", [entry.name])
    for event in dict.fromkeys(
        each.event for each in transitions
    ):  # done.invoke.* may be longer than the name of its invoke
        yield from unkept_names(f"event {event!r}", "name", [event], longest=2 * LONGEST_NAME)


def _doubles(names: Iterable[object]) -> Iterator[str]:
    return (name for name, count in Counter(texts(names)).items() if count > 1)


def _state_faults(state: State[Any]) -> Iterator[Fault]:
    place = f"state {state.name!r}"
    yield from _initial_faults(place, state)
    for slot, actions in (("on_entry", state.on_entry), ("on_exit", state.on_exit)):
        yield from _action_faults(f"{place}, {slot}", actions)
    if state.data is not None and not (callable(state.data) and fits(state.data, 2, 3)):
        yield Fault(place, f"data={state.data!r} does not take (context, event)", "pass one of two parameters")


def _waiting_faults(state: State[Any]) -> Iterator[Fault]:
    """Yield faults of delays that are invalid, and of invokes that cannot be called or told apart."""
    place = f"state {state.name!r}"
    for after in state.after:
        if after.delay_s is None:
            yield Fault(
                place, f"{after.delay!r} is not a delay", "write '500ms', '30s', '2m', '1h' or '7d', or seconds"
            )
    for double in _doubles(invoke.id for invoke in state.invoke):
        yield Fault(place, f"the invoke {double!r} occurs twice", "give each an id= of its own")
    for invoke in state.invoke:
        yield from (agent_faults if invoke.agent else function_faults)(place, invoke)
    if (state.after or state.invoke) and ((state.final and not state.states) or state.history):
        yield Fault(place, "nothing can wait in a final or a history state", "let another state wait")


def _kind_faults(state: State[Any]) -> Iterator[Fault]:
    """Yield a fault for each combination that one state cannot have."""
    place = f"state {state.name!r}"
    if state.data is not None and (state.states or not state.final):
        problem = "it has data and children" if state.final else "it has data, but is not final"
        remedy = f"give the data to the final child{'' if state.final else ', or add final=True'}"
        yield Fault(place, problem, remedy)
    if state.parallel and not state.states:
        yield Fault(place, "it is parallel and has no regions", "give it states=, or drop parallel=True")
    if state.parallel and any(child.final for child in state.states):
        yield Fault(place, "a region of it is final", "make the region compound, with a final child")
    if state.history is not None and (state.states or state.final or state.on_entry or state.on_exit):
        yield Fault(place, "it is a history state, which is never active", "leave it only name, history= and initial=")


def _failure_faults(root: State[Any]) -> Iterator[Fault]:
    """Yield faults of `failed`: only a child of the root, or of a final one without regions, can fail the agent."""
    whole = [state for state in root.states if state.final and not state.parallel]
    ending = [*root.states, *(child for state in whole for child in state.states)]
    for state in walk(root.states):
        place = f"state {state.name!r}"
        if state.failed and not state.final:
            yield Fault(place, "it has failed=True, but is not final", "add final=True, or drop failed=True")
        elif state.failed and state.states:
            yield Fault(
                place, "it has failed=True, but its children end it", "mark the final children that are failures"
            )
        elif state.failed and not any(state is each for each in ending):
            problem = "it has failed=True, but ends only the state around it, not the agent"
            yield Fault(
                place, problem, "let that state's end lead to a final state at the top level, and mark that one"
            )


def _end_faults(state: State[Any], root: State[Any]) -> Iterator[Fault]:
    """Yield faults of a final state with children: it ends the agent once they have ended."""
    if not state.final or not state.states:
        return
    place, problem = f"state {state.name!r}", "it is final and has children"
    if not any(state is each for each in root.states):
        yield Fault(place, f"{problem}, but is not at the top level", "let a child be final, or drop final=True")
    elif not _can_end(state):
        yield Fault(place, f"{problem} that never end it", "let a child be final, or drop final=True")


def _can_end(state: State[Any]) -> bool:
    """Tell whether a state with children can end: by a final child, or by the ends of all its regions."""
    if state.parallel:
        return all(_can_end(child) for child in state.states if child.history is None)
    return any(child.final for child in state.states)


def _initial_faults(place: str, state: State[Any]) -> Iterator[Fault]:
    """Yield a fault for each initial state outside its state. For history states see `_history_faults`."""
    if state.initial is None or state.history is not None:
        return
    if state.parallel:
        yield Fault(place, "it is parallel and has an initial state", "leave it out; all regions are entered")
        return
    inside = tuple(child.name for child in walk(state.states))
    for target in state.initial.targets:
        if _is_missing(target, inside):
            remedy = suggestion(target, inside) if inside else "leave it out, or give the state children"
            yield Fault(place, f"its initial state {target!r} is not inside it", remedy)
    yield from _action_faults(f"{place}, initial", state.initial.actions)


def _is_missing(target: str, inside: Sequence[str]) -> bool:
    """Tell whether no state has this name. An unreadable name may have been meant, so then the answer is no."""
    return target not in inside and len(texts(inside)) == len(inside)


def _history_faults(parent: State[Any]) -> Iterator[Fault]:
    inside = tuple(child.name for child in walk(parent.states) if child.history is None)
    recalling = {child.name for child in walk(parent.states) if child.history is not None}
    for child in parent.states:
        place = f"state {child.name!r}"
        if child.history is None:
            continue
        if child.initial is None:
            yield Fault(place, "nothing says where to go while it remembers nothing", "give it initial=")
            continue
        for target in child.initial.targets:
            if target in recalling:
                problem = f"its initial state {target!r} is a history state"
                yield Fault(place, problem, "name the states to enter while nothing is remembered")
            elif _is_missing(target, inside):
                yield Fault(
                    place, f"its initial state {target!r} is not inside {parent.name!r}", suggestion(target, inside)
                )
        yield from _action_faults(f"{place}, initial", child.initial.actions)


def _transition_faults(states: Sequence[State[Any]], transitions: Sequence[Transition[Any]]) -> Iterator[Fault]:
    named = tuple(state for state in walk(states) if isinstance(state.name, str))
    inside = {state.name: set(texts(child.name for child in walk((state,)))) for state in named}
    finals = {state.name for state in named if state.final and not _can_end(state)}
    inside[ANY] = set(inside)
    parents = {child.name: state.name for state in named for child in state.states}
    histories = {state.name: parents.get(state.name, ANY) for state in named if state.history is not None}
    for transition in transitions:
        place = f"transition {transition.label!r}"
        if transition.event is not None and (not isinstance(transition.event, str) or not transition.event):
            yield Fault(place, f"its event is {transition.event!r}", "use a text that is not empty, or None for none")
        if transition.source in finals:
            yield Fault(place, "it leaves a final state, in which every event is refused", "drop it, or final=True")
        if transition.source in histories:
            yield Fault(place, "it leaves a history state, which is never active", "let it leave the parent")
        if transition.event is None and transition.guard is None and not transition.targets:
            yield Fault(place, "without event, guard and target it would be taken forever", "give it one of them")
        yield from _target_faults(place, transition, inside, histories)
        if transition.guard is not None:
            yield from _guard_faults(place, transition.guard)
        yield from _action_faults(place, transition.actions)


def _target_faults(
    place: str, transition: Transition[Any], inside: dict[str, set[str]], histories: Mapping[str, str]
) -> Iterator[Fault]:
    """Yield faults of a transition's targets. histories: the parent of each history state."""
    if ANY in transition.targets:
        yield Fault(place, f"{ANY!r} cannot be a target", "name the state to enter")
    source = transition.source
    if not transition.internal or source == ANY:
        return
    outside = [name for name in transition.targets if name not in inside.get(source, (name,))]
    # The states that a history state around the source remembers may lie inside the source; the kernel checks each
    # time.
    outside = [name for name in outside if source not in inside.get(histories.get(name, ""), ())]
    if outside:
        yield Fault(place, f"it is internal, but {outside[0]!r} lies outside its source", "drop internal=True")


def _region_faults(root: State[Any], transitions: Sequence[Transition[Any]]) -> Iterator[Fault]:
    """Yield a fault for targets that are not in different regions of a parallel state, and so exclude each other."""
    lines = {state.name: (*line, state) for state, line in _lines(root) if isinstance(state.name, str)}
    aims = [(f"transition {each.label!r}", each.targets) for each in transitions]
    aims += [(f"state {state.name!r}, initial", state.initial.targets) for state, _ in _lines(root) if state.initial]
    for place, targets in aims:
        for first, second in combinations(dict.fromkeys(texts(targets)), 2):
            if first in lines and second in lines and not _are_regions_apart(lines[first], lines[second]):
                problem = f"{first!r} and {second!r} cannot be active together"
                yield Fault(place, problem, "name states of different regions of a parallel state")


def _shared_invoke_faults(root: State[Any]) -> Iterator[Fault]:
    """Yield a fault for invokes that can run at once under the same id. Their events are named after it."""
    lines: defaultdict[str, list[tuple[State[Any], ...]]] = defaultdict(list)
    for state, line in _lines(root):
        for invoke_id in dict.fromkeys(invoke.id for invoke in state.invoke):
            lines[invoke_id].append((*line, state))
    for invoke_id, sharing in lines.items():
        for first, second in combinations(sharing, 2):
            if _are_nested(first, second) or _are_regions_apart(first, second):
                problem = f"{first[-1].name!r}, which can be active with it, has an invoke {invoke_id!r}, too"
                yield Fault(f"state {second[-1].name!r}", problem, "give one of them another id=")


def _lines(state: State[Any], line: tuple[State[Any], ...] = ()) -> Iterator[tuple[State[Any], tuple[State[Any], ...]]]:
    yield state, line
    for child in state.states:
        yield from _lines(child, (*line, state))


def _are_nested(outer: tuple[State[Any], ...], inner: tuple[State[Any], ...]) -> bool:
    """Tell whether the first line from the root is the beginning of the second."""
    return len(outer) < len(inner) and inner[len(outer) - 1] is outer[-1]


def _are_regions_apart(first: tuple[State[Any], ...], second: tuple[State[Any], ...]) -> bool:
    """Tell whether two lines from the root part at a parallel state, so that both their ends can be active.

    A history state of the parallel state itself represents all its regions, so it is not apart from any of them.
    """
    shared = [one for one, other in zip(first, second, strict=False) if one is other]
    if not shared[-1].parallel or len(shared) == min(len(first), len(second)):
        return False
    return first[len(shared)].history is None and second[len(shared)].history is None


def _door_faults(entry: EntryPoint, states: Sequence[State[Any]]) -> Iterator[Fault]:
    """Yield faults in where it leads. Call it only if all names are readable: an unreadable one may be meant."""
    place, names = f"entry point {entry.name!r}", tuple(dict.fromkeys(state.name for state in states))
    if entry.state == ANY and not names:
        yield Fault(place, "the graph has no states", "list some, or write transitions between them")
    elif entry.state not in (*names, ANY):
        yield Fault(place, f"unknown state {entry.state!r}", suggestion(entry.state, names))


def _entry_faults(entry: EntryPoint, context: object) -> Iterator[Fault]:
    place = f"entry point {entry.name!r}"
    if entry.guard is not None:
        yield from _guard_faults(place, entry.guard)
    if entry.takes is None:
        if entry.maps is not None:
            yield Fault(place, "it maps a payload but takes none", "declare takes=, or drop maps=")
    elif not (isinstance(entry.takes, type) and issubclass(entry.takes, BaseModel)):
        yield Fault(place, f"takes={entry.takes!r} is not a schema", "pass a pydantic model")
    elif entry.maps is None and getattr(entry.takes, "fits_every_context", False):
        return
    elif isinstance(context, type) and issubclass(context, BaseModel):
        yield from _mapping_faults(place, entry, entry.takes, context)


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
        if source not in sources:
            yield Fault(place, f"{takes.__name__} has no field {source!r} to map", suggestion(source, sources))
        if target not in targets:
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


def _guard_faults(place: str, guard: Callable[..., Any]) -> Iterator[Fault]:
    if not callable(guard):
        yield Fault(place, f"guard {guard!r} cannot be called", "pass a function of (context, event)")
    elif is_async(guard):
        yield Fault(place, f"guard {callable_name(guard)} is async", "ask at once: a guard is a fast, plain function")
    elif not fits(guard, 2, 3):
        yield Fault(place, f"guard {callable_name(guard)} does not take (context, event)", "give it two parameters")


def _action_faults(place: str, actions: Sequence[Callable[..., Any]]) -> Iterator[Fault]:
    for action in actions:
        if isinstance(action, Handoff):
            yield from handoff_faults(place, action)
        elif not callable(action):
            yield Fault(place, f"action {action!r} cannot be called", "pass a function of (context, event)")
        elif not fits(action, 2, 3):
            problem = f"action {callable_name(action)} takes neither (context, event) nor (context, event, turn)"
            yield Fault(place, problem, "give it two or three parameters")
        elif yields(action):
            problem = f"action {callable_name(action)} yields, so it would never run"
            yield Fault(place, problem, "let it return, or await with async def")

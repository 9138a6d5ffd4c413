"""Faults in the structure of a definition: kinds of states, ends, initial states, regions, targets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from gatechart.errors.definition import Fault
from gatechart.errors.root import suggestion
from gatechart.graph.compile import walk
from gatechart.graph.definition import ANY, State, Transition
from gatechart.graph.function_faults import action_faults, guard_faults
from gatechart.graph.names import texts
from gatechart.values.delays import DELAY_REMEDY, seconds_of
from gatechart.values.names import is_reserved
from gatechart.values.tool_policies import ToolPolicies


def kind_faults(state: State[Any]) -> Iterator[Fault]:
    """Yield a fault for each invalid combination of properties of a state."""
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


def defer_faults(state: State[Any], *, is_framework: bool = False) -> Iterator[Fault]:
    """Yield the faults of the events that a state defers. is_framework: as in `event_faults`."""
    place = f"state {state.name!r}"
    if state.defer and (state.history is not None or (state.final and not state.states)):
        what = "a history state, which is never active" if state.history else "a final state, which refuses every event"
        yield Fault(place, f"it defers events, but is {what}", "let the states before it defer them")
    for event in state.defer:
        if not isinstance(event, str) or not event:
            yield Fault(place, f"it defers {event!r}", "use a text that is not empty")
        elif not is_framework and any(map(is_reserved, (event, *event.split()))):
            problem = f"it defers {event!r}, an event of the framework, which counts only while its cause lasts"
            yield Fault(place, problem, "handle it here, or raise an event of your own from it and defer nothing")


def expectation_faults(state: State[Any]) -> Iterator[Fault]:
    """Yield the faults of a state's expected time."""
    if state.expects is None:
        return
    place = f"state {state.name!r}"
    if not seconds_of(state.expects):
        yield Fault(place, f"it expects {state.expects!r}, which is not a duration above 0", DELAY_REMEDY)
    if state.history is not None or state.final:
        what = "a history state" if state.history is not None else "a final state"
        yield Fault(place, f"it has expects, but is {what}, in which nobody waits", "say it of the states before")


def tool_faults(place: str, policies: Iterable[tuple[Any, Any]]) -> Iterator[Fault]:
    """Yield the faults of policies for tools. policies: pairs of the tool's name and its policies."""
    for name, policies_of_tool in policies:
        if not isinstance(name, str) or not name:
            yield Fault(place, f"policies are for a tool {name!r}", "name the tool, or write '*' for every tool")
        elif not isinstance(policies_of_tool, ToolPolicies):
            yield Fault(
                place,
                f"the policies for tool {name!r} are {policies_of_tool!r}",
                "write ToolPolicies(timeout_s=5) and such",
            )


def failure_faults(root: State[Any]) -> Iterator[Fault]:
    """Yield faults of `failed`: only top-level states and children of top-level, non-parallel final ones have it."""
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
        elif state.failed and not any(state is end for end in ending):
            problem = "it has failed=True, but ends only the state around it, not the agent"
            yield Fault(
                place, problem, "let that state's end lead to a final state at the top level, and mark that one"
            )


def end_faults(state: State[Any], root: State[Any]) -> Iterator[Fault]:
    """Yield faults of a final state with children: it ends the agent once they have ended."""
    if not state.final or not state.states:
        return
    place, problem = f"state {state.name!r}", "it is final and has children"
    if not any(state is child for child in root.states):
        yield Fault(place, f"{problem}, but is not at the top level", "let a child be final, or drop final=True")
    elif not _can_end(state):
        yield Fault(place, f"{problem} that never end it", "let a child be final, or drop final=True")


def _can_end(state: State[Any]) -> bool:
    """Return whether a state with children can end: through a final child, or through the ends of all its regions."""
    if state.parallel:
        return all(_can_end(child) for child in state.states if child.history is None)
    return any(child.final for child in state.states)


def initial_faults(place: str, state: State[Any]) -> Iterator[Fault]:
    """Yield a fault for each initial state outside its state. For history states see `history_faults`."""
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
    yield from action_faults(f"{place}, initial", state.initial.actions)


def _is_missing(target: str, inside: Sequence[str]) -> bool:
    """Return whether no state has this name. False if any name is unreadable, because that one may be meant."""
    return target not in inside and len(texts(inside)) == len(inside)


def history_faults(parent: State[Any]) -> Iterator[Fault]:
    """Yield the faults of the initial states of a state's history states."""
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
        yield from action_faults(f"{place}, initial", child.initial.actions)


def transition_faults(states: Sequence[State[Any]], transitions: Sequence[Transition[Any]]) -> Iterator[Fault]:
    """Yield the faults of transitions: in their events, sources, targets, guards and actions."""
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
            yield from guard_faults(place, transition.guard)
        yield from action_faults(place, transition.actions)


def _target_faults(
    place: str, transition: Transition[Any], inside: dict[str, set[str]], histories: Mapping[str, str]
) -> Iterator[Fault]:
    """Yield faults of a transition's targets.

    inside: states inside each state. histories: parent of each history state.
    """
    if ANY in transition.targets:
        yield Fault(place, f"{ANY!r} cannot be a target", "name the state to enter")
    source = transition.source
    if not transition.internal or source == ANY:
        return
    outside = [name for name in transition.targets if name not in inside.get(source, (name,))]
    # A history state around the source may remember states inside the source; the kernel checks this each time.
    outside = [name for name in outside if source not in inside.get(histories.get(name, ""), ())]
    if outside:
        yield Fault(place, f"it is internal, but {outside[0]!r} lies outside its source", "drop internal=True")


def region_faults(root: State[Any], transitions: Sequence[Transition[Any]]) -> Iterator[Fault]:
    """Yield a fault for targets that exclude each other: they are not in different regions of a parallel state."""
    lines = {state.name: (*line, state) for state, line in _lines(root) if isinstance(state.name, str)}
    aims = [(f"transition {transition.label!r}", transition.targets) for transition in transitions]
    aims += [(f"state {state.name!r}, initial", state.initial.targets) for state, _ in _lines(root) if state.initial]
    for place, targets in aims:
        for first, second in combinations(dict.fromkeys(texts(targets)), 2):
            if first in lines and second in lines and not _are_regions_apart(lines[first], lines[second]):
                problem = f"{first!r} and {second!r} cannot be active together"
                yield Fault(place, problem, "name states of different regions of a parallel state")


def shared_invoke_faults(root: State[Any]) -> Iterator[Fault]:
    """Yield a fault for invokes with the same id that can run at once. Their events are named after the id."""
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
    """Return whether the first path from the root is a prefix of the second."""
    return len(outer) < len(inner) and inner[len(outer) - 1] is outer[-1]


def _are_regions_apart(first: tuple[State[Any], ...], second: tuple[State[Any], ...]) -> bool:
    """Return whether two paths from the root diverge at a parallel state, so that both their ends can be active.

    A history state of the parallel state itself represents all its regions, so none of them is apart from it.
    """
    shared = [outer for outer, counterpart in zip(first, second, strict=False) if outer is counterpart]
    if not shared[-1].parallel or len(shared) == min(len(first), len(second)):
        return False
    return first[len(shared)].history is None and second[len(shared)].history is None

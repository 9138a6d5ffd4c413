"""What is lawful, told from the definition alone: nothing here asks the kernel or the compiled graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gatechart.graph.definition import State

from .strategies import every


def faults_of(states: Sequence[State], leaves: Sequence[str]) -> list[str]:
    """What is wrong with the leaves as a configuration, by the definition of a legal one in W3C SCXML, 3.11."""
    childless = {state.name for state in every(states) if not state.states and state.history is None}
    faults = [f"{leaf} is no leaf" for leaf in leaves if leaf not in childless]
    faults += [f"{leaf} is there twice" for leaf in set(leaves) if leaves.count(leaf) > 1]
    return [*faults, *_faults_inside("the root", states, set(leaves), parallel=False)]


def _faults_inside(name: str, states: Sequence[State], leaves: set[str], *, parallel: bool) -> Iterator[str]:
    """Faults of the children of an active state."""
    children = [state for state in states if state.history is None]
    active = [child for child in children if _is_active(child, leaves)]
    if len(active) != (len(children) if parallel else 1):
        yield f"{name} has {[child.name for child in active]} active"
    for child in active:
        if child.states:
            yield from _faults_inside(child.name, child.states, leaves, parallel=child.parallel)


def _is_active(state: State, leaves: set[str]) -> bool:
    return state.name in leaves or any(_is_active(child, leaves) for child in state.states)


def active_states(states: Sequence[State], leaves: Sequence[str]) -> set[str]:
    """The leaves and all that are around them."""
    return {state.name for state in every(states) if _is_active(state, set(leaves))}


def replay(states: Sequence[State], told: Sequence[str]) -> tuple[set[str], list[str]]:
    """What is active after these entries ("+s") and exits ("-s"), and what was wrong with their order."""
    parents = {child.name: state.name for state in every(states) for child in state.states}
    active: set[str] = set()
    faults = []
    for each in told:
        state = each[1:]
        if each[0] == "+":
            if state in active or parents.get(state, state) not in {*active, state}:
                faults.append(f"{each} while {sorted(active)}")
            active.add(state)
        elif each[0] == "-":
            if state not in active or any(parents.get(other) == state for other in active):
                faults.append(f"{each} while {sorted(active)}")
            active.discard(state)
    return active, faults

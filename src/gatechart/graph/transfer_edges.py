"""Transfers of a state as ordinary states and transitions, which a graph adds when it is compiled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from enum import StrEnum
from typing import Any, TypeAlias

from gatechart.graph.definition import State, Transition
from gatechart.graph.handoff import unanswered
from gatechart.graph.names import texts
from gatechart.graph.transfers import To, Transfers
from gatechart.values.frozen import value
from gatechart.values.names import StateName
from gatechart.values.transfers import TransferCounts, count_of


class TransferRole(StrEnum):
    """The role of a transition in the transfers of its source."""

    CHOSEN = "chosen"  # carries out a choice
    REFUSED = "refused"  # records that a target was refused
    REPLACED = "replaced"  # takes `otherwise` after a second refusal
    ENDED = "ended"  # takes `otherwise` at the end of an invoke


@value
class NoneLeft:
    """A guard that agrees once the state has no transfers left."""

    state: StateName
    most: int
    __name__ = "no transfers left"
    asks_counts = True

    def __call__(self, counts: TransferCounts) -> bool:
        """Evaluate the guard on the counts."""
        return count_of(counts, self.state).taken >= self.most


@value
class FirstRefusal:
    """A guard that agrees while no choice was refused since the state was entered."""

    state: StateName
    __name__ = "refused for the first time"
    asks_counts = True

    def __call__(self, counts: TransferCounts) -> bool:
        """Evaluate the guard on the counts."""
        return not count_of(counts, self.state).refused


@value
class Added:
    """A transition that the transfers of a state add, with its role."""

    transition: Transition[Any]
    role: TransferRole
    to: str = ""  # key of the target


Trees: TypeAlias = tuple[State[Any], ...]


def choices_first(state: State[Any]) -> Iterator[Added]:
    """Yield the transitions before written ones: the choices, and `otherwise` if an invoke ends with none left."""
    transfers = _on(state)
    if transfers is None or transfers.most is None:
        return
    none_left: Any = NoneLeft(state.name, transfers.most)
    for event in _ends(state):
        yield Added(Transition(state.name, event, transfers.otherwise, guard=none_left), TransferRole.ENDED)
    for to in transfers.targets:
        yield from _of_target(state, transfers, to)


def choices_last(state: State[Any], written: Sequence[Transition[Any]]) -> Iterator[Added]:
    """Yield the transitions after written ones: for the end of an invoke that made no choice.

    A written `*` comes after these, so it does not handle that end.
    """
    transfers = _on(state)
    if transfers is None:
        return
    handled = {
        word
        for transition in written
        if transition.event and transition.guard is None
        for word in transition.event.split()
    }
    for event in _ends(state):
        if handled.isdisjoint({event, f"{event}.*", "done.invoke", "done.invoke.*", "done", "done.*"}):
            yield Added(Transition(state.name, event, transfers.otherwise), TransferRole.ENDED)


def _of_target(state: State[Any], transfers: Transfers, to: To) -> Iterator[Added]:
    asked = (to.handoff,) if to.is_handoff else ()
    target = to.waiting_state(state.name)
    followed = Transition(state.name, to.event, target, guard=to.guard, actions=(*to.actions, *asked))
    yield Added(followed, TransferRole.CHOSEN, to.key)
    if to.guard is not None:
        first: Any = FirstRefusal(state.name)
        yield Added(Transition(state.name, to.event, guard=first), TransferRole.REFUSED, to.key)
        yield Added(Transition(state.name, to.event, transfers.otherwise), TransferRole.REPLACED, to.key)


def _on(state: State[Any]) -> Transfers | None:
    return state.transfers if isinstance(state.transfers, Transfers) and state.transfers.is_on else None


def _ends(state: State[Any]) -> Iterator[str]:
    return (f"done.invoke.{invoke.id}" for invoke in state.invoke if not invoke.agent)


def answers(root: State[Any]) -> Iterator[Transition[Any]]:
    """Yield the transitions of the added states that wait for another graph's answer.

    They do not handle an acceptance, because it ends the agent.
    """
    for source, to in handed_on(root.states):
        for event in unanswered(to.handoff):
            yield Transition(to.waiting_state(source), event, source)


def handed_on(states: Iterable[State[Any]]) -> Iterator[tuple[StateName, To]]:
    """Yield each target in another graph whose waiting state is added, with its source."""
    for state in states:
        transfers = _on(state)
        for to in () if transfers is None else transfers.targets:
            if to.is_handoff and not to.waits:
                yield state.name, to
        yield from handed_on(state.states)


def with_waiting_states(states: Trees) -> Trees:
    """Return the trees with the added waiting states as siblings of their sources."""
    is_needed = any(True for _ in handed_on(states))
    return _beside(states, set(texts(_names(states)))) if is_needed else states


def _beside(states: Trees, known: set[StateName]) -> Trees:
    combined: list[State[Any]] = []
    for state in states:
        combined.append(_inside(state, known))
        for source, to in handed_on([_alone(state)]):
            waiting = to.waiting_state(source)
            if waiting not in known:
                known.add(waiting)
                combined.append(State(waiting, description=f"waits until {to.name} takes the work over"))
    return tuple(combined)


def _inside(state: State[Any], known: set[StateName]) -> State[Any]:
    return _with_states(state, _beside(state.states, known)) if state.states else state


def _alone(state: State[Any]) -> State[Any]:
    return _with_states(state, ()) if state.states else state


def _with_states(state: State[Any], states: Trees) -> State[Any]:
    changed = copy(state)
    object.__setattr__(changed, "states", states)
    return changed


def _names(states: Trees) -> Iterator[StateName]:
    for state in states:
        yield state.name
        yield from _names(state.states)

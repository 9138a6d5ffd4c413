"""Escape plans as ordinary states and transitions, which a graph adds when it is compiled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from gatechart.graph.definition import ANY, Invoke, State, Transition
from gatechart.graph.escape import GAVE_UP, UNDO, UNDO_FAILED, UNDOING, Adds, EscapePlan, Strategy
from gatechart.graph.handoff import unanswered
from gatechart.graph.names import texts
from gatechart.values.agents import Event
from gatechart.values.escapes import ESCAPE_DUE
from gatechart.values.names import ERROR_MAIL, Payload, StateName


def plans_in(plan: EscapePlan | None, states: Iterable[State[Any]]) -> tuple[EscapePlan, ...]:
    """Return the plans of a graph and its states. states: all states, including inner ones."""
    return tuple(
        declared for declared in (plan, *(state.escape for state in states)) if isinstance(declared, EscapePlan)
    )


def adding(plans: Iterable[EscapePlan]) -> tuple[tuple[Strategy, Adds], ...]:
    """Return the strategies that add to the chart, one per name, with their additions."""
    named = {strategy.name: strategy for plan in plans for strategy in plan.every if isinstance(strategy, Strategy)}
    return tuple((strategy, adds) for strategy in named.values() if (adds := strategy.adds) is not None)


def goes_back(plans: Iterable[EscapePlan]) -> bool:
    """Return whether any of the plans has a strategy that rolls back past calls."""
    return any(strategy.goes_back for plan in plans for strategy in plan.every if isinstance(strategy, Strategy))


def undoing(plans: Iterable[EscapePlan], known: Iterable[StateName]) -> Iterator[Transition[Any]]:
    """Yield the transitions of the state that undoes calls. The rollback or restart that follows is not a transition.

    If the mail that requests this rollback or restart is dead, the agent ends as failed.
    """
    if goes_back(plans) and UNDOING not in known:
        for outcome in ("done", "error"):
            yield Transition(UNDOING, f"{outcome}.invoke.{UNDO}", actions=ask_to_go_on)
        yield Transition(UNDOING, ERROR_MAIL, GAVE_UP, guard=asked_in_vain)


async def take_calls_back(_context: Any, work: Any) -> Payload:
    """Undo the calls listed in the agent's record."""
    undone: Payload = await work.take_back()
    return undone


def asked_in_vain(_context: Any, event: Event) -> bool:
    """Return whether the dead mail is the agent's own request to continue after undoing."""
    payload = event.payload
    return payload.get("event") == ESCAPE_DUE and ("goes_on" in payload or payload.get("signal") == UNDO_FAILED)


def ask_to_go_on(_context: Any, _event: Event) -> None:
    """Do nothing: the turn itself requests the rollback or restart."""


def escaping(added: Sequence[tuple[Strategy, Adds]], known: Iterable[StateName]) -> Iterator[Transition[Any]]:
    """Yield the transitions that the strategies add. known: states of the graph, which get no further transitions."""
    existing = set(known)
    for strategy, adds in added:
        yield Transition(ANY, strategy.event, adds.state, actions=() if adds.handoff is None else [adds.handoff])
    for adds in {adds.state: adds for _, adds in added if adds.state not in existing}.values():
        yield from _leaving(adds)


def states_added(plans: Sequence[EscapePlan], known: Iterable[StateName]) -> Iterator[State[Any]]:
    """Yield the states that the plans add. known: existing states of the graph."""
    existing, added = set(known), adding(plans)
    states = {adds.state: _state(adds) for _, adds in added if adds.state not in existing}
    undoes = goes_back(plans) and UNDOING not in existing
    ends = {adds.otherwise for _, adds in added if adds.handoff is not None or adds.flow is not None}
    if (undoes or GAVE_UP in ends) and GAVE_UP not in (*existing, *states):
        states[GAVE_UP] = _state(Adds(GAVE_UP))
    yield from states.values()
    if undoes:
        yield State(
            UNDOING, invoke=Invoke(take_calls_back, id=UNDO), description="takes back the calls before a way back"
        )


def _leaving(adds: Adds) -> Iterator[Transition[Any]]:
    if adds.handoff is not None:
        for event in unanswered(adds.handoff):
            yield Transition(adds.state, event, adds.otherwise)
    if adds.flow is not None:
        yield Transition(adds.state, f"done.invoke.{adds.flow.id}", adds.then)
        yield Transition(adds.state, f"error.invoke.{adds.flow.id}", adds.otherwise)


def _state(adds: Adds) -> State[Any]:
    if adds.handoff is not None:
        return State(adds.state, description=f"waits until {adds.handoff.target} takes the work over")
    if adds.flow is not None:
        return State(adds.state, invoke=replace(adds.flow), description="waits for a repair")
    return State(adds.state, final=True, failed=True, data=_evidence, description="found no way out")


def _evidence(_context: Any, event: Event) -> Payload:
    return dict(event.payload)


def state_names(states: Iterable[State[Any]]) -> tuple[StateName, ...]:
    """Return the names of states that are texts."""
    return texts(state.name for state in states)

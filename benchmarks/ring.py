"""The work that all are given: rings of states, with a guard, a transition action and an entry action for each move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gatechart import AgentContext, State, StateTransitionGraph, Transition

STATES = ("RED", "GREEN", "AMBER")
EVENT = "CHANGED"


class RingContext(AgentContext):
    """The data of one agent: how often it moved, how often it arrived."""

    moves: int = 0
    arrivals: int = 0


def is_allowed(context: RingContext, event: Any) -> bool:
    return context.moves >= 0


def count_move(context: RingContext, event: Any) -> None:
    context.moves += 1


def count_arrival(context: RingContext, event: Any) -> None:
    context.arrivals += 1


def following(states: Sequence[str]) -> Mapping[str, str]:
    """Each state of a ring, with the next one."""
    return dict(zip(states, (*states[1:], states[0]), strict=True))


def members(states: Sequence[str]) -> list[State]:
    """The states of a ring."""
    return [State(state, on_entry=count_arrival) for state in states]


def moves(states: Sequence[str]) -> list[Transition]:
    """The transitions that lead around a ring."""
    return [
        Transition(source, EVENT, target, guard=is_allowed, actions=count_move)
        for source, target in following(states).items()
    ]


FOLLOWING = following(STATES)

ring = StateTransitionGraph(
    "ring", context=RingContext, states=members(STATES), transitions=moves(STATES), entry_points=STATES[:1]
)

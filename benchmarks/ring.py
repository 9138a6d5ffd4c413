"""The work that all are given: a ring of three states, with a guard, a transition action and an entry action each."""

from __future__ import annotations

from typing import Any

from gatechart import AgentContext, State, StateTransitionGraph, Transition

STATES = ("RED", "GREEN", "AMBER")
FOLLOWING = dict(zip(STATES, (*STATES[1:], STATES[0]), strict=True))
EVENT = "CHANGED"


class RingContext(AgentContext):
    """The data of one ring: how often it moved, how often it arrived."""

    moves: int = 0
    arrivals: int = 0


def is_allowed(context: RingContext, event: Any) -> bool:
    return context.moves >= 0


def count_move(context: RingContext, event: Any) -> None:
    context.moves += 1


def count_arrival(context: RingContext, event: Any) -> None:
    context.arrivals += 1


ring = StateTransitionGraph(
    "ring",
    context=RingContext,
    states=[State(state, on_entry=count_arrival) for state in STATES],
    transitions=[
        Transition(source, EVENT, target, guard=is_allowed, actions=count_move) for source, target in FOLLOWING.items()
    ],
    entry_points=STATES[:1],
)

"""A chart whose agents go in circles in one of its regions."""

from __future__ import annotations

from gatechart import State, StateTransitionGraph, Transition

CIRCLE = [Transition("A", "GO", "B"), Transition("B", "GO", "A"), Transition("C", "GO", "DONE")]


def in_regions(first, second, **more):
    """An agent with two regions, in the order given."""
    return StateTransitionGraph("both", states=[State("BOTH", parallel=True, states=[first, second])], **more)


def going_round(**more):
    return State("ROUND", states=["A", "B", State("C"), State("DONE", final=True, progress=True)], initial="A", **more)


def standing(**more):
    return State("STANDING", states=["Y"], initial="Y", **more)

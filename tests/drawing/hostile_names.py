"""Names that DOT and Mermaid could misread, and a strict reader of DOT."""

from __future__ import annotations

from itertools import pairwise

from gatechart import ANY, EntryPoint, State, StateTransitionGraph, Transition
from gatechart.graph.handoff import Handoff

HOSTILE = [
    '"',
    "\\",
    "\\N\\G\\n",
    "ends in \\",
    "a\nb\tc",
    "<b>bold</b>",
    "&amp; & &#0;",
    " ",
    "  x  ",
    "\x00\x1b",
    "日本語 λ ünïcode 👩‍🚀",
    "\u202etfel ot thgir",
    "a:b->c",
    "{x|y}",
    "]>];}",
    "]",
    "\\]",
    "%20",
    "graph",
    "/* // #",
]


def strict(name: str, *other: str) -> StateTransitionGraph:
    """A graph in which every kind of name is a given one."""

    def act(context: object, event: object) -> None: ...

    def ask(context: object, event: object) -> bool:
        return True

    act.__name__ = ask.__name__ = name
    inner, outer, end = f"{name}i", f"{name}o", f"{name}e"
    return StateTransitionGraph(
        name,
        version=name,
        description=name,
        states=[
            State(outer, states=[inner, *other], on_exit=act, description=name),
            State(end, final=True, on_entry=act, description=name),
        ],
        transitions=[
            Transition(inner, name, end, guard=ask, actions=act),
            Transition(
                ANY, f"{name}h", actions=[Handoff(name, at=name), Handoff(f"{name}g", at=name, mode="delegate")]
            ),
            Transition(inner, name, inner),
            Transition(outer, name, outer),
            Transition(ANY, name, end),
            Transition(ANY, f"{name}n"),
            *(Transition(first, name, second) for first, second in pairwise([inner, *other])),
        ],
        entry_points=[EntryPoint(inner, name, opens_on=[name], guard=ask), outer],
    )

"""What XState, version 5, means otherwise than SCXML, told in SCXML's terms.

Source: https://github.com/statelyai/xstate, `stateUtils.ts`: `getCandidates`, `getTransitionDomain`, `microstep`.
- A transition stays inside its source where it can, unless it says `reenter`.
- A descriptor takes its own event only, not those it is a prefix of; `error.*` takes a prefix, `*` everything.
- Of one state's transitions, those for the very event are asked first, then longer wildcards before shorter ones.
- A transition between regions of a parallel state leaves all its regions, but not that state. We cannot do that, and
  say so where it makes a difference.
- The machine itself may be parallel, have entry and exit actions, timers and invokes, or have no states at all.
- `JSON.stringify` leaves out functions, in a list it leaves null, and of a machine it writes no more than `toJSON` has.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

from gatechart.charts.faults import Node, Spot
from gatechart.charts.model import ChartForm, StateForm, TransitionForm

_SEGMENT: Final = re.compile(r"((?:\\.|[^.\\])*)\.", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_MOST_WORDS: Final = 10  # of an event whose beginnings are looked at
INTERNAL: Final = "xstate."  # what all events begin with that XState raises itself
STATE_DONE: Final = "xstate.done.state."  # and the state's id
INVOKE_ENDS: Final = ("done.invoke.", "error.invoke.")
NOTHING_AFTER_THE_END: Final = (
    "the end of the machine is the end of the agent, which nothing follows",
    "drop it, or do it where a final state is entered",
)
TO_JSON: Final = (
    "this is what machine.toJSON() has, which leaves out the context, `always` and all functions",
    "write JSON.stringify(machine.config)",
)
NO_PARALLEL_OUTPUT: Final = (
    "a parallel machine ends in several states at once, so it hands nothing on",
    "drop it; let an action of the final states keep in the context what matters",
)
_DEFINITION: Final = ("key", "order", "transitions")  # what toJSON() writes of each state, and no config has
_RENAMED: Final = {"xstate.done.actor.": "done.invoke.", "xstate.error.actor.": "error.invoke."}
_WILDCARDS: Final = {
    "xstate.done.*": "done.*",
    "xstate.done.state.*": "done.state.*",
    "xstate.error.*": "error.invoke.*",
}


def event_of(name: str) -> str:
    """Translate XState's name of an event.

    >>> event_of("xstate.error.actor.search"), event_of("PRESSED")
    ('error.invoke.search', 'PRESSED')
    """
    if name in _WILDCARDS:
        return _WILDCARDS[name]
    for theirs, ours in _RENAMED.items():
        if name.startswith(theirs):
            return ours + name.removeprefix(theirs)
    return name


def by_precedence(transitions: Iterable[TransitionForm]) -> list[TransitionForm]:
    """Return the transitions of a state in the order in which XState asks them."""
    return sorted(transitions, key=lambda each: _rank(each.event.name))


def _rank(descriptor: str | None) -> tuple[bool, int]:
    wild = descriptor is not None and is_wild(descriptor)
    return wild, -len(descriptor or "") if wild else 0


def is_wild(descriptor: str) -> bool:
    """Whether the descriptor takes events of any name, or of any with this beginning."""
    return descriptor == "*" or descriptor.endswith(".*")


def by_beginning(events: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the longer events by the whole words that they begin with, in alphabetical order.

    >>> by_beginning(["a.b.c", "a.b", "d"])
    {'a': ('a.b', 'a.b.c'), 'a.b': ('a.b.c',)}
    """
    found: dict[str, tuple[str, ...]] = {}
    for event in sorted(set(events)):
        words = event.split(".")
        for count in range(1, min(len(words), _MOST_WORDS)):
            beginning = ".".join(words[:count])
            found[beginning] = (*found.get(beginning, ()), event)
    return found


def not_taken(
    descriptor: str, known: Collection[str], longer: Mapping[str, tuple[str, ...]], beginnings: Iterable[str]
) -> tuple[str, ...]:
    """Return the events that SCXML would give to the descriptor and XState does not, in alphabetical order.

    known: all events that the chart knows of. longer: the same as `by_beginning` has them. beginnings: those of its
    wildcards, without `.*`: where one takes longer events than the descriptor, those are all excepted; elsewhere the
    descriptor also takes unknown ones that it is a prefix of. A space is a part of XState's names.

    >>> known = ["GO", "GO.AWAY", "GONE", "GO BACK"]
    >>> [not_taken(each, known, by_beginning(known), ()) for each in ("GO", "GO BACK")]
    [('GO.AWAY',), ('GO', 'GO.AWAY')]
    >>> not_taken("GO", known, by_beginning(known), ["GO"]), not_taken("GO.*", known, by_beginning(known), ["GO"])
    (('GO.*',), ())
    """
    if is_wild(descriptor):
        return ()
    if any(f"{each}.".startswith(f"{descriptor}.") or descriptor.startswith(f"{each}.") for each in beginnings):
        return (f"{descriptor}.*",)
    words = descriptor.split()
    shorter = {word for word in words if word in known and word != descriptor}
    return tuple(sorted(shorter.union(*(longer.get(word, ()) for word in words)) - {descriptor}))


def is_definition(machine: Spot) -> bool:
    """Whether the machine was written by `machine.toJSON()`, as `JSON.stringify(machine)` does."""
    return all(machine.get(key) is not None for key in _DEFINITION)


def lost(what: str, place: str) -> tuple[str, str]:
    """Return the fault of a function that JSON does not hold. place: what is in its place.

    >>> lost("action", "'xstate.assign' does not say what one does")[0]
    "JSON holds no functions, and 'xstate.assign' does not say what one does"
    """
    remedy = f"give the {what} a name in XState's setup({{{what}s: ...}}), write that name, and bind it with bind="
    return f"JSON holds no functions, and {place}", remedy


def segments(path: str) -> list[str]:
    r"""Split a target at its dots; a backslash makes a part of the name of what follows it.

    >>> segments(r"#foo\.bar.child"), segments(".child")
    (['#foo.bar', 'child'], ['', 'child'])
    """
    found = _SEGMENT.findall(f"{path}.")
    return [_ESCAPED.sub(r"\1", each) for each in found]


def wrapped(chart: ChartForm) -> ChartForm:
    """Return the chart with its machine as a state of its own, if the machine is more than its states, or has none.

    The state is final if it can end at all, because a machine's end is the agent's. The machine's output becomes that
    of its final states, which XState does not hand on from there.
    """
    root = _with_output_below(chart.root)
    chart = replace(chart, root=root)
    if root.states and not (root.parallel or root.entry or root.exit or root.after or root.invoke):
        return chart
    machine = replace(root, id=_text_at(root, root.key), final=_can_end(root))
    return replace(chart, root=StateForm(root.spot, "", states=(machine,)))


def _with_output_below(root: StateForm) -> StateForm:
    if root.data is None:
        return root
    states = (replace(state, data=root.data) if state.final else state for state in root.states)
    return replace(root, data=None, states=tuple(states))


def _can_end(state: StateForm) -> bool:
    """Whether a final state ends it, or each of its regions if it is parallel."""
    if state.parallel:
        return all(_can_end(child) for child in state.states if not child.history)
    return any(child.final for child in state.states)


def also_left(lines: Sequence[Sequence[StateForm]]) -> tuple[StateForm, ...]:
    """Return the parallel states that SCXML leaves and XState does not, innermost first; none if that changes nothing.

    lines: the states around the source, and around each target, innermost first; the transition leaves its source.
    XState stays in the innermost state around all of them, SCXML in the innermost that is not parallel.
    """
    first, *rest = lines
    common = [state for state in first if all(state in line for line in rest)]
    left = tuple(takewhile(lambda state: state.parallel, common))
    return left if len(left) > 1 or any(any(doings(state)) for state in left) else ()


def stays_there(left: Sequence[StateForm], name: str) -> tuple[str, str]:
    """Return the fault of a transition that leaves states in which XState would stay. name: of the first of them."""
    things = ", ".join(dict.fromkeys(key for state in left for key in doings(state)))
    told = f"its {things}" if things else "the regions beside it"
    problem = f"XState leaves the regions of {name!r}, but not {name!r}, which is left here, too, with {told}"
    return problem, f"put {name!r} into a compound state{f', and give that {told}' if things else ''}"


def doings(state: StateForm) -> Iterator[str]:
    """Yield the keys of the state that would take effect if it were left and entered again."""
    found = {"entry": state.entry, "exit": state.exit, "after": state.after, "invoke": state.invoke}
    yield from (key for key, value in found.items() if value)
    if any(child.history for child in state.states):
        yield "history"


def _text_at(state: StateForm, text: str) -> Spot:
    """Return a text that is not in the file, with the position of the state."""
    return Spot(Node(text, state.spot.node.line, state.spot.node.column, text), state.spot.path)

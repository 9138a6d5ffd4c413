"""The differences of XState, version 5, from SCXML, in SCXML's terms.

Source: https://github.com/statelyai/xstate, `stateUtils.ts`: `getCandidates`, `getTransitionDomain`, `microstep`.
- A transition stays inside its source where it can, unless it has `reenter`.
- A descriptor takes its own event only, not those it is a prefix of; `error.*` takes a prefix, `*` everything.
- Of one state's transitions, those for the exact event are evaluated first, then longer wildcards before shorter ones.
- A transition between regions of a parallel state leaves all its regions, but not that state. gatechart cannot do
  that, and reports a fault where it makes a difference.
- The machine itself may be parallel, have entry and exit actions, timers and invokes, or have no states at all.
- `JSON.stringify` drops functions, writes null for them in a list, and writes a machine as its `toJSON` returns it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

from gatechart.chartfiles.faults import FileNode, Spot
from gatechart.chartfiles.model import ChartForm, StateForm, TransitionForm

_SEGMENT: Final = re.compile(r"((?:\\.|[^.\\])*)\.", re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_MOST_WORDS: Final = 10  # of an event, for its prefixes
INTERNAL: Final = "xstate."  # prefix of the events that XState raises itself
STATE_DONE: Final = "xstate.done.state."  # followed by the state's id
INVOKE_ENDS: Final = ("done.invoke.", "error.invoke.")
NOTHING_AFTER_THE_END: Final = (
    "the end of the machine ends the agent, so nothing can follow",
    "drop it, or move it to the entry of a final state",
)
TO_JSON: Final = (
    "this is the output of machine.toJSON(), which leaves out the context, `always` and all functions",
    "write JSON.stringify(machine.config)",
)
NO_PARALLEL_OUTPUT: Final = (
    "a parallel machine ends in several states at once, so it has no output",
    "drop it; let actions of the final states store the values in the context",
)
_DEFINITION: Final = ("key", "order", "transitions")  # toJSON() writes these for each state, and no config has them
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
    """Return the transitions of a state in XState's order of evaluation."""
    return sorted(transitions, key=lambda each: _rank(each.event.name))


def _rank(descriptor: str | None) -> tuple[bool, int]:
    wild = descriptor is not None and is_wild(descriptor)
    return wild, -len(descriptor or "") if wild else 0


def is_wild(descriptor: str) -> bool:
    """Return whether the descriptor matches events of any name, or of any name with this prefix."""
    return descriptor == "*" or descriptor.endswith(".*")


def by_beginning(events: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the longer events by their prefixes of whole words, in alphabetical order.

    >>> by_beginning(["a.b.c", "a.b", "d"])
    {'a': ('a.b', 'a.b.c'), 'a.b': ('a.b.c',)}
    """
    longer: dict[str, tuple[str, ...]] = {}
    for event in sorted(set(events)):
        words = event.split(".")
        for count in range(1, min(len(words), _MOST_WORDS)):
            beginning = ".".join(words[:count])
            longer[beginning] = (*longer.get(beginning, ()), event)
    return longer


def not_taken(
    descriptor: str, known: Collection[str], longer: Mapping[str, tuple[str, ...]], beginnings: Iterable[str]
) -> tuple[str, ...]:
    """Return the events that match the descriptor in SCXML, but not in XState, in alphabetical order.

    known: all events of the chart. longer: the result of `by_beginning`. beginnings: prefixes of the chart's wildcards,
    without `.*`. If such a wildcard takes longer events than the descriptor, all of these are excepted; otherwise the
    descriptor also takes unknown events that it is a prefix of. In XState's names, a space is an ordinary character.

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
    """Return whether the machine is the output of `machine.toJSON()`, as `JSON.stringify(machine)` writes it."""
    return all(machine.get(key) is not None for key in _DEFINITION)


def lost(what: str, place: str) -> tuple[str, str]:
    """Return the fault of a function that JSON cannot hold. place: describes the value in the function's position.

    >>> lost("action", "the name 'xstate.assign' does not identify one")[0]
    "JSON holds no functions, and the name 'xstate.assign' does not identify one"
    """
    remedy = f"give the {what} a name in XState's setup({{{what}s: ...}}), write that name, and bind it with bind="
    return f"JSON holds no functions, and {place}", remedy


def segments(path: str) -> list[str]:
    r"""Split a target at its dots; a backslash escapes the next character.

    >>> segments(r"#foo\.bar.child"), segments(".child")
    (['#foo.bar', 'child'], ['', 'child'])
    """
    pieces = _SEGMENT.findall(f"{path}.")
    return [_ESCAPED.sub(r"\1", each) for each in pieces]


def wrapped(chart: ChartForm) -> ChartForm:
    """Return the chart with its machine wrapped in a state, if the machine has more than states, or none.

    The state is final if it can end, because the machine's end ends the agent. The machine's output becomes the data of
    its final states, because XState does not pass on their own output.
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
    """Return whether the state can end: it has a final child, or each region of a parallel state can end."""
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
    """Return the fault of a transition that leaves states that XState would keep. name: the first of these states."""
    things = ", ".join(dict.fromkeys(key for state in left for key in doings(state)))
    effects = f"its {things}" if things else "the regions beside it"
    problem = f"XState leaves the regions of {name!r}, but not {name!r}, which is left here, too, with {effects}"
    return problem, f"put {name!r} into a compound state{f', and give that {effects}' if things else ''}"


def doings(state: StateForm) -> Iterator[str]:
    """Yield the keys of the state that would take effect if it were left and entered again."""
    actions_by_key = {"entry": state.entry, "exit": state.exit, "after": state.after, "invoke": state.invoke}
    yield from (key for key, value in actions_by_key.items() if value)
    if any(child.history for child in state.states):
        yield "history"


def _text_at(state: StateForm, text: str) -> Spot:
    """Return a text that is not in the file, at the position of the state."""
    return Spot(FileNode(text, state.spot.node.line, state.spot.node.column, text), state.spot.path)

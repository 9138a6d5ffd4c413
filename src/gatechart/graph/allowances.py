"""What checks would find in a graph and is meant to be so: each finding allowed at its place, with a reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Any, Final

from gatechart.errors import Fault
from gatechart.graph.compile import ROOT, delayed_transitions, walk
from gatechart.graph.definition import EntryPoint, State, Transition

CODES: Final = (
    *("GC101", "GC102", "GC103", "GC104"),
    *("GC201", "GC202", "GC203", "GC204", "GC205", "GC206"),
    *("GC301", "GC302", "GC303", "GC304"),
    *("GC401", "GC402"),
    *("GC501", "GC502", "GC503", "GC504"),
)
"""The codes of all findings; `gatechart.checks.RULES` says what they mean."""

_MOST_FAULTS: Final = 100  # of allowances; whoever mends that many reads the rest afterwards
_MOST_COMPARED: Final = 300  # places, to find one that is near


@dataclass(frozen=True, slots=True)
class Allow:
    """A finding that is meant to be so, and why. An allowance for what is not found is itself a finding."""

    code: str  # "GC102"
    place: str  # the finding's, "state 'WAITING'"
    reason: str


def allowance_faults(
    allow: Sequence[Any], tree: Sequence[State], transitions: Sequence[Any], entry_points: Sequence[EntryPoint]
) -> tuple[Fault, ...]:
    """What is wrong with the allowances of a graph: unknown codes, places that are not there, reasons left out."""
    if not allow:
        return ()
    places = tuple(dict.fromkeys(_places(tree, transitions, entry_points)))
    known = frozenset(places)
    found = (fault for index, each in enumerate(allow) for fault in _faults(f"allow[{index}]", each, places, known))
    return tuple(islice(found, _MOST_FAULTS))


def _faults(here: str, each: Any, places: Sequence[str], known: frozenset[str]) -> Iterator[Fault]:
    if not isinstance(each, Allow) or not all(isinstance(text, str) for text in (each.code, each.place, each.reason)):
        yield Fault(here, f"{each!r} is no allowance", "write Allow(code, place, reason), all of them texts")
        return
    if each.code not in CODES:
        remedy = _near(each.code, CODES, f"the codes are {', '.join(CODES)}")
        yield Fault(f"{here}, code", f"no finding has the code {each.code!r}", remedy)
    if each.place not in known:
        remedy = _near(each.place, places, "write it as `check` tells it, such as state 'WAITING'")
        yield Fault(f"{here}, place", f"there is no place {each.place!r}", remedy)
    if not each.reason.strip():
        yield Fault(f"{here}, reason", "it gives no reason", "say why it is meant to be so")


def _near(wrong: str, known: Sequence[str], otherwise: str) -> str:
    near = get_close_matches(wrong[:100], known[:_MOST_COMPARED], n=3)
    return f"did you mean {' or '.join(near)}?" if near else otherwise


def _places(tree: Sequence[State], transitions: Sequence[Any], entry_points: Sequence[EntryPoint]) -> Iterator[str]:
    """All places that a finding can have, as findings name them."""
    states = tuple(walk(tree))
    yield from (f"state {name!r}" for name in (*(state.name for state in states), ROOT))
    yield from (f"entry point {entry.name!r}" for entry in entry_points)
    written = (each for each in transitions if isinstance(each, Transition))
    delayed = (each for state in states for each in delayed_transitions(state))
    labels: Counter[str] = Counter()
    for each in (*written, *delayed):
        label = each.label
        labels[label] += 1
        yield f"transition {label if labels[label] == 1 else f'{label} #{labels[label]}'!r}"
        if each.event is not None:
            yield f"state {each.source!r}, event {each.event!r}"

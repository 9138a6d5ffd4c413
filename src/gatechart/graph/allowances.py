"""Allowances: findings that are intended, each at its place and with a reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from gatechart.errors import Fault, nearest
from gatechart.graph.compile import ROOT, delayed_transitions, walk
from gatechart.graph.definition import EntryPoint, State, Transition

_CODE: Final = re.compile(r"GC[0-9]{3}")  # form of a code; `gatechart.checks` knows which exist
_MOST_FAULTS: Final = 100  # faults reported in allowances; the rest follows once these are fixed


@dataclass(frozen=True, slots=True)
class Allow:
    """An intended finding, and its reason. An allowance for something that is not found is itself a finding."""

    code: str  # "GC102"
    place: str  # place of the finding, "state 'WAITING'"
    reason: str


def allowance_faults(
    allow: Sequence[Any], tree: Sequence[State[Any]], transitions: Sequence[Any], entry_points: Sequence[EntryPoint]
) -> tuple[Fault, ...]:
    """Return the faults of a graph's allowances: unknown codes, unknown places, missing reasons."""
    if not allow:
        return ()
    places = tuple(dict.fromkeys(_places(tree, transitions, entry_points)))
    known = frozenset(places)
    found = (fault for index, each in enumerate(allow) for fault in _faults(f"allow[{index}]", each, places, known))
    return tuple(islice(found, _MOST_FAULTS))


def _faults(here: str, each: Any, places: Sequence[str], known: frozenset[str]) -> Iterator[Fault]:
    if not isinstance(each, Allow) or not all(isinstance(text, str) for text in (each.code, each.place, each.reason)):
        yield Fault(here, f"{each!r} is not an allowance", "write Allow(code, place, reason), all of them texts")
        return
    if not _CODE.fullmatch(each.code):
        yield Fault(f"{here}, code", f"{each.code!r} is not the code of a finding", "write it as in GC102")
    if each.place not in known:
        near = nearest(each.place, places, 3)
        remedy = f"did you mean {' or '.join(near)}?" if near else "write it as `check` does, such as state 'WAITING'"
        yield Fault(f"{here}, place", f"unknown place {each.place!r}", remedy)
    if not each.reason.strip():
        yield Fault(f"{here}, reason", "it gives no reason", "say why it is meant to be so")


def _places(
    tree: Sequence[State[Any]], transitions: Sequence[Any], entry_points: Sequence[EntryPoint]
) -> Iterator[str]:
    """Yield all places that a finding can have, as findings name them."""
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

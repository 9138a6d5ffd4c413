"""Faults in the transfers that states offer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from gatechart.errors.definition import Fault
from gatechart.errors.root import suggestion
from gatechart.graph.callables import callable_name, fits, is_async
from gatechart.graph.compile import walk
from gatechart.graph.definition import State
from gatechart.graph.function_faults import action_faults, guard_faults, handoff_faults
from gatechart.graph.names import texts
from gatechart.graph.transfers import To, Transfers

_FORM = 'write Transfers(["A", "B", To("graph", at="ENTRY_POINT")], most=3, otherwise="B")'


def transfer_faults(root: State[Any]) -> Iterator[Fault]:
    """Yield the faults of all transfers of a graph."""
    names = texts(state.name for state in walk(root.states))
    for parent in (root, *walk(root.states)):
        for state in parent.states:
            if state.transfers is not None:
                yield from _faults_of(state, parent, names)


def _faults_of(state: State[Any], parent: State[Any], names: tuple[str, ...]) -> Iterator[Fault]:
    place, transfers = f"state {state.name!r}, transfers", state.transfers
    if not isinstance(transfers, Transfers):
        yield Fault(place, f"{transfers!r} are not Transfers", _FORM)
        return
    yield from _chooser_faults(place, state)
    yield from _limit_faults(place, transfers, names)
    if len({target.key for target in transfers.targets}) < 2:
        yield Fault(place, "there are fewer than two targets, so nothing is to be chosen", "add one, or a transition")
    for name in ("key", "tool"):
        for duplicate, count in Counter(getattr(target, name) for target in transfers.targets).items():
            if count > 1:
                yield Fault(place, f"the {name} {duplicate!r} occurs twice", "list each target once, or rename one")
                return
    for to in transfers.targets:
        here = f"{place}, {to.key}"
        yield from _call_faults(here, to)
        yield from (_handoff_faults(here, to, parent, names) if to.is_handoff else _state_faults(here, to, names))


def _chooser_faults(place: str, state: State[Any]) -> Iterator[Fault]:
    if state.history is not None or (state.final and not state.states):
        yield Fault(place, "nothing can choose in a final or a history state", "let another state offer them")
    elif all(invoke.agent for invoke in state.invoke):
        yield Fault(place, "it invokes no function that could choose", "give it invoke=")


def _limit_faults(place: str, transfers: Transfers, names: tuple[str, ...]) -> Iterator[Fault]:
    most, otherwise = transfers.most, transfers.otherwise
    if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 1):
        yield Fault(place, f"most={most!r} is no limit", "pass a whole number of 1 or more, or None to switch them off")
    if otherwise:
        yield from _unknown(f"{place}, otherwise", otherwise, names)
    elif most is not None:
        yield Fault(place, "it has most=, but no otherwise=", "name the state that follows when none is left")
    for event in transfers.resets_on:
        if not isinstance(event, str) or not event:
            yield Fault(place, f"it resets on {event!r}", "use a text that is not empty")
    status = transfers.status
    if status is not None and (not callable(status) or is_async(status) or not fits(status, 1)):
        problem = f"status={callable_name(status)} does not take (context), or does not answer at once"
        yield Fault(place, problem, "pass a fast, plain function of the context that returns a text")


def _unknown(place: str, name: str, names: tuple[str, ...]) -> Iterator[Fault]:
    if name not in names:
        yield Fault(place, f"unknown state {name!r}", suggestion(name, names))


def _call_faults(here: str, to: To) -> Iterator[Fault]:
    if to.guard is not None:
        yield from guard_faults(here, to.guard)
    yield from action_faults(here, to.actions)
    if to.takes is not None and not (isinstance(to.takes, type) and issubclass(to.takes, BaseModel)):
        yield Fault(here, f"takes={to.takes!r} is not a schema", "pass a pydantic model")


def _state_faults(here: str, to: To, names: tuple[str, ...]) -> Iterator[Fault]:
    if to.name not in names:
        remedy = f"{suggestion(to.name, names)}; an entry point of another graph is To(graph, at=entry_point)"
        yield Fault(here, f"unknown state {to.name!r}", remedy)
    options = (("packet", to.packet), ("deadline", to.deadline), ("fallbacks", to.fallbacks), ("waits", to.waits))
    for what in (name for name, content in options if content):
        yield Fault(here, f"it has {what}=, but no at=", f"name the entry point of another graph, or drop {what}=")


def _handoff_faults(here: str, to: To, parent: State[Any], names: tuple[str, ...]) -> Iterator[Fault]:
    yield from handoff_faults(here, to.handoff)
    if to.waits:
        yield from _unknown(f"{here}, waits", to.waits, names)
    elif parent.parallel:
        problem = "no state can be added beside a region to wait for the answer"
        yield Fault(here, problem, "name one with waits=")

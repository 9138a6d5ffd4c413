"""What could happen next, whatever guards say: the machine followed microstep by microstep, without a context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from gatechart.checks.descriptors import EVERY, words_of
from gatechart.graph import Edge, StateTransitionGraph
from gatechart.kernel import Done, Plan, awaited_events, candidates, plan_entry, plan_microstep
from gatechart.kernel.select import Candidates, Configuration
from gatechart.values import EventName, Memory, StateName

ANYTHING: Final[EventName] = "anything"
"""Stands for an event that only `*` takes."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Where the machine is between two microsteps."""

    configuration: Configuration
    memory: Memory
    raised: tuple[EventName, ...]  # done events that are still to be taken, oldest first
    is_final: bool


@dataclass(frozen=True, slots=True)
class Move:
    """What leads from one moment to the next."""

    event: EventName | None  # None for eventless transitions
    is_sent: bool  # by someone outside; else it follows within the turn
    taken: tuple[Edge, ...]  # none where a raised event is dropped
    after: Moment


def beginning(graph: StateTransitionGraph, state: StateName) -> Moment:
    """The moment after entering at a state."""
    return _moment(plan_entry(graph, (state,)), ())


def moves(graph: StateTransitionGraph, moment: Moment) -> Iterator[Move]:
    """Every move that some answers of the guards make possible, as SCXML orders them: eventless, raised, sent."""
    if moment.is_final:
        return
    eventless = candidates(graph, moment.configuration, None)
    yield from _taking(graph, moment, eventless, None, is_sent=False)
    if not _can_all_refuse(eventless):
        return
    if moment.raised:
        yield from _taking_raised(graph, moment)
        return
    for event in _sendable(graph, moment.configuration):
        groups = candidates(graph, moment.configuration, event)
        yield from _taking(graph, moment, groups, event, is_sent=True)


def _taking_raised(graph: StateTransitionGraph, moment: Moment) -> Iterator[Move]:
    event, *rest = moment.raised
    later = replace(moment, raised=tuple(rest))
    groups = candidates(graph, moment.configuration, event)
    yield from _taking(graph, later, groups, event, is_sent=False)
    if _can_all_refuse(groups):
        yield Move(event, is_sent=False, taken=(), after=later)


def _taking(
    graph: StateTransitionGraph, moment: Moment, groups: Candidates, event: EventName | None, *, is_sent: bool
) -> Iterator[Move]:
    for enabled in choices(groups):
        plan = plan_microstep(graph, moment.configuration, moment.memory, enabled)
        yield Move(event, is_sent, plan.taken, _moment(plan, moment.raised))


def _moment(plan: Plan, raised: tuple[EventName, ...]) -> Moment:
    done = tuple(deed.event for deed in plan.deeds if isinstance(deed, Done))
    return Moment(plan.configuration, plan.memory, (*raised, *done), plan.is_final)


def choices(groups: Candidates) -> Iterator[tuple[Edge, ...]]:
    """The transitions that could be enabled together. A guard asked for several leaves gives each the same answer.

    Cost: the product of the groups' sizes.
    """
    for chosen in product(*(_options(edges) for edges in groups)):
        refused = {edge for edges, choice in zip(groups, chosen, strict=True) for edge in _before(edges, choice)}
        enabled = tuple(edge for edge in chosen if edge is not None)
        if enabled and refused.isdisjoint(enabled):
            yield enabled


def _options(edges: Sequence[Edge]) -> tuple[Edge | None, ...]:
    """Those that are asked: up to the first without a guard; None stands for all guards saying no."""
    certain = next((place for place, edge in enumerate(edges) if edge.ask is None), None)
    return (*edges, None) if certain is None else tuple(edges[: certain + 1])


def _before(edges: Sequence[Edge], choice: Edge | None) -> Sequence[Edge]:
    return edges if choice is None else edges[: edges.index(choice)]


def _can_all_refuse(groups: Candidates) -> bool:
    return all(edge.ask is not None for edges in groups for edge in edges)


def _sendable(graph: StateTransitionGraph, configuration: Configuration) -> Iterator[EventName]:
    """An event for each descriptor that waits here; done events come from the machine alone."""
    words = (word for event in awaited_events(graph, configuration) for word in words_of(event))
    for word in dict.fromkeys(words):
        if word == EVERY:
            yield ANYTHING
        elif not f"{word}.".startswith("done.state."):
            yield word

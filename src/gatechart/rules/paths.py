"""Paths through a graph that together take every transition, for tests to follow."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from gatechart.errors.root import DefinitionError
from gatechart.graph.compile import Edge
from gatechart.graph.descriptors import EVERY, words_of
from gatechart.graph.graph import AnyGraph
from gatechart.graph.transfer_edges import TransferRole
from gatechart.kernel.plan import Done, Plan, plan_entry, plan_microstep
from gatechart.kernel.select import Candidates, Configuration, awaited_events, candidates, without_unasked
from gatechart.values.names import EventName, Memory, Name, StateName


@dataclass(eq=False)
class TooManyConfigurationsError(DefinitionError):
    """The graph has more configurations than the bound allows. No paths were found."""

    graph: str
    entry_point: str
    bound: int

    def __str__(self) -> str:
        return (
            f"{self.graph!r} has too many configurations from {self.entry_point!r}: the bound of {self.bound:,} "
            "microsteps was reached; raise it with most=, or begin where fewer parallel regions are active"
        )


@dataclass(frozen=True, slots=True)
class Microstep:
    """One microstep of a path."""

    event: EventName | None  # None for eventless transitions
    is_sent: bool  # whether the tester sends the event; False if the step follows within the turn
    transitions: tuple[str, ...]  # labels of the transitions taken together
    configuration: Configuration  # the active leaves afterwards


@dataclass(frozen=True, slots=True)
class Path:
    """Events that lead from an entry point to some transitions, if guards hold."""

    entry_point: str
    begins_in: Configuration  # before any step
    steps: tuple[Microstep, ...]

    @property
    def events(self) -> tuple[EventName, ...]:
        """The events to send, in this order."""
        return tuple(step.event for step in self.steps if step.is_sent and step.event is not None)

    def __str__(self) -> str:
        return " > ".join((self.entry_point, *self.events))


ANYTHING: Final[EventName] = "anything"
"""An event that only `*` matches."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of the machine between two microsteps."""

    configuration: Configuration
    memory: Memory
    raised: tuple[EventName, ...]  # pending done events, oldest first
    is_final: bool


@dataclass(frozen=True, slots=True)
class PathMove:
    """One microstep: the transitions that it takes, and the moment after it."""

    event: EventName | None  # None for eventless transitions
    is_sent: bool  # whether the event comes from outside; False if the move follows within the turn
    taken: tuple[Edge, ...]  # empty if a raised event is dropped
    after: Moment


@dataclass(frozen=True, slots=True)
class _Leg:
    """A move with the moment before it, and the number of events sent up to its end."""

    before: Moment
    move: PathMove
    sent: int


def paths(graph: AnyGraph, *, from_: Name, most: int = 100_000) -> tuple[Path, ...]:
    """Return paths from an entry point that take every transition reachable from there, shortest first.

    from_: the entry point's name. Guards are assumed to return the needed value, the same for all leaves in a
    microstep; the tester must find a payload that achieves this. Each transition is reached with the fewest sent
    events. A path is omitted if longer paths take all its transitions. So are transitions that follow once no transfer
    is left, or that replace a second transfer that was refused. Events raised by actions are unknown, so the tester
    sends them. A path ends with the transition that it is for, even if the turn continues.
    most: maximum number of microsteps to try; it can be exponential in the number of parallel regions.

    Raises EntryRefusedError, TooManyConfigurationsError.
    """
    entry = graph.entry_point(from_)
    scratch = copy(graph)
    object.__setattr__(scratch, "memo", {})  # the graph itself does not cache plans of moves that may never happen
    first = beginning(scratch, entry.state)
    arrivals, takes = _explore(scratch, first, TooManyConfigurationsError(graph.name, entry.name, most))
    every_path = [_legs_to(arrivals, leg) for leg in takes.values()]
    return tuple(Path(entry.name, first.configuration, _steps(legs)) for legs in _needed(every_path))


def _explore(
    graph: AnyGraph, first: Moment, too_many: TooManyConfigurationsError
) -> tuple[dict[Moment, _Leg | None], dict[Edge, _Leg]]:
    """Return for each moment and each transition the leg with the fewest sent events.

    This is a breadth-first search where only sent events have a length.
    """
    arrivals: dict[Moment, _Leg | None] = {}
    takes: dict[Edge, _Leg] = {}
    tries = 0
    waiting: deque[tuple[Moment, _Leg | None]] = deque([(first, None)])
    while waiting:
        moment, arrival = waiting.popleft()
        if moment in arrivals:
            continue
        arrivals[moment] = arrival
        for move in moves(graph, moment):
            tries += 1
            if tries > too_many.bound:
                raise too_many
            leg = _Leg(moment, move, (arrival.sent if arrival else 0) + move.is_sent)
            _note_taken(takes, leg)
            (waiting.append if move.is_sent else waiting.appendleft)((move.after, leg))
    return arrivals, takes


def _note_taken(takes: dict[Edge, _Leg], leg: _Leg) -> None:
    for edge in leg.move.taken:
        if edge not in takes or leg.sent < takes[edge].sent:
            takes[edge] = leg


def _legs_to(arrivals: dict[Moment, _Leg | None], last: _Leg) -> tuple[_Leg, ...]:
    legs: list[_Leg] = []
    leg: _Leg | None = last
    while leg is not None:
        legs.append(leg)
        leg = arrivals[leg.before]
    return tuple(reversed(legs))


def _needed(every_path: list[tuple[_Leg, ...]]) -> list[tuple[_Leg, ...]]:
    """Return the paths that take a transition which no longer path takes, shortest first."""
    covered: set[Edge] = set()
    kept: list[tuple[_Leg, ...]] = []
    for legs in sorted(every_path, key=len, reverse=True):
        edges = {edge for leg in legs for edge in leg.move.taken}
        if not edges <= covered:
            covered |= edges
            kept.append(legs)
    return sorted(kept, key=lambda legs: legs[-1].sent)


def _steps(legs: tuple[_Leg, ...]) -> tuple[Microstep, ...]:
    moves_taken = (leg.move for leg in legs if leg.move.taken)
    return tuple(
        Microstep(move.event, move.is_sent, tuple(edge.label for edge in move.taken), move.after.configuration)
        for move in moves_taken
    )


# Microsteps of the machine without a context, for every result of the guards


def beginning(graph: AnyGraph, state: StateName) -> Moment:
    """Return the moment after an agent enters at a state."""
    return _moment(plan_entry(graph, (state,)), ())


def moves(graph: AnyGraph, moment: Moment) -> Iterator[PathMove]:
    """Yield every move that some results of the guards make possible, in SCXML's order: eventless, raised, sent."""
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


def _taking_raised(graph: AnyGraph, moment: Moment) -> Iterator[PathMove]:
    event, *rest = moment.raised
    later = replace(moment, raised=tuple(rest))
    groups = candidates(graph, moment.configuration, event)
    yield from _taking(graph, later, groups, event, is_sent=False)
    if _can_all_refuse(groups):
        yield PathMove(event, is_sent=False, taken=(), after=later)


def _taking(
    graph: AnyGraph, moment: Moment, groups: Candidates, event: EventName | None, *, is_sent: bool
) -> Iterator[PathMove]:
    for enabled in dict.fromkeys(without_unasked(graph, event, chosen) for chosen in choices(groups)):
        plan = plan_microstep(graph, moment.configuration, moment.memory, enabled)
        yield PathMove(event, is_sent, plan.taken, _moment(plan, moment.raised))


def _moment(plan: Plan, raised: tuple[EventName, ...]) -> Moment:
    done = tuple(deed.event for deed in plan.deeds if isinstance(deed, Done))
    return Moment(plan.configuration, plan.memory, (*raised, *done), plan.is_final)


def choices(groups: Candidates) -> Iterator[tuple[Edge, ...]]:
    """Yield the sets of transitions that can be enabled together. A guard returns the same result for all leaves.

    Cost: the product of the groups' sizes.
    """
    for chosen in product(*(_options(edges) for edges in groups)):
        refused = {edge for edges, choice in zip(groups, chosen, strict=True) for edge in _before(edges, choice)}
        enabled = tuple(edge for edge in chosen if edge is not None)
        if enabled and refused.isdisjoint(enabled):
            yield enabled


def _options(edges: Sequence[Edge]) -> tuple[Edge | None, ...]:
    """Return the transitions up to the first one without a guard; if all have guards, also None for no transition.

    Transitions that depend on earlier choices are excluded: no transfer is left, or a target was already refused.
    """
    edges = [edge for edge in edges if not _needs_choices(edge)]
    certain = next((index for index, edge in enumerate(edges) if edge.ask is None), None)
    return (*edges, None) if certain is None else tuple(edges[: certain + 1])


def _needs_choices(edge: Edge) -> bool:
    is_at_zero = edge.role is TransferRole.ENDED and edge.ask is not None
    return is_at_zero or edge.role is TransferRole.REPLACED


def _before(edges: Sequence[Edge], choice: Edge | None) -> Sequence[Edge]:
    return edges if choice is None else edges[: edges.index(choice)]


def _can_all_refuse(groups: Candidates) -> bool:
    return all(edge.ask is not None for edges in groups for edge in edges)


def _sendable(graph: AnyGraph, configuration: Configuration) -> Iterator[EventName]:
    """Yield an event for each descriptor that the configuration waits for; only the machine sends done events."""
    words = (word for event in awaited_events(graph, configuration) for word in words_of(event))
    for word in dict.fromkeys(words):
        if word == EVERY:
            yield ANYTHING
        elif not f"{word}.".startswith("done.state."):
            yield word

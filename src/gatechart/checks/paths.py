"""Ways through a graph that between them take every transition, for tests to walk."""

from __future__ import annotations

from collections import deque
from copy import copy
from dataclasses import dataclass

from gatechart.checks.moments import Moment, Move, beginning, moves
from gatechart.errors import DefinitionError
from gatechart.graph import Edge, StateTransitionGraph
from gatechart.kernel.select import Configuration
from gatechart.values import EventName, Name


@dataclass(eq=False)
class TooManyConfigurationsError(DefinitionError):
    """The graph has more configurations than were to be tried. Paths were not found."""

    graph: str
    entry_point: str
    bound: int

    def __str__(self) -> str:
        return (
            f"{self.graph!r} has too many configurations from {self.entry_point!r}: the bound of {self.bound:,} "
            "microsteps was reached; raise it with most=, or begin where fewer parallel regions are active"
        )


@dataclass(frozen=True, slots=True)
class PathStep:
    """One microstep of a path."""

    event: EventName | None  # None for eventless transitions
    is_sent: bool  # by the tester; else it follows of itself within the turn
    transitions: tuple[str, ...]  # labels of those taken together
    configuration: Configuration  # the active leaves afterwards


@dataclass(frozen=True, slots=True)
class Path:
    """Events that lead from an entry point to some transitions, provided that guards agree."""

    entry_point: str
    begins_in: Configuration  # before any step
    steps: tuple[PathStep, ...]

    @property
    def events(self) -> tuple[EventName, ...]:
        """What is to be sent, in this order."""
        return tuple(step.event for step in self.steps if step.is_sent and step.event is not None)

    def __str__(self) -> str:
        return " > ".join((self.entry_point, *self.events))


@dataclass(frozen=True, slots=True)
class _Leg:
    """A move with the moment that it begins in, and the number of events sent up to its end."""

    before: Moment
    move: Move
    sent: int


def paths(graph: StateTransitionGraph, *, from_: Name, most: int = 100_000) -> tuple[Path, ...]:
    """Paths from an entry point that take every transition reachable from there, shortest first.

    from_: the entry point's name. Guards are taken to answer as needed, alike for all who ask at once; whether a
    payload can make them do so is the tester's to find out. Each transition is reached with as few sent events as can
    be, and a path whose transitions others take on their way is left out. Events that actions raise are not known and
    are sent. A path ends with the transition that it is for, even where the turn goes on.
    most: how many microsteps are tried at most; they can be exponentially many in the parallel regions.

    Raises EntryRefusedError, TooManyConfigurationsError.
    """
    entry = graph.entry_point(from_)
    scratch = copy(graph)
    object.__setattr__(scratch, "memo", {})  # plans for what may never happen are not kept
    first = beginning(scratch, entry.state)
    arrivals, takes = _explore(scratch, first, TooManyConfigurationsError(graph.name, entry.name, most))
    found = [_legs_to(arrivals, leg) for leg in takes.values()]
    return tuple(Path(entry.name, first.configuration, _steps(legs)) for legs in _needed(found))


def _explore(
    graph: StateTransitionGraph, first: Moment, too_many: TooManyConfigurationsError
) -> tuple[dict[Moment, _Leg | None], dict[Edge, _Leg]]:
    """The best leg into each moment, and the best leg that takes each transition; best is with the fewest events sent.

    A breadth-first search in which only sent events have a length.
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


def _needed(found: list[tuple[_Leg, ...]]) -> list[tuple[_Leg, ...]]:
    """The ways that take something that the longer ones do not, shortest first."""
    covered: set[Edge] = set()
    kept: list[tuple[_Leg, ...]] = []
    for legs in sorted(found, key=len, reverse=True):
        taken = {edge for leg in legs for edge in leg.move.taken}
        if not taken <= covered:
            covered |= taken
            kept.append(legs)
    return sorted(kept, key=lambda legs: legs[-1].sent)


def _steps(legs: tuple[_Leg, ...]) -> tuple[PathStep, ...]:
    moves_taken = (leg.move for leg in legs if leg.move.taken)
    return tuple(
        PathStep(move.event, move.is_sent, tuple(edge.label for edge in move.taken), move.after.configuration)
        for move in moves_taken
    )

"""Rules about the signals of a graph: thresholds that cannot be reached, and signals that nobody answers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import product
from typing import Final

from gatechart.checks.analysis import Analysis, is_taken
from gatechart.checks.circles import Circle, Circles
from gatechart.checks.finding import Hit, Severity, rule
from gatechart.graph import EVERY_SIGNAL, AnyGraph, EntryPoint, Signal, Signals
from gatechart.graph.compile import walk
from gatechart.graph.descriptors import words_of
from gatechart.graph.escape_edges import plans_in
from gatechart.graph.signal_faults import MOST_MOVES
from gatechart.kernel import matches
from gatechart.signals import Lacks, NoProgress, Repeats, RetriesOver, Sentiment, VisitsOver
from gatechart.signals.periods import LONG
from gatechart.values import CALLED, NOTED, PROGRESSED, REASONED, SAID, Detector, StateName, Symptom
from gatechart.values.detectors import EVERY_TURN

_OF_INVOKES: Final = CALLED | REASONED | NOTED
"""Kinds of entries that only invokes write."""

_WORST: Final = -1  # that a sentiment can be
_LEAST_TIMES: Final = 2  # that a block must be seen, so that it repeats
_MOST_SHOWN: Final = 6  # states of a circle
_MOST_JOINED: Final = 10  # detectors of a symptom, beyond which not every combination is tried
_DROP_PROGRESS: Final = "drop it, or progress=True of a state on the way"


@rule("GC701", Severity.WARNING, "a signal that can never be found")
def out_of_reach(analysis: Analysis) -> Iterator[Hit]:
    """Its threshold lies beyond what is remembered, or the graph has nothing that it could be found in.

    So it is for `Repeats` where the shortest circle of moves is too long for its window, or for its period.
    """
    for place, signals in declared(analysis.graph):
        for signal in signals.signals:
            hits = [_never(analysis, place, signals, detector) for detector in dict.fromkeys(signal.when.detectors)]
            for hit in hits if any(hits) else [_never_comes_to_hold(signal.when)]:
                if hit is not None:
                    yield f"{place}, {signal.name}", *hit


@rule("GC702", Severity.WARNING, "a signal without an answer that no transition takes")
def unanswered(analysis: Analysis) -> Iterator[Hit]:
    """It is noted in the history and changes nothing, and no escape plan tries anything.

    A transition for `*` takes no signals; one for `signal` does.
    """
    edges = [edge for node in analysis.graph.nodes.values() for edge in node.edges]
    plans = plans_in(analysis.graph.escape, walk(analysis.graph.tree))
    for place, signals in declared(analysis.graph):
        for signal in signals.signals:
            is_tried = any({signal.name, EVERY_SIGNAL} & {*plan.signals} for plan in plans)
            if not is_tried and not any(matches(edge.event, signal.event) for edge in edges):
                yield f"{place}, {signal.name}", f"nothing takes {signal.event!r}", _remedy(signal)


@rule("GC703", Severity.WARNING, "retries of a task where nothing says which task is at hand")
def task_unknown(analysis: Analysis) -> Iterator[Hit]:
    """`RetriesOver(per="task")` counts all calls as those of one task then, until the chart tells of progress."""
    for place, signals in declared(analysis.graph):
        for signal in () if signals.task else signals.signals:
            if any(isinstance(each, RetriesOver) and each.per == "task" for each in signal.when.detectors):
                problem = "it counts retries per task, but the signals name no field with the id of the task"
                yield f"{place}, {signal.name}", problem, "name it with Signals(…, task=), or count per='tool'"


def _remedy(signal: Signal) -> str:
    ways = f"write a transition for {signal.event!r}, give it answer=, or name it in escape="
    return f"{ways}; or allow it if noting it is enough"


def declared(graph: AnyGraph) -> Iterator[tuple[str, Signals]]:
    """Yield the signals of the graph and of its entry points, each with the place where they are declared."""
    if graph.signals is not None:
        yield "signals", graph.signals
    for door in graph.entry_points.values():
        if door.signals is not None:
            yield f"entry point {door.name!r}, signals", door.signals


def _never(analysis: Analysis, place: str, signals: Signals, detector: Detector) -> tuple[str, str] | None:
    """Return why a detector never finds anything, and what to do; None if it can.

    How much the trail keeps makes no difference: what detectors compare is in their slots.
    """
    if _is_of_invokes(detector) and not _has_functions(analysis.graph, _states(analysis, place)):
        nobody = "the graph invokes no function" if place == "signals" else "it leads to no function that is invoked"
        return f"{nobody}, so {type(detector).__name__} has nothing to look at", "drop it, or invoke what calls tools"
    if detector.sees & ~PROGRESSED == SAID and not _is_anything_said(analysis.graph, signals):
        return "no transition takes an event that said= names, so nobody is heard", "name one that a transition takes"
    match detector:
        case Repeats():
            return _never_repeats(detector) or _never_comes_round(analysis, place, detector)
        case VisitsOver(state):
            return _never_visited(analysis, place, state)
        case NoProgress(turns=int(), seconds=None, measure=""):
            return _never_stands_still(analysis)
        case Sentiment(below=below) if below <= _WORST:
            return f"no number from {_WORST} to 1 is below {below:g}", f"pass more than {_WORST}"
        case Lacks():
            return _never_lacks(analysis.graph, place, detector)
        case _:
            return None


def _never_comes_to_hold(symptom: Symptom) -> tuple[str, str] | None:
    """Return why joined detectors make nothing fire, whichever of them find something. Cost: two to their number."""
    detectors = tuple(dict.fromkeys(symptom.detectors))
    if not 1 < len(symptom.detectors) <= _MOST_JOINED:
        return None
    trials = product((False, True), repeat=len(detectors))
    outcomes = {symptom.holds(dict(zip(detectors, trial, strict=True)).__getitem__) for trial in trials}
    if len(outcomes) > 1:
        return None
    told = "it always holds, so it never comes to hold" if True in outcomes else "it never holds"
    return f"{told}, whatever its detectors find", "join others, or drop those that exclude each other"


def _is_of_invokes(detector: Detector) -> bool:
    """Whether a detector looks at nothing but what invokes do."""
    seen = detector.sees & ~PROGRESSED
    return isinstance(detector, NoProgress) or (seen != EVERY_TURN and not seen & ~_OF_INVOKES)


def _never_repeats(detector: Repeats) -> tuple[str, str] | None:
    length = detector.period or 1
    times = _times(detector, length)
    if length * times <= detector.window:
        return None
    told = f"a block of {length}, seen {times} times, does not fit in the window of {detector.window} moves"
    return told, f"pass window={length * times} at least"


def _never_comes_round(analysis: Analysis, place: str, detector: Repeats) -> tuple[str, str] | None:
    leaves = _leaves(analysis, place)
    circle = Circles(analysis, analysis.graph.progress_states).shortest(leaves)
    if circle is None:
        if Circles(analysis).shortest(leaves) is None:
            return "no way leads from any state back to it, so nothing is repeated", "drop it"
        return "each way back to a state makes progress, with which it forgets what it saw", _DROP_PROGRESS
    told = f"the shortest circle, {_drawn(circle)}, takes {circle.moves} moves"
    if detector.period is not None and detector.period < circle.moves:
        return f"{told}, so no block of {detector.period} is repeated", f"pass period={circle.moves} or more"
    length, times = circle.moves, _times(detector, circle.moves)
    if length * times <= detector.window:
        return None
    return f"{told}; seen {times} times, it does not fit in the window of {detector.window}", _room(detector, length)


def _times(detector: Repeats, length: int) -> int:
    """Return how often a block of so many moves must be seen."""
    return detector.times or (2 if length >= LONG else 3)  # as it is by default


def _room(detector: Repeats, length: int) -> str:
    """Return what to pass so that a circle of so many moves is found."""
    times = _times(detector, length)
    ways = [f"window={length * times} at least"] if length * times <= MOST_MOVES else []
    fewer = detector.window // length
    ways += [f"times={fewer}"] if fewer >= _LEAST_TIMES else []
    if ways:
        return f"pass {', or '.join(ways)}"
    if length * _LEAST_TIMES <= MOST_MOVES:
        return f"pass window={length * _LEAST_TIMES} and times={_LEAST_TIMES}"
    return "drop it, or count the visits to one state with VisitsOver"


def _drawn(circle: Circle) -> str:
    states = circle.states
    shown = states if len(states) <= _MOST_SHOWN else (*states[: _MOST_SHOWN - 2], "…", states[-1])
    return " > ".join((*shown, states[0]))


def _never_stands_still(analysis: Analysis) -> tuple[str, str] | None:
    graph = analysis.graph
    invokes = [invoke for node in graph.nodes.values() for invoke in node.invokes]
    ends = [f"{kind}.invoke.{invoke.id}" for invoke in invokes for kind in ("done", "error")]
    ways = [
        way
        for several in analysis.ways.values()
        for way in several
        if way.edge.event is not None and any(is_taken(end, words_of(way.edge.event)) for end in ends)
    ]
    if not ways or any(analysis.may_avoid(graph.progress_states, way.enters) for way in ways):
        return None
    return "each transition by which an invoke ends makes progress, so no turn is without it", "pass seconds="


def _leaves(analysis: Analysis, place: str) -> list[StateName]:
    """Return the leaves in which agents with the signals may be."""
    nodes, states = analysis.graph.nodes, _states(analysis, place)
    return [name for name, node in nodes.items() if node.kind.is_leaf and name in states]


def _states(analysis: Analysis, place: str) -> Collection[StateName]:
    """Return the states in which agents with the signals may be.

    Those of an entry point belong to agents that began there, or took over work. If it is not known where else these
    have been, as after a migration or an escape, they may be anywhere.
    """
    graph = analysis.graph
    doors = [
        name for name, door in graph.entry_points.items() if door.signals is not None and _is_watched_by(door, place)
    ]
    if not doors or graph.migrations or graph.has_escapes:
        return graph.nodes
    return frozenset().union(*(analysis.reached[door] for door in doors))


def _never_visited(analysis: Analysis, place: str, state: str) -> tuple[str, str] | None:
    graph = analysis.graph
    if state not in graph.nodes or not graph.nodes[state].kind.is_leaf:
        return f"{state!r} is no state in which an agent can rest", "name a state without states inside it"
    if state not in _leaves(analysis, place):
        return f"no way leads from the entry point to {state!r}", "name a state that agents come to from there"
    if graph.nodes[state].is_end:
        return f"the agent ends in {state!r}, so it is visited once", "name a state in a cycle"
    if state in graph.progress_states:
        return f"to enter {state!r} is progress, with which its count begins anew", "name a state without progress"
    if Circles(analysis, graph.progress_states).back_to(state):
        return None
    if Circles(analysis).back_to(state):
        return f"each way back to {state!r} makes progress, with which its count begins anew", _DROP_PROGRESS
    return f"no way leads from {state!r} back to it, so it is visited once", "name a state in a cycle"


def _is_anything_said(graph: AnyGraph, signals: Signals) -> bool:
    """Whether a transition takes an event by which somebody says something; any may, unless they are named."""
    if signals.said is None:
        return True
    edges = [edge for node in graph.nodes.values() for edge in node.edges]
    return any(matches(edge.event, event) for edge in edges for event in signals.said)


def _never_lacks(graph: AnyGraph, place: str, detector: Lacks) -> tuple[str, str] | None:
    doors = (door for door in graph.entry_points.values() if _is_watched_by(door, place))
    asked = [detector.of_entry_point(graph.profile_at(door.name)) for door in doors]
    if asked and all(each.has is None for each in asked):
        return (
            "no entry point with this signal has a profile",
            "give it one, or say with has= what it can do",
        )
    if not detector.counted or _has_functions(graph, graph.nodes) or any(each.may_lack for each in asked):
        return None
    return f"each entry point has every {detector.what} that the rules name", "drop it, or add a rule"


def _is_watched_by(door: EntryPoint, place: str) -> bool:
    return door.signals is None if place == "signals" else place == f"entry point {door.name!r}, signals"


def _has_functions(graph: AnyGraph, states: Collection[StateName]) -> bool:
    """Whether one of some states invokes a function."""
    return any(not invoke.agent for state in states for invoke in graph.nodes[state].invokes)

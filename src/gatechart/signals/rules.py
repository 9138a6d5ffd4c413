"""Rules about the signals of a graph: thresholds that cannot be reached, and signals that no transition answers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import product
from typing import Final

from gatechart.graph.compile import walk
from gatechart.graph.definition import EntryPoint
from gatechart.graph.descriptors import words_of
from gatechart.graph.escape import EVERY_SIGNAL
from gatechart.graph.escape_edges import plans_in
from gatechart.graph.graph import AnyGraph
from gatechart.graph.signal_faults import MOST_MOVES
from gatechart.graph.signals import Signal, Signals
from gatechart.kernel.select import matches
from gatechart.rules.analysis import Analysis, declared_signals, is_taken
from gatechart.rules.finding import Hit, Severity, rule
from gatechart.signals.failures import RetriesOver
from gatechart.signals.lacking import Lacks
from gatechart.signals.measures import Sentiment
from gatechart.signals.no_progress import NoProgress, VisitsOver
from gatechart.signals.periods import LONG
from gatechart.signals.repeats import Repeats
from gatechart.signals.shortest_circles import Circle, Circles
from gatechart.values.detectors import EVERY_TURN, Detector, Symptom
from gatechart.values.names import StateName
from gatechart.values.trail import CALLED, NOTED, PROGRESSED, REASONED, SAID

_OF_INVOKES: Final = CALLED | REASONED | NOTED
"""Kinds of entries that only invokes write."""

_WORST: Final = -1  # lowest sentiment
_LEAST_TIMES: Final = 2  # occurrences of a block that repeats
_MOST_SHOWN: Final = 6  # states of a circle in a message
_MOST_JOINED: Final = 10  # detectors of a symptom; with more, the combinations are not tried
_DROP_PROGRESS: Final = "drop it, or progress=True of a state on the way"


@rule("GC701", Severity.WARNING, "a signal that can never fire")
def out_of_reach(analysis: Analysis) -> Iterator[Hit]:
    """Its threshold exceeds the detector's memory, or the graph produces nothing that the detector looks at.

    For `Repeats`, the shortest circle of moves may be too long for its window or its period.
    """
    for place, signals in declared_signals(analysis.graph):
        for signal in signals.signals:
            hits = [_never(analysis, place, signals, detector) for detector in dict.fromkeys(signal.when.detectors)]
            for hit in hits if any(hits) else [_never_changes(signal.when)]:
                if hit is not None:
                    yield f"{place}, {signal.name}", *hit


@rule("GC702", Severity.WARNING, "a signal without an answer that no transition takes")
def unanswered(analysis: Analysis) -> Iterator[Hit]:
    """It is recorded in the history without further effect, and no escape plan has a strategy for it.

    A transition for `*` takes no signals; one for `signal` does.
    """
    edges = [edge for node in analysis.graph.nodes.values() for edge in node.edges]
    plans = plans_in(analysis.graph.escape, walk(analysis.graph.tree))
    for place, signals in declared_signals(analysis.graph):
        for signal in signals.signals:
            is_tried = any({signal.name, EVERY_SIGNAL} & {*plan.signals} for plan in plans)
            if not is_tried and not any(matches(edge.event, signal.event) for edge in edges):
                yield f"{place}, {signal.name}", f"nothing takes {signal.event!r}", _remedy(signal)


@rule("GC703", Severity.WARNING, "retries per task without a field for the task")
def task_unknown(analysis: Analysis) -> Iterator[Hit]:
    """`RetriesOver(per="task")` then counts all calls as one task's, until the chart reports progress."""
    for place, signals in declared_signals(analysis.graph):
        for signal in () if signals.task else signals.signals:
            detectors = signal.when.detectors
            if any(isinstance(detector, RetriesOver) and detector.per == "task" for detector in detectors):
                problem = "it counts retries per task, but the signals name no field with the id of the task"
                yield f"{place}, {signal.name}", problem, "name it with Signals(…, task=), or count per='tool'"


def _remedy(signal: Signal) -> str:
    ways = f"write a transition for {signal.event!r}, give it answer=, or name it in escape="
    return f"{ways}; or allow it if noting it is enough"


def _never(analysis: Analysis, place: str, signals: Signals, detector: Detector) -> tuple[str, str] | None:
    """Return problem and remedy of a detector that can never hold; None if it can.

    The length of the stored trail makes no difference: detectors keep their data in their slots.
    """
    if _is_of_invokes(detector) and not _has_functions(analysis.graph, _states(analysis, place)):
        nobody = "the graph invokes no function" if place == "signals" else "it leads to no function that is invoked"
        return f"{nobody}, so {type(detector).__name__} has nothing to look at", "drop it, or invoke what calls tools"
    if detector.sees & ~PROGRESSED == SAID and not _takes_messages(analysis.graph, signals):
        return "no transition takes an event that said= names, so nobody is heard", "name one that a transition takes"
    match detector:
        case Repeats():
            return _never_repeats(detector) or _never_completes_circle(analysis, place, detector)
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


def _never_changes(symptom: Symptom) -> tuple[str, str] | None:
    """Return problem and remedy of joined detectors that always or never hold. Cost: 2 to the number of detectors."""
    detectors = tuple(dict.fromkeys(symptom.detectors))
    if not 1 < len(symptom.detectors) <= _MOST_JOINED:
        return None
    trials = product((False, True), repeat=len(detectors))
    outcomes = {symptom.holds(dict(zip(detectors, trial, strict=True)).__getitem__) for trial in trials}
    if len(outcomes) > 1:
        return None
    problem = "it always holds, so it never comes to hold" if True in outcomes else "it never holds"
    return f"{problem}, whatever its detectors find", "join others, or drop those that exclude each other"


def _is_of_invokes(detector: Detector) -> bool:
    """Return whether a detector looks only at entries from invokes."""
    seen = detector.sees & ~PROGRESSED
    return isinstance(detector, NoProgress) or (seen != EVERY_TURN and not seen & ~_OF_INVOKES)


def _never_repeats(detector: Repeats) -> tuple[str, str] | None:
    length = detector.period or 1
    times = _times(detector, length)
    if length * times <= detector.window:
        return None
    problem = f"a block of {length}, seen {times} times, does not fit in the window of {detector.window} moves"
    return problem, f"pass window={length * times} at least"


def _never_completes_circle(analysis: Analysis, place: str, detector: Repeats) -> tuple[str, str] | None:
    leaves = _leaves(analysis, place)
    circle = Circles(analysis, analysis.graph.progress_states).shortest(leaves)
    if circle is None:
        if Circles(analysis).shortest(leaves) is None:
            return "no way leads from any state back to it, so nothing is repeated", "drop it"
        return "each way back to a state makes progress, with which it forgets what it saw", _DROP_PROGRESS
    shortest = f"the shortest circle, {_drawn(circle)}, takes {circle.moves} moves"
    if detector.period is not None and detector.period < circle.moves:
        return f"{shortest}, so no block of {detector.period} is repeated", f"pass period={circle.moves} or more"
    length, times = circle.moves, _times(detector, circle.moves)
    if length * times <= detector.window:
        return None
    return f"{shortest}; seen {times} times, it does not fit in the window of {detector.window}", _room(
        detector, length
    )


def _times(detector: Repeats, length: int) -> int:
    """Return the required number of occurrences of a block with `length` moves."""
    return detector.times or (2 if length >= LONG else 3)  # the default of `Repeats`


def _room(detector: Repeats, length: int) -> str:
    """Return the arguments that let `Repeats` detect a circle of `length` moves."""
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
    """Return the leaves where agents with the signals may be."""
    nodes, states = analysis.graph.nodes, _states(analysis, place)
    return [name for name, node in nodes.items() if node.kind.is_leaf and name in states]


def _states(analysis: Analysis, place: str) -> Collection[StateName]:
    """Return the states where agents with the signals may be.

    Signals of an entry point apply to agents that started there or took over work there. If their other states are
    unknown, as after a migration or an escape, they may be in any state.
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


def _takes_messages(graph: AnyGraph, signals: Signals) -> bool:
    """Return whether a transition takes an event that may carry a message: one named by `said=`, else any event."""
    if signals.said is None:
        return True
    edges = [edge for node in graph.nodes.values() for edge in node.edges]
    return any(matches(edge.event, event) for edge in edges for event in signals.said)


def _never_lacks(graph: AnyGraph, place: str, detector: Lacks) -> tuple[str, str] | None:
    doors = (door for door in graph.entry_points.values() if _is_watched_by(door, place))
    variants = [detector.of_entry_point(graph.profile_at(door.name)) for door in doors]
    if variants and all(variant.has is None for variant in variants):
        return (
            "no entry point with this signal has a profile",
            "give it one, or say with has= what it can do",
        )
    if not detector.counted or _has_functions(graph, graph.nodes) or any(variant.may_lack for variant in variants):
        return None
    return f"each entry point has every {detector.what} that the rules name", "drop it, or add a rule"


def _is_watched_by(door: EntryPoint, place: str) -> bool:
    return door.signals is None if place == "signals" else place == f"entry point {door.name!r}, signals"


def _has_functions(graph: AnyGraph, states: Collection[StateName]) -> bool:
    """Return whether one of the states invokes a function."""
    return any(not invoke.agent for state in states for invoke in graph.nodes[state].invokes)

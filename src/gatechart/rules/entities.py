"""Rules about the entities of packets: the fields they may fill, guards that depend on these, and gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gatechart.context import has_any_field
from gatechart.errors.root import listing
from gatechart.graph.callables import callable_name
from gatechart.graph.compile import DeclaredHandoff, askings
from gatechart.graph.definition import EntryPoint
from gatechart.graph.graph import AnyGraph
from gatechart.graph.packet_fields import own_fields, required_fields
from gatechart.graph.selection import Best
from gatechart.rules.analysis import Analysis
from gatechart.rules.finding import Hit, Severity, rule
from gatechart.rules.handoffs import place_of
from gatechart.rules.states import NamesFields


@rule("GC505", Severity.NOTE, "an entry point with fields that entities may fill")
def filled_by_entities(analysis: Analysis) -> Iterator[Hit]:
    """Entities are values from outside: words of a user, arguments of a model.

    They fill only declared fields, and never replace a value of the agent that hands the work on.
    """
    for entry in analysis.graph.entry_points.values():
        if entry.entities:
            problem = f"a user's words or a model's arguments may fill {listing(entry.entities)} here"
            remedy = "declare only fields that a user may decide, and allow this with the reason"
            yield f"entry point {entry.name!r}", problem, remedy


@rule("GC506", Severity.WARNING, "a guard that reads a field which entities may fill")
def guarded_by_entities(analysis: Analysis) -> Iterator[Hit]:
    """A user's words then decide which transition an agent takes.

    Covers guards of the entry point, and of transitions in states that it leads to. Only expressions declare the fields
    that they read. Plain functions, and fields that a `maps` function fills, are left alone.
    """
    graph = analysis.graph
    for entry in graph.entry_points.values():
        fields = _context_fields(graph, entry)
        if not fields:
            continue
        for place, guard in _guards(analysis, entry):
            read = guard.context_fields if isinstance(guard, NamesFields) else ()
            reads = tuple(name for name in fields if name in read)
            if reads:
                problem = f"{callable_name(guard)} reads {listing(reads)}, which entities may fill at {entry.name!r}"
                yield (
                    place,
                    problem,
                    f"remove it from entities= of {entry.name!r}, or allow this if a user may decide it",
                )


def _context_fields(graph: AnyGraph, entry: EntryPoint) -> tuple[str, ...]:
    """Return the fields of the context that entities may fill at an entry point, directly or through the payload."""
    if callable(entry.maps):
        return ()
    maps = entry.maps or {}
    takes = entry.takes.model_fields if entry.takes and not getattr(entry.takes, "fits_every_context", False) else {}
    through = (maps.get(name) if entry.maps is not None else name for name in entry.entities if name in takes)
    direct = (name for name in entry.entities if name in own_fields(graph.context))
    return tuple(dict.fromkeys((*filter(None, through), *direct)))


def _guards(analysis: Analysis, entry: EntryPoint) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the guards of an entry point and of the transitions reachable from it, with their places."""
    if entry.guard is not None:
        yield f"entry point {entry.name!r}", entry.guard
    for name, node in analysis.graph.nodes.items():
        for edge in node.edges if name in analysis.reached[entry.name] or not node.ancestors else ():
            if edge.ask is not None:
                yield f"transition {edge.label!r}", edge.ask.function


@rule("GC507", Severity.NOTE, "a handoff that leaves a required field of the payload to entities that may not fill it")
def nothing_fills(analysis: Analysis) -> Iterator[Hit]:
    """Only if the graphs of the application are known, as for GC503.

    The source's context has no field of that name, and the entry point does not declare it with `entities`. The offer
    is rejected, unless the internal state of an earlier agent has the value. Packets that a function builds are left
    alone.
    """
    graph = analysis.graph
    doors = {(owner.name, entry.name): entry for owner, entry in analysis.doors}
    for asking in askings(graph.nodes) if not has_any_field(graph.context) else ():
        for target in _targets(asking) if asking.handoff.packet is None else ():
            entry = doors.get(target)
            lacking = () if entry is None else sorted(required_fields(entry).difference(graph.context.model_fields))
            empty = tuple(name for name in lacking if entry is not None and name not in entry.entities)
            if empty:
                graph_name, door = target
                problem = f"{graph_name!r} requires {listing(empty)} at {door!r}, which {_context(graph)} does not have"
                remedy = f"add the field, let packet= bring it, or declare it with entities= at {door!r}"
                yield place_of(asking.state, asking.edge), problem, remedy


def _targets(asking: DeclaredHandoff) -> Iterator[tuple[str, str]]:
    """Yield graph and entry point of a handoff's target, then of its fallbacks."""
    handoff = asking.handoff
    if not isinstance(handoff.to, Best):
        yield handoff.to, handoff.at
    yield from ((step.graph, step.at) for step in handoff.fallbacks.targets) if handoff.fallbacks else ()


def _context(graph: AnyGraph) -> str:
    return f"the context {graph.context.__name__} of {graph.name!r}"

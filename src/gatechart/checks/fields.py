"""Fields of the context: those that expressions use, and those that an agent cannot begin without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, runtime_checkable

from gatechart.checks.finding import CANNOT_START, UNDESCRIBED, UNKNOWN_FIELD, Finding
from gatechart.checks.steps import steps_of
from gatechart.errors import listing, suggestion
from gatechart.graph import EntryPoint, Node, StateTransitionGraph, callable_name


@runtime_checkable
class NamesFields(Protocol):
    """A guard or an action made from an expression, which tells what of the context it uses."""

    @property
    def context_fields(self) -> tuple[str, ...]:
        """The names of fields, without what lies inside them."""
        ...


def field_findings(graph: StateTransitionGraph) -> Iterator[Finding]:
    """GC301. What is a plain function tells nothing and is not looked into."""
    for entry in graph.entry_points.values():
        yield from _unknown_fields(graph, f"entry point {entry.name!r}", entry.guard)
    for node in graph.nodes.values():
        for edge in node.edges:
            yield from _unknown_fields(graph, f"transition {edge.label!r}", edge.ask.function if edge.ask else None)
        yield from _unknown_in_state(graph, node)


def _unknown_in_state(graph: StateTransitionGraph, node: Node) -> Iterator[Finding]:
    for step in dict.fromkeys((*steps_of(node), *([node.data] if node.data else []))):
        yield from _unknown_fields(graph, f"state {node.name!r}", step.function)


def _unknown_fields(graph: StateTransitionGraph, place: str, function: Callable[..., Any] | None) -> Iterator[Finding]:
    if not isinstance(function, NamesFields):
        return
    fields = tuple(graph.context.model_fields)
    for name in dict.fromkeys(function.context_fields):
        if name not in fields:
            problem = f"{callable_name(function)} uses {name!r}, which {graph.context.__name__} does not have"
            yield UNKNOWN_FIELD.at(place, problem, suggestion(name, fields) if fields else "add the field")


def entry_findings(graph: StateTransitionGraph) -> Iterator[Finding]:
    """GC302 and GC303."""
    for entry in graph.entry_points.values():
        place = f"entry point {entry.name!r}"
        if not entry.description:
            yield UNDESCRIBED.at(place, "it has no description", "say in a sentence who begins here, and when")
        missing = _missing(graph, entry)
        if missing:
            problem = f"nothing fills {listing(missing)}, which {graph.context.__name__} requires"
            yield CANNOT_START.at(place, problem, "give defaults, or let takes= and maps= bring them")


def _missing(graph: StateTransitionGraph, entry: EntryPoint) -> tuple[str, ...]:
    """The required fields that nothing fills; none where a function may fill them, which cannot be known."""
    validators = graph.context.__pydantic_decorators__.model_validators.values()
    if callable(entry.maps) or any(each.info.mode != "after" for each in validators):
        return ()
    takes = entry.takes.model_fields if entry.takes else ()
    filled = set(takes if entry.maps is None else entry.maps.values())
    return tuple(name for name, info in graph.context.model_fields.items() if info.is_required() and name not in filled)

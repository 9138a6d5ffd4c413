"""The map of several graphs: their entry points, and the work that they hand on to each other. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gatechart.drawing.naming import CHOSEN, event_text, guard_text, instead_of, titles_of
from gatechart.drawing.outline import door_of
from gatechart.drawing.shapes import Card, Door, Map, Route, Way
from gatechart.drawing.trail import read_trail
from gatechart.graph import AnyGraph, Asking, askings
from gatechart.values import Reason


def map_of(graphs: Sequence[AnyGraph]) -> Map:
    """Return the map of several graphs; what is handed on to others leads to cards on which only the door stands."""
    known = {graph.name: graph for graph in graphs}
    routes = tuple(route for graph in known.values() for route in _routes(graph))
    others = dict.fromkeys(each.graph for each in routes if each.graph not in known)
    cards = (_card(graph, routes) for graph in known.values())
    return Map((*cards, *(_strange_card(name, routes) for name in others)), routes)


def _card(graph: AnyGraph, routes: Sequence[Route]) -> Card:
    nothing = read_trail(graph, ())
    doors = tuple(door_of(graph, entry, nothing) for entry in graph.entry_points.values())
    strange = (_strange_door(each) for each in _aimed_at(graph.name, routes) if each not in graph.entry_points)
    return Card(graph.name, graph.version, graph.description, (*doors, *strange))


def _strange_card(name: str, routes: Sequence[Route]) -> Card:
    return Card(name, "", "", tuple(map(_strange_door, _aimed_at(name, routes))), is_known=False)


def _strange_door(name: str) -> Door:
    return Door(name, name, (), "", "", (), is_known=False)


def _aimed_at(graph: str, routes: Sequence[Route]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(way.entry_point for route in routes if route.graph == graph for way in route.ways))


def _routes(graph: AnyGraph) -> Iterator[Route]:
    """Yield one for each graph to which this one hands on, with every way of doing so, in document order."""
    ways: dict[str, dict[Way, None]] = {}
    titles = titles_of(graph.nodes)
    for asking in askings(graph.nodes):
        event, guard = _occasion(graph, asking, titles)
        handoff = asking.handoff
        reason = "" if handoff.reason in (None, Reason.OTHER) else handoff.reason.value
        way = Way(titles[asking.state], event, guard, handoff.at or CHOSEN, handoff.mode.value, reason)
        ways.setdefault(handoff.target, {})[way] = None
        for target, at in instead_of(handoff):
            instead = Way(titles[asking.state], "", "", at, handoff.mode.value, f"if not {handoff.target}")
            ways.setdefault(target, {})[instead] = None
    yield from (Route(graph.name, target, tuple(each)) for target, each in ways.items())


def _occasion(graph: AnyGraph, asking: Asking, titles: dict[str, str]) -> tuple[str, str]:
    """Return the event on which work is handed on, in words, and the guard that is asked."""
    if asking.edge is not None:
        node = graph.nodes[asking.state]
        return event_text(node, asking.edge, graph.nodes, titles), guard_text(node, asking.edge)
    return ("while active" if asking.invoke else "exit" if asking.is_left else "entry"), ""

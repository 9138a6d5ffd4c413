"""The map of several graphs: their entry points, and the handoffs between them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from gatechart.drawing.naming import asks_for_people, best_text, event_text, guard_text, stated_needs, titles_of
from gatechart.drawing.outline import door_of
from gatechart.drawing.shapes import Card, Door, HandoffLine, HandoffRoute, Map
from gatechart.drawing.trail import read_trail
from gatechart.graph.compile import DeclaredHandoff, askings
from gatechart.graph.graph import AnyGraph
from gatechart.graph.handoff import Fallback, Human, OtherGraph
from gatechart.graph.selection import Best
from gatechart.values.handoffs import Reason

_SIGNAL: Final = "«signal» "  # prefix of the text for a signal's event


def map_of(graphs: Sequence[AnyGraph], loads: Mapping[str, str] = MappingProxyType({})) -> Map:
    """Return the map of several graphs. Handoffs to a graph that is not given lead to a card with only its doors.

    A selection leads to each entry point whose profile may match one of its rules.
    loads: current work of entry points, in words, by their ids in the directory.
    """
    known = {graph.name: graph for graph in graphs}
    routes = tuple(route for graph in known.values() for route in _routes(graph, tuple(known.values())))
    others = dict.fromkeys(route.graph for route in routes if route.graph not in known)
    cards = (_card(graph, routes, loads) for graph in known.values())
    return Map((*cards, *(_unknown_card(name, routes) for name in others)), routes)


def _card(graph: AnyGraph, routes: Sequence[HandoffRoute], loads: Mapping[str, str]) -> Card:
    no_trail = read_trail(graph, ())
    doors = tuple(
        replace(door_of(graph, entry, no_trail), load=loads.get(f"{graph.name}.{entry.name}", ""))
        for entry in graph.entry_points.values()
    )
    unknown = (_unknown_door(name) for name in _targets_in(graph.name, routes) if name not in graph.entry_points)
    return Card(graph.name, graph.version, graph.description, (*doors, *unknown))


def _unknown_card(name: str, routes: Sequence[HandoffRoute]) -> Card:
    return Card(name, "", "", tuple(map(_unknown_door, _targets_in(name, routes))), is_known=False)


def _unknown_door(name: str) -> Door:
    return Door(name, name, (), "", "", (), is_known=False)


def _targets_in(graph: str, routes: Sequence[HandoffRoute]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(way.entry_point for route in routes if route.graph == graph for way in route.ways))


def _routes(graph: AnyGraph, known: Sequence[AnyGraph]) -> Iterator[HandoffRoute]:
    """Yield a route for each graph that this graph hands work to, with all its handoffs, in document order."""
    ways: dict[str, dict[HandoffLine, None]] = {}
    titles = titles_of(graph.nodes)
    for asking in askings(graph.nodes):
        event, guard = _occasion(graph, asking, titles)
        handoff = asking.handoff
        reason = "" if handoff.reason in (None, Reason.OTHER) else handoff.reason.value
        way = HandoffLine(titles[asking.state], event, guard, handoff.at, handoff.mode.value, reason)
        instead = HandoffLine(titles[asking.state], "", "", "", handoff.mode.value, f"if not {handoff.target}")
        steps = handoff.fallbacks.steps if handoff.fallbacks else ()
        tried = [(handoff.best or OtherGraph(handoff.target, at=handoff.at), way), *((step, instead) for step in steps)]
        for target, attempt in tried:
            for name, at, chosen in _ends(graph, target, known):
                # A selection has many ends, so its occasions are omitted here; the drawing of its graph shows them.
                short = {"event": "", "guard": "", "reason": attempt.reason if attempt is instead else ""}
                shown = replace(attempt, entry_point=at, chosen=chosen, **(short if chosen else {}))
                ways.setdefault(name, {})[shown] = None
    yield from (HandoffRoute(graph.name, target, _joined(handoffs)) for target, handoffs in ways.items())


def _joined(ways: Iterable[HandoffLine]) -> tuple[HandoffLine, ...]:
    """Join the handoffs on several signals with the same target into one, so that they do not crowd out others."""
    alike: dict[HandoffLine, list[HandoffLine]] = {}
    for way in ways:
        is_answer = way.event.startswith(_SIGNAL)
        alike.setdefault(replace(way, event=_SIGNAL, reason="") if is_answer else way, []).append(way)
    return tuple(group[0] if len(group) == 1 else _all_signals(group) for group in alike.values())


def _all_signals(answers: Sequence[HandoffLine]) -> HandoffLine:
    names = ", ".join(dict.fromkeys(way.event.removeprefix(_SIGNAL) for way in answers))
    reasons = {way.reason for way in answers}
    return replace(answers[0], event=f"{_SIGNAL}{names}", reason=answers[0].reason if len(reasons) == 1 else "")


def _ends(graph: AnyGraph, target: Fallback, known: Sequence[AnyGraph]) -> Iterator[tuple[str, str, str]]:
    """Yield graph, entry point and the selection in words, for each entry point that a target may lead to.

    A selection that matches no entry point leads to a separate card.
    """
    if isinstance(target, OtherGraph | Human):
        yield target.graph, target.at, ""
    elif isinstance(target, Best):
        title, needed = best_text(target)
        others = (other for other in known if other is not graph)
        matches = [(other.name, at, met) for other in others for at, met in _matching(other, target)]
        if matches:
            yield from ((name, at, f"{title} {met or needed}") for name, at, met in matches)
        else:
            yield title, needed, ""


def _matching(graph: AnyGraph, best: Best) -> Iterator[tuple[str, str]]:
    """Yield the entry points that a selection may choose, with the needs that they meet, in words.

    If the selection declares no needs, it may choose any entry point with a profile. A selection of people matches
    none, as people are registered at run time.
    """
    if asks_for_people(best):
        return
    needed = stated_needs(best)
    for name in graph.entry_points:
        profile = graph.profile_at(name)
        met = [] if profile is None else [needs.text for needs in needed if needs.are_met_by(profile)]
        if best.entries and f"{graph.name}.{name}" not in best.entries:
            continue
        if met or (profile is not None and not needed):
            yield name, " · ".join(met)


def _occasion(graph: AnyGraph, asking: DeclaredHandoff, titles: dict[str, str]) -> tuple[str, str]:
    """Return the event of a handoff in words, and its guard."""
    if asking.edge is not None:
        node = graph.nodes[asking.state]
        return event_text(node, asking.edge, graph.nodes, titles), guard_text(node, asking.edge)
    return ("while active" if asking.invoke else "exit" if asking.is_left else "entry"), ""

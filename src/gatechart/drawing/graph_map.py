"""The map of several graphs: their entry points, and the work that they hand on to each other. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from gatechart.drawing.naming import asks_for_people, best_text, event_text, guard_text, stated_needs, titles_of
from gatechart.drawing.outline import door_of
from gatechart.drawing.shapes import Card, Door, Map, Route, Way
from gatechart.drawing.trail import read_trail
from gatechart.graph import AnyGraph, Asking, Best, Human, OtherGraph, askings
from gatechart.graph.handoff import Fallback
from gatechart.values import Reason

_SIGNAL: Final = "«signal» "  # how the text of a signal's event begins


def map_of(graphs: Sequence[AnyGraph], loads: Mapping[str, str] = MappingProxyType({})) -> Map:
    """Return the map of several graphs; what is handed on to others leads to cards on which only the door stands.

    What a selection finds leads to each entry point whose profile may fit, wherever a rule of it applies.
    loads: the work that entry points have, in words, by their ids in the directory.
    """
    known = {graph.name: graph for graph in graphs}
    routes = tuple(route for graph in known.values() for route in _routes(graph, tuple(known.values())))
    others = dict.fromkeys(each.graph for each in routes if each.graph not in known)
    cards = (_card(graph, routes, loads) for graph in known.values())
    return Map((*cards, *(_strange_card(name, routes) for name in others)), routes)


def _card(graph: AnyGraph, routes: Sequence[Route], loads: Mapping[str, str]) -> Card:
    nothing = read_trail(graph, ())
    doors = tuple(
        replace(door_of(graph, entry, nothing), load=loads.get(f"{graph.name}.{entry.name}", ""))
        for entry in graph.entry_points.values()
    )
    strange = (_strange_door(each) for each in _aimed_at(graph.name, routes) if each not in graph.entry_points)
    return Card(graph.name, graph.version, graph.description, (*doors, *strange))


def _strange_card(name: str, routes: Sequence[Route]) -> Card:
    return Card(name, "", "", tuple(map(_strange_door, _aimed_at(name, routes))), is_known=False)


def _strange_door(name: str) -> Door:
    return Door(name, name, (), "", "", (), is_known=False)


def _aimed_at(graph: str, routes: Sequence[Route]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(way.entry_point for route in routes if route.graph == graph for way in route.ways))


def _routes(graph: AnyGraph, known: Sequence[AnyGraph]) -> Iterator[Route]:
    """Yield one for each graph to which this one hands on, with every way of doing so, in document order."""
    ways: dict[str, dict[Way, None]] = {}
    titles = titles_of(graph.nodes)
    for asking in askings(graph.nodes):
        event, guard = _occasion(graph, asking, titles)
        handoff = asking.handoff
        reason = "" if handoff.reason in (None, Reason.OTHER) else handoff.reason.value
        way = Way(titles[asking.state], event, guard, handoff.at, handoff.mode.value, reason)
        instead = Way(titles[asking.state], "", "", "", handoff.mode.value, f"if not {handoff.target}")
        steps = handoff.fallbacks.steps if handoff.fallbacks else ()
        tried = [(handoff.best or OtherGraph(handoff.target, at=handoff.at), way), *((step, instead) for step in steps)]
        for target, each in tried:
            for name, at, chosen in _ends(graph, target, known):
                # What is chosen has many ends, so it is told without the occasions, which its graph's own drawing has.
                short = {"event": "", "guard": "", "reason": each.reason if each is instead else ""} if chosen else {}
                ways.setdefault(name, {})[replace(each, entry_point=at, chosen=chosen, **short)] = None
    yield from (Route(graph.name, target, _joined(each)) for target, each in ways.items())


def _joined(ways: Iterable[Way]) -> tuple[Way, ...]:
    """Let answers to several signals that lead to the same place be one way, so that they hide no other."""
    alike: dict[Way, list[Way]] = {}
    for way in ways:
        is_answer = way.event.startswith(_SIGNAL)
        alike.setdefault(replace(way, event=_SIGNAL, reason="") if is_answer else way, []).append(way)
    return tuple(each[0] if len(each) == 1 else _all_signals(each) for each in alike.values())


def _all_signals(answers: Sequence[Way]) -> Way:
    names = ", ".join(dict.fromkeys(each.event.removeprefix(_SIGNAL) for each in answers))
    reasons = {each.reason for each in answers}
    return replace(answers[0], event=f"{_SIGNAL}{names}", reason=answers[0].reason if len(reasons) == 1 else "")


def _ends(graph: AnyGraph, target: Fallback, known: Sequence[AnyGraph]) -> Iterator[tuple[str, str, str]]:
    """Yield graph and entry point of each end of a way to a target, with the words by which it is chosen.

    Where nobody fits, a selection leads to a card of its own.
    """
    if isinstance(target, OtherGraph | Human):
        yield target.graph, target.at, ""
    elif isinstance(target, Best):
        title, needed = best_text(target)
        others = (each for each in known if each is not graph)
        found = [(each.name, at, met) for each in others for at, met in _fitting(each, target)]
        if found:
            yield from ((name, at, f"{title} {met or needed}") for name, at, met in found)
        else:
            yield title, needed, ""


def _fitting(graph: AnyGraph, best: Best) -> Iterator[tuple[str, str]]:
    """Yield the entry points that may be found, with the needs that they meet, in words.

    If the needs leave open what the work is about, each that has a profile may be. Where people are
    looked for there is none, as they are registered at run time.
    """
    if asks_for_people(best):
        return
    needed = stated_needs(best)
    for name in graph.entry_points:
        profile = graph.profile_at(name)
        met = [] if profile is None else [each.text for each in needed if each.are_met_by(profile)]
        if best.entries and f"{graph.name}.{name}" not in best.entries:
            continue
        if met or (profile is not None and not needed):
            yield name, " · ".join(met)


def _occasion(graph: AnyGraph, asking: Asking, titles: dict[str, str]) -> tuple[str, str]:
    """Return the event on which work is handed on, in words, and the guard that is asked."""
    if asking.edge is not None:
        node = graph.nodes[asking.state]
        return event_text(node, asking.edge, graph.nodes, titles), guard_text(node, asking.edge)
    return ("while active" if asking.invoke else "exit" if asking.is_left else "entry"), ""

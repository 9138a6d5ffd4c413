"""Rules about transitions and the events that they wait for, from the graph alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Final, Protocol, TypeAlias, runtime_checkable

from gatechart.errors.root import nearest
from gatechart.graph.compile import ROOT, Edge, Kind, Node, steps_of, walk
from gatechart.graph.definition import OnRefusal, Precedence
from gatechart.graph.descriptors import EVERY, prefixes_of, words_of
from gatechart.graph.escape_edges import plans_in
from gatechart.graph.graph import AnyGraph
from gatechart.graph.precedence import NOT_ANY, event_words
from gatechart.rules.analysis import Analysis, TransitionPath, is_taken, is_together, shadowed
from gatechart.rules.finding import Hit, Severity, rule
from gatechart.values.alarms import ALARM
from gatechart.values.escapes import ESCAPE
from gatechart.values.findings import FOUND, FindingKind
from gatechart.values.framework import (
    is_framework_event,
)
from gatechart.values.names import ERROR_REFUSED, OFFERED, EventName, StateName, is_reserved
from gatechart.values.transfers import TRANSFER


@rule("GC201", Severity.WARNING, "a transition that an earlier one without a guard always pre-empts")
def forestalled(analysis: Analysis) -> Iterator[Hit]:
    """Only among the transitions of one state: a transition of an outer state also serves the other states inside."""
    for node in analysis.graph.nodes.values():
        for edge, before in shadowed(analysis.graph, node):
            problem = f"it is never taken: {before.label!r} is asked first and has no guard"
            yield f"transition {edge.label!r}", problem, "guard the earlier one, reorder them, or drop this one"


# Cycles of eventless transitions

Arcs: TypeAlias = dict[StateName, frozenset[StateName]]  # from a state with eventless transitions to other such states


@rule("GC202", Severity.ERROR, "a cycle of eventless transitions without guards")
def endless(analysis: Analysis) -> Iterator[Hit]:
    """A turn that enters it fails at the graph's limit of microsteps. Of cycles that share a state, one is reported."""
    for cycle in _endless_cycles(analysis):
        problem = f"eventless transitions lead round {_ring(cycle)}, and no guard ends it"
        yield f"state {cycle[0]!r}", problem, "guard one of them, or let it wait for an event"


@rule("GC203", Severity.WARNING, "a cycle of eventless transitions that only guards can end")
def guarded_cycle(analysis: Analysis) -> Iterator[Hit]:
    """A turn stays in the cycle while the guards hold. Of cycles that share a state, one is reported."""
    reported = {state for cycle in _endless_cycles(analysis) for state in cycle}
    rest = {source: several for source, several in _eventless(analysis).items() if source not in reported}
    for cycle in _cycles(analysis.graph, _arcs(analysis.graph, rest)):
        problem = f"eventless transitions lead round {_ring(cycle)} for as long as their guards agree"
        remedy = "let one of them wait for an event, or allow it if the guards are sure to end it"
        yield f"state {cycle[0]!r}", problem, remedy


def _eventless(analysis: Analysis) -> dict[StateName, tuple[TransitionPath, ...]]:
    eventless = {
        source: tuple(way for way in several if way.edge.event is None) for source, several in analysis.ways.items()
    }
    return {source: several for source, several in eventless.items() if several}


def _endless_cycles(analysis: Analysis) -> Iterator[tuple[StateName, ...]]:
    certain = {source: several[:1] for source, several in _eventless(analysis).items() if several[0].edge.ask is None}
    return _cycles(analysis.graph, _arcs(analysis.graph, certain))


def _ring(cycle: tuple[StateName, ...]) -> str:
    return " → ".join((*cycle, cycle[0]))


def _arcs(graph: AnyGraph, eventless: Mapping[StateName, tuple[TransitionPath, ...]]) -> Arcs:
    return {
        source: frozenset(name for way in several for name in _active_after(graph, source, way) if name in eventless)
        for source, several in eventless.items()
    }


def _active_after(graph: AnyGraph, source: StateName, way: TransitionPath) -> Iterator[StateName]:
    """Yield the states that the transition can make active, and its source if that stays active.

    Other states that stay active need no arc. If a cycle takes a state's transition repeatedly, either another
    transition of the cycle enters the state each time, or its own transition never leaves it.
    """
    if way.stays_in(source):
        yield source
    yield from way.enters
    for name in way.enters:
        if graph.nodes[name].kind is Kind.HISTORY:
            parent = graph.nodes[name].parent
            yield from (node.name for node in graph.nodes.values() if parent in node.ancestors)


def _cycles(graph: AnyGraph, arcs: Arcs) -> Iterator[tuple[StateName, ...]]:
    """Yield cycles without common states, each from its first state in document order. Cost: linear for each cycle."""
    while cycle := _a_cycle(arcs):
        first = cycle.index(min(cycle, key=lambda name: graph.nodes[name].order))
        yield (*cycle[first:], *cycle[:first])
        removed = frozenset(cycle)
        arcs = {state: others - removed for state, others in arcs.items() if state not in removed}


def _a_cycle(arcs: Arcs) -> tuple[StateName, ...]:
    """Return the states of one cycle, in order; an empty tuple if there is no cycle."""
    try:
        TopologicalSorter(arcs).prepare()
    except CycleError as error:
        backwards: list[StateName] = error.args[1]
        return tuple(reversed(backwards[1:]))
    return ()


# Events that nothing raises, or that nothing waits for


@runtime_checkable
class RaisesEvents(Protocol):
    """An action that declares the events that it raises within the turn."""

    raises: tuple[EventName, ...]


_DONE: Final = "done.state."
_FOUND_BY_WATCHDOG: Final = tuple(f"{FOUND}{kind}" for kind in FindingKind)

_ANYWHERE: Final = (
    "error.execution",
    "error.communication",
    "error.platform",
    "error.mail",
    *(f"handoff.{word}" for word in ("accepted", "rejected", "completed", "failed", "expired", "cancelled")),
    "handoff.withdrawn",
    *_FOUND_BY_WATCHDOG,
)
"""Framework events that may arrive in any state. Handoff events may, as an operator can hand on any agent's work."""


@rule("GC204", Severity.WARNING, "a transition that waits for an event that nothing raises")
def never_raised(analysis: Analysis) -> Iterator[Hit]:
    """Only events with reserved names: any other event may be sent from outside."""
    graph = analysis.graph
    own = own_events(graph)
    raisers = _by_descriptor((*own, *_raised_anywhere(graph)))
    known = tuple(dict.fromkeys((*(event for event, _ in own), *_escapes(graph), *_FOUND_BY_WATCHDOG)))
    for node in graph.nodes.values():
        for event in dict.fromkeys(edge.event for edge in node.edges if edge.event is not None):
            for name in (event,) if event in raisers else words_of(event):
                owners = raisers.get(name, [])
                if _is_from_framework(graph, name) and not any(
                    is_together(graph, node.name, owner) for owner in owners
                ):
                    yield f"state {node.name!r}, event {event!r}", *_not_raised(name, owners, known)


def _by_descriptor(events: Iterable[tuple[EventName, StateName]]) -> dict[EventName, list[StateName]]:
    """Return the owners of events, by every word that matches the event."""
    owners: dict[EventName, list[StateName]] = {}
    for event, owner in events:
        for word in dict.fromkeys((event, *prefixes_of(event))):
            owners.setdefault(word, []).append(owner)
    return owners


def _is_from_framework(graph: AnyGraph, name: EventName) -> bool:
    """Return whether the framework sends the event only for a cause in the graph, unlike an alarm.

    The graphs of the framework receive their events from elsewhere.
    """
    if graph.is_framework and is_framework_event(name):
        return False
    return is_reserved(name) and (not name.startswith(ALARM) or name.startswith(FOUND))


def _raised_anywhere(graph: AnyGraph) -> Iterator[tuple[EventName, StateName]]:
    """Yield the reserved events that may arrive in any state, each with the root as its owner."""
    yield from ((event, ROOT) for event in _ANYWHERE)
    yield from ((f"{OFFERED}{door}", ROOT) for door in graph.entry_points)
    for signals in (graph.signals, *(door.signals for door in graph.entry_points.values())):
        yield from ((signal.event, ROOT) for signal in (signals.signals if signals else ()))
    yield from ((event, ROOT) for event in _escapes(graph))
    if graph.on_refusal is OnRefusal.EVENT:
        yield ERROR_REFUSED, ROOT
    for node in graph.nodes.values():
        yield from ((event, ROOT) for event in _raised(node) if is_reserved(event))


def _escapes(graph: AnyGraph) -> Iterator[EventName]:
    """Yield the events that the chart may handle in place of strategies of its escape plans."""
    for plan in plans_in(graph.escape, walk(graph.tree)):
        yield from (strategy.event for strategy in plan.every)


def _not_raised(name: EventName, owners: list[StateName], known: tuple[str, ...]) -> tuple[str, str]:
    if owners:
        problem = f"{name!r} comes while {owners[0]!r} is active, and then this state is not"
        return problem, f"wait for it in {owners[0]!r}, or in a state around it"
    near = nearest(name, known)
    return f"nothing raises {name!r}", f"did you mean {near[0]!r}?" if near else _remedy(name)


def _remedy(name: EventName) -> str:
    if name == ERROR_REFUSED:
        return "declare the graph with on_refusal=OnRefusal.EVENT"
    if name.startswith(("done.", "error.invoke", "progress.", "after.", "every.")):
        return "name an invoke, a delay or a state with a final child as the graph does"
    if f"{name}.".startswith(ESCAPE):
        return "name a strategy of an escape plan, such as 'escape.reroute' for Reroute()"
    if name.startswith(TRANSFER):
        return "name a target of the state's transfers as they do"
    return "only the framework sends events with such names, and it sends none called that; choose another name"


def own_events(graph: AnyGraph) -> tuple[tuple[EventName, StateName], ...]:
    """Return the events that the graph itself causes, each with the state that must be active; the root for any."""
    return tuple(event for node in graph.nodes.values() for event in _own_events(graph, node))


def _own_events(graph: AnyGraph, node: Node) -> Iterator[tuple[EventName, StateName]]:
    for invoke in node.invokes:
        yield f"done.invoke.{invoke.id}", node.name
        yield f"error.invoke.{invoke.id}", node.name
        yield f"progress.invoke.{invoke.id}", node.name
    for to in node.transfers.targets if node.transfers else ():
        yield to.event, node.name
    for event, *_ in (*node.timers, *node.recurring):
        yield event, node.name
    if node.name != ROOT and not node.is_end and _can_be_done(graph, node.name):
        yield f"{_DONE}{node.name}", ROOT


def _can_be_done(graph: AnyGraph, name: StateName) -> bool:
    node = graph.nodes[name]
    if node.kind is Kind.PARALLEL:
        return all(_can_be_done(graph, child) for child in node.children)
    return any(graph.nodes[child].kind is Kind.FINAL for child in node.children)


@rule("GC205", Severity.WARNING, "an event that is raised and that no transition waits for")
def never_awaited(analysis: Analysis) -> Iterator[Hit]:
    """Only timers, and events that actions declare."""
    awaited = _awaited(analysis.graph)
    for node in analysis.graph.nodes.values():
        for event in dict.fromkeys((*(event for event, *_ in (*node.timers, *node.recurring)), *_raised(node))):
            if not is_taken(event, awaited):
                problem = f"it raises {event!r}, and no transition waits for that"
                yield f"state {node.name!r}", problem, "add one, or drop it"


@rule("GC206", Severity.NOTE, "an invoke whose end no transition waits for")
def result_unused(analysis: Analysis) -> Iterator[Hit]:
    """The result of the invoke is lost. After a failure the agent stays in the state and does not continue.

    A failure is left alone if the state, or one of its ancestors, has a timer.
    """
    awaited = _awaited(analysis.graph)
    for node in analysis.graph.nodes.values():
        for invoke in node.invokes:
            if not is_taken(f"done.invoke.{invoke.id}", awaited):
                problem = f"no transition waits for 'done.invoke.{invoke.id}'"
                yield f"state {node.name!r}", problem, "add one, or allow it if the result does not matter"
            elif not is_taken(f"error.invoke.{invoke.id}", awaited) and not _has_timer(node, analysis.graph):
                problem = f"no transition waits for 'error.invoke.{invoke.id}', and the agent stays here if it fails"
                yield f"state {node.name!r}", problem, "add one, or a timer; or allow it if it cannot fail"


def _has_timer(node: Node, graph: AnyGraph) -> bool:
    return any(graph.nodes[name].timers for name in (node.name, *node.ancestors))


@rule("GC207", Severity.WARNING, "a transition that waits for an event that is not declared")
def undeclared(analysis: Analysis) -> Iterator[Hit]:
    """Only in graphs that declare events. Patterns such as `error.*` and the framework's own events are left alone."""
    graph = analysis.graph
    if not graph.event_types:
        return
    for node in graph.nodes.values():
        for event in dict.fromkeys(edge.event for edge in node.edges if edge.event is not None):
            for name in (word for word in event.split() if _needs_a_type(graph, event, word)):
                near = nearest(name, tuple(graph.event_types))
                remedy = f"did you mean {near[0]!r}?" if near else "declare it in `events`"
                yield f"state {node.name!r}, event {event!r}", f"{name!r} is not declared", remedy


def _needs_a_type(graph: AnyGraph, descriptor: EventName, name: EventName) -> bool:
    """Return whether a word of a descriptor names a single event that is neither declared nor reserved."""
    if name == EVERY or name.endswith((".*", ".")) or is_reserved(descriptor) or is_reserved(name):
        return False
    return not any(declared == name or declared.startswith(f"{name}.") for declared in graph.event_types)


@rule("GC208", Severity.WARNING, "a declared event that no transition takes")
def never_taken(analysis: Analysis) -> Iterator[Hit]:
    """A sender that relies on the declaration would get a refusal."""
    awaited = _awaited(analysis.graph)
    for event in analysis.graph.event_types:
        if not is_taken(event, awaited):
            yield f"event {event!r}", "no transition waits for it", "add one, or drop the declaration"


@rule("GC209", Severity.WARNING, "a deferred event that the same state always takes")
def never_deferred(analysis: Analysis) -> Iterator[Hit]:
    """A state's transitions take precedence over its deferrals, so one without a guard leaves nothing to defer."""
    for node in analysis.graph.nodes.values():
        words = {word for edge in node.edges if edge.event and edge.ask is None for word in words_of(edge.event)}
        for event in node.defers:
            if all(is_taken(word, words) for word in words_of(event)):
                problem = f"it defers {event!r}, and has a transition without a guard that takes it first"
                yield f"state {node.name!r}", problem, "guard the transition, or defer the event no longer"


@rule("GC210", Severity.WARNING, "a deferred event that no transition takes")
def deferred_in_vain(analysis: Analysis) -> Iterator[Hit]:
    """Such mail is refused once no active state defers it, or when the agent ends."""
    awaited = _awaited(analysis.graph)
    for node in analysis.graph.nodes.values():
        for event in node.defers:
            if not any(_is_awaited(word, awaited) for word in words_of(event)):
                problem = f"it defers {event!r}, and no later state has a transition for it"
                yield f"state {node.name!r}", problem, "add one, or defer the event no longer"


@rule("GC211", Severity.ERROR, "refusals as events that no transition takes")
def unhandled_refusals(analysis: Analysis) -> Iterator[Hit]:
    """With `OnRefusal.EVENT`, a refused event is handled by a transition for `error.refused`."""
    graph = analysis.graph
    if graph.on_refusal is OnRefusal.EVENT and not is_taken(ERROR_REFUSED, _awaited(graph)):
        remedy = "add one to an error state, such as Transition('OPEN', 'error.refused', 'STUCK')"
        yield "on_refusal", f"no transition takes {ERROR_REFUSED!r}", remedy


@rule("GC212", Severity.WARNING, "a transition for `*` that hides the events of an outer state")
def hidden_by_any(analysis: Analysis) -> Iterator[Hit]:
    """Only framework events, such as timers, results of invokes, answers to handoffs and `error.execution`.

    They arrive once, and the inner state takes them before the outer one. These are left alone: a `*` with a guard, a
    state that has a transition for the event itself, and events that another region passes on to the outer state.
    """
    graph = analysis.graph
    owners: dict[EventName, list[StateName]] | None = None
    for node in graph.nodes.values():
        anything = next((edge for edge in node.edges if edge.ask is None and EVERY in event_words(edge)), None)
        if anything is None:
            continue
        owners = owners or _by_descriptor(_framework_events(graph))
        own = {word for edge in node.edges for word in event_words(edge) if word != EVERY}
        for outer, word in _waiting_around(graph, node):
            may_arrive = any(is_together(graph, node.name, owner) for owner in owners.get(word, ()))
            if may_arrive and word != EVERY and not f"{word}.".startswith(NOT_ANY) and not is_taken(word, own):
                problem = f"it takes {word!r} before {outer.label!r} is asked"
                remedy = f"give {node.name!r} a transition for {word!r}, or name events in place of '*'"
                yield f"transition {anything.label!r}", problem, remedy


def _framework_events(graph: AnyGraph) -> Iterator[tuple[EventName, StateName]]:
    """Yield the framework's events, each with the state that is active when it arrives; the root for any."""
    for event, owner in own_events(graph):
        done = event.removeprefix(_DONE)
        yield event, owner if done == event else done
    yield from _raised_anywhere(graph)


def _waiting_around(graph: AnyGraph, node: Node) -> Iterator[tuple[Edge, EventName]]:
    """Yield the outer transitions that the state's transitions pre-empt, each with a word of its descriptor."""
    for name in node.ancestors:
        if graph.nodes[name].kind is Kind.PARALLEL and graph.precedence is not Precedence.XSTATE:
            return  # its other regions pass the event on
        for edge in graph.nodes[name].edges:
            yield from ((edge, word) for word in event_words(edge))


def _is_awaited(word: EventName, awaited: set[EventName]) -> bool:
    """Return whether a transition takes some event that the word of a descriptor matches."""
    return word == EVERY or is_taken(word, awaited) or any(name.startswith(f"{word}.") for name in awaited)


def _awaited(graph: AnyGraph) -> set[EventName]:
    """Return the descriptors of all transitions, and their words."""
    descriptors = {edge.event for node in graph.nodes.values() for edge in node.edges if edge.event is not None}
    return {name for event in descriptors for name in (event, *words_of(event))}


def _raised(node: Node) -> Iterator[EventName]:
    """Yield the events that the actions of a state and of its transitions declare to raise."""
    for step in steps_of(node):
        if isinstance(step.function, RaisesEvents):
            yield from step.function.raises

"""Rules about states, entry points, fields of the context, and names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol, runtime_checkable

from gatechart.context import has_any_field
from gatechart.errors.root import listing, suggestion
from gatechart.graph.callables import callable_name
from gatechart.graph.compile import ROOT, Kind, Node, steps_of
from gatechart.graph.definition import EntryPoint
from gatechart.graph.escape import UNDOING
from gatechart.graph.graph import AnyGraph
from gatechart.rules.analysis import Analysis, TransitionPath, has_part_in_an_end
from gatechart.rules.finding import Hit, Severity, rule
from gatechart.values.names import StateName

# States


@rule("GC101", Severity.WARNING, "a state that no entry point leads to")
def unreachable(analysis: Analysis) -> Iterator[Hit]:
    """Even if every guard holds and every event arrives, such a state is never active."""
    everywhere = frozenset[StateName]().union(*analysis.reached.values())
    doors = ", ".join(map(repr, analysis.reached))
    for name in analysis.graph.nodes:
        if name not in (ROOT, UNDOING) and name not in everywhere:  # an escape enters UNDOING, not a transition
            problem = f"no way leads there from the entry points {doors}"
            yield f"state {name!r}", problem, "let a transition lead there, or drop it"


@rule("GC102", Severity.WARNING, "a state that is not final and cannot be left")
def no_way_out(analysis: Analysis) -> Iterator[Hit]:
    """A state can be left by its own transitions, or by transitions of its ancestors and of other regions.

    A transition that returns at once does not count.
    """
    graph, leaving = analysis.graph, _leaving(analysis)
    for leaf, node in graph.nodes.items():
        if not node.kind.is_leaf or has_part_in_an_end(graph, leaf) or _can_be_left(graph, leaving, leaf):
            continue
        place, problem = f"state {leaf!r}", "no transition leaves it"
        if node.kind is not Kind.ATOMIC:
            place, problem = f"state {node.parent!r}", f"no transition leaves it once {leaf!r} has ended it"
        yield place, problem, "let a transition leave it, or make it final"


def _leaving(analysis: Analysis) -> dict[StateName, list[TransitionPath]]:
    """Return for each state the transitions that leave it with everything inside it."""
    leaving: dict[StateName, list[TransitionPath]] = {name: [] for name in analysis.graph.nodes}
    for source, several in analysis.ways.items():
        for way in several:
            if way.domain is not None:
                for state in _wholly_left(analysis.graph, source, way.domain):
                    leaving[state].append(way)
    return leaving


def _wholly_left(graph: AnyGraph, source: StateName, domain: StateName) -> tuple[StateName, ...]:
    """Return the source, and the parallel states between it and the domain, whose regions are all left with it."""
    ancestors = graph.nodes[source].ancestors
    between = () if source == domain else ancestors[: ancestors.index(domain)]
    return source, *(outer for outer in between if graph.nodes[outer].kind is Kind.PARALLEL)


def _can_be_left(graph: AnyGraph, leaving: Mapping[StateName, list[TransitionPath]], leaf: StateName) -> bool:
    return any(
        leaf not in way.enters and way.domain != leaf
        for state in (leaf, *graph.nodes[leaf].ancestors)
        for way in leaving[state]
    )


@rule("GC103", Severity.WARNING, "an entry point from which no final state can be reached")
def no_end(analysis: Analysis) -> Iterator[Hit]:
    """Only in graphs with final states. A state that transfers the work to another agent is an end, too."""
    graph = analysis.graph
    finals = [name for name in graph.nodes if has_part_in_an_end(graph, name)]
    for door, states in analysis.reached.items():
        if finals and states.isdisjoint(finals) and states.isdisjoint(analysis.handed_over):
            problem = f"no way leads from here to a final state ({', '.join(finals)})"
            yield f"entry point {door!r}", problem, "let a transition lead there, or allow it"


FAILURES: Final = frozenset(
    {"abort", "aborted", "crash", "crashed", "error", "errored", "fail", "failed", "failure", "unsuccessful"}
)
"""Words for a failure. Rejected, denied, cancelled and expired are omitted: they can be regular results of a chart."""

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@rule("GC104", Severity.WARNING, "a final state that is named like a failure and is not marked as one")
def unmarked_failure(analysis: Analysis) -> Iterator[Hit]:
    """An agent that ends there counts as successful, also for a caller that waits for it."""
    graph = analysis.graph
    for name, node in graph.nodes.items():
        outer = graph.nodes[node.parent] if node.ancestors else node
        ends = node.kind is Kind.FINAL and (node.is_end or (outer.is_end and outer.kind is Kind.COMPOUND))
        if ends and not node.failed and not FAILURES.isdisjoint(map(str.casefold, _WORDS.findall(name))):
            problem = "it is named like a failure, but an agent that ends there counts as done"
            remedy = "add failed=True, in a chart file `failed: true`; or allow it if it is not a failure"
            yield f"state {name!r}", problem, remedy


@rule("GC105", Severity.WARNING, "an unlisted state that only a timer names, or that has the name of an event")
def meant_as_event(analysis: Analysis) -> Iterator[Hit]:
    """A name after a delay is a state, but an event may have been intended. Listed states are left alone."""
    graph = analysis.graph
    timers = {event for node in graph.nodes.values() for event, *_ in (*node.timers, *node.recurring)}
    others = {ROOT, *(entry.state for entry in graph.entry_points.values())}
    for node in graph.nodes.values():
        others.update(() if node.default is None else node.default.targets)
        for edge in node.edges:
            others.update((edge.source,) if edge.event in timers else (edge.source, *edge.targets))
    for name in (name for name in graph.nodes if name in graph.inferred):
        if name in graph.events or name in graph.event_types:
            yield f"state {name!r}", "an event of the graph has its name", _listed(name)
        elif name not in others:
            yield f"state {name!r}", "only a timer names it", _listed(name)


def _listed(name: StateName) -> str:
    return (
        f"list it in `states` if it is a state; for an action write the function in its place, "
        f"which may call turn.raise_event({name!r})"
    )


# Fields of the context, entry points


@runtime_checkable
class NamesFields(Protocol):
    """A guard or an action compiled from an expression, which knows the context fields that it uses."""

    @property
    def context_fields(self) -> tuple[str, ...]:
        """The names of fields, without nested fields."""
        ...


@rule("GC301", Severity.ERROR, "an expression that uses a field that the context type lacks")
def unknown_field(analysis: Analysis) -> Iterator[Hit]:
    """Only expressions declare the fields that they use; plain functions are not inspected."""
    graph = analysis.graph
    for entry in graph.entry_points.values():
        yield from _unknown_fields(graph, f"entry point {entry.name!r}", entry.guard)
    for node in graph.nodes.values():
        for edge in node.edges:
            yield from _unknown_fields(graph, f"transition {edge.label!r}", edge.ask.function if edge.ask else None)
        for step in dict.fromkeys((*steps_of(node), *([node.data] if node.data else []))):
            yield from _unknown_fields(graph, f"state {node.name!r}", step.function)


def _unknown_fields(graph: AnyGraph, place: str, function: Callable[..., Any] | None) -> Iterator[Hit]:
    if not isinstance(function, NamesFields) or has_any_field(graph.context):
        return
    fields = tuple(graph.context.model_fields)
    for name in dict.fromkeys(function.context_fields):
        if name not in fields:
            problem = f"{callable_name(function)} uses {name!r}, which {graph.context.__name__} does not have"
            yield place, problem, suggestion(name, fields) if fields else "add the field"


@rule("GC302", Severity.NOTE, "an entry point without a description")
def undescribed(analysis: Analysis) -> Iterator[Hit]:
    """Agents and people that hand work on choose an entry point by its description."""
    for entry in analysis.graph.entry_points.values():
        if not entry.description:
            remedy = "say in a sentence who begins here, and when"
            yield f"entry point {entry.name!r}", "it has no description", remedy


@rule("GC303", Severity.ERROR, "an entry point that leaves a required field of the context empty")
def cannot_start(analysis: Analysis) -> Iterator[Hit]:
    """Fields that a function may fill are left alone: a `maps` function, or a validator of the whole context."""
    for entry in analysis.graph.entry_points.values():
        missing = _missing(analysis.graph, entry)
        if missing:
            problem = f"nothing fills {listing(missing)}, which {analysis.graph.context.__name__} requires"
            yield f"entry point {entry.name!r}", problem, "give defaults, or let `takes` and `maps` bring them"


def _missing(graph: AnyGraph, entry: EntryPoint) -> tuple[str, ...]:
    """Return the required fields that stay empty; none if a function may fill them, since its result is unknown."""
    validators = graph.context.__pydantic_decorators__.model_validators.values()
    if callable(entry.maps) or any(validator.info.mode != "after" for validator in validators):
        return ()
    takes = entry.takes.model_fields if entry.takes else ()
    filled = set(takes if entry.maps is None else entry.maps.values())
    return tuple(name for name, info in graph.context.model_fields.items() if info.is_required() and name not in filled)


# Names

SHORTEST: Final = 5  # letters; shorter names can be similar by chance


@rule("GC304", Severity.WARNING, "a state whose name looks like a misspelling of another")
def misspelt(analysis: Analysis) -> Iterator[Hit]:
    """A plain state that is named once, and differs by a letter from a state that is named elsewhere too.

    An undeclared name becomes a new state, and so does a misspelling. A letter is missing, added or replaced, or two
    are swapped; case and underscores are ignored. Names that differ only in digits are left alone.
    """
    # Linear in the letters of all names: each name is indexed by its variants with one letter deleted.
    # Source: W. Garbe, symmetric delete spelling correction, 2012.
    graph = analysis.graph
    uses = _uses(graph)
    suspects = {name for name, node in graph.nodes.items() if _is_plain(node) and uses[name] == 1}
    near: dict[str, list[StateName]] = {}
    for name in graph.nodes:
        for key in _keys(name) if name not in suspects else ():
            near.setdefault(key, []).append(name)
    for name in (name for name in graph.nodes if name in suspects):
        others = (other for key in sorted(_keys(name)) for other in near.get(key, ()) if _is_slip(name, other))
        meant = next(others, None)
        if meant is not None:
            problem = f"only one transition names it, and it looks like {meant!r}"
            yield f"state {name!r}", problem, f"write {meant!r}, or rename it"


def _uses(graph: AnyGraph) -> Counter[StateName]:
    """Count how often transitions, initial states and entry points name each state."""
    named = [name for node in graph.nodes.values() for edge in node.edges for name in {edge.source, *edge.targets}]
    named += [name for node in graph.nodes.values() if node.default and node.ancestors for name in node.default.targets]
    return Counter(named + [entry.state for entry in graph.entry_points.values()])


def _is_plain(node: Node) -> bool:
    """Whether the state has only a name: no actions, invokes or timers."""
    return node.kind is Kind.ATOMIC and not (node.on_entry or node.on_exit or node.is_attended)


def _letters(name: StateName) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _keys(name: StateName) -> set[str]:
    letters = _letters(name)
    if len(letters) < SHORTEST:
        return set()
    return {letters, *(letters[:index] + letters[index + 1 :] for index in range(len(letters)))}


def _is_slip(name: StateName, other: StateName) -> bool:
    """Whether the two names, which share a key, differ in more than digits."""
    plain, others = ("".join(char for char in _letters(text) if not char.isdigit()) for text in (name, other))
    return plain != others or _letters(name) == _letters(other)

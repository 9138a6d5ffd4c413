"""The graph that users build: frozen, validated and compiled on construction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, Generic, TypeAlias, overload

from pydantic import ValidationError

from gatechart.context import AgentContext, ContextPool, ContextT, problems_of, read_only_context
from gatechart.errors.definition import InvalidGraphError
from gatechart.errors.event import EntryRefusedError, UnknownStateError
from gatechart.errors.operation import IncompatibleGraphError
from gatechart.graph.compile import (
    ROOT,
    Node,
    build_nodes,
    fingerprint,
    infer_states,
    runs_at_once,
    selections_in,
    selectors,
    walk,
)
from gatechart.graph.definition import Allow, EntryPoint, Initial, OnRefusal, Precedence, State, Transition
from gatechart.graph.escape import EscapePlan
from gatechart.graph.escape_edges import (
    adding,
    escaping,
    plans_in,
    state_names,
    states_added,
    undoing,
)
from gatechart.graph.events import EventType
from gatechart.graph.handoff import Accepts
from gatechart.graph.migration import Migration, migration_faults
from gatechart.graph.names import one_or_more, texts
from gatechart.graph.precedence import order_structure
from gatechart.graph.selection import Filter, Scorer
from gatechart.graph.selection_faults import selector_faults
from gatechart.graph.signal_edges import answering, declared_signals, waiting_states
from gatechart.graph.signals import Given, Signals, signals_in
from gatechart.graph.transfer_edges import with_waiting_states
from gatechart.graph.validate import Draft, allowance_faults, find_faults
from gatechart.values.agents import Snapshot
from gatechart.values.names import EventName, Name, StateName, name_of
from gatechart.values.profiles import Profile
from gatechart.values.tool_policies import PoliciesByTool

EVERYTHING: Final = Accepts()


@dataclass(frozen=True, eq=False, init=False, repr=False)
class StateTransitionGraph(Generic[ContextT]):
    """A statechart with its states, transitions and entry points, and the type of its agents' context.

    states: only states that need more than a name; the others are inferred from the transitions.
    transitions: inner states come before outer ones. In one state, the event's own name comes before its prefixes, and
    `*` last. Of several transitions for the same event, the first whose guard agrees is taken.
    entry_points: the states where agents can start; a name alone is an entry point without triggers or payload.
    initial: initial state of the whole chart, by default its first state; agents start at entry points.
    migrations: convert agents of earlier versions to this one.
    max_microsteps: limit of transitions in one turn; a turn that exceeds it counts as caught in a cycle.
    events: declared events with their payload schemas; a name alone declares an event with any payload.
    events_closed: whether undeclared events are refused.
    searchable: fields of the context that `find` can search, such as "customer" or "order.total"; not part of the
    fingerprint.
    tools: policies for the tool calls of its invokes, by the tool's name, "*" for every tool; weaker than the policies
    of a state, and not part of the fingerprint.
    signals: signals of its agents' behaviour, see `Signals`; only the answers to them are part of the fingerprint.
    escape: strategies for the findings of the signals; only its additions to the chart are part of the fingerprint.
    profile: default profile of its entry points; not part of the fingerprint.
    accepts: limits on the handoffs that its agents accept, by default none; not part of the fingerprint.
    precedence: order of selection; part of the fingerprint where the order matters.
    allow: intended findings of `gatechart.checks`; not part of the fingerprint.

    A sequence of one may be written as the value itself. Raises InvalidGraphError with all faults at once.

    >>> lamp = StateTransitionGraph("lamp", transitions=[Transition("OFF", "PRESSED", "ON")], entry_points=["OFF"])
    >>> lamp.states
    ('OFF', 'ON')
    """

    name: str  # without the prefix `gatechart.`
    version: str
    context: type[ContextT]
    transitions: tuple[Transition[ContextT], ...]
    entry_points: Mapping[str, EntryPoint]  # by name
    on_refusal: OnRefusal
    description: str
    max_microsteps: int
    migrations: tuple[Migration, ...]
    allow: tuple[Allow, ...]
    accepts: Accepts
    event_types: Mapping[EventName, EventType]  # the declared events, by name
    events_closed: bool
    searchable: tuple[str, ...]
    tools: PoliciesByTool
    signals: Signals | None
    escape: EscapePlan | None
    profile: Profile | None
    precedence: Precedence
    tree: tuple[State[Any], ...]  # including the inferred states
    inferred: frozenset[StateName]  # states that the definition does not list, only names
    escape_states: frozenset[StateName]  # states that its escape plans add
    nodes: Mapping[StateName, Node]  # including the root, in document order
    fingerprint: str
    runs_at_once: bool  # no action must be awaited
    has_deferring: bool  # some state defers events
    choosing: tuple[StateName, ...]  # states with transfers, in document order
    has_signals: bool  # the graph or an entry point declares signals
    has_escapes: bool  # the graph or a state has an escape plan
    selectors: Mapping[str, Filter | Scorer]  # custom filters and scorers of its selections, by name
    progress_states: frozenset[StateName]  # states whose entry is progress
    named_events: frozenset[EventName]  # declared events, and events that transitions name
    is_framework: bool  # it belongs to the framework itself
    memo: Any = field(repr=False)  # cache of the kernel, see gatechart.kernel
    contexts: ContextPool[ContextT] = field(repr=False)  # contexts kept for the next turns of its agents

    @overload
    def __init__(
        self: StateTransitionGraph[AgentContext],
        name: str,
        *,
        version: str = "1",
        states: Iterable[State[AgentContext] | Name] | State[AgentContext] | Name = (),
        transitions: Iterable[Transition[AgentContext]] | Transition[AgentContext] = (),
        entry_points: Iterable[EntryPoint | Name] | EntryPoint | Name = (),
        initial: Initial | Iterable[Name] | Name | None = None,
        on_refusal: OnRefusal = OnRefusal.RETURN,
        description: str = "",
        max_microsteps: int = 100,
        migrations: Iterable[Migration] | Migration = (),
        allow: Iterable[Allow] | Allow = (),
        accepts: Accepts = EVERYTHING,
        events: Iterable[EventType | Name] | EventType | Name = (),
        events_closed: bool = False,
        searchable: Iterable[str] | str = (),
        tools: PoliciesByTool | None = None,
        signals: Given | None = None,
        escape: EscapePlan | None = None,
        profile: Profile | None = None,
        precedence: Precedence = Precedence.SPECIFIC,
    ) -> None: ...

    @overload
    def __init__(
        self,
        name: str,
        *,
        version: str = "1",
        context: type[ContextT],
        states: Iterable[State[ContextT] | Name] | State[ContextT] | Name = (),
        transitions: Iterable[Transition[ContextT]] | Transition[ContextT] = (),
        entry_points: Iterable[EntryPoint | Name] | EntryPoint | Name = (),
        initial: Initial | Iterable[Name] | Name | None = None,
        on_refusal: OnRefusal = OnRefusal.RETURN,
        description: str = "",
        max_microsteps: int = 100,
        migrations: Iterable[Migration] | Migration = (),
        allow: Iterable[Allow] | Allow = (),
        accepts: Accepts = EVERYTHING,
        events: Iterable[EventType | Name] | EventType | Name = (),
        events_closed: bool = False,
        searchable: Iterable[str] | str = (),
        tools: PoliciesByTool | None = None,
        signals: Given | None = None,
        escape: EscapePlan | None = None,
        profile: Profile | None = None,
        precedence: Precedence = Precedence.SPECIFIC,
    ) -> None: ...

    def __init__(
        self,
        name: str,
        *,
        version: str = "1",
        context: type[Any] = AgentContext,
        states: Iterable[State[Any] | Name] | State[Any] | Name = (),
        transitions: Iterable[Transition[Any]] | Transition[Any] = (),
        entry_points: Iterable[EntryPoint | Name] | EntryPoint | Name = (),
        initial: Initial | Iterable[Name] | Name | None = None,
        on_refusal: OnRefusal = OnRefusal.RETURN,
        description: str = "",
        max_microsteps: int = 100,
        migrations: Iterable[Migration] | Migration = (),
        allow: Iterable[Allow] | Allow = (),
        accepts: Accepts = EVERYTHING,
        events: Iterable[EventType | Name] | EventType | Name = (),
        events_closed: bool = False,
        searchable: Iterable[str] | str = (),
        tools: PoliciesByTool | None = None,
        signals: Given | None = None,
        escape: EscapePlan | None = None,
        profile: Profile | None = None,
        precedence: Precedence = Precedence.SPECIFIC,
    ) -> None:
        listed = tuple(state if isinstance(state, State) else State(state) for state in one_or_more(states))
        changes = one_or_more(transitions)
        doors = tuple(door if isinstance(door, EntryPoint) else EntryPoint(door) for door in one_or_more(entry_points))
        noticed = signals_in(signals)
        tree = with_waiting_states(
            infer_states(listed, [change for change in changes if isinstance(change, Transition)])
        )
        tree = (*tree, *waiting_states(declared_signals(noticed, doors), texts(state.name for state in walk(tree))))
        known = state_names(walk(tree))
        plans = plans_in(escape, walk(tree))
        added = tuple(states_added(plans, known))
        tree = (*tree, *added)
        draft = Draft(
            name=name,
            version=version,
            context=context,
            root=State(ROOT, states=tree, initial=initial),
            transitions=changes,
            entry_points=doors,
            on_refusal=on_refusal,
            description=description,
            max_microsteps=max_microsteps,
            accepts=accepts,
            event_types=tuple(
                EventType(event) if isinstance(event, str | Enum) else event for event in one_or_more(events)
            ),
            events_closed=events_closed,
            searchable=one_or_more(searchable),
            tools=dict(tools or {}),
            signals=noticed,
            escape=escape,
            known=known,
            profile=profile,
            is_framework=isinstance(self, FrameworkGraph),
            precedence=precedence,
        )
        compiled = _compiled(draft, one_or_more(migrations), one_or_more(allow))
        compiled["escape_states"] = frozenset(state.name for state in added)
        declared = {state.name for state in walk(listed)}
        compiled["inferred"] = frozenset(state.name for state in walk(tree) if state.name not in declared)
        for attribute, value in compiled.items():
            object.__setattr__(self, attribute, value)

    def __repr__(self) -> str:
        return f"<StateTransitionGraph {self.name!r} version {self.version!r}, {len(self.nodes) - 1} states>"

    def _repr_svg_(self) -> str | None:
        # Imported by name, because `drawing` is a higher layer and needs Graphviz, which only a notebook uses here.
        svg: str | None = import_module("gatechart.drawing.notebook").shown(self)
        return svg

    @property
    def states(self) -> tuple[StateName, ...]:
        """Names of all states, in document order."""
        return tuple(state.name for state in walk(self.tree))

    @property
    def events(self) -> tuple[EventName, ...]:
        """Events that some transition waits for, in document order."""
        return tuple(dict.fromkeys(edge.event for edge in self.transitions if edge.event is not None))

    def entry_point(self, name: Name) -> EntryPoint:
        """Return the entry point of this name. Raises EntryRefusedError, which lists the existing ones."""
        try:
            return self.entry_points[name_of(name)]
        except KeyError:
            raise EntryRefusedError(self.name, name_of(name), tuple(self.entry_points)) from None

    def signals_at(self, entry_point: str) -> Signals | None:
        """Return the signals of agents that started at an entry point; None if they have none.

        A name that the graph lacks, as after a migration, gets the signals of the graph.
        """
        door = self.entry_points.get(entry_point)
        signals = self.signals if door is None or door.signals is None else door.signals
        return signals or None

    def profile_at(self, entry_point: str) -> Profile | None:
        """Return the profile of an entry point, completed from the graph's profile; None if there is neither.

        A graph whose entry points have no profiles is not in the directory.
        """
        own = self.entry_points[entry_point].profile
        return self.profile if own is None else own.over(self.profile)

    def leaves(self, state: Name) -> tuple[StateName, ...]:
        """Return the leaves of a state: itself, or those below it. Raises UnknownStateError."""
        name = name_of(state)
        if name == ROOT or name not in self.nodes:
            raise UnknownStateError(self.name, name, self.states)
        if self.nodes[name].kind.is_leaf:
            return (name,)
        return tuple(
            node.name for node in self.nodes.values() if node.kind.is_leaf and name in (node.name, *node.ancestors)
        )

    def context_of(self, snapshot: Snapshot) -> ContextT:
        """Return the context of a snapshot of one of this graph's agents as its type, read-only like `Agent.context`.

        Raises IncompatibleGraphError if that type cannot read it, such as a context of another graph or version.
        """
        try:
            return read_only_context(self.context, snapshot.context_text)
        except ValidationError as error:
            problem = f"its context is not a valid {self.context.__name__}: {'; '.join(problems_of(error))}"
            raise IncompatibleGraphError(snapshot.agent_id, self.name, problem) from error


class FrameworkGraph(StateTransitionGraph[ContextT]):
    """A graph of the framework itself. Its name and the names of its events have the prefix `gatechart.`."""


def _compiled(draft: Draft, migrations: tuple[Any, ...], allow: tuple[Any, ...]) -> dict[str, Any]:
    """Validate and compile the draft; return the graph's attributes. Raises InvalidGraphError."""
    faults = (
        *find_faults(draft),
        *migration_faults(migrations, draft.version),
        *allowance_faults(allow, draft),
    )
    if faults:
        raise InvalidGraphError(str(draft.name), faults)
    answers = tuple(answering(declared_signals(draft.signals, draft.entry_points)))
    plans = plans_in(draft.escape, walk(draft.root.states))
    escapes = (*escaping(adding(plans), draft.known), *undoing(plans, draft.known))
    nodes = build_nodes(draft.root, draft.transitions, (*answers, *escapes))
    selections = selections_in(nodes)
    if clashes := tuple(selector_faults(selections)):
        raise InvalidGraphError(draft.name, clashes)
    return {
        "name": draft.name,
        "version": draft.version,
        "context": draft.context,
        "transitions": draft.transitions,
        "entry_points": MappingProxyType({door.name: door for door in draft.entry_points}),
        "on_refusal": draft.on_refusal,
        "description": draft.description,
        "max_microsteps": draft.max_microsteps,
        "migrations": migrations,
        "allow": allow,
        "accepts": draft.accepts,
        "event_types": MappingProxyType({event_type.name: event_type for event_type in draft.event_types}),
        "events_closed": draft.events_closed,
        "searchable": tuple(draft.searchable),
        "tools": MappingProxyType(draft.tools),
        "signals": draft.signals,
        "escape": draft.escape,
        "profile": draft.profile,
        "precedence": draft.precedence,
        "tree": draft.root.states,
        "nodes": MappingProxyType(nodes),
        "fingerprint": fingerprint(
            draft.name,
            draft.version,
            nodes,
            draft.entry_points,
            draft.context,
            [*_declared(draft), *order_structure(draft.precedence, nodes)],
        ),
        "runs_at_once": runs_at_once(nodes),
        "has_deferring": any(node.defers for node in nodes.values()),
        "choosing": tuple(name for name, node in nodes.items() if node.transfers is not None),
        "has_signals": any((draft.signals, *(door.signals for door in draft.entry_points))),
        "has_escapes": any(node.escape is not None for node in nodes.values()) or draft.escape is not None,
        "selectors": MappingProxyType(selectors(selections)),
        "progress_states": frozenset(name for name, node in nodes.items() if node.progress),
        "named_events": _named_events(draft, nodes),
        "is_framework": draft.is_framework,
        "memo": {},
        "contexts": ContextPool(),
    }


def _named_events(draft: Draft, nodes: Mapping[StateName, Node]) -> frozenset[EventName]:
    named = (edge.event.split() for node in nodes.values() for edge in node.edges if edge.event is not None)
    return frozenset(chain(*named, (event_type.name for event_type in draft.event_types)))


def _declared(draft: Draft) -> list[object]:
    """Return the structure of the declared events for the fingerprint; empty if there are none."""
    types = [event_type.structure for event_type in draft.event_types]
    return [types, *(["closed"] if draft.events_closed else [])] if types else []


AnyGraph: TypeAlias = StateTransitionGraph[Any]
"""A graph whose agents may have any context."""


def graph_name(graph: Name | AnyGraph) -> str:
    """Return the name of a graph, given by name or as the graph itself."""
    if type(graph) is str:  # the usual case
        return graph
    return graph.name if isinstance(graph, StateTransitionGraph) else name_of(graph)

"""The compiled form of a definition: nodes of the state tree, with edges and indexes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import blake2b
from typing import Any, Final

from pydantic import BaseModel

from gatechart.graph.callables import ActionCall, Ask, ask_of, callable_name, step_of
from gatechart.graph.definition import (
    ANY,
    EntryPoint,
    Initial,
    Invoke,
    Recall,
    State,
    Transition,
    after_event,
    recurring_event,
)
from gatechart.graph.escape import EscapePlan
from gatechart.graph.handoff import Handoff
from gatechart.graph.names import texts
from gatechart.graph.selection import Best, Filter, Scorer
from gatechart.graph.transfer_edges import Added, TransferRole, answers, choices_first, choices_last
from gatechart.graph.transfers import Transfers
from gatechart.values.delays import Delay
from gatechart.values.frozen import value
from gatechart.values.handoffs import Mode
from gatechart.values.names import EventName, StateName
from gatechart.values.recurrence import Every
from gatechart.values.tool_policies import PoliciesByTool

ROOT: Final[StateName] = ANY


class Kind(StrEnum):
    """The kind of a state."""

    ATOMIC = "atomic"
    COMPOUND = "compound"
    PARALLEL = "parallel"
    FINAL = "final"
    HISTORY = "history"

    @property
    def is_leaf(self) -> bool:
        """Whether a state of this kind is active without children."""
        return self in (Kind.ATOMIC, Kind.FINAL)


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """A transition, ready for its guard and actions to be called."""

    label: str  # label of the transition; ` #2` and so on is added if several of a graph share it
    source: StateName
    event: EventName | None
    targets: tuple[StateName, ...]
    internal: bool
    ask: Ask | None
    steps: tuple[ActionCall, ...]
    is_exact: bool = False  # whether its event is one name, possibly with spaces, that matches nothing else
    is_fallback: bool = False  # evaluated after all other edges of its source but `*`; signals and plans add these
    role: TransferRole | None = None  # set for a transition that the source's transfers add
    to: str = ""  # key of the transfer's target, for such a transition


@dataclass(frozen=True, slots=True, eq=False)
class Default:
    """The initial states of a compound state, or the default states of a history state without memory."""

    targets: tuple[StateName, ...]
    steps: tuple[ActionCall, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A state with its position in the tree."""

    name: StateName
    kind: Kind
    order: int  # position in the document; a parent comes before its children
    ancestors: tuple[StateName, ...]  # innermost first, the root last; empty for the root
    children: tuple[StateName, ...]  # in document order, without history states
    histories: tuple[StateName, ...]  # the history states among the children
    default: Default | None  # of a compound or a history state
    recall: Recall | None  # of a history state
    data: ActionCall | None  # of a final state
    failed: bool  # whether an agent that ends in this final state has failed
    timers: tuple[tuple[EventName, float], ...]  # events, and the seconds after entry when each is sent
    invokes: tuple[Invoke, ...]
    on_entry: tuple[ActionCall, ...]
    on_exit: tuple[ActionCall, ...]
    edges: tuple[Edge, ...]  # outgoing transitions, in document order; `Precedence` sets the order of selection
    is_end: bool = False  # for a top-level state: the agent ends once this state has ended
    tools: PoliciesByTool = field(default_factory=dict)  # policies for the tool calls of its invokes
    defers: tuple[EventName, ...] = ()  # descriptors of the events to keep for a later state
    recurring: tuple[tuple[EventName, Every], ...] = ()  # events of recurring timers, and their recurrences
    transfers: Transfers | None = None  # also None if they are switched off
    progress: bool = False  # whether entering it counts as progress
    checkpoint: bool = False  # whether an agent may be rolled back to it
    escape: EscapePlan | None = None  # the escape plan while it is active
    expects: Delay | None = None  # normal time that an agent stays in it without a turn
    description: str = ""

    @property
    def is_attended(self) -> bool:
        """Whether timers or invokes belong to the state."""
        return bool(self.timers or self.recurring or self.invokes)

    @property
    def parent(self) -> StateName:
        """Innermost ancestor. The root has none."""
        return self.ancestors[0]


def infer_states(states: Sequence[State[Any]], transitions: Sequence[Transition[Any]]) -> tuple[State[Any], ...]:
    """Return the listed states, then states that only transitions name, in the order of appearance."""
    known = {*texts(state.name for state in walk(states)), ANY}
    named = [name for transition in transitions for name in (transition.source, *transition.targets)]
    timed = [
        [delayed.then for delayed in state.after] + [delayed.then for delayed in state.every] for state in walk(states)
    ]
    named += [name for delays in timed for thens in delays for then in thens for name in then.targets]
    return (*states, *(State(name) for name in dict.fromkeys(texts(named)) if name not in known))


def walk(states: Sequence[State[Any]]) -> Iterator[State[Any]]:
    """Yield every state of the trees, a parent before its children, in document order."""
    for state in states:
        yield state
        yield from walk(state.states)


def build_nodes(
    root: State[Any], transitions: Sequence[Transition[Any]], fallbacks: Sequence[Transition[Any]] = ()
) -> dict[StateName, Node]:
    """Build a node for the root and for each state in it, by name, in document order.

    fallbacks: transitions that signals and escape plans add, for events that no written transition takes.
    """
    leaving: dict[StateName, list[Transition[Any]]] = {}
    for transition in (*transitions, *dict.fromkeys(answers(root))):
        leaving.setdefault(transition.source, []).append(transition)
    added: dict[StateName, list[Transition[Any]]] = {}
    for transition in fallbacks:
        added.setdefault(transition.source, []).append(transition)
    nodes: dict[StateName, Node] = {}
    exact = frozenset(_spaced_events(root))

    def add(state: State[Any], ancestors: tuple[StateName, ...]) -> None:
        nodes[state.name] = Node(
            name=state.name,
            kind=kind_of(state),
            order=len(nodes),
            ancestors=ancestors,
            children=tuple(child.name for child in state.states if child.history is None),
            histories=tuple(child.name for child in state.states if child.history is not None),
            default=_default(state),
            recall=state.history,
            data=None if state.data is None else step_of(state.data),
            failed=state.failed,
            timers=tuple((after_event(state.name, delayed.delay), delayed.delay_s or 0.0) for delayed in state.after),
            invokes=state.invoke,
            on_entry=tuple(map(step_of, state.on_entry)),
            on_exit=tuple(map(step_of, state.on_exit)),
            edges=_edges(state, leaving.get(state.name, ()), added.get(state.name, ()), exact),
            is_end=state.final and ancestors == (ROOT,),
            defers=state.defer,
            tools=dict(state.tools),
            recurring=tuple((recurring_event(state.name, delayed.every), delayed.every) for delayed in state.every),
            transfers=state.transfers if state.transfers is not None and state.transfers.is_on else None,
            progress=state.progress,
            checkpoint=state.checkpoint,
            escape=state.escape,
            expects=state.expects,
            description=state.description,
        )
        for child in state.states:
            add(child, (state.name, *ancestors))

    add(root, ())
    return nodes


def kind_of(state: State[Any]) -> Kind:
    """Return the kind of a state."""
    if state.history is not None:
        return Kind.HISTORY
    if state.states or state.name == ROOT:
        return Kind.PARALLEL if state.parallel else Kind.COMPOUND
    return Kind.FINAL if state.final else Kind.ATOMIC


def initial_of(state: State[Any]) -> Initial | None:
    """Return the initial states of a compound or history state; a compound state's default is its first child."""
    if state.initial is not None or state.parallel or state.history is not None:
        return state.initial
    first = next((child.name for child in state.states if child.history is None), None)
    return None if first is None else Initial(first)


def _default(state: State[Any]) -> Default | None:
    initial = initial_of(state)
    return None if initial is None else Default(initial.targets, tuple(map(step_of, initial.actions)))


def _spaced_events(root: State[Any]) -> Iterator[EventName]:
    """Yield the events of states and invokes whose names have spaces. Their words are not separate names."""
    for state in walk((root,)):
        if len(state.name.split()) > 1:
            yield f"done.state.{state.name}"
            yield from (after_event(state.name, delayed.delay) for delayed in state.after)
            yield from (recurring_event(state.name, delayed.every) for delayed in state.every)
        for invoke_id in (invoke.id for invoke in state.invoke if len(invoke.id.split()) > 1):
            yield from (f"{outcome}.invoke.{invoke_id}" for outcome in ("done", "error", "progress"))


def _edges(
    state: State[Any],
    written: Sequence[Transition[Any]],
    fallbacks: Sequence[Transition[Any]],
    exact: Collection[EventName],
) -> tuple[Edge, ...]:
    """Compile the transitions of a state, in document order.

    Labels start with the source, so they can repeat only within a state. Written transitions are numbered first.
    exact: events with spaces that are one name; in other events, spaces separate several names.
    """
    counts: Counter[str] = Counter()
    delayed = tuple(delayed_transitions(state))

    def compiled(transitions: Sequence[Transition[Any]], *, is_fallback: bool = False) -> list[Edge]:
        return [
            _edge(
                transition,
                _numbered(transition.label, counts),
                is_exact=transition.event in exact,
                is_fallback=is_fallback,
            )
            for transition in transitions
        ]

    own = (*compiled(written), *compiled(fallbacks, is_fallback=True), *compiled(delayed))
    first = [_added(choice, counts) for choice in choices_first(state)]
    ends = choices_last(state, (*written, *fallbacks, *delayed))
    return (*first, *own, *(replace(_added(end, counts), is_fallback=True) for end in ends))


def _numbered(label: str, counts: Counter[str]) -> str:
    counts[label] += 1
    return label if counts[label] == 1 else f"{label} #{counts[label]}"


def _added(added: Added, counts: Counter[str]) -> Edge:
    edge = _edge(added.transition, _numbered(added.transition.label, counts), is_exact=True)
    return replace(edge, role=added.role, to=added.to)


def _edge(transition: Transition[Any], label: str, *, is_exact: bool, is_fallback: bool = False) -> Edge:
    return Edge(
        label=label,
        source=transition.source,
        event=transition.event,
        targets=transition.targets,
        internal=transition.internal,
        ask=ask_of(transition.guard) if transition.guard else None,
        steps=tuple(map(step_of, transition.actions)),
        is_exact=is_exact,
        is_fallback=is_fallback,
    )


def delayed_transitions(state: State[Any]) -> Iterator[Transition[Any]]:
    """Yield the delayed and the recurring transitions of a state, with their events."""
    timed = [
        *((after_event(state.name, delayed.delay), delayed.then) for delayed in state.after),
        *((recurring_event(state.name, delayed.every), delayed.then) for delayed in state.every),
    ]
    for event, follows in timed:
        for then in follows:
            target, internal = then.targets or None, then.internal
            yield Transition(state.name, event, target, guard=then.guard, actions=then.actions, internal=internal)


def runs_at_once(nodes: Mapping[StateName, Node]) -> bool:
    """Return whether all actions of the graph are synchronous."""
    return not any(step.is_async for node in nodes.values() for step in steps_of(node))


def steps_of(node: Node) -> Iterator[ActionCall]:
    """Yield every action of a state and its transitions."""
    yield from node.on_entry
    yield from node.on_exit
    if node.default:
        yield from node.default.steps
    for edge in node.edges:
        yield from edge.steps


@value
class DeclaredHandoff:
    """A declaration in a graph that hands on work."""

    state: str  # the state that the agent is in, enters or exits, or that invokes
    handoff: Handoff
    edge: Edge | None = None  # the transition that has the action
    is_left: bool = False  # whether it runs when the state is exited
    invoke: str = ""  # id of the invoke that delegates


def askings(nodes: Mapping[str, Node]) -> Iterator[DeclaredHandoff]:
    """Yield the handoffs that a graph declares, in document order."""
    for node in nodes.values():
        default = node.default.steps if node.default else ()
        yield from (DeclaredHandoff(node.name, handoff) for handoff in _declared((*node.on_entry, *default)))
        yield from (
            DeclaredHandoff(node.name, _of_invoke(invoke), invoke=invoke.id) for invoke in node.invokes if invoke.agent
        )
        yield from (DeclaredHandoff(node.name, handoff, is_left=True) for handoff in _declared(node.on_exit))
        for edge in node.edges:
            yield from (DeclaredHandoff(node.name, handoff, edge) for handoff in _declared(edge.steps))


def selections_in(nodes: Mapping[str, Node]) -> tuple[Best, ...]:
    """Return the selections that choose targets for a graph, in document order."""
    return tuple(best for asking in askings(nodes) for best in asking.handoff.selections)


def selectors(selections: tuple[Best, ...]) -> dict[str, Scorer | Filter]:
    """Return the custom filters and scorers of the selections, by name."""
    return {callable_name(function): function for best in selections for function in best.functions}


def _declared(steps: tuple[ActionCall, ...]) -> Iterator[Handoff]:
    return (step.function for step in steps if isinstance(step.function, Handoff))


def _of_invoke(invoke: Invoke) -> Handoff:
    return Handoff(
        invoke.agent,
        at=invoke.at,
        mode=Mode.DELEGATE,
        deadline=invoke.timeout_s,
        fallbacks=invoke.fallbacks,
        packet=invoke.packet,
    )


def fingerprint(
    name: str,
    version: str,
    nodes: Mapping[StateName, Node],
    entry_points: Sequence[EntryPoint],
    context: type[BaseModel],
    declared: Sequence[object] = (),
) -> str:
    """Return 32 hexadecimal digits that change with the graph's structure and declared names, but not with code.

    declared: structure of the declared events; empty if there are none, so that such graphs keep their fingerprints.
    Source: BLAKE2b (RFC 7693) with 16 bytes over the structure as JSON.
    """
    structure = [
        name,
        version,
        context.__name__,
        [_node_structure(node) for node in nodes.values()],
        [_entry_structure(entry) for entry in entry_points],
        *declared,
    ]
    return blake2b(json.dumps(structure).encode(), digest_size=16).hexdigest()


def _node_structure(node: Node) -> list[object]:
    return [
        node.name,
        node.kind,
        node.ancestors,
        [node.default.targets, _names(node.default.steps)] if node.default else None,
        node.recall.value if node.recall else None,
        node.data.name if node.data else None,
        node.timers,
        [_invoke_structure(invoke) for invoke in node.invokes],
        _names(node.on_entry),
        _names(node.on_exit),
        [_edge_structure(edge) for edge in node.edges],
        *([[[event, every.missed] for event, every in node.recurring]] if node.recurring else []),
        *(["failed"] if node.failed else []),  # only if set, so that other graphs keep their fingerprints
        *(["final"] if node.is_end and node.children else []),  # a leaf's kind implies it
        *([["defers", *node.defers]] if node.defers else []),
        *([["transfers", *_transfer_structure(node.transfers)]] if node.transfers else []),
    ]


def _transfer_structure(transfers: Transfers) -> list[object]:
    takes = [target.takes.__name__ if target.takes else None for target in transfers.targets]
    return [transfers.most, transfers.resets_on, transfers.arguments, takes]


def _invoke_structure(invoke: Invoke) -> list[object]:
    if invoke.agent:
        packet = None if invoke.packet is None else callable_name(invoke.packet)
        if isinstance(invoke.agent, Best):
            chosen_by = [callable_name(function) for function in invoke.agent.functions]
            return [invoke.id, invoke.agent.name, invoke.timeout_s, packet, chosen_by]
        return [invoke.id, invoke.agent, invoke.at, invoke.timeout_s, packet]
    return [invoke.id, callable_name(invoke.function), invoke.timeout_s]


def _edge_structure(edge: Edge) -> list[object]:
    return [edge.event, edge.targets, edge.internal, edge.ask.name if edge.ask else None, _names(edge.steps)]


def _entry_structure(entry: EntryPoint) -> list[object]:
    takes = entry.takes.__name__ if entry.takes else None
    return [entry.state, entry.name, entry.opens_on, takes, callable_name(entry.guard) if entry.guard else None]


def _names(steps: Sequence[ActionCall]) -> list[object]:
    return [step.function.names if isinstance(step.function, Handoff) else step.name for step in steps]

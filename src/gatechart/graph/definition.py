"""The parts of a definition: states, transitions, entry points. Frozen, and checked by `validate`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Generic, TypeAlias, TypeVar, overload

from pydantic import BaseModel

from gatechart.context import AgentContext, ContextT
from gatechart.graph.callables import callable_name
from gatechart.graph.escape import EscapePlan
from gatechart.graph.handoff import Fallbacks, Handoff
from gatechart.graph.names import is_called, names_of, one_or_more
from gatechart.graph.selection import Best
from gatechart.graph.signals import Given, Signals, signals_in
from gatechart.graph.transfers import Transfers
from gatechart.values.agents import Event, Refused
from gatechart.values.delays import Delay, Retry, delay_text, seconds_of
from gatechart.values.frozen import fill, value
from gatechart.values.names import RECURRING, EventName, Name, StateName, name_of
from gatechart.values.profiles import Profile
from gatechart.values.recurrence import Every
from gatechart.values.tool_policies import PoliciesByTool, ToolPolicies

ContextT_contra = TypeVar("ContextT_contra", bound=AgentContext, contravariant=True)
"""Type of the context that the functions of a state or a transition receive: their graph's context."""

Guard: TypeAlias = (
    Callable[[ContextT, Event], bool | Refused] | Callable[[ContextT, Event, frozenset[StateName]], bool | Refused]
)
EntryGuard: TypeAlias = Callable[[Any, Event], bool | Refused]
Action: TypeAlias = Callable[[ContextT, Event], object] | Callable[[ContextT, Event, Any], object]  # third: a Turn
Data: TypeAlias = Callable[[ContextT, Event], Mapping[str, Any]] | Callable[[ContextT, Event, Any], Mapping[str, Any]]
Work: TypeAlias = Callable[[ContextT, Any], Any]  # (context, work), sync or async

# In a list, only the events of functions are checked: mypy cannot infer a shared context type.
Actions: TypeAlias = Iterable[Action[Any]]
Follows: TypeAlias = "Name | Then | Action[Any] | Iterable[Name | Then | Action[Any]]"

ANY: Final[StateName] = "*"
"""The root as a source: its transitions are enabled in every state, after all others."""


class OnRefusal(Enum):
    """The reaction of a graph to an event that it refuses."""

    RETURN = "return"  # the sender gets an outcome with the reason; a warning is logged
    RAISE = "raise"  # the sender gets an EventRefusedError
    EVENT = "event"  # a transition for `error.refused` is taken; without one, as RETURN


class Precedence(Enum):
    """The order of transitions for an event: inner states first, and of two equal descriptors the first."""

    SPECIFIC = "specific"  # in one state, the exact event name first, then longer prefixes, then `*`
    DOCUMENT = "document"  # in one state, document order, as in W3C SCXML
    XSTATE = "xstate"  # as SPECIFIC; but if a region takes the event, its parallel ancestors do not


@dataclass(frozen=True)
class Then:
    """A transition whose source and event follow from its context."""

    targets: tuple[StateName, ...] = ()
    guard: Guard[Any] | None = None
    actions: tuple[Action[Any], ...] = ()
    internal: bool = False

    def __init__(
        self,
        target: Iterable[Name] | Name | None = None,
        *,
        guard: Guard[Any] | None = None,
        actions: Actions | Action[Any] = (),
        internal: bool = False,
    ) -> None:
        targets = () if target is None else names_of(target)
        fill(self, targets=targets, guard=guard, actions=one_or_more(actions), internal=internal)


@dataclass(frozen=True)
class After:
    """A delayed transition, taken after a state has been active for some time."""

    delay: str  # as written, "30s"
    delay_s: float | None  # None if the text is not a duration, which validation reports
    then: tuple[Then, ...]  # tried in this order


@dataclass(frozen=True)
class Recurring:
    """A transition taken repeatedly while a state is active."""

    every: Every
    then: tuple[Then, ...]  # tried in this order; the timer continues even if no guard agrees


@dataclass(frozen=True)
class Invoke:
    """A function that runs outside turns while a state is active, or a delegation to another agent.

    Its end arrives as an event: `done.invoke.<id>` with the payload `{"result": ...}`, or `error.invoke.<id>` with the
    exception's `type`, `message` and `traceback` and the number of `attempts`. Leaving the state cancels it.
    `Invoke(agent="refunds", at="REVIEWING")` delegates to a new agent of that graph when the state is entered. The
    result is the output of that agent's final state, and `timeout_s` is the deadline. `Invoke(agent=Best(...))`
    delegates to the best agent in the directory.
    """

    function: Work[Any] | None = None  # async (context, work); a synchronous one blocks the event loop while it runs
    id: str = ""  # by default the function's or the graph's name
    timeout_s: float | None = None  # limit of each attempt, which then fails with a TimeoutError; idle time is exempt
    retry: Retry | None = None  # None: no retries; waits survive a restart of the process
    agent: str | Best = ""  # name of a graph, or a selection of the target
    at: str = ""  # entry point where an agent of that graph starts
    packet: Callable[[Any, Any], Any] | None = None  # function of (context, event) that builds the packet for the agent
    fallbacks: Fallbacks | None = None  # alternatives if the offer is rejected

    def __post_init__(self) -> None:
        if not self.id:
            agent = self.agent.name if isinstance(self.agent, Best) else self.agent
            object.__setattr__(self, "id", agent or callable_name(self.function))


class Recall(Enum):
    """The depth of a history state's memory."""

    SHALLOW = "shallow"  # the active children of its parent
    DEEP = "deep"  # the active leaves below its parent


@dataclass(frozen=True)
class Initial:
    """The initial states of a compound state, or of a history state without memory, with actions on entry."""

    targets: tuple[StateName, ...]
    actions: tuple[Action[Any], ...] = ()

    def __init__(self, targets: Iterable[Name] | Name, *, actions: Actions | Action[Any] = ()) -> None:
        fill(self, targets=names_of(targets), actions=one_or_more(actions))


@dataclass(frozen=True)
class State(Generic[ContextT_contra]):
    """A state of an agent.

    With `states` it is compound, and one of them is active along with it; with `parallel=True` all of them are. A
    history state represents the states that were active in its parent when the parent was last exited. It is never
    active itself, and `initial` names the states to enter while nothing is remembered.
    A final state ends its parent; at the top level, the agent. A top-level final state may have states, too. Then it
    ends the agent once they have ended: their exit actions run, and the agent stays in them. With `failed=True` the
    agent has then failed, and an agent that waits for it gets `handoff.failed` or `error.invoke.<id>`.
    Events in `defer` (names as in a transition) are kept as mail until no active state defers them. An enabled
    transition of the state itself, of a state inside it or in another region takes precedence; a transition of its
    ancestors does not. Events of the framework, and events that actions raise, are never deferred.
    The policies in `tools` (by the tool's name, "*" for every tool) apply to the tool calls of its invokes and of the
    states inside it, whose own policies are stronger.
    With `progress=True`, entering the state counts as progress for the signals of the graph, and first entries of other
    states no longer do. With `checkpoint=True`, a `Rollback` can return to the state. The plan in `escape` takes
    precedence over the graph's. The watchdog reports an agent that has had no turn for longer than `expects`; states
    inside inherit it unless they set their own.
    """

    name: StateName
    on_entry: tuple[Action[ContextT_contra], ...] = ()
    on_exit: tuple[Action[ContextT_contra], ...] = ()
    after: tuple[After, ...] = ()  # delayed transitions, in the order given
    every: tuple[Recurring, ...] = ()  # recurring transitions, in the order given
    invoke: tuple[Invoke, ...] = ()
    states: tuple[State[Any], ...] = ()
    initial: Initial | None = None  # descendants to enter; by default the first child
    parallel: bool = False
    final: bool = False
    failed: bool = False  # for a final state at the top level: an agent that ends there has failed
    data: Data[ContextT_contra] | None = None  # output of a final state, for `done.state`; raises like an action
    history: Recall | None = None
    defer: tuple[EventName, ...] = ()
    tools: tuple[tuple[str, ToolPolicies], ...] = ()  # policies by tool, for the calls of its invokes
    transfers: Transfers | None = None  # targets that its invoke can choose from
    progress: bool = False  # whether entering it counts as progress, see `Signals`
    checkpoint: bool = False  # whether `Rollback` can return to it
    escape: EscapePlan | None = None  # the escape plan while it is active
    expects: Delay | None = None  # normal time that an agent stays in it without a turn; None: unknown
    description: str = ""

    @overload
    def __init__(
        self: State[AgentContext],
        name: Name,
        *,
        on_entry: Actions = (),
        on_exit: Actions = (),
        after: Mapping[Delay, Follows] | None = None,
        every: Mapping[Delay | Every, Follows] | None = None,
        invoke: Iterable[Invoke | Work[Any]] | Invoke = (),
        states: Iterable[State[Any] | Name] = (),
        initial: Initial | Iterable[Name] | Name | None = None,
        parallel: bool = False,
        final: bool = False,
        failed: bool = False,
        history: Recall | str | None = None,
        defer: Iterable[Name] | Name = (),
        tools: PoliciesByTool | None = None,
        transfers: Transfers | None = None,
        progress: bool = False,
        checkpoint: bool = False,
        escape: EscapePlan | None = None,
        expects: Delay | None = None,
        description: str = "",
    ) -> None: ...

    @overload
    def __init__(
        self,
        name: Name,
        *,
        on_entry: Actions | Action[ContextT_contra] = (),
        on_exit: Actions | Action[ContextT_contra] = (),
        after: Mapping[Delay, Follows] | None = None,
        every: Mapping[Delay | Every, Follows] | None = None,
        invoke: Iterable[Invoke | Work[Any]] | Invoke | Work[ContextT_contra] = (),
        states: Iterable[State[Any] | Name] = (),
        initial: Initial | Iterable[Name] | Name | None = None,
        parallel: bool = False,
        final: bool = False,
        failed: bool = False,
        data: Data[ContextT_contra] | None = None,
        history: Recall | str | None = None,
        defer: Iterable[Name] | Name = (),
        tools: PoliciesByTool | None = None,
        transfers: Transfers | None = None,
        progress: bool = False,
        checkpoint: bool = False,
        escape: EscapePlan | None = None,
        expects: Delay | None = None,
        description: str = "",
    ) -> None: ...

    def __init__(
        self,
        name: Name,
        *,
        on_entry: Actions | Action[ContextT_contra] = (),
        on_exit: Actions | Action[ContextT_contra] = (),
        after: Mapping[Delay, Follows] | None = None,
        every: Mapping[Delay | Every, Follows] | None = None,
        invoke: Iterable[Invoke | Work[Any]] | Invoke | Work[ContextT_contra] = (),
        states: Iterable[State[Any] | Name] = (),
        initial: Initial | Iterable[Name] | Name | None = None,
        parallel: bool = False,
        final: bool = False,
        failed: bool = False,
        data: Data[ContextT_contra] | None = None,
        history: Recall | str | None = None,
        defer: Iterable[Name] | Name = (),
        tools: PoliciesByTool | None = None,
        transfers: Transfers | None = None,
        progress: bool = False,
        checkpoint: bool = False,
        escape: EscapePlan | None = None,
        expects: Delay | None = None,
        description: str = "",
    ) -> None:
        children = tuple(state if isinstance(state, State) else State(state) for state in one_or_more(states))
        fill(
            self,
            name=name_of(name),
            on_entry=one_or_more(on_entry),
            on_exit=one_or_more(on_exit),
            after=tuple(_after(delay, then) for delay, then in (after or {}).items()),
            every=tuple(_recurring(recurrence, then) for recurrence, then in (every or {}).items()),
            invoke=tuple(work if isinstance(work, Invoke) else Invoke(work) for work in one_or_more(invoke)),
            states=children,
            initial=initial if initial is None or isinstance(initial, Initial) else Initial(initial),
            parallel=parallel,
            final=final,
            failed=failed,
            data=data,
            history=None if history is None else Recall(history),
            defer=names_of(defer),
            tools=tuple((tools or {}).items()),
            transfers=transfers,
            progress=progress,
            checkpoint=checkpoint,
            escape=escape,
            expects=expects,
            description=description,
        )


@dataclass(frozen=True)
class Transition(Generic[ContextT_contra]):
    """A transition: the reaction of a state to an event, with a guard, targets and actions.

    Without a target, no state is exited or entered. With its source as target, it exits and re-enters the source;
    `internal=True` then stays inside it. A transition to a history state around the source stays inside if the
    remembered states lie inside. Several targets are states in different regions of a parallel state. An event is also
    matched by a prefix of whole words: `error` matches `error.tool`, and `*` matches every event.
    """

    source: StateName
    event: EventName | None  # None: eventless, taken as soon as its guard agrees
    targets: tuple[StateName, ...] = ()
    guard: Guard[ContextT_contra] | None = None
    actions: tuple[Action[ContextT_contra], ...] = ()
    internal: bool = False  # to the source itself or one of its descendants, without exiting the source
    description: str = ""

    @overload
    def __init__(
        self: Transition[AgentContext],
        source: Name,
        event: Name | None,
        target: Iterable[Name] | Name | None = None,
        *,
        actions: Actions = (),
        internal: bool = False,
        description: str = "",
    ) -> None: ...

    @overload
    def __init__(
        self,
        source: Name,
        event: Name | None,
        target: Iterable[Name] | Name | None = None,
        *,
        guard: Guard[ContextT_contra] | None = None,
        actions: Actions | Action[ContextT_contra] = (),
        internal: bool = False,
        description: str = "",
    ) -> None: ...

    def __init__(
        self,
        source: Name,
        event: Name | None,
        target: Iterable[Name] | Name | None = None,
        *,
        guard: Guard[ContextT_contra] | None = None,
        actions: Actions | Action[ContextT_contra] = (),
        internal: bool = False,
        description: str = "",
    ) -> None:
        fill(
            self,
            source=name_of(source),
            event=None if event is None else name_of(event),
            targets=() if target is None else names_of(target),
            guard=guard,
            actions=one_or_more(actions),
            internal=internal,
            description=description,
        )

    @property
    def label(self) -> str:
        """The transition in one line, as in history, outcomes and drawings.

        >>> Transition("IDLE", "STARTED", "WORKING").label, Transition("IDLE", "NOTED").label
        ('IDLE --STARTED--> WORKING', 'IDLE --NOTED')
        >>> Transition("IDLE", None, "WORKING").label
        'IDLE --> WORKING'
        """
        event = f"--{self.event or ''}"
        arrow = f"{event if self.event is not None else ''}-->" if self.targets else event
        return " ".join([str(self.source), arrow, *([", ".join(map(str, self.targets))] if self.targets else [])])


@dataclass(frozen=True)
class EntryPoint:
    """A state where an agent can start, and the payload that it needs.

    The state `ANY`, the root, means the initial states of the graph. A handoff fills the fields of the payload and of
    the context with the source agent's own values. Entities of the packet, such as the words of a user, fill only the
    fields named in `entities`, and never replace a value of the agent.
    """

    state: StateName
    name: str = ""  # by default the state's name
    opens_on: tuple[str, ...] = ()  # business triggers
    takes: type[BaseModel] | None = None  # the payload's schema; None for no payload
    maps: Mapping[str, str] | Callable[[Any], Mapping[str, Any]] | None = None  # see `context_fields`
    guard: EntryGuard | None = None  # called with the context made from the payload
    description: str = ""
    signals: Signals | None = None  # replace the graph's signals for agents that start here; None: use the graph's
    profile: Profile | None = None  # its abilities, for selections; missing fields come from the graph's profile
    entities: tuple[str, ...] = ()  # fields of the payload or the context that entities of a packet may fill

    def __init__(
        self,
        state: Name,
        name: Name = "",
        *,
        opens_on: Iterable[Name] | Name = (),
        takes: type[BaseModel] | None = None,
        maps: Mapping[str, str] | Callable[[Any], Mapping[str, Any]] | None = None,
        guard: EntryGuard | None = None,
        description: str = "",
        signals: Given | None = None,
        profile: Profile | None = None,
        entities: Iterable[Name] | Name = (),
    ) -> None:
        fill(
            self,
            state=name_of(state),
            name=name_of(name) or name_of(state),
            opens_on=names_of(opens_on),
            takes=takes,
            maps=maps,
            guard=guard,
            description=description,
            signals=signals_in(signals),
            profile=profile,
            entities=names_of(entities),
        )

    def context_fields(self, payload: BaseModel) -> dict[str, Any]:
        """Return the context's fields that a payload fills.

        By default each field of the payload fills the context's field of the same name. `maps` changes this: a mapping
        from payload fields to context fields selects fields, and a function of the payload returns them.
        """
        if callable(self.maps):
            return dict(self.maps(payload))
        names = self.maps if self.maps is not None else {name: name for name in type(payload).model_fields}
        return {target: getattr(payload, source) for source, target in names.items()}


def after_event(state: StateName, delay: str) -> EventName:
    """Return the name of the event that fires after the state has been active for this long.

    >>> after_event("WAITING", "30s")
    'after.30s.WAITING'
    """
    return f"after.{delay}.{state}"


def recurring_event(state: StateName, every: Every) -> EventName:
    """Return the name of the event of a state's recurring timer.

    >>> recurring_event("WAITING", Every(cron="0 9 * * MON-FRI"))
    'every.0_9_*_*_MON-FRI.WAITING'
    """
    return f"{RECURRING}{'_'.join(every.text.split())}.{state}"


def _recurring(every: Delay | Every, then: Follows) -> Recurring:
    return Recurring(every if isinstance(every, Every) else Every(every), _follows(then))


def _after(delay: Delay, then: Follows) -> After:
    return After(delay_text(delay), seconds_of(delay), _follows(then))


def _follows(then: Follows) -> tuple[Then, ...]:
    """Convert targets, transitions and actions to transitions. Actions alone form one transition."""
    parts = one_or_more(then)
    if parts and all(map(_is_action, parts)):
        return (Then(actions=parts),)
    return tuple(
        part if isinstance(part, Then) else Then(actions=part) if _is_action(part) else Then(part) for part in parts
    )


def _is_action(value: object) -> bool:
    return is_called(value) or isinstance(value, Handoff)


def beginning(initial: Initial | None, states: Sequence[State[Any]]) -> EntryPoint:
    """Build the default entry point: named after the initial or first state, or `initial` for several or with actions.

    >>> beginning(Initial("a"), ()).name, beginning(None, [State("b")]).name, beginning(Initial(["a", "b"]), ()).name
    ('a', 'b', 'initial')
    """
    targets = initial.targets if initial else tuple(state.name for state in states[:1])
    is_one = len(targets) == 1 and not (initial and initial.actions)
    return EntryPoint(*targets) if is_one else EntryPoint(ANY, "initial")


@value
class Allow:
    """An intended finding, and its reason. An allowance that matches no finding is itself a finding."""

    code: str  # "GC102"
    place: str  # place of the finding, "state 'WAITING'"
    reason: str

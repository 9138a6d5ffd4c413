"""The forms of a chart: well-formed parts with their positions, before names are looked up.

It also has chart content that no function or type of an application provides: fixed data, initial values, exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from gatechart.chartfiles.faults import Spot
from gatechart.context import canonical_json
from gatechart.graph.callables import callable_name, takes_third
from gatechart.graph.handoff import Human, OtherGraph, SameTarget
from gatechart.graph.selection import NeedRule
from gatechart.values.agents import Refused
from gatechart.values.delays import Delay, Retry
from gatechart.values.profiles import Needs, Profile
from gatechart.values.recurrence import Every
from gatechart.values.tool_policies import ToolPolicies


class Dialect(StrEnum):
    """The semantics of a chart."""

    SCXML = "scxml"  # as in code
    XSTATE = "xstate"  # XState, version 5


@dataclass(frozen=True, slots=True)
class Reference:
    """The name of a function, with the parameters for its call."""

    spot: Spot
    name: str
    params: Mapping[str, Any] | None = None  # JSON values


@dataclass(frozen=True, slots=True)
class Expression:
    """A guard written in CEL."""

    spot: Spot
    text: str


@dataclass(frozen=True, slots=True)
class Values:
    """JSON values written in the file itself."""

    spot: Spot
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Exceptions:
    """A guard that denies some events without evaluation."""

    spot: Spot
    events: tuple[str, ...]
    guard: Question | None


Question: TypeAlias = "Reference | Expression | Exceptions"


@dataclass(frozen=True, slots=True)
class BestForm:
    """A selection of a target. Names are looked up unless they are built-in filters or scorers."""

    spot: Spot
    name: str
    needs: Needs | Reference | None = None
    rules: tuple[NeedRule, ...] = ()
    scorers: tuple[tuple[Reference, float], ...] | None = None  # with their weights; None for the default scorers
    order: tuple[Reference, ...] = ()
    filters: tuple[Reference, ...] = ()
    least: float | None = None
    entries: tuple[str, ...] = ()


FallbackForm: TypeAlias = SameTarget | OtherGraph | Human | BestForm


@dataclass(frozen=True, slots=True)
class HandoffForm:
    """An action that offers the work to another agent."""

    spot: Spot
    to: str | BestForm  # empty after a fault, which is recorded; likewise `at`
    at: str
    mode: str
    reason: str
    deadline: Delay | None
    fallbacks: tuple[FallbackForm, ...] | None
    packet: Reference | None
    agent: Reference | None
    achieved: Reference | None
    transcript: bool


@dataclass(frozen=True, slots=True)
class BuiltInForm:
    """An action that needs no function."""

    spot: Spot
    kind: str  # one of `built_in.BUILT_IN`
    text: str = ""  # the event's name, or the message
    to: Spot | None = None
    values: Spot | None = None
    delay: Delay | None = None


ActionForm: TypeAlias = Reference | HandoffForm | BuiltInForm


@dataclass(frozen=True, slots=True)
class ThenForm:
    """A transition without its event."""

    spot: Spot
    targets: tuple[Spot, ...] = ()
    guard: Question | None = None
    actions: tuple[ActionForm, ...] = ()
    internal: bool = False
    reenter: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True)
class EventForm:
    """The event of a transition."""

    spot: Spot
    name: str | None  # None for an eventless transition
    is_done: bool = False  # the end of the state itself, whose name is not yet known
    of_invoke: int | None = None  # the end of the state's invoke with this index; `name` is the prefix of the event


@dataclass(frozen=True, slots=True)
class TransitionForm:
    """A transition of a state."""

    event: EventForm
    then: ThenForm


@dataclass(frozen=True, slots=True)
class AfterForm:
    """The transitions taken after a state has been active for some time."""

    spot: Spot
    delay: str
    then: tuple[ThenForm, ...]


@dataclass(frozen=True, slots=True)
class EveryForm:
    """The transitions taken periodically while a state is active."""

    spot: Spot
    every: Every | None  # None after a fault, which is recorded
    then: tuple[ThenForm, ...]


@dataclass(frozen=True, slots=True)
class InvokeForm:
    """A function that runs, or an agent that works, while a state is active."""

    spot: Spot
    function: Reference | None
    id: str  # empty if the file gives none
    timeout_s: float | None
    retry: Retry | None = None
    agent: str | BestForm = ""  # the name of a graph, or a selection, in place of a function
    at: str = ""
    packet: Reference | None = None
    fallbacks: tuple[FallbackForm, ...] | None = None

    @property
    def own_id(self) -> str:
        """The given id, else the name of the agent or function."""
        agent = self.agent.name if isinstance(self.agent, BestForm) else self.agent
        return self.id or agent or (self.function.name if self.function else "") or "?"


@dataclass(frozen=True, slots=True)
class ToForm:
    """A target of transfers: a state, an entry point of another graph (with `at`), or a selection."""

    spot: Spot
    target: Spot | BestForm  # reference to a state, or the name of another graph
    at: str = ""
    description: str = ""
    guard: Question | None = None
    actions: tuple[ActionForm, ...] = ()
    takes: Reference | None = None
    packet: Reference | None = None
    deadline: Delay | None = None
    fallbacks: tuple[FallbackForm, ...] | None = None
    waits: Spot | None = None
    transcript: bool = True


@dataclass(frozen=True, slots=True)
class TransfersForm:
    """The targets that a state offers to its invoke."""

    spot: Spot
    targets: tuple[ToForm, ...]
    most: int | None
    otherwise: Spot | None
    resets_on: tuple[str, ...]
    arguments: bool
    status: Reference | None


@dataclass(frozen=True, slots=True)
class InitialForm:
    """The initial state of a state."""

    spot: Spot
    targets: tuple[Spot, ...]
    actions: tuple[ActionForm, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class StateForm:
    """A state, or the chart as a whole, with everything inside it."""

    spot: Spot
    key: str
    id: Spot | None = None
    parallel: bool = False
    final: bool = False
    failed: bool = False
    history: str | None = None
    defer: tuple[str, ...] = ()
    tools: Mapping[str, ToolPolicies] = field(default_factory=dict)
    initial: InitialForm | None = None
    entry: tuple[ActionForm, ...] = ()
    exit: tuple[ActionForm, ...] = ()
    transitions: tuple[TransitionForm, ...] = ()  # in the order of the file
    after: tuple[AfterForm, ...] = ()
    every: tuple[EveryForm, ...] = ()
    invoke: tuple[InvokeForm, ...] = ()
    states: tuple[StateForm, ...] = ()
    data: Reference | Values | None = None
    description: str = ""
    transfers: TransfersForm | None = None
    progress: bool = False
    expects: Delay | None = None
    checkpoint: bool = False
    escape: Spot | None = None  # read once the names of states are known

    def walk(self) -> Iterator[StateForm]:
        """Yield all states inside, a parent before its children, without this one."""
        for state in self.states:
            yield state
            yield from state.walk()


@dataclass(frozen=True, slots=True)
class EntryForm:
    """An entry point: a state where an agent may start."""

    spot: Spot
    state: Spot
    name: str = ""
    opens_on: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    takes: Reference | None = None
    maps: Reference | Values | None = None
    guard: Question | None = None
    description: str = ""
    signals: Spot | None = None  # read once the names of states are known
    profile: Profile | None = None


@dataclass(frozen=True, slots=True)
class EventTypeForm:
    """A declared event with the schema of its payload."""

    spot: Spot
    name: str
    takes: Reference | Values | None = None  # the name of a type, or a JSON Schema
    description: str = ""


@dataclass(frozen=True, slots=True)
class AllowForm:
    """An intended finding, with the reason."""

    spot: Spot
    code: str
    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class AcceptsForm:
    """The handoffs that agents accept."""

    spot: Spot
    capacity: int | None
    policy: Reference | None


@dataclass(frozen=True, slots=True)
class ChartForm:
    """The whole of a chart."""

    root: StateForm
    dialect: Dialect
    name: str
    version: str
    context: Reference | Values | None
    entry_points: tuple[EntryForm, ...]
    on_refusal: str
    max_microsteps: int
    allow: tuple[AllowForm, ...]
    accepts: AcceptsForm | None
    events: tuple[EventTypeForm, ...]
    events_closed: bool
    searchable: tuple[str, ...]
    tools: Mapping[str, ToolPolicies]
    description: str
    signals: Spot | None = None  # read once the names of states are known
    profile: Profile | None = None
    precedence: str = "specific"


class Fixed:
    """Fixed data of a final state. The name is the JSON text of the data."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = dict(values)
        self.__name__ = canonical_json(self.values)

    def __call__(self, _context: Any, _event: Any) -> dict[str, Any]:
        """Return a copy of the values."""
        return deepcopy(self.values)

    def __repr__(self) -> str:
        return f"Fixed({self.values!r})"


class Except:
    """A guard that denies some events and evaluates another guard, if there is one, for all others.

    `GO.*` covers all events that start with `GO.`, but not `GO` itself.
    """

    def __init__(self, events: tuple[str, ...], guard: Callable[..., Any] | None = None) -> None:
        self.events = events
        self.guard = guard
        inner = () if guard is None else (callable_name(guard),)
        self.__name__ = " and ".join((*inner, *(f"not {event}" for event in events)))
        self.drawn_as = "".join(inner)  # XState shows no exceptions
        self._prefixes = tuple(event[:-1] for event in events if event.endswith(".*"))
        self._takes_configuration = guard is not None and takes_third(guard, "configuration")

    def __call__(self, context: Any, event: Any, configuration: frozenset[str] = frozenset()) -> bool | Refused:
        """Return whether the event is not an exception and the guard accepts it."""
        if event.name in self.events or event.name.startswith(self._prefixes):
            return False
        if self.guard is None:
            return True
        third = (configuration,) if self._takes_configuration else ()
        answer = self.guard(context, event, *third)
        return answer if isinstance(answer, Refused) else bool(answer)

    def __repr__(self) -> str:
        return f"Except({self.events!r}, {self.guard!r})"

"""Errors in a request to a graph or an agent: an unknown name, a refused event, an undone turn, a handoff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gatechart.errors.root import EventError, listing, suggestion


@dataclass(eq=False)
class UnknownGraphError(EventError):
    """No graph of this name is registered with the runtime."""

    graph: str
    graphs: tuple[str, ...]

    def __str__(self) -> str:
        return f"no graph is named {self.graph!r}: {suggestion(self.graph, self.graphs)}"


@dataclass(eq=False)
class UnknownStateError(EventError):
    """The graph, or every graph that was searched, lacks a state of this name."""

    graph: str  # empty if all hosted graphs were searched
    state: str
    states: tuple[str, ...]

    def __str__(self) -> str:
        searched = f"{self.graph!r} has no state" if self.graph else "no graph has a state"
        return f"{searched} {self.state!r}: {suggestion(self.state, self.states)}"


@dataclass(eq=False)
class UnknownFieldError(EventError):
    """Agents cannot be found or ordered by this field: no searched graph declares it as searchable."""

    graph: str  # empty if all hosted graphs were searched
    field: str
    fields: tuple[str, ...]  # the searchable fields

    def __str__(self) -> str:
        whose = f"agents of {self.graph!r}" if self.graph else "agents"
        return f"{whose} cannot be found by {self.field!r}: {suggestion(self.field, self.fields)}"


@dataclass(eq=False)
class UnknownSelectorError(EventError):
    """No filter or scorer of this name is built in, or declared by the graph that uses it."""

    kind: str  # filter or scorer
    name: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"no {self.kind} is named {self.name!r}: {suggestion(self.name, self.names)}"


@dataclass(eq=False)
class UnknownPlaceError(EventError):
    """A list in this order cannot continue from this position."""

    place: str
    order: str

    def __str__(self) -> str:
        return (
            f"{self.place!r} is not a position in the order {self.order!r}; pass the `next` of a page in the same order"
        )


@dataclass(eq=False)
class UnknownTriggerError(EventError):
    """No entry point opens on this business trigger."""

    trigger: str
    triggers: tuple[str, ...]

    def __str__(self) -> str:
        return f"no entry point opens on {self.trigger!r}: {suggestion(self.trigger, self.triggers)}"


@dataclass(eq=False)
class EntryRefusedError(EventError):
    """The state is not an entry point of this graph. Nothing was started."""

    graph: str
    state: str
    entry_points: tuple[str, ...]

    def __str__(self) -> str:
        doors = ", ".join(self.entry_points)
        return f"{self.graph!r} cannot be entered at {self.state!r}; its entry points are {doors}"


@dataclass(eq=False)
class EntryGuardError(EventError):
    """The guard of the entry point denied entry or raised. Nothing was started."""

    private: ClassVar[tuple[str, ...]] = ("raised",)

    graph: str
    entry_point: str
    guard: str
    raised: str | None = None
    reason: str = ""  # returned by the guard

    def __str__(self) -> str:
        verdict = f"raised {self.raised}" if self.raised else "said no"
        because = f" ({self.reason})" if self.reason else ""
        return (
            f"{self.graph!r} was not entered at {self.entry_point!r}: its guard {self.guard} {verdict}{because}; "
            "pass a payload that the guard accepts, or choose another entry point"
        )


@dataclass(eq=False)
class PayloadError(EventError):
    """A payload does not fit its recipient. Nothing was changed."""

    private: ClassVar[tuple[str, ...]] = ("raised",)

    taker: str
    problems: tuple[str, ...]
    expected: str
    raised: str = ""  # by an application function that maps the payload

    def __str__(self) -> str:
        raised = f" raised {self.raised}" if self.raised else ""
        return f"the payload does not fit {self.taker}: {'; '.join(self.problems)}{raised}. Expected: {self.expected}"


@dataclass(eq=False)
class UndeclaredEventError(EventError):
    """The graph is closed to events that it does not declare. Nothing was changed."""

    graph: str
    event: str
    events: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.graph!r} declares no event {self.event!r}: {suggestion(self.event, self.events)}"


@dataclass(eq=False)
class ReservedEventError(EventError):
    """Only the framework sends events of this name. Nothing was changed."""

    event: str

    def __str__(self) -> str:
        return f"only gatechart itself sends {self.event!r}; {self._remedy}"

    @property
    def _remedy(self) -> str:
        """Suggestion of another call for the caller."""
        first, _, rest = self.event.partition(".")
        if first == "after":
            return "an operator lets a timer fire now with fire_timer(), or `gatechart mail fire`"
        if rest.startswith("invoke."):
            return "an operator ends an invoke with end_invoke(), or `gatechart end-invoke`"
        if first == "gatechart":
            return "it is for internal agents, which change through calls such as schedule(), alarm() or mark_entry()"
        if first == "handoff":
            return "an agent hands on work with turn.handoff(), and an operator with handoff()"
        return "choose another name, or let an action raise it within its turn with turn.raise_event()"


@dataclass(eq=False)
class FrameworkAgentError(EventError):
    """The id or the graph is reserved for the framework. Nothing was changed."""

    kind: str  # agent or graph
    name: str  # the agent's id, or the graph's name
    instead: str  # the call or command to use instead

    def __str__(self) -> str:
        return f"only gatechart itself uses the {self.kind} {self.name!r}; instead, {self.instead}"


@dataclass(eq=False)
class UnknownAgentError(EventError):
    """The store holds no agent with this id."""

    agent_id: str

    def __str__(self) -> str:
        return f"there is no agent {self.agent_id!r}; start it, or look it up with find() or `gatechart list`"


@dataclass(eq=False)
class UnknownScheduleError(EventError):
    """There is no schedule of this name."""

    name: str

    def __str__(self) -> str:
        return f"there is no schedule {self.name!r}; create it, or look it up with schedules() or `gatechart schedule`"


@dataclass(eq=False)
class UnknownEntryError(EventError):
    """The directory has no entry of this id."""

    id: str

    def __str__(self) -> str:
        return f"the directory has no entry {self.id!r}; register it, or look it up with directory()"


@dataclass(eq=False)
class EntryTakenError(EventError):
    """The caller may not change this entry of the directory. It is unchanged."""

    id: str
    owner: str

    def __str__(self) -> str:
        return f"the entry {self.id!r} of the directory belongs to {self.owner}; register another id"


@dataclass(eq=False)
class UnknownVersionError(EventError):
    """The agent never had this version, or its history no longer goes back to it."""

    agent_id: str
    version: int
    oldest: int
    newest: int

    def __str__(self) -> str:
        return (
            f"there is no version {self.version} of agent {self.agent_id!r}; "
            f"versions {self.oldest} to {self.newest} are available"
        )


@dataclass(eq=False)
class AgentExistsError(EventError):
    """An agent with this id already exists. It is unchanged."""

    agent_id: str
    graph: str = ""  # if it matters

    def __str__(self) -> str:
        graph = f" of the graph {self.graph!r}" if self.graph else ""
        return f"agent {self.agent_id!r}{graph} already exists; resume it, or start an agent with another id"


@dataclass(eq=False)
class AgentEndedError(EventError):
    """The agent ended before it reached the awaited state."""

    agent_id: str
    awaited: str
    configuration: tuple[str, ...]
    status: str
    reason: str = ""  # why it gave up, such as `loop detected`; empty otherwise

    def __str__(self) -> str:
        gave_up = f", because it could not escape ({self.reason})," if self.reason else ""
        return (
            f"agent {self.agent_id!r} is {self.status} in {', '.join(self.configuration)}{gave_up} "
            f"and will not reach {self.awaited!r}; wait for a state that it can reach"
        )


@dataclass(eq=False)
class NotReachedError(EventError):
    """The awaited state was not reached within the caller's timeout. The agent keeps running."""

    agent_id: str
    awaited: str
    configuration: tuple[str, ...]
    timeout_s: float

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} did not reach {self.awaited!r} in {self.timeout_s:g} s and is in "
            f"{', '.join(self.configuration)}; wait again, or use a longer timeout"
        )


@dataclass(eq=False)
class DeadMailError(EventError):
    """The agent will not reach the awaited state by itself: mail for it is dead, and nothing else is on its way."""

    private: ClassVar[tuple[str, ...]] = ("reason",)

    agent_id: str
    awaited: str
    number: int  # of the dead mail
    event: str
    reason: str

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} will not reach {self.awaited!r} by itself: mail {self.number}, {self.event!r}, "
            f"is dead ({self.reason}), and nothing else is on its way to the agent; fix the cause and "
            f"retry({self.number}) it, or discard({self.number}) it and send another event"
        )


@dataclass(eq=False)
class EventRefusedError(EventError):
    """The agent refused the event, and its graph declares that a refusal raises an error. Nothing was changed."""

    agent_id: str
    event: str
    reason: str

    def __str__(self) -> str:
        return f"agent {self.agent_id!r} refused {self.event!r}: {self.reason}"


@dataclass(eq=False)
class EventIdReusedError(EventError):
    """The id belongs to another event that this agent has applied. Nothing was changed."""

    agent_id: str
    event_id: str
    applied: str

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} knows the id {self.event_id!r} from {self.applied!r} with other content; "
            "repeat an event unchanged, or give a new event a new id"
        )


@dataclass(eq=False)
class ActionFailedError(EventError):
    """An action raised and no active state handles `error.execution`. The turn, or the signal's answer, is undone."""

    private: ClassVar[tuple[str, ...]] = ("raised",)

    agent_id: str
    event: str
    action: str
    place: str
    raised: str
    undone: str = "the turn"  # or `the answer`, for an answer to a signal

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r}: {self.action} ({self.place}) raised {self.raised} on {self.event!r}; "
            f"{self.undone} is undone. Fix the action, or the event's payload, "
            "or handle 'error.execution' in the active state"
        )


@dataclass(eq=False)
class ContextInvalidError(EventError):
    """The actions of a turn left a context that does not fit its type. The turn, or the signal's answer, is undone."""

    agent_id: str
    event: str
    context: str
    problems: tuple[str, ...]
    undone: str = "the turn"  # or `the answer`, for an answer to a signal

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r}: {self.event!r} left a {self.context} that is not valid: "
            f"{'; '.join(self.problems)}; {self.undone} is undone. Fix the action that set it"
        )


@dataclass(eq=False)
class ReadOnlyContextError(EventError):
    """A program set a context field outside the actions of a turn, where the change would be lost."""

    context: str
    name: str

    def __str__(self) -> str:
        return (
            f"{self.name!r} of a {self.context} cannot be set here: only the actions of a turn change an agent's "
            "context; send an event whose action sets it, or change a copy: context.model_copy()"
        )


@dataclass(eq=False)
class MicrostepLimitError(EventError):
    """A turn did not settle within its limit of microsteps. The turn, or the signal's answer, is undone."""

    agent_id: str
    event: str
    limit: int
    cycle: tuple[str, ...]
    undone: str = "the turn"  # or `the answer`, for an answer to a signal

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r}: {self.event!r} did not settle within {self.limit} microsteps; "
            f"it repeats {' → '.join(self.cycle)}; {self.undone} is undone. Break the cycle with a guard"
        )


@dataclass(eq=False)
class PacketError(EventError):
    """A packet cannot be read or built. Nothing was changed."""

    private: ClassVar[tuple[str, ...]] = ("raised",)

    problems: tuple[str, ...]
    schema_version: int | None  # None if unknown
    remedy: str
    raised: str = ""  # by a packet migration

    def __str__(self) -> str:
        version = "no schema version" if self.schema_version is None else f"schema version {self.schema_version}"
        raised = f" raised {self.raised}" if self.raised else ""
        return f"the packet with {version} cannot be used: {'; '.join(self.problems)}{raised}. {self.remedy}"


@dataclass(eq=False)
class HandoffStateError(EventError):
    """A handoff cannot change from one status to another. It is unchanged."""

    before: str
    after: str
    allowed: tuple[str, ...]
    handoff_id: str = ""  # empty if the caller did not give it

    def __str__(self) -> str:
        name = f"handoff {self.handoff_id!r}" if self.handoff_id else "the handoff"
        return (
            f"{name} is {self.before!r} and cannot become {self.after!r}; "
            f"it can become {listing(self.allowed, 'nothing else, because it has ended')}"
        )


@dataclass(eq=False)
class UnknownHandoffError(EventError):
    """The agent has no such handoff, or the handoff is over."""

    agent_id: str
    handoff: str
    handoffs: tuple[str, ...]  # the agent's handoffs

    def __str__(self) -> str:
        return f"agent {self.agent_id!r} has no handoff {self.handoff!r} to end; it has {listing(self.handoffs)}"


@dataclass(eq=False)
class HandoffNotAwaitedError(EventError):
    """A turn offered a handoff and ended in a final state, which cannot await the reply. The turn is undone."""

    agent_id: str
    event: str
    graph: str  # the target graph of the offer
    configuration: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} would hand its work to {self.graph!r} and end in {', '.join(self.configuration)} "
            f"on {self.event!r}; let the transition lead to a state that waits for handoff.accepted"
        )


@dataclass(eq=False)
class OpenHandoffError(EventError):
    """A rollback would go past the start of a handoff that is still open. Nothing was changed."""

    agent_id: str
    version: int
    handoffs: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} cannot go back to version {self.version}, because handoffs that started later "
            f"are still open: {listing(self.handoffs)}; cancel them, or wait until they end"
        )


@dataclass(eq=False)
class NoWorkError(EventError):
    """No target was suitable for the handoff, so there is no work whose quality could be rated."""

    handoff: str

    def __str__(self) -> str:
        return (
            f"handoff {self.handoff!r} has no quality: no target was suitable, so no work was done; "
            "rate needed or in_time, which judge the agent that handed the work on"
        )


@dataclass(eq=False)
class NoHandoffError(EventError):
    """No handoff has this id, or its status no longer allows the call."""

    handoff: str
    status: str | None  # None if there is no such handoff

    def __str__(self) -> str:
        known = "there is none" if self.status is None else f"it is {self.status!r}"
        return f"handoff {self.handoff!r}: {known}; look it up with handoffs() or `gatechart handoffs`"

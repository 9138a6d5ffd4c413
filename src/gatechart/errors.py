"""Everything that gatechart raises: one root, three branches by blame.

`DefinitionError`: the graph or the application is wrong, and a developer mends it. `EventError`: this call is wrong
now, and its caller can do better. `OutsideError`: the world around failed, and an operator looks. An error's fields are
its facts; its text says what would have worked. Whatever a raised error refused has changed nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from difflib import get_close_matches
from typing import Any


@dataclass(eq=False)
class GatechartError(Exception):
    """The root of all errors of this package."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))


class DefinitionError(GatechartError):
    """What a developer wrote is wrong: a graph, or how the application is put together."""


class EventError(GatechartError):
    """What a caller asked for cannot be done now."""


class OutsideError(GatechartError):
    """The world around failed: a database, a file, a program."""


def listing(names: tuple[str, ...], none: str = "none") -> str:
    """The names, quoted and joined by commas; `none` where there are none.

    >>> listing(("A", "B"))
    "'A', 'B'"
    """
    return ", ".join(map(repr, names)) or none


def suggestion(wrong: object, known: tuple[str, ...]) -> str:
    """A clause that offers the known names, nearest first if one is near, which none is to what is no text.

    >>> suggestion("GREETNIG", ("GREETING", "DONE"))
    "did you mean 'GREETING'? There are 'GREETING', 'DONE'"
    """
    near = get_close_matches(wrong, known, n=1) if isinstance(wrong, str) else ()
    offer = f"did you mean {near[0]!r}? There are " if near else "there are "
    return offer + listing(known)


# The definition is wrong.


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a definition: where, what, and what would have worked."""

    place: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}; {self.remedy}"


@dataclass(eq=False)
class InvalidGraphError(DefinitionError):
    """The definition of a graph has faults; all of them are here."""

    graph: str
    faults: tuple[Fault, ...]

    def __str__(self) -> str:
        heading = f"graph {self.graph!r} has {len(self.faults)} fault{'s' * (len(self.faults) != 1)}"
        return "\n".join([heading, *(f"  - {fault}" for fault in self.faults)])


@dataclass(frozen=True, slots=True)
class FileFault:
    """One thing wrong in a file: where, what, and what would have worked."""

    line: int  # from 1
    column: int  # from 1, in characters
    path: tuple[str | int, ...]  # of keys and places in lists, from the top
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column} {self.place or 'the whole'}: {self.problem}; {self.remedy}"

    @property
    def place(self) -> str:
        """The path as text.

        >>> FileFault(3, 7, ("states", "IDLE", "on", "GO", 0), "", "").place
        'states.IDLE.on.GO[0]'
        """
        return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.path).removeprefix(".")


@dataclass(eq=False)
class InvalidChartError(DefinitionError):
    """A chart that is data has faults, or a graph cannot be written as data; all of them are here."""

    file: str
    faults: tuple[FileFault, ...]

    def __str__(self) -> str:
        heading = f"chart {self.file} has {len(self.faults)} fault{'s' * (len(self.faults) != 1)}"
        return "\n".join([heading, *(f"  - {self.file}:{fault}" for fault in self.faults)])


@dataclass(eq=False)
class NoGraphError(DefinitionError):
    """What a runtime was given to host is no graph."""

    given: str

    def __str__(self) -> str:
        return f"{self.given} is no graph; pass graphs=[...] with StateTransitionGraph objects"


@dataclass(eq=False)
class DuplicateGraphError(DefinitionError):
    """Two graphs of one runtime have the same name and version."""

    graph: str

    def __str__(self) -> str:
        return (
            f"two graphs are named {self.graph!r}; give each graph of a runtime a name of its own, or another version"
        )


@dataclass(eq=False)
class TimersNotKeptError(DefinitionError):
    """The graph has timers or invokes, which no durable store keeps so far."""

    graph: str
    states: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.graph!r} has timers or invokes in {listing(self.states)}, which a durable store would lose "
            "at the end of the process; host it on 'memory:', or leave them out"
        )


@dataclass(eq=False)
class AmbiguousTriggerError(DefinitionError):
    """A business trigger opens entry points of several graphs."""

    trigger: str
    graphs: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"the trigger {self.trigger!r} opens entry points of {listing(self.graphs)}; "
            "start one of them by name, or let only one graph open on it"
        )


# This call is wrong now.


@dataclass(eq=False)
class UnknownGraphError(EventError):
    """No graph of this name is registered with the runtime."""

    graph: str
    graphs: tuple[str, ...]

    def __str__(self) -> str:
        return f"no graph is named {self.graph!r}: {suggestion(self.graph, self.graphs)}"


@dataclass(eq=False)
class UnknownStateError(EventError):
    """The graph has no state of this name."""

    graph: str
    state: str
    states: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.graph!r} has no state {self.state!r}: {suggestion(self.state, self.states)}"


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
    """The guard of the entry point said no, or raised. Nothing was started."""

    graph: str
    entry_point: str
    guard: str
    raised: str | None = None

    def __str__(self) -> str:
        verdict = f"raised {self.raised}" if self.raised else "said no"
        return (
            f"{self.graph!r} was not entered at {self.entry_point!r}: its guard {self.guard} {verdict}; "
            "bring a payload that the guard agrees to, or choose another entry point"
        )


@dataclass(eq=False)
class PayloadError(EventError):
    """A payload does not fit what takes it. Nothing was changed."""

    taker: str
    problems: tuple[str, ...]
    expected: str

    def __str__(self) -> str:
        return f"the payload does not fit {self.taker}: {'; '.join(self.problems)}. Expected: {self.expected}"


@dataclass(eq=False)
class UnknownAgentError(EventError):
    """The store holds no agent of this id."""

    agent_id: str

    def __str__(self) -> str:
        return f"there is no agent {self.agent_id!r}; start it, or look it up with find() or `gatechart list`"


@dataclass(eq=False)
class AgentExistsError(EventError):
    """An agent of this id was started before. It stays as it is."""

    agent_id: str

    def __str__(self) -> str:
        return f"there is an agent {self.agent_id!r} already; resume it, or start another with another id"


@dataclass(eq=False)
class AgentEndedError(EventError):
    """The agent ended before it reached the state that was waited for."""

    agent_id: str
    awaited: str
    configuration: tuple[str, ...]
    status: str

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} is {self.status} in {', '.join(self.configuration)} "
            f"and will not reach {self.awaited!r}; wait for a state on its way"
        )


@dataclass(eq=False)
class EventRefusedError(EventError):
    """The event was refused by an agent whose graph asks for an error. Nothing was changed."""

    agent_id: str
    event: str
    reason: str

    def __str__(self) -> str:
        return f"agent {self.agent_id!r} refused {self.event!r}: {self.reason}"


@dataclass(eq=False)
class EventIdReusedError(EventError):
    """The id stands for another event that this agent has applied. Nothing was changed."""

    agent_id: str
    event_id: str
    applied: str

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} has applied the id {self.event_id!r} to {self.applied!r} with other content; "
            "repeat an event unchanged, or give a new event a new id"
        )


@dataclass(eq=False)
class ActionFailedError(EventError):
    """An action raised and no active state handles `error.execution`. The whole turn is undone."""

    agent_id: str
    event: str
    action: str
    place: str
    raised: str

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r}: {self.action} ({self.place}) raised {self.raised} on {self.event!r}; "
            "the turn is undone. Mend the action, or the event's payload, "
            "or handle 'error.execution' in the active state"
        )


@dataclass(eq=False)
class ContextInvalidError(EventError):
    """The actions of a turn left a context that does not fit its type. The whole turn is undone."""

    agent_id: str
    event: str
    context: str
    problems: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r}: {self.event!r} left a {self.context} that is not valid: "
            f"{'; '.join(self.problems)}; the turn is undone. Mend the action that set it"
        )


@dataclass(eq=False)
class MicrostepLimitError(EventError):
    """A turn did not come to rest within its bound of microsteps. The whole turn is undone."""

    agent_id: str
    event: str
    limit: int
    cycle: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r}: {self.event!r} did not come to rest in {self.limit} microsteps; "
            f"it repeats {' → '.join(self.cycle)}; the turn is undone. Break the cycle with a guard"
        )


@dataclass(eq=False)
class InsideTurnError(EventError):
    """A call that waits for a turn was made inside a turn, where it could wait for ever."""

    call: str
    agent_id: str

    def __str__(self) -> str:
        return (
            f"{self.call}() was called by an action inside a turn of agent {self.agent_id!r}; an action decides and "
            "notes, so note in the context what is to be done and do it after the turn has ended"
        )


@dataclass(eq=False)
class IncompatibleGraphError(EventError):
    """The registered graph cannot take over what is stored of this agent. It stays as it is."""

    agent_id: str
    graph: str
    problem: str

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} cannot go on with the registered graph {self.graph!r}: {self.problem}; "
            "register the graph that it was started with"
        )


@dataclass(eq=False)
class RuntimeClosedError(EventError):
    """The runtime was closed; its agents rest in the store."""

    call: str

    def __str__(self) -> str:
        return f"{self.call}() came after the runtime was closed; call it inside `async with Runtime.open(...)`"


@dataclass(eq=False)
class ReadOnlyError(EventError):
    """The runtime was opened for reading, and this call is for the owner of the database."""

    call: str

    def __str__(self) -> str:
        return f"{self.call}() is for the owner of the database, but the runtime only reads it; open it for writing"


# The outside failed.


@dataclass(eq=False)
class StoreUrlError(OutsideError):
    """The URL names no store that gatechart can open."""

    url: str
    problem: str

    def __str__(self) -> str:
        return (
            f"cannot open a store at {self.url!r}: {self.problem}; "
            "use 'sqlite+aiosqlite:///agents.db' for a file, or 'memory:' to keep nothing"
        )


@dataclass(eq=False)
class StoreMissingError(OutsideError):
    """There is no database to read."""

    path: str

    def __str__(self) -> str:
        return f"there is no database at {self.path}; name another, or start an agent, which creates it"


@dataclass(eq=False)
class StoreReadOnlyError(OutsideError):
    """The database, or the folder it lies in, cannot be written."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path} cannot be written ({self.problem}); make file and folder writable, or open it for reading"


@dataclass(eq=False)
class StoreUnreadableError(OutsideError):
    """The database, or a folder on the way to it, cannot be read."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path} cannot be read ({self.problem}); make file and folders readable for this user"


@dataclass(eq=False)
class StoreCorruptError(OutsideError):
    """The file is not a sound gatechart database."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path} is not a sound gatechart database ({self.problem}); restore it from a backup"


@dataclass(eq=False)
class StoreBusyError(OutsideError):
    """Another program holds the database locked."""

    path: str
    problem: str

    def __str__(self) -> str:
        return (
            f"another program holds {self.path} locked ({self.problem}); end that program's transaction, "
            "or wait longer with `?timeout=` (seconds) in the URL"
        )


@dataclass(eq=False)
class StoreOwnedError(OutsideError):
    """Another runtime owns the database."""

    path: str
    host: str
    pid: int
    since: datetime | None

    def __str__(self) -> str:
        since = f" since {self.since:%Y-%m-%d %H:%M:%S} UTC" if self.since else ""
        owner = f"process {self.pid} on {self.host}{since}" if self.pid else "a process that has just opened it"
        return f"{self.path} is owned by {owner}; end it first, or open the database for reading"


@dataclass(eq=False)
class OwnershipLostError(OutsideError):
    """Another runtime has taken the database over; this one can no longer write."""

    path: str
    epoch: int
    current: int

    def __str__(self) -> str:
        return (
            f"this runtime owned {self.path} in epoch {self.epoch}, but epoch {self.current} has begun; "
            "nothing was written. Open a new runtime"
        )


@dataclass(eq=False)
class SchemaOutdatedError(OutsideError):
    """The database was written by an older gatechart."""

    path: str
    found: str
    needed: str

    def __str__(self) -> str:
        return f"{self.path} has the schema {self.found}, this gatechart needs {self.needed}; run `gatechart upgrade`"


@dataclass(eq=False)
class SchemaTooNewError(OutsideError):
    """The database was written by a newer gatechart."""

    path: str
    found: str
    known: str

    def __str__(self) -> str:
        return (
            f"{self.path} has the schema {self.found}, but this gatechart knows only up to {self.known}; "
            "install a newer gatechart"
        )


@dataclass(eq=False)
class StoreFailedError(OutsideError):
    """The database failed in a way that has no name of its own here."""

    path: str
    problem: str

    def __str__(self) -> str:
        return (
            f"the database {self.path} failed: {self.problem}; mend that, "
            "then try again, with the same id where there was one"
        )


@dataclass(eq=False)
class StaleAgentError(OutsideError):
    """Another writer has changed the agent meanwhile. Nothing of this turn was written."""

    agent_id: str
    version: int

    def __str__(self) -> str:
        return f"agent {self.agent_id!r} was changed by another writer after version {self.version}; send again"


@dataclass(eq=False)
class DrawingError(OutsideError):
    """Graphviz is missing, or could not draw."""

    problem: str

    def __str__(self) -> str:
        return f"cannot draw: {self.problem}"

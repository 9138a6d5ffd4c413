"""The directory of a home: entry points of its graphs, registered entries, and the records of both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isnan
from typing import Final, Protocol

from gatechart.api.home import AgentHome
from gatechart.errors.event import UnknownGraphError
from gatechart.errors.failures import SelectionAnswerError, asking
from gatechart.errors.operation import ElsewhereError
from gatechart.graph.definition import EntryPoint
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.directory_graph import FORGET, EntryContext, digest_of, entry_context, entry_of, mentions
from gatechart.hosting.kept_choices import KeptChoice
from gatechart.hosting.own_agents import OwnAgents
from gatechart.hosting.registry import Registry
from gatechart.selection.features import spoken
from gatechart.selection.performance import Performance
from gatechart.selection.scorers import number_in
from gatechart.values.agents import Snapshot, Status
from gatechart.values.directory import MOST_ENTRIES, DirectoryEntry, Mark, counted_under
from gatechart.values.framework import DIRECTORY_GRAPH, ENTRY_AGENT, is_framework_agent
from gatechart.values.frozen import replaced, value
from gatechart.values.names import HIGHEST_NUMBER, AgentId
from gatechart.values.profiles import Candidate

PAGE: Final = 1000
_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
_LONGEST_LAG: Final = timedelta(seconds=10)  # of a list of agents behind the commits of the agents


class HomeWorkload(Protocol):
    """The running work of a home, and its open circuit breakers."""

    async def held(self) -> Mapping[str, int]:
        """Return the numbers of open pieces of work: by graph, by id of an entry point, and by id of an entry."""
        ...

    async def open_breakers(self) -> Sequence[str]:
        """Return the names of the circuit breakers that let no call through."""
        ...


@value
class Gate:
    """The limits on work that an entry accepts."""

    closed: str = ""  # why it accepts no work; empty if it accepts work
    most: int | None = None  # pieces of work at once, besides the limit of its graph; None: unlimited


class Directory:
    """The targets for handoffs on a home."""

    def __init__(
        self,
        home: AgentHome,
        own: OwnAgents | None,
        registry: Registry,
        now: Callable[[], datetime],
        work: HomeWorkload,
        *,
        load: Callable[[Candidate], float | None] | None = None,
        fresh: timedelta | None = None,
        most_entries: int = MOST_ENTRIES,
    ) -> None:
        """Bind to a home.

        own: access to the agents that keep the entries; None if entries are only read.
        load: returns the load of a candidate, from 0 to 1, or None to use its open work. None: always use open work.
        fresh: maximum age of records, which are then read again; None if `see` is called for each change.
        most_entries: limit for one named registrant.
        """
        self.home = home
        self._own = own
        self.registry = registry
        self.most_entries = most_entries
        self.registering = asyncio.Lock()  # held from the check of a registration until its commit
        self._now = now
        self._work = work
        self._load = load
        self._fresh = fresh
        self._kept: dict[str, _Kept] = {}
        self._lines: dict[str, _CandidateEntry] = {}  # by id, in order
        self._stale: set[str] | None = None  # ids of lines to rebuild; None: all
        self._local: Mapping[str, Candidate] = {}
        self._graphs: Sequence[AnyGraph] | None = None  # the graphs of `_local`
        self._read_at: datetime | None = None  # None: it must be read
        self._reading = asyncio.Lock()

    @property
    def own(self) -> OwnAgents:
        """Access to the agents that keep the entries. Raises ElsewhereError if entries are only read."""
        if self._own is None:
            raise ElsewhereError(
                "directory", self.home.capabilities.home, "change entries where their agents are hosted"
            )
        return self._own

    async def entries(self) -> tuple[DirectoryEntry, ...]:
        """Return all entries, ordered by id: entry points of the home's graphs, and unexpired registered entries."""
        now = self._now()
        return tuple(self._entry_now(line, now) for line in await self._current_lines(now))

    async def entry(self, entry_id: str) -> DirectoryEntry | None:
        """Return the entry with an id; None if there is none."""
        now = self._now()
        return next((self._entry_now(line, now) for line in await self._current_lines(now, entry_id)), None)

    async def named(self, door: Candidate) -> DirectoryEntry:
        """Return an entry point of a local graph as an entry, even if the directory does not list it."""
        line = self._line(DirectoryEntry(door))
        _refresh([line], await self._work.held(), frozenset(await self._work.open_breakers()))
        return self._entry_now(line, self._now())

    async def candidates(self) -> tuple[Candidate, ...]:
        """Return all candidates for selections, available or not, with their current load."""
        lines = await self._current_lines(self._now())
        return tuple([line.candidate for line in lines if not line.is_named_only])

    async def kept(self, entry_id: str) -> EntryContext | None:
        """Return the record of an entry, registered or not; None if there is none."""
        kept = (await self._all_kept()).get(entry_id)
        return None if kept is None else kept.context

    async def kept_choices(
        self, known: Mapping[str, tuple[int, Sequence[KeptChoice]]]
    ) -> dict[str, tuple[int, Sequence[KeptChoice]]]:
        """Return the recorded choices of each entry, with the version of its agent. known: the previous result."""
        records = (await self._all_kept()).items()
        versions = ((entry_id, kept, known.get(entry_id)) for entry_id, kept in records)
        return {
            entry_id: old if old is not None and old[0] == kept.version else (kept.version, tuple(kept.context.choices))
            for entry_id, kept, old in versions
        }

    async def performances(self) -> Mapping[str, Performance]:
        """Return the performance of each entry that has a record, by id."""
        return {entry_id: kept.context.performance for entry_id, kept in (await self._all_kept()).items()}

    async def registered(self) -> Mapping[str, str]:
        """Return the registrants of the registered entries that have not expired, by id; empty for operators."""
        now = self._now()
        contexts = [kept.context for kept in (await self._all_kept()).values()]
        return {
            context.terms.id: context.terms.registrant
            for context in contexts
            if context.is_registered
            and not context.terms.is_local
            and (context.expires is None or context.expires > now)
        }

    async def gate(self, entry_id: str) -> Gate:
        """Return the limits on work that an entry accepts."""
        kept = await self.kept(entry_id)
        if kept is None:
            return OPEN
        closed = (kept.mark_reason or "by an operator") if kept.mark is Mark.CLOSED else ""
        return Gate(closed, None if kept.terms.is_local else kept.terms.capacity)

    def local(self, entry_id: str) -> Candidate | None:
        """Return the entry point of a local graph that the directory lists under an id; None if there is none."""
        return self._locals().get(entry_id)

    def door(self, entry_id: str) -> Candidate | None:
        """Return the entry point of a local graph with an id, listed in the directory or not; None if there is none."""
        known = self.local(entry_id)
        if known is not None:
            return known
        doors = ((graph, point) for graph in self.registry.graphs for point in graph.entry_points.values())
        matches = (named_only(graph, point) for graph, point in doors if f"{graph.name}.{point.name}" == entry_id)
        return next(matches, None)

    def graph(self, name: str) -> AnyGraph | None:
        """Return the graph of the home with a name; None if there is none."""
        try:
            return self.registry.graph(name)
        except UnknownGraphError:
            return None

    def see(self, snapshot: Snapshot) -> None:
        """Update an entry from the newest commit of the agent that keeps it."""
        if not is_framework_agent(snapshot.agent_id, snapshot.graph):
            return
        entry_id = snapshot.agent_id.removeprefix(ENTRY_AGENT)
        if snapshot.status is Status.ACTIVE:
            self._kept[entry_id] = _Kept(snapshot)
        else:
            self._kept.pop(entry_id, None)
        self._change(entry_id)

    async def mentioning(self, name: str) -> Sequence[AgentId]:
        """Return the agents of the entries whose records mention a user or an agent."""
        kept = await self._all_kept()
        return [f"{ENTRY_AGENT}{entry_id}" for entry_id, one in kept.items() if mentions(one.context, name)]

    async def disown(self, name: str) -> None:
        """Delete a user or an agent from the records of all entries."""
        for agent_id in await self.mentioning(name):
            await self.own.post(agent_id, FORGET, {"digest": digest_of(name)})

    def forget(self, agent_id: AgentId) -> None:
        """Update the directory after an agent was erased, which may have kept an entry."""
        entry_id = agent_id.removeprefix(ENTRY_AGENT)
        if self._kept.pop(entry_id, None) is not None:
            self._change(entry_id)

    def _change(self, entry_id: str) -> None:
        if self._stale is not None:
            self._stale.add(entry_id)

    async def _current_lines(self, now: datetime, only: str | None = None) -> list[_CandidateEntry]:
        """Return the entries that have not expired, with current candidates. only: id of the only entry to return."""
        known = self._all_lines(await self._all_kept())
        lines = known.values() if only is None else [known[only]] if only in known else []
        current = [line for line in lines if line.entry.expires is None or line.entry.expires > now]
        _refresh(current, await self._work.held(), frozenset(await self._work.open_breakers()))
        if self._load is not None:
            for line in current:
                line.load(self._load)
        return current

    async def _all_kept(self) -> Mapping[str, _Kept]:
        if self._is_old():
            async with self._reading:
                if self._is_old():  # may be false now: thousands of first offers can wait for the lock
                    await self._read()
        return self._kept

    def _is_old(self) -> bool:
        return self._read_at is None or (self._fresh is not None and self._now() - self._read_at >= self._fresh)

    async def _read(self) -> None:
        now = self._now()
        keepers = (snapshot for snapshot in await self._find() if snapshot.agent_id.startswith(ENTRY_AGENT))
        read = {snapshot.agent_id.removeprefix(ENTRY_AGENT): _Kept(snapshot) for snapshot in keepers}
        # Commits reported to `see` meanwhile are newer than the list, which lags behind on an engine.
        newer = {entry_id: kept for entry_id, kept in self._kept.items() if kept.is_newer(read.get(entry_id), now)}
        self._kept, self._read_at, self._stale = read | newer, now, None

    async def _find(self) -> Sequence[Snapshot]:
        snapshots: list[Snapshot] = []
        after: str | None = None
        try:
            while True:
                page = await self.home.find(graph=DIRECTORY_GRAPH, status=Status.ACTIVE, after=after, limit=PAGE)
                snapshots += page.agents
                after = page.next
                if after is None:
                    return snapshots
        except ElsewhereError:  # an engine without a projection lists no agents
            return snapshots

    def _all_lines(self, kept: Mapping[str, _Kept]) -> Mapping[str, _CandidateEntry]:
        local = self._locals()
        stale = {*local, *kept} if self._stale is None else self._stale
        if self._stale is None:
            self._lines = {}
        has_new = False
        for entry_id in stale:
            entry = self._entry(local.get(entry_id), kept.get(entry_id))
            if entry is None:
                self._lines.pop(entry_id, None)
            else:
                has_new |= entry_id not in self._lines
                self._lines[entry_id] = self._line(entry)
        if has_new:
            self._lines = dict(sorted(self._lines.items()))
        self._stale = set()
        return self._lines

    def _entry(self, local: Candidate | None, kept: _Kept | None) -> DirectoryEntry | None:
        """Return an entry without its load; None if it is not in the directory now."""
        if local is not None:
            return DirectoryEntry(local) if kept is None else entry_of(kept.context, local)
        context = None if kept is None else kept.context
        if context is None or not context.is_registered or not context.terms.at:  # no `at`: ratings of unmatched work
            return None
        if context.terms.is_local and self.registry.graphs:  # it has no profile; it is listed only while it is closed
            door = self.door(context.terms.id) if context.mark is Mark.CLOSED else None
            return None if door is None else entry_of(context, door)
        return self._with_declared(entry_of(context))

    def _line(self, entry: DirectoryEntry) -> _CandidateEntry:
        candidate = entry.candidate
        graph = self.graph(candidate.graph)
        graph_capacity = None if graph is None or not candidate.is_local else graph.accepts.capacity
        if graph_capacity is not None:
            entry = replaced(entry, candidate=replaced(candidate, capacity=graph_capacity))
        tools: frozenset[str] = frozenset() if graph is None else breakers_of(graph)
        counted = counted_as(entry.candidate) if graph_capacity is None else candidate.graph
        is_named_only = candidate.is_local and bool(self.registry.graphs) and self.local(candidate.id) is None
        return _CandidateEntry(entry, counted, tools, is_named_only, entry.candidate)

    def _locals(self) -> Mapping[str, Candidate]:
        """Return the entry points of the home's graphs, by id."""
        graphs = self.registry.graphs
        if graphs != self._graphs:
            doors = ((graph, entry) for graph in graphs for entry in graph.entry_points.values())
            candidates = (local_candidate(graph, entry) for graph, entry in doors)
            self._local = {candidate.id: candidate for candidate in candidates if candidate is not None}
            self._graphs, self._stale = graphs, None
        return self._local

    def _with_declared(self, entry: DirectoryEntry) -> DirectoryEntry:
        """Add the profile and text of the declared entry point to a registered entry."""
        graph = self.graph(entry.candidate.graph)
        point = None if graph is None else graph.entry_points.get(entry.candidate.entry_point)
        if graph is None or point is None:
            return entry
        profile = entry.candidate.profile.over(graph.profile_at(point.name))
        text = entry.candidate.text or text_of(graph, point)
        return replaced(entry, candidate=replaced(entry.candidate, profile=profile, text=text))

    def _entry_now(self, line: _CandidateEntry, now: datetime) -> DirectoryEntry:
        unavailable = self._unavailable(line.entry, line.candidate, now)
        return replaced(line.entry, candidate=line.candidate, unavailable=unavailable)

    def _unavailable(self, entry: DirectoryEntry, candidate: Candidate, now: datetime) -> str:
        """Return why an entry accepts no work now; empty if it accepts work."""
        if entry.mark in (Mark.CLOSED, Mark.EXCLUDED):
            return f"{entry.mark.value}: {entry.mark_reason}" if entry.mark_reason else entry.mark.value
        hours = candidate.profile.schedule
        if hours and not any(span.contains(now) for span in hours):
            return "outside its hours"
        if candidate.capacity is not None and candidate.held >= candidate.capacity:
            return f"full: {candidate.held} of {candidate.capacity}"
        return f"open circuit breakers: {', '.join(candidate.open_breakers)}" if candidate.open_breakers else ""


@dataclass(slots=True)
class _CandidateEntry:
    """An entry, and its candidate at the last query. Most candidates do not change between queries."""

    entry: DirectoryEntry  # without its load
    counted: str  # the name for counts of its open work
    tools: frozenset[str]  # tools with circuit breakers that it depends on
    is_named_only: bool  # whether it is an entry point without a profile, which no selection finds
    candidate: Candidate
    blocked: frozenset[str] = frozenset()  # the tools whose circuit breakers were open

    def load(self, load: Callable[[Candidate], float | None]) -> None:
        """Set the load of the candidate, from 0 to 1, by the application's function."""
        self.candidate = replaced(self.candidate, load=None)
        with asking("load="):
            busy = load(self.candidate)
        if busy is None:
            return
        if isnan(share := number_in(busy)):
            raise SelectionAnswerError("load=", f"{busy!r} for {self.entry.id!r}", "a number from 0 to 1, or None")
        self.candidate = replaced(self.candidate, load=min(max(share, 0.0), 1.0))


def _refresh(lines: Iterable[_CandidateEntry], held: Mapping[str, int], broken: frozenset[str]) -> None:
    """Set the current open work and open circuit breakers of lines."""
    for line in lines:  # of a thousand, few have changed since the last query
        count, blocked = held.get(line.counted, 0), line.tools & broken if broken else broken
        if count != line.candidate.held or blocked != line.blocked:
            line.candidate = replaced(line.candidate, held=count, open_breakers=tuple(sorted(blocked)))
            line.blocked = blocked


OPEN: Final = Gate()


def slot_of(entry_id: str) -> str:
    """Return the name for counts of an entry's open work, distinct from the names of graphs."""
    return f"{ENTRY_AGENT}{entry_id}"


def counted_as(candidate: Candidate) -> str:
    """Return the name for counts of a candidate's open work."""
    return candidate.id if candidate.is_local or candidate.capacity is None else slot_of(candidate.id)


class _Kept:
    """The record of an entry, parsed when it is first needed."""

    __slots__ = ("_context", "_snapshot", "changed", "version")

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot: Snapshot | None = snapshot
        self._context: EntryContext | None = None
        self.version = snapshot.version
        self.changed = snapshot.changed or _LONG_AGO

    def is_newer(self, other: _Kept | None, now: datetime) -> bool:
        """Return whether this record is newer than the one from a list. other: None if the list does not have it."""
        if other is None:
            return now - self.changed < _LONGEST_LAG
        return self.version > other.version

    @property
    def context(self) -> EntryContext:
        if self._context is None:
            assert self._snapshot is not None  # dropped only when its context is parsed
            self._context, self._snapshot = entry_context(self._snapshot), None
        return self._context


def local_candidate(graph: AnyGraph, entry: EntryPoint) -> Candidate | None:
    """Return an entry point as a candidate, without its load; None if it has no profile, so is not listed."""
    profile = graph.profile_at(entry.name)
    if profile is None:
        return None
    name = f"{graph.name}.{entry.name}"
    return Candidate(name, graph.name, entry.name, profile=profile, text=text_of(graph, entry))


def named_only(graph: AnyGraph, entry: EntryPoint) -> Candidate:
    """Return an entry point without a profile as a candidate: only handoffs that name it reach it."""
    return Candidate(f"{graph.name}.{entry.name}", graph.name, entry.name, text=text_of(graph, entry))


def text_of(graph: AnyGraph, entry: EntryPoint) -> str:
    """Return the text of an entry point for comparison: a line for it, for its graph, and for each field it takes.

    The lines are compared separately, because a request resembles one line more than the whole text.
    """
    fields = {} if entry.takes is None else entry.takes.model_fields
    lines = (
        _phrase(entry.name, entry.description or graph.nodes[entry.state].description),
        _phrase(graph.name, graph.description),
        *(field.description or spoken(name) for name, field in fields.items()),
    )
    return "\n".join(dict.fromkeys(" ".join(line.split()) for line in lines))


def _phrase(name: str, description: str) -> str:
    return ". ".join(filter(None, (spoken(name), description)))


def breakers_of(graph: AnyGraph) -> frozenset[str]:
    """Return the names of the circuit breakers that a graph depends on.

    These are the tools with policies of the graph or its states, and the `breakers` of its invokes' functions.
    """
    nodes = graph.nodes.values()
    of_functions = (getattr(invoke.function, "breakers", ()) for node in nodes for invoke in node.invokes)
    return frozenset(graph.tools).union(*(node.tools for node in nodes), *of_functions)


class OpenWork:
    """The running work of a home, counted from its handoffs, if its store is not accessible. Fulfils Work."""

    def __init__(self, home: AgentHome) -> None:
        self._home = home

    async def held(self) -> Mapping[str, int]:
        """See Work."""
        counted: dict[str, int] = {}
        after = 0
        try:
            while handoffs := await self._home.handoffs(status="accepted", after=after, limit=PAGE):
                after = handoffs[-1].number
                for handoff in handoffs:
                    recipient = str(handoff.packet.get("recipient", ""))
                    for name in counted_under(handoff.target_graph, handoff.entry_point, recipient):
                        counted[name] = counted.get(name, 0) + 1
        except ElsewhereError:
            return {}
        return counted

    async def open_breakers(self) -> Sequence[str]:
        """See Work."""
        try:
            return [breaker.name for breaker in await self._home.breakers(limit=HIGHEST_NUMBER - 1)]
        except ElsewhereError:
            return ()

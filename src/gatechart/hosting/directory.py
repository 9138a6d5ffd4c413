"""The directory as things stand: the entry points of a home's graphs, and what was registered and kept about them."""

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
_LONGEST_LAG: Final = timedelta(seconds=10)  # of a list of agents behind what one of them just committed


class Work(Protocol):
    """What a home tells of the work under way on it."""

    async def held(self) -> Mapping[str, int]:
        """Return how many pieces of work are open: by graph, by id of an entry point, and by id of an entry."""
        ...

    async def open_breakers(self) -> Sequence[str]:
        """Return the names of the circuit breakers that let no call through."""
        ...


@value
class Gate:
    """What an entry lets in."""

    closed: str = ""  # why it takes no work; empty if it does
    most: int | None = None  # pieces of work at once, apart from what its graph says; None: unlimited


class Directory:
    """Whom work can be handed to on a home."""

    def __init__(
        self,
        home: AgentHome,
        own: OwnAgents | None,
        registry: Registry,
        now: Callable[[], datetime],
        work: Work,
        *,
        load: Callable[[Candidate], float | None] | None = None,
        fresh: timedelta | None = None,
        most_entries: int = MOST_ENTRIES,
    ) -> None:
        """Bind to a home.

        own: the way to the agents that keep the entries; None where entries are only read.
        load: tells how busy a candidate is, from 0 to 1, in place of its open work; None: by its open work.
        fresh: after which time what is kept is read again; None: `see` tells of each change.
        most_entries: that one named registrant may have.
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
        self._lines: dict[str, _Line] = {}  # by id, in order
        self._stale: set[str] | None = None  # ids of lines to make anew; None: all
        self._local: Mapping[str, Candidate] = {}
        self._graphs: Sequence[AnyGraph] | None = None  # whose entry points those are
        self._read_at: datetime | None = None  # None: it must be read
        self._reading = asyncio.Lock()

    @property
    def own(self) -> OwnAgents:
        """The way to the agents that keep the entries. Raises ElsewhereError where entries are only read."""
        if self._own is None:
            raise ElsewhereError(
                "directory", self.home.capabilities.home, "change entries where their agents are hosted"
            )
        return self._own

    async def entries(self) -> tuple[DirectoryEntry, ...]:
        """Return all entries by id: those of the home's graphs, and those that are registered and did not expire."""
        now = self._now()
        return tuple(self._shown(each, now) for each in await self._standing(now))

    async def entry(self, entry_id: str) -> DirectoryEntry | None:
        """Return an entry; None if there is none of this id."""
        now = self._now()
        return next((self._shown(each, now) for each in await self._standing(now, entry_id)), None)

    async def named(self, door: Candidate) -> DirectoryEntry:
        """Return an entry point of a graph here as an entry, be it in the directory or not."""
        line = self._line(DirectoryEntry(door))
        _bring_up_to([line], await self._work.held(), frozenset(await self._work.open_breakers()))
        return self._shown(line, self._now())

    async def candidates(self) -> tuple[Candidate, ...]:
        """Return everybody who can be chosen, available or not, with the load of the moment."""
        standing = await self._standing(self._now())
        return tuple([each.candidate for each in standing if not each.is_named_only])

    async def kept(self, entry_id: str) -> EntryContext | None:
        """Return what is kept of an entry, registered or not; None if there is nothing."""
        found = (await self._all_kept()).get(entry_id)
        return None if found is None else found.context

    async def kept_choices(
        self, known: Mapping[str, tuple[int, Sequence[KeptChoice]]]
    ) -> dict[str, tuple[int, Sequence[KeptChoice]]]:
        """Return the choices that are kept of each entry, with the version of its agent. known: as returned before."""
        found = (await self._all_kept()).items()
        versions = ((name, each, known.get(name)) for name, each in found)
        return {
            name: old if old is not None and old[0] == each.version else (each.version, tuple(each.context.choices))
            for name, each, old in versions
        }

    async def performances(self) -> Mapping[str, Performance]:
        """Return how the work of each entry went, of those of which something is kept."""
        return {name: each.context.performance for name, each in (await self._all_kept()).items()}

    async def registered(self) -> Mapping[str, str]:
        """Return the registrant of each registered entry that did not expire, by id; empty for operators."""
        now = self._now()
        contexts = [kept.context for kept in (await self._all_kept()).values()]
        return {
            each.terms.id: each.terms.registrant
            for each in contexts
            if each.is_registered and not each.terms.is_local and (each.expires is None or each.expires > now)
        }

    async def gate(self, entry_id: str) -> Gate:
        """Return what an entry lets in."""
        kept = await self.kept(entry_id)
        if kept is None:
            return OPEN
        closed = (kept.mark_reason or "by an operator") if kept.mark is Mark.CLOSED else ""
        return Gate(closed, None if kept.terms.is_local else kept.terms.capacity)

    def local(self, entry_id: str) -> Candidate | None:
        """Return the entry point of a graph here that has this id in the directory; None if there is none."""
        return self._locals().get(entry_id)

    def door(self, entry_id: str) -> Candidate | None:
        """Return the entry point of a graph here that has this id, in the directory or not; None if there is none."""
        known = self.local(entry_id)
        if known is not None:
            return known
        doors = ((graph, each) for graph in self.registry.graphs for each in graph.entry_points.values())
        return next((named_only(graph, each) for graph, each in doors if f"{graph.name}.{each.name}" == entry_id), None)

    def graph(self, name: str) -> AnyGraph | None:
        """Return a graph of the home; None if it has none of this name."""
        try:
            return self.registry.graph(name)
        except UnknownGraphError:
            return None

    def see(self, snapshot: Snapshot) -> None:
        """Learn of the newest commit of an agent that keeps an entry."""
        if not is_framework_agent(snapshot.agent_id, snapshot.graph):
            return
        entry_id = snapshot.agent_id.removeprefix(ENTRY_AGENT)
        if snapshot.status is Status.ACTIVE:
            self._kept[entry_id] = _Kept(snapshot)
        else:
            self._kept.pop(entry_id, None)
        self._change(entry_id)

    async def mentioning(self, name: str) -> Sequence[AgentId]:
        """Return the agents of the entries that keep something about a user or an agent."""
        kept = await self._all_kept()
        return [f"{ENTRY_AGENT}{entry_id}" for entry_id, each in kept.items() if mentions(each.context, name)]

    async def disown(self, name: str) -> None:
        """Have all entries forget a user or an agent."""
        for agent_id in await self.mentioning(name):
            await self.own.post(agent_id, FORGET, {"digest": digest_of(name)})

    def forget(self, agent_id: AgentId) -> None:
        """Learn that an agent was erased, which may have kept an entry."""
        entry_id = agent_id.removeprefix(ENTRY_AGENT)
        if self._kept.pop(entry_id, None) is not None:
            self._change(entry_id)

    def _change(self, entry_id: str) -> None:
        if self._stale is not None:
            self._stale.add(entry_id)

    async def _standing(self, now: datetime, only: str | None = None) -> list[_Line]:
        """Return the entries that did not expire, with their candidates as things stand. only: the id of one."""
        known = self._all_lines(await self._all_kept())
        lines = known.values() if only is None else [known[only]] if only in known else []
        standing = [each for each in lines if each.entry.expires is None or each.entry.expires > now]
        _bring_up_to(standing, await self._work.held(), frozenset(await self._work.open_breakers()))
        if self._load is not None:
            for each in standing:
                each.load(self._load)
        return standing

    async def _all_kept(self) -> Mapping[str, _Kept]:
        if self._is_old():
            async with self._reading:
                if self._is_old():  # otherwise another call has just read it; the first offers may come by the thousand
                    await self._read()
        return self._kept

    def _is_old(self) -> bool:
        return self._read_at is None or (self._fresh is not None and self._now() - self._read_at >= self._fresh)

    async def _read(self) -> None:
        now = self._now()
        keepers = (each for each in await self._find() if each.agent_id.startswith(ENTRY_AGENT))
        found = {each.agent_id.removeprefix(ENTRY_AGENT): _Kept(each) for each in keepers}
        # What was seen meanwhile is newer than what was read, which lags on an engine.
        newer = {name: each for name, each in self._kept.items() if each.is_newer(found.get(name), now)}
        self._kept, self._read_at, self._stale = found | newer, now, None

    async def _find(self) -> Sequence[Snapshot]:
        found: list[Snapshot] = []
        after: str | None = None
        try:
            while True:
                page = await self.home.find(graph=DIRECTORY_GRAPH, status=Status.ACTIVE, after=after, limit=PAGE)
                found += page.agents
                after = page.next
                if after is None:
                    return found
        except ElsewhereError:  # an engine without a projection lists no agents
            return found

    def _all_lines(self, kept: Mapping[str, _Kept]) -> Mapping[str, _Line]:
        local = self._locals()
        stale = {*local, *kept} if self._stale is None else self._stale
        if self._stale is None:
            self._lines = {}
        is_longer = False
        for entry_id in stale:
            entry = self._entry(local.get(entry_id), kept.get(entry_id))
            if entry is None:
                self._lines.pop(entry_id, None)
            else:
                is_longer |= entry_id not in self._lines
                self._lines[entry_id] = self._line(entry)
        if is_longer:
            self._lines = dict(sorted(self._lines.items()))
        self._stale = set()
        return self._lines

    def _entry(self, local: Candidate | None, kept: _Kept | None) -> DirectoryEntry | None:
        """Return an entry without its load; None if it is not in the directory now."""
        if local is not None:
            return DirectoryEntry(local) if kept is None else entry_of(kept.context, local)
        known = None if kept is None else kept.context
        if known is None or not known.is_registered or not known.terms.at:  # without: ratings of what nobody took
            return None
        if known.terms.is_local and self.registry.graphs:  # it has no profile; operators see that it is closed
            door = self.door(known.terms.id) if known.mark is Mark.CLOSED else None
            return None if door is None else entry_of(known, door)
        return self._completed(entry_of(known))

    def _line(self, entry: DirectoryEntry) -> _Line:
        candidate = entry.candidate
        graph = self.graph(candidate.graph)
        of_graph = None if graph is None or not candidate.is_local else graph.accepts.capacity
        if of_graph is not None:
            entry = replaced(entry, candidate=replaced(candidate, capacity=of_graph))
        tools: frozenset[str] = frozenset() if graph is None else breakers_of(graph)
        counted = counted_as(entry.candidate) if of_graph is None else candidate.graph
        is_named_only = candidate.is_local and bool(self.registry.graphs) and self.local(candidate.id) is None
        return _Line(entry, counted, tools, is_named_only, entry.candidate)

    def _locals(self) -> Mapping[str, Candidate]:
        """Return the entry points of the home's graphs, by id."""
        graphs = self.registry.graphs
        if graphs != self._graphs:
            doors = ((graph, entry) for graph in graphs for entry in graph.entry_points.values())
            found = (local_candidate(graph, entry) for graph, entry in doors)
            self._local = {each.id: each for each in found if each is not None}
            self._graphs, self._stale = graphs, None
        return self._local

    def _completed(self, entry: DirectoryEntry) -> DirectoryEntry:
        """Add to a registered entry what its entry point says."""
        graph = self.graph(entry.candidate.graph)
        point = None if graph is None else graph.entry_points.get(entry.candidate.entry_point)
        if graph is None or point is None:
            return entry
        profile = entry.candidate.profile.over(graph.profile_at(point.name))
        text = entry.candidate.text or text_of(graph, point)
        return replaced(entry, candidate=replaced(entry.candidate, profile=profile, text=text))

    def _shown(self, line: _Line, now: datetime) -> DirectoryEntry:
        unavailable = self._unavailable(line.entry, line.candidate, now)
        return replaced(line.entry, candidate=line.candidate, unavailable=unavailable)

    def _unavailable(self, entry: DirectoryEntry, candidate: Candidate, now: datetime) -> str:
        """Return why an entry takes no work now; empty if it does."""
        if entry.mark in (Mark.CLOSED, Mark.EXCLUDED):
            return f"{entry.mark.value}: {entry.mark_reason}" if entry.mark_reason else entry.mark.value
        hours = candidate.profile.schedule
        if hours and not any(each.contains(now) for each in hours):
            return "outside its hours"
        if candidate.capacity is not None and candidate.held >= candidate.capacity:
            return f"full: {candidate.held} of {candidate.capacity}"
        return f"open circuit breakers: {', '.join(candidate.open_breakers)}" if candidate.open_breakers else ""


@dataclass(slots=True)
class _Line:
    """An entry, and its candidate as things stood when it was last asked for: most stay as they are in between."""

    entry: DirectoryEntry  # without its load
    counted: str  # under which its open work is counted
    tools: frozenset[str]  # whose circuit breakers it depends on
    is_named_only: bool  # whether it is an entry point without a profile, which no selection finds
    candidate: Candidate
    blocked: frozenset[str] = frozenset()  # the tools whose circuit breakers were open

    def load(self, load: Callable[[Candidate], float | None]) -> None:
        """Have the candidate tell how busy it is, from 0 to 1, as the application says."""
        self.candidate = replaced(self.candidate, load=None)
        with asking("load="):
            busy = load(self.candidate)
        if busy is None:
            return
        if isnan(share := number_in(busy)):
            raise SelectionAnswerError("load=", f"{busy!r} for {self.entry.id!r}", "a number from 0 to 1, or None")
        self.candidate = replaced(self.candidate, load=min(max(share, 0.0), 1.0))


def _bring_up_to(lines: Iterable[_Line], held: Mapping[str, int], broken: frozenset[str]) -> None:
    """Have lines tell the open work and the open circuit breakers of the moment."""
    for line in lines:  # of a thousand, hardly any has changed since it was last asked for
        count, blocked = held.get(line.counted, 0), line.tools & broken if broken else broken
        if count != line.candidate.held or blocked != line.blocked:
            line.candidate = replaced(line.candidate, held=count, open_breakers=tuple(sorted(blocked)))
            line.blocked = blocked


OPEN: Final = Gate()


def slot_of(entry_id: str) -> str:
    """Return under which name the places of an entry are kept, beside those of graphs."""
    return f"{ENTRY_AGENT}{entry_id}"


def counted_as(candidate: Candidate) -> str:
    """Return under which name the open work of an entry is counted."""
    return candidate.id if candidate.is_local or candidate.capacity is None else slot_of(candidate.id)


class _Kept:
    """What the agent of an entry keeps, read when it is first needed."""

    __slots__ = ("_context", "_snapshot", "changed", "version")

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot: Snapshot | None = snapshot
        self._context: EntryContext | None = None
        self.version = snapshot.version
        self.changed = snapshot.changed or _LONG_AGO

    def is_newer(self, other: _Kept | None, now: datetime) -> bool:
        """Whether this is newer than what was read, which has other, or does not have it yet."""
        if other is None:
            return now - self.changed < _LONGEST_LAG
        return self.version > other.version

    @property
    def context(self) -> EntryContext:
        if self._context is None:
            assert self._snapshot is not None  # given up only for its context
            self._context, self._snapshot = entry_context(self._snapshot), None
        return self._context


def local_candidate(graph: AnyGraph, entry: EntryPoint) -> Candidate | None:
    """Return an entry point as a candidate, without its load; None if it is not in the directory."""
    profile = graph.profile_at(entry.name)
    if profile is None:
        return None
    name = f"{graph.name}.{entry.name}"
    return Candidate(name, graph.name, entry.name, profile=profile, text=text_of(graph, entry))


def named_only(graph: AnyGraph, entry: EntryPoint) -> Candidate:
    """Return an entry point without a profile, which handoffs reach that name it."""
    return Candidate(f"{graph.name}.{entry.name}", graph.name, entry.name, text=text_of(graph, entry))


def text_of(graph: AnyGraph, entry: EntryPoint) -> str:
    """Return what an entry point says of itself: a line for it, one for its graph, and one for each field it takes.

    Lines, since what is asked resembles one of them more than all of them in one sentence.
    """
    fields = {} if entry.takes is None else entry.takes.model_fields
    lines = (
        _named(entry.name, entry.description or graph.nodes[entry.state].description),
        _named(graph.name, graph.description),
        *(field.description or spoken(name) for name, field in fields.items()),
    )
    return "\n".join(dict.fromkeys(" ".join(each.split()) for each in lines))


def _named(name: str, description: str) -> str:
    return ". ".join(filter(None, (spoken(name), description)))


def breakers_of(graph: AnyGraph) -> frozenset[str]:
    """Return the names of the circuit breakers on which a graph depends.

    They are those of tools for which it or its states have policies, and those that functions of invokes tell.
    """
    nodes = graph.nodes.values()
    told = (getattr(invoke.function, "breakers", ()) for node in nodes for invoke in node.invokes)
    return frozenset(graph.tools).union(*(node.tools for node in nodes), *told)


class OpenWork:
    """The work under way on a home, from its handoffs: for homes whose store is not at hand. Fulfils Work."""

    def __init__(self, home: AgentHome) -> None:
        self._home = home

    async def held(self) -> Mapping[str, int]:
        """See Work."""
        counted: dict[str, int] = {}
        after = 0
        try:
            while found := await self._home.handoffs(status="accepted", after=after, limit=PAGE):
                after = found[-1].number
                for each in found:
                    recipient = str(each.packet.get("recipient", ""))
                    for name in counted_under(each.target_graph, each.entry_point, recipient):
                        counted[name] = counted.get(name, 0) + 1
        except ElsewhereError:
            return {}
        return counted

    async def open_breakers(self) -> Sequence[str]:
        """See Work."""
        try:
            return [each.name for each in await self._home.breakers(limit=HIGHEST_NUMBER - 1)]
        except ElsewhereError:
            return ()

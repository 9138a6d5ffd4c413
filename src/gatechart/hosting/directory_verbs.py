"""Execute the commands of the directory."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from gatechart.api.command import Command
from gatechart.api.directory import (
    RATINGS,
    DeregisterEntryCommand,
    DirectoryCommand,
    ForgetUserCommand,
    MarkEntryCommand,
    RateHandoffCommand,
    RegisterEntryCommand,
)
from gatechart.api.handoffs import HandoffCommand
from gatechart.context import canonical_json
from gatechart.errors.event import (
    AgentExistsError,
    EntryTakenError,
    NoHandoffError,
    NoWorkError,
    PayloadError,
    UnknownAgentError,
    UnknownEntryError,
)
from gatechart.graph.selection_faults import profile_faults
from gatechart.hosting.directory import Directory
from gatechart.hosting.directory_graph import (
    DEREGISTER,
    FORGET,
    LONGEST_TEXT,
    MARK,
    MOST_BYTES,
    RATE,
    REGISTER,
    EntryContext,
    EntryTerms,
    Rating,
    digest_of,
    entry_context,
)
from gatechart.hosting.new_entries import check_new_entry
from gatechart.ports import Store
from gatechart.turn.arguments import checked_delay, checked_key, known_id
from gatechart.values.agents import Snapshot, Status
from gatechart.values.directory import DirectoryEntry, Mark
from gatechart.values.framework import DIRECTORY_GRAPH, ENTRY_AGENT, check_not_framework
from gatechart.values.handoffs import HandoffRecord, HandoffStatus
from gatechart.values.mail import Receipt
from gatechart.values.names import AgentId, Payload
from gatechart.values.profiles import Candidate

logger = logging.getLogger(__name__)

_CHANGED_HANDS: Final = (
    "the entry %(entry)r of the directory changed hands, from %(former)r to %(registrant)r; its record was dropped"
)


async def directed(directory: Directory, command: Any) -> Any:
    """Execute a command of the directory. Raises as its verb does."""
    return await DIRECTING[type(command)](directory, command)


def agent_of(entry_id: str) -> AgentId:
    """Return the id of the agent that keeps an entry.

    >>> agent_of("orders.REVIEWING")
    'directory:orders.REVIEWING'
    """
    return f"{ENTRY_AGENT}{entry_id}"


async def check_entries(directory: Directory, command: HandoffCommand, store: Store | None) -> None:
    """Raise UnknownEntryError unless the directory has all entries that a handoff names.

    A repeated call passes, because entries may have left since the handoff was offered. store: recognises repeated
    calls; None if there is no store here.
    """
    try:
        for entry_id in command.entries:
            await _entry(directory, entry_id)
    except UnknownEntryError:
        key = command.idempotency_key
        if key is None or store is None or await store.applied(command.agent_id, key) is None:
            raise


async def _register(directory: Directory, command: RegisterEntryCommand) -> DirectoryEntry:
    check_not_framework(command.agent, graph=command.graph)
    graph = directory.registry.graph(command.graph)
    graph.entry_point(command.at)
    await _check_agent(directory, command)
    if command.capacity is not None and graph.accepts.capacity is not None:
        problem = f"the graph {graph.name!r} limits its capacity to {graph.accepts.capacity}"
        raise PayloadError("register_entry", (problem,), "no capacity, or a graph without a capacity")
    checked_key(command.id, "the id of an entry")
    # The names of graphs and entry points are taken: they identify counts of open work, and closed queues.
    if (namesake := directory.door(command.id) or directory.graph(command.id)) is not None:
        owner = namesake.graph if isinstance(namesake, Candidate) else namesake.name
        raise EntryTakenError(command.id, f"the graph {owner!r}")
    terms = _terms(command)
    async with directory.registering:
        kept = await _kept(directory, command.id)
        if kept is not None and kept.terms.is_local:
            raise EntryTakenError(command.id, f"the graph {kept.terms.graph!r}, which this home does not host")
        if kept is not None and kept.is_registered and kept.terms.registrant != command.registrant:
            raise EntryTakenError(command.id, _owner(kept))
        if kept is None or not kept.is_registered:
            await check_new_entry(directory, command)
        snapshot = await _ensure_agent(directory, terms)
        if kept is not None:
            await directory.own.send(snapshot.agent_id, REGISTER, terms)
        entry = await _entry(directory, command.id)
    if kept is not None and kept.terms.registrant != command.registrant:
        facts = {"entry": command.id, "registrant": command.registrant, "former": kept.terms.registrant}
        logger.warning(_CHANGED_HANDS, facts, extra=facts)
    return entry


async def _check_agent(directory: Directory, command: RegisterEntryCommand) -> None:
    """Raise UnknownAgentError if the entry's agent does not exist, and PayloadError if it is of another graph."""
    if not command.agent:
        return
    snapshot = await directory.home.read(known_id(command.agent))
    if snapshot.graph != command.graph and command.registrant:  # do not reveal agents of other graphs to a registrant
        raise UnknownAgentError(command.agent)
    if snapshot.graph != command.graph:
        problem = f"the agent {command.agent!r} is of the graph {snapshot.graph!r}"
        raise PayloadError("register_entry", (problem,), f"an agent of {command.graph!r}, or no agent for a new one")


def _terms(command: RegisterEntryCommand) -> EntryTerms:
    """Return the terms of a new registration. Raises PayloadError."""
    fields = command.model_dump(exclude={"verb", "lasts", "profile"})
    lasts_s = None if command.lasts is None else checked_delay(command.lasts, "register_entry")
    if lasts_s == 0:
        raise PayloadError(
            "register_entry", ("lasts=0: the entry would expire at once",), "more than 0 seconds, or none"
        )
    terms = EntryTerms(**fields, profile=command.profile, lasts_s=lasts_s)
    faults = tuple(profile_faults("profile", command.profile))
    if faults:
        raise PayloadError("register_entry", tuple(fault.problem for fault in faults), faults[0].remedy)
    if (size := len(canonical_json(terms.model_dump(mode="json")))) > MOST_BYTES:
        raise PayloadError(
            "register_entry", (f"it has {size} bytes",), f"at most {MOST_BYTES} bytes; give fewer samples"
        )
    return terms


async def ensure(directory: Directory, entry_id: str) -> None:
    """Start the agent that keeps an entry, if there is none. Raises UnknownEntryError.

    If an application's agent has the id of that agent, a warning is logged, and the handoff continues without records.
    """
    if await directory.kept(entry_id) is not None:
        return
    try:
        await _ensure_agent(directory, local_terms(directory, entry_id))
    except AgentExistsError as error:
        facts = {"entry": entry_id, "agent_id": error.agent_id, "graph": error.graph}
        logger.warning(
            "cannot record outcomes of the entry %(entry)s: an application's agent has the id %(agent_id)s",
            facts,
            extra=facts,
        )


def local_terms(directory: Directory, entry_id: str) -> EntryTerms:
    """Return the initial terms of an entry point of a local graph. Raises UnknownEntryError."""
    local = directory.local(entry_id)
    if local is None:
        raise UnknownEntryError(entry_id)
    return _terms_of(local)


def _terms_of(door: Candidate) -> EntryTerms:
    return EntryTerms(id=door.id, graph=door.graph, at=door.entry_point, is_local=True)


async def _ensure_agent(directory: Directory, terms: EntryTerms) -> Snapshot:
    """Return the agent of an entry, after starting it if it does not exist, or has ended."""
    own, agent_id = directory.own, agent_of(terms.id)
    at = "LOCAL" if terms.is_local else "REGISTERED"
    try:
        return await own.start(DIRECTORY_GRAPH, at=at, payload=terms, agent_id=agent_id)
    except AgentExistsError:
        snapshot = await directory.home.read(agent_id)
    if snapshot.graph != DIRECTORY_GRAPH:
        raise AgentExistsError(agent_id, snapshot.graph)
    if snapshot.status is Status.ACTIVE:
        return snapshot
    await own.erase(agent_id)
    return await own.start(DIRECTORY_GRAPH, at=at, payload=terms, agent_id=agent_id)


async def _kept(directory: Directory, entry_id: str) -> EntryContext | None:
    """Return the record of an entry, read from its agent; None if it has none."""
    try:
        snapshot = await directory.home.read(known_id(agent_of(entry_id)))
    except UnknownAgentError:
        return None
    is_kept = snapshot.graph == DIRECTORY_GRAPH and snapshot.status is Status.ACTIVE
    return entry_context(snapshot) if is_kept else None


async def _entry(directory: Directory, entry_id: str) -> DirectoryEntry:
    """Return an entry with the latest commit of its agent. Raises UnknownEntryError."""
    with suppress(UnknownAgentError):
        directory.see(await directory.home.read(known_id(agent_of(entry_id))))
    entry = await directory.entry(entry_id)
    if entry is None:
        raise UnknownEntryError(entry_id)
    return entry


def _owner(kept: EntryContext) -> str:
    return f"the registrant {kept.terms.registrant!r}" if kept.terms.registrant else "the operators"


async def _deregister(directory: Directory, command: DeregisterEntryCommand) -> None:
    kept = await _kept(directory, command.id)
    if kept is None or not kept.is_registered or kept.terms.is_local:
        if directory.local(command.id) is not None:
            problem = f"a graph here declares {command.id!r}"
            raise PayloadError("deregister_entry", (problem,), "a registered entry; close or exclude this one instead")
        raise UnknownEntryError(command.id)
    if command.registrant not in (None, kept.terms.registrant):
        raise EntryTakenError(command.id, _owner(kept))
    await directory.own.send(agent_of(command.id), DEREGISTER)
    directory.see(await directory.home.read(agent_of(command.id)))


async def _list(directory: Directory, command: DirectoryCommand) -> Sequence[DirectoryEntry]:
    if command.id is not None:
        only = await directory.entry(command.id)
        return () if only is None else (only,)
    entries = await directory.entries()
    return tuple([entry for entry in entries if entry.id > (command.after or "")][: command.limit])


async def _mark(directory: Directory, command: MarkEntryCommand) -> DirectoryEntry:
    kept, door = await _kept(directory, command.id), directory.door(command.id)
    has_left = kept is None or not kept.is_registered or (kept.terms.is_local and bool(directory.registry.graphs))
    if door is None and has_left:
        raise UnknownEntryError(command.id)
    if door is not None and directory.local(command.id) is None and command.mark not in (Mark.CLOSED, Mark.NONE):
        problem = f"{command.id!r} has no profile, so selections never choose it"
        raise PayloadError("mark_entry", (problem,), "close it, or give the entry point a profile=")
    if kept is None and door is not None:
        await _ensure_agent(directory, _terms_of(door))
    await directory.own.send(agent_of(command.id), MARK, {"mark": command.mark.value, "reason": command.reason})
    try:
        return await _entry(directory, command.id)
    except UnknownEntryError:
        if door is None:
            raise
        return await directory.named(door)  # without a profile, it is listed only while it is closed


async def _rate(directory: Directory, command: RateHandoffCommand) -> Receipt:
    records = await directory.home.handoffs(handoff_id=command.handoff_id)
    if not records:
        raise NoHandoffError(command.handoff_id, None)
    answers = command.model_dump(include=set(RATINGS))
    if all(answer is None for answer in answers.values()):
        raise PayloadError("rate_handoff", ("it has no answer",), "needed, in_time or quality")
    record = records[0]
    if record.status is HandoffStatus.CHOOSING:  # the keeper of the rating is not known yet
        raise NoHandoffError(record.id, record.status.value)
    if record.is_to_nobody and command.quality is not None:
        raise NoWorkError(record.id)
    user = str(record.packet.get("user_id", ""))[:LONGEST_TEXT]
    rating = Rating(handoff=record.id, user=user, source=record.source, **answers)
    payload: Payload = rating.model_dump(mode="json", exclude_none=True)
    await directory.own.send(await _keeper(directory, record), RATE, payload)
    return Receipt(0)


async def _keeper(directory: Directory, record: HandoffRecord) -> AgentId:
    """Return the agent that keeps the ratings of a handoff, after starting it if necessary.

    The agent of the chosen entry keeps it, unless the entry changed hands since. Otherwise the agent of the entry point
    keeps it, even if the directory does not list the entry point. Work without a match is kept under the name of the
    graph that offered it.
    """
    terms = _rated_terms(record)
    entry_id = record.packet.get("recipient") or terms.id
    kept = await _kept(directory, entry_id)
    if kept is not None and kept.changed_hands is not None and record.changes[0].time < kept.changed_hands:
        kept, entry_id = await _kept(directory, terms.id), terms.id
    return agent_of(entry_id) if kept is not None else (await _ensure_agent(directory, terms)).agent_id


def _rated_terms(record: HandoffRecord) -> EntryTerms:
    if record.is_to_nobody:
        return EntryTerms(id=record.source_graph, graph=record.source_graph, at="", is_local=True)
    door = f"{record.target_graph}.{record.entry_point}"
    return EntryTerms(id=door, graph=record.target_graph, at=record.entry_point, is_local=True)


async def _forget(directory: Directory, command: ForgetUserCommand) -> None:
    for agent_id in await directory.mentioning(command.user):
        await directory.own.send(agent_id, FORGET, {"digest": digest_of(command.user)})
        directory.see(await directory.home.read(agent_id))


DIRECTING: Final[Mapping[type[Command], Callable[[Directory, Any], Awaitable[Any]]]] = {
    RegisterEntryCommand: _register,
    DeregisterEntryCommand: _deregister,
    DirectoryCommand: _list,
    MarkEntryCommand: _mark,
    RateHandoffCommand: _rate,
    ForgetUserCommand: _forget,
}
"""The function that executes each command of the directory."""

"""Export of all data of a database's agents, page by page, to move them to another home."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, and_, func, select

from gatechart.handoff.lifecycle import is_open
from gatechart.stores.sql.agent_rows import to_snapshot
from gatechart.stores.sql.columns import to_us
from gatechart.stores.sql.dialects import listed
from gatechart.stores.sql.history_rows import ENTRIES, OLDEST, snapshot_of, to_entry
from gatechart.stores.sql.mail_rows import to_mail, to_running
from gatechart.stores.sql.tables import agents, handoffs, history, invokes, journals, mail, places, requests, steps
from gatechart.values.agents import Snapshot
from gatechart.values.handoffs import HandoffStatus, Side
from gatechart.values.mail import ActiveInvocation, Mail
from gatechart.values.names import AgentId
from gatechart.values.queries import HistoryEntry

_AGENT: Final = agents.c.id.in_(listed())
_CALLS: Final = (
    select(invokes, agents.c.id, agents.c.graph, agents.c.graph_version)
    .select_from(invokes.join(agents))
    .where(_AGENT)
    .order_by(invokes.c.key)
)
_STEPS: Final = (
    select(steps).select_from(steps.join(invokes).join(agents)).where(_AGENT).order_by(steps.c.invocation, steps.c.name)
)
_JOURNALS: Final = (
    select(agents.c.id, journals.c.journal, journals.c.name, journals.c.entry)
    .select_from(journals.join(agents))
    .where(_AGENT)
    .order_by(journals.c.key)
)
_MAIL: Final = select(mail).where(mail.c.recipient.in_(listed())).order_by(mail.c.number)
_OFFERS: Final = (
    select(handoffs.c.id, handoffs.c.target, handoffs.c.status)
    .where(handoffs.c.target.in_(listed()))
    .order_by(handoffs.c.key)
)
_PLACES: Final = select(places).where(places.c.handoff.in_(listed()))
_NEWEST_FIRST: Final = func.row_number().over(partition_by=history.c.agent, order_by=history.c.version.desc())
_WITH_IDS: Final = (
    select(history.c.key, _NEWEST_FIRST.label("place"))
    .select_from(history.join(agents))
    .where(_AGENT, history.c.event_id.is_not(None))
    .subquery("with_ids")
)


@dataclass(frozen=True, slots=True)
class Departing:
    """All data that an agent needs to continue in another home."""

    agent_id: AgentId
    snapshot: Snapshot | None  # None if it has mail but has not started
    mail: tuple[Mail, ...]  # in the order accepted, including refused and dead mail
    calls: tuple[
        tuple[ActiveInvocation, Mapping[str, str]], ...
    ]  # in the order started, with the results of their steps
    offers: tuple[tuple[str, HandoffStatus], ...]  # handoffs to it, in the order offered
    places: tuple[tuple[str, str], ...]  # handoffs to it that hold a slot, with its graph
    applied: tuple[HistoryEntry, ...]  # turns whose events carried an id, oldest first
    journals: tuple[tuple[str, str, str], ...] = ()  # journal, name and entry, in the order written


def departing_agents(connection: Connection, after: int, limit: int, ids: int) -> tuple[list[Departing], int]:
    """Return a page of agents in the order started, and the `after` of the next page.

    ids: the number of each agent's newest turns with event ids to include.
    """
    rows = connection.execute(select(agents).where(agents.c.key > after).order_by(agents.c.key).limit(limit)).all()
    snapshots = {row.id: to_snapshot(row) for row in rows}
    return _departing(connection, snapshots, ids), rows[-1].key if rows else after


def departing_strangers(connection: Connection, after: AgentId, limit: int) -> list[Departing]:
    """Return a page of recipients of mail that have not started, ordered by id."""
    is_there = select(agents.c.key).where(agents.c.id == mail.c.recipient).exists()
    found = select(mail.c.recipient).where(mail.c.recipient > after, ~is_there).distinct()
    names = connection.execute(found.order_by(mail.c.recipient).limit(limit)).scalars()
    return _departing(connection, dict.fromkeys(names), 0)


def _departing(connection: Connection, snapshots: Mapping[AgentId, Snapshot | None], ids: int) -> list[Departing]:
    wanted = {"values": list(snapshots)}
    results: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for row in connection.execute(_STEPS, wanted):
        results[row.invocation][row.name] = row.result
    calls, letters, offers, held, applied, entries = (defaultdict[AgentId, list[Any]](list) for _ in range(6))
    for row in connection.execute(_CALLS, wanted):
        calls[row.id].append((to_running(row), results[row.key]))
    for row in connection.execute(_MAIL, wanted):
        letters[row.recipient].append(to_mail(row))
    for row in connection.execute(_OFFERS, wanted):
        offers[row.target].append((row.id, HandoffStatus(row.status)))
    takers = {id_: name for name, agent in snapshots.items() for id_ in _with_slots(agent, offers[name])}
    for row in connection.execute(_PLACES, {"values": sorted(takers)}):
        held[takers[row.handoff]].append((row.handoff, row.graph))
    for row in connection.execute(_with_ids(ids), wanted):
        applied[row.of_id].append(to_entry(row, row.of_id))
    for row in connection.execute(_JOURNALS, wanted):
        entries[row.id].append((row.journal, row.name, row.entry))
    parts = (letters, calls, offers, held, applied, entries)
    return [Departing(name, agent, *(tuple(part[name]) for part in parts)) for name, agent in snapshots.items()]


def _with_slots(snapshot: Snapshot | None, offers: Sequence[tuple[str, HandoffStatus]]) -> Iterator[str]:
    """Yield the ids of handoffs that may hold a slot of an agent.

    A handoff whose record was erased is known only to the agent.
    """
    yield from (handoff for handoff, status in offers if is_open(status))
    if snapshot is not None:
        yield from (handoff.id for handoff in snapshot.handoffs if handoff.side is Side.TOOK)


def _with_ids(most: int) -> Any:
    found = ENTRIES.add_columns(agents.c.id.label("of_id")).join(_WITH_IDS, _WITH_IDS.c.key == history.c.key)
    return found.where(_WITH_IDS.c.place <= most).order_by(history.c.agent, history.c.version)


def oldest_version(connection: Connection, agent_id: AgentId) -> int:
    """Return the oldest version that can be rebuilt. Some databases keep only the events of older versions."""
    wanted = select(agents.c.key).where(agents.c.id == agent_id)
    key = connection.execute(wanted).scalar_one()
    return int(connection.execute(OLDEST, {"of_agent": key}).scalar_one())


def turns_of(
    connection: Connection, agent_id: AgentId, after: int, limit: int
) -> Sequence[tuple[Snapshot, HistoryEntry]]:
    """Return the turns with versions above `after`, oldest first, with the agent's snapshot after each.

    after: at least the version before `oldest_version`.
    """
    agent = connection.execute(select(agents).where(agents.c.id == agent_id)).one()
    of_agent = history.c.agent == agent.key
    is_whole = history.c.context.is_not(None)
    nearest = select(func.max(history.c.version)).where(of_agent, is_whole, history.c.version <= after + 1)
    begins = connection.execute(nearest).scalar_one()
    wanted = ENTRIES.where(of_agent, history.c.version.between(begins, after + limit)).order_by(history.c.version)
    found: list[tuple[Snapshot, HistoryEntry]] = []
    since: list[Row[Any]] = []  # rows since the last full copy
    for row in connection.execute(wanted):
        since = [row] if row.context is not None else [*since, row]
        if row.version > after:
            found.append((snapshot_of(agent, since), to_entry(row, agent_id)))
    return found


def graphs_of(connection: Connection) -> list[tuple[str, str]]:
    """Return the names and versions of the agents' graphs."""
    found = select(agents.c.graph, agents.c.graph_version).distinct().order_by(*agents.c["graph", "graph_version"])
    return [(name, version) for name, version in connection.execute(found)]


def agents_of(connection: Connection, graph: tuple[str, str], *, with_steps: bool) -> tuple[AgentId, ...]:
    """Return the agents on a graph of this name and version. with_steps: only agents that would lose step results."""
    name, version = graph
    found = select(agents.c.id).where(agents.c.graph == name, agents.c.graph_version == version).order_by(agents.c.key)
    if with_steps:
        found = found.where(agents.c.key.in_(select(invokes.c.agent).join(steps)))
    return tuple(connection.execute(found).scalars())


def asked_now(connection: Connection, now: datetime) -> int:
    """Count the unanswered requests that have not expired, including requests that an earlier owner started."""
    is_asked = and_(requests.c.answered_us.is_(None), requests.c.until_us >= to_us(now))
    return connection.execute(select(func.count()).select_from(requests).where(is_asked)).scalar_one()


def counts(connection: Connection) -> Mapping[str, int]:
    """Return the number of rows of each kind."""
    tables = {"agents": agents, "mail": mail, "invokes": invokes, "steps": steps, "journals": journals}
    return {
        name: connection.execute(select(func.count()).select_from(table)).scalar_one() for name, table in tables.items()
    }

"""The store in a SQL database, built on SQLAlchemy Core."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from functools import partial
from operator import attrgetter
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Row, Select, delete, insert, select

from gatechart.errors.outside import OwnershipLostError
from gatechart.stores.held_work import HeldWork
from gatechart.stores.sql.agent_rows import stored_agent, to_known, to_shown, to_snapshot
from gatechart.stores.sql.breaker_rows import stored_breakers
from gatechart.stores.sql.columns import from_us, readable, readable_page, to_json
from gatechart.stores.sql.commit import commit_units
from gatechart.stores.sql.database import Database, Notifier, Reader, Writer
from gatechart.stores.sql.dialects import listed
from gatechart.stores.sql.handoff_rows import forget_damaged, forget_handoffs, found_handoffs, is_offered
from gatechart.stores.sql.handoff_rows import to_shown as to_shown_handoff
from gatechart.stores.sql.history_rows import entries_of, snapshot_at, to_shown_entry
from gatechart.stores.sql.host_rows import beat, leave, stored_hosts
from gatechart.stores.sql.mail_rows import (
    backlog_size,
    due_mail,
    found_mail,
    journal_of,
    recorded_steps,
    running_invokes,
    to_mail,
    to_running,
    waiting_mail,
)
from gatechart.stores.sql.mail_rows import to_shown as to_shown_mail
from gatechart.stores.sql.ownership import check_epoch, current_epoch, in_epoch
from gatechart.stores.sql.pruning import prune_part, tell_part
from gatechart.stores.sql.requests import SqlRequests, empty_answers
from gatechart.stores.sql.search import counted, found_page
from gatechart.stores.sql.searchable import declare, declared, fill
from gatechart.stores.sql.tables import agents, graphs, history, mail
from gatechart.stores.sql.work_rows import held_work
from gatechart.values.agents import Snapshot, Status
from gatechart.values.breakers import BreakerRecord
from gatechart.values.commits import Unit, Verdict
from gatechart.values.handoffs import HandoffQuery, HandoffRecord
from gatechart.values.hosts import HostRecord
from gatechart.values.mail import ActiveInvocation, Backlog, Invocation, Mail
from gatechart.values.migrations import KnownGraph
from gatechart.values.names import AgentId
from gatechart.values.queries import GraphCount, HistoryEntry, MailQuery, Page, Pruned, Pruning, Query
from gatechart.values.search import Searchable

T = TypeVar("T")
S = TypeVar("S", Mail, HandoffRecord)

KNOWN: Final = select(graphs).where(graphs.c.fingerprint.in_(listed()))
FORGET_GRAPHS: Final = delete(graphs).where(graphs.c.fingerprint.in_(listed()))
MANY: Final = select(agents).where(agents.c.id.in_(listed()))


class SqlStore:
    """A store in a database that this runtime owns or only reads."""

    is_durable = True
    is_instant = False

    def __init__(
        self,
        database: Database,
        reader: Reader,
        writer: Writer | None = None,
        epoch: int = 0,
        last_number: int = 0,
        notifier: Notifier | None = None,
    ) -> None:
        """Create a store; without a writer it only reads.

        last_number: the highest number of stored mail. notifier: reports requests.
        """
        self._database = database
        self._name = database.name
        self._reader = reader
        self._writer = writer
        self._epoch = epoch
        self._last_number = last_number
        self._searchable: dict[str, Sequence[str]] = {}  # fields by graph, as of the last `declare`
        self._work: HeldWork | None = None  # the open work, after the first request
        self._changing = asyncio.Lock()  # held while the open work changes, so that it is counted in order
        self.requests = None if notifier is None else SqlRequests(self, notifier)

    def numbers(self, count: int) -> int:
        """See Store."""
        self._last_number += count
        return self._last_number - count + 1

    async def load(self, agent_id: AgentId) -> Snapshot:
        """See Store."""
        return await self._read(lambda connection: to_snapshot(stored_agent(connection, agent_id)))

    async def load_many(self, agent_ids: Sequence[AgentId]) -> Sequence[Snapshot]:
        """See Store."""
        wanted = {"values": list(agent_ids)}

        def read(connection: Connection) -> Sequence[Snapshot]:
            found = (readable(row, to_snapshot, "agents", "key") for row in connection.execute(MANY, wanted))
            return [snapshot for snapshot in found if snapshot is not None]

        return await self._read(read)

    async def applied(self, agent_id: AgentId, event_id: str) -> HistoryEntry | None:
        """See Store."""
        wanted = entries_of(agent_id).where(history.c.event_id == event_id)

        def read(connection: Connection) -> HistoryEntry | None:
            row = connection.execute(wanted).one_or_none()
            return None if row is None else to_shown_entry(row, agent_id)

        return await self._read(read)

    async def history(self, agent_id: AgentId, *, after: int = 0, limit: int | None = None) -> Sequence[HistoryEntry]:
        """See Store."""
        wanted = entries_of(agent_id).where(history.c.version > after).order_by(history.c.version).limit(limit)

        def read(connection: Connection) -> Sequence[HistoryEntry]:
            found = connection.execute(wanted).all() or (stored_agent(connection, agent_id) and ())
            return [to_shown_entry(row, agent_id) for row in found]

        return await self._read(read)

    async def snapshot_at(self, agent_id: AgentId, version: int) -> Snapshot:
        """See Store."""
        return await self._read(lambda connection: snapshot_at(connection, stored_agent(connection, agent_id), version))

    async def find(self, query: Query) -> Page:
        """See Store."""
        return await self._read(lambda connection: found_page(connection, query))

    async def declare(self, searchable: Mapping[str, Sequence[str]]) -> bool:
        """See Store."""
        # Set before the tables: turns that commit meanwhile already write their values.
        others = {graph: some for graph, some in self._searchable.items() if graph not in searchable}
        self._searchable = others | {graph: tuple(some) for graph, some in searchable.items() if some}
        known = await self.searchable()
        fields = {graph: {field.field for field in known if field.graph == graph} for graph in searchable}
        if any(fields[graph] != set(some) for graph, some in searchable.items()):
            await self._write(lambda connection: declare(connection, searchable))
            known = await self.searchable()
        return any(not field.is_complete for field in known)

    async def fill(self, *, limit: int) -> bool:
        """See Store."""
        return await self._write(lambda connection: fill(connection, limit))

    async def searchable(self) -> Sequence[Searchable]:
        """See Store."""
        return await self._read(declared)

    async def counts(self, graph: str | None = None) -> Sequence[GraphCount]:
        """See Store."""
        return await self._read(lambda connection: counted(connection, graph))

    async def commit(self, units: Sequence[Unit]) -> Sequence[Verdict]:
        """See Store."""
        async with self._changing:
            counts = self._work is not None
            work = partial(commit_units, searchable=self._searchable, units=units, counts_work=counts)
            try:
                verdicts, change = await self._write(work)
            except BaseException:  # cancelled or disconnected: it may have been committed
                self._work = None
                raise
            if self._work is not None:
                self._work.change(change)
        return verdicts

    async def mail(self, query: MailQuery) -> Sequence[Mail]:
        """See Store."""

        def page(after: int, limit: int) -> Select[Any]:
            return found_mail(replace(query, after=after, limit=limit))

        def shown(row: Row[Any]) -> Mail | None:
            return _if_wanted(to_shown_mail(row), query.status)

        return await self._read_page(page, query.after, query.limit, shown, attrgetter("number"))

    async def waiting(self, *, after: int, limit: int) -> Sequence[Mail]:
        """See Store."""
        return await self._read_page(waiting_mail, after, limit, _mail, attrgetter("number"))

    async def due(self, *, after: tuple[datetime, int], limit: int) -> Sequence[Mail]:
        """See Store."""
        return await self._read_page(due_mail, after, limit, _mail, lambda row: (from_us(row.due_us), row.number))

    async def count(self, backlog: Backlog, *, most: int) -> int:
        """See Store."""
        wanted = backlog_size(backlog, most)
        return await self._read(lambda connection: int(connection.execute(wanted).scalar_one()))

    async def running(
        self, *, agent_id: AgentId | None = None, after: int, limit: int
    ) -> Sequence[tuple[int, ActiveInvocation]]:
        """See Store."""

        def read(row: Row[Any]) -> tuple[int, ActiveInvocation] | None:
            running = readable(row, to_running, "invokes", "key")
            return None if running is None else (row.key, running)

        return await self._read_page(partial(running_invokes, agent_id), after, limit, read, attrgetter("key"))

    async def steps(self, invocation: Invocation) -> Mapping[str, str]:
        """See Store."""
        wanted = recorded_steps(invocation)
        return await self._read(lambda connection: {row.name: row.result for row in connection.execute(wanted)})

    async def journal(self, agent_id: AgentId, name: str) -> Mapping[str, str]:
        """See Store."""
        wanted = journal_of(agent_id, name)
        return await self._read(lambda connection: {row.name: row.entry for row in connection.execute(wanted).all()})

    async def handoffs(self, query: HandoffQuery) -> Sequence[HandoffRecord]:
        """See Store."""

        def page(after: int, limit: int) -> Select[Any]:
            return found_handoffs(replace(query, after=after, limit=limit))

        def shown(row: Row[Any]) -> HandoffRecord | None:
            return _if_wanted(to_shown_handoff(row), query.status)

        return await self._read_page(page, query.after, query.limit, shown, attrgetter("key"))

    async def held(self) -> Mapping[str, int]:
        """See Store."""
        if self._writer is None:
            return (await self._read(held_work)).counts()
        if self._work is not None:
            return self._work.counts()
        async with self._changing:
            found = self._work if self._work is not None else await self._write(held_work)
            self._work = found
        return found.counts()

    async def breakers(self) -> Sequence[BreakerRecord]:
        """See Store."""
        return await self._read(stored_breakers)

    async def beat(self, host: HostRecord, *, forget_before: datetime) -> None:
        """See SignsOfLife."""
        await self._write(beat(host, forget_before))

    async def leave(self, host_id: str) -> None:
        """See SignsOfLife."""
        await self._write(leave(host_id))

    async def hosts(self) -> Sequence[HostRecord]:
        """See SignsOfLife."""
        return await self._read(stored_hosts)

    async def forget_handoff(self, handoff: str) -> bool:
        """See Store."""
        return await self._write_uncounted(lambda connection: forget_damaged(connection, handoff))

    async def remember(self, known: Sequence[KnownGraph]) -> None:
        """See Store."""
        rows = [
            {"fingerprint": seen.fingerprint, "name": seen.name, "version": seen.version, "paths": to_json(seen.paths)}
            for seen in known
        ]
        wanted = {"values": [seen.fingerprint for seen in known]}

        def write(connection: Connection) -> None:
            found = connection.execute(KNOWN, wanted).all()
            kept = {row.fingerprint for row in found if readable(row, to_known, "graphs", "fingerprint") is not None}
            damaged = [row.fingerprint for row in found if row.fingerprint not in kept]
            if damaged:
                connection.execute(FORGET_GRAPHS, {"values": damaged})
            new = [row for row in rows if row["fingerprint"] not in kept]
            if new:
                connection.execute(insert(graphs), new)

        if rows:
            await self._write(write)

    async def known_graph(self, fingerprint: str) -> KnownGraph | None:
        """See Store."""
        wanted = select(graphs).where(graphs.c.fingerprint == fingerprint)

        def read(connection: Connection) -> KnownGraph | None:
            row = connection.execute(wanted).one_or_none()
            return None if row is None else readable(row, to_known, "graphs", "fingerprint")

        return await self._read(read)

    async def erase(self, agent_id: AgentId) -> bool:
        """See Store."""

        def write(connection: Connection) -> bool:
            agent = stored_agent(connection, agent_id)
            is_at_work = agent.handoffs and agent.status == Status.ACTIVE.value and not _is_damaged(agent)
            if is_at_work or is_offered(connection, agent_id):
                return False
            connection.execute(delete(agents).where(agents.c.key == agent.key))  # cascades to history and invokes
            connection.execute(delete(mail).where(mail.c.recipient == agent_id))
            forget_handoffs(connection, [agent_id])
            empty_answers(connection, agent_id)
            return True

        return await self._write_uncounted(write)

    async def prune(self, pruning: Pruning, *, after: int = 0, limit: int = 100, dry_run: bool = False) -> Pruned:
        """See Store."""
        if dry_run:
            return await self._read(lambda connection: tell_part(connection, pruning, after, limit))
        return await self._write_uncounted(lambda connection: prune_part(connection, pruning, after, limit))

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Return the result of work that only reads."""
        return await self._read(work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Do work that writes as the owner, and return its result."""
        return await self._write(work)

    def check_owned(self, connection: Connection) -> None:
        """Raise OwnershipLostError if another runtime became the owner. For work that only reads."""
        check_epoch(connection, self._epoch, self._name)

    async def _read_page(
        self,
        page: Callable[[Any, int], Select[Any]],
        after: Any,
        limit: int,
        read: Callable[[Row[Any]], T | None],
        position: Callable[[Row[Any]], Any],
    ) -> Sequence[T]:
        """See `readable_page`."""
        return await self._read(lambda connection: readable_page(connection, page, after, limit, read, position))

    async def _read(self, work: Callable[[Connection], T]) -> T:
        with self._database.read_errors():
            return await self._reader.run(work)

    async def _write_uncounted(self, work: Callable[[Connection], T]) -> T:
        """Write data that may change the open work; the next `held` counts it again."""
        async with self._changing:
            self._work = None
            return await self._write(work)

    async def _write(self, work: Callable[[Connection], T]) -> T:
        """Do the work in one transaction that requires this owner's epoch, and return its result."""
        if self._writer is None:
            raise OwnershipLostError(self._name, self._epoch, await self._read(current_epoch))
        return await self._writer.run(partial(in_epoch, self._epoch, self._name, work))


def _is_damaged(agent: Row[Any]) -> bool:
    return to_shown(agent).status is Status.UNREADABLE


def _mail(row: Row[Any]) -> Mail | None:
    return readable(row, to_mail, "mail", "number")


def _if_wanted(shown: S, status: StrEnum | None) -> S | None:
    """Return the value if it has the wanted status, else None."""
    return shown if status is None or str(shown.status) == str(status) else None

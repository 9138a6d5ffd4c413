"""The store on a SQL database, through SQLAlchemy Core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    delete,
    exists,
    false,
    func,
    insert,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.ext.asyncio import AsyncEngine

from gatechart.errors import StoreMissingError, UnknownAgentError
from gatechart.stores.dialects import read_errors, unpacked, write_errors
from gatechart.stores.ownership import check_epoch
from gatechart.stores.rows import history_row, snapshot_row, to_entry, to_json, to_snapshot
from gatechart.stores.tables import agents, history
from gatechart.values import ActiveIn, AgentId, HistoryEntry, Page, Query, Snapshot, TurnRecord, Verdict

T = TypeVar("T")

COLUMNS: Final = tuple(column.name for column in agents.c if column is not agents.c.key)
_ROWS: Final = unpacked(COLUMNS)

START: Final = (
    sqlite_insert(agents)
    .from_select(COLUMNS, select(_ROWS).where(true()))  # without WHERE, SQLite takes ON for a join's
    .on_conflict_do_nothing()
    .returning(agents.c.id, agents.c.key)
)
GO_ON: Final = (
    update(agents)
    .values({name: _ROWS.c[name] for name in ("configuration", "context", "version", "status", "memory")})
    .values({name: _ROWS.c[name] for name in ("graph_version", "fingerprint")})
    .where(agents.c.id == _ROWS.c.id, agents.c.version == _ROWS.c.version - 1)
    .returning(agents.c.id, agents.c.key)
)


class SqlStore:
    """Keeps agents in a database that this runtime owns, or that it only reads."""

    is_durable = True
    is_instant = False

    def __init__(self, path: Path, reader: AsyncEngine, writer: AsyncEngine, epoch: int) -> None:
        self._path = path
        self._reader = reader
        self._writer = writer  # of a store that is only read, the reader again
        self._epoch = epoch
        self._inode = path.stat().st_ino

    async def load(self, agent_id: AgentId) -> Snapshot:
        """See Store."""
        return await self._read(lambda connection: to_snapshot(_agent(connection, agent_id)))

    async def applied(self, agent_id: AgentId, event_id: str) -> HistoryEntry | None:
        """See Store."""
        wanted = _entries(agent_id).where(history.c.event_id == event_id)

        def read(connection: Connection) -> HistoryEntry | None:
            row = connection.execute(wanted).one_or_none()
            return None if row is None else to_entry(row, agent_id)

        return await self._read(read)

    async def history(self, agent_id: AgentId, *, after: int = 0, limit: int | None = None) -> Sequence[HistoryEntry]:
        """See Store."""
        wanted = _entries(agent_id).where(history.c.version > after).order_by(history.c.version).limit(limit)

        def read(connection: Connection) -> Sequence[HistoryEntry]:
            found = connection.execute(wanted).all() or (_agent(connection, agent_id) and ())
            return [to_entry(row, agent_id) for row in found]

        return await self._read(read)

    async def find(self, query: Query) -> Page:
        """See Store."""

        def read(connection: Connection) -> Page:
            key = 0 if query.after is None else _agent(connection, query.after).key
            found = [to_snapshot(row) for row in connection.execute(_search(query, key))]
            page = tuple(found[: query.limit])
            return Page(page, page[-1].agent_id if len(found) > query.limit else None)

        return await self._read(read)

    async def commit(self, turns: Sequence[TurnRecord]) -> Sequence[Verdict]:
        """See Store."""
        starts = to_json([_row(turn) for turn in turns if turn.previous is None])
        others = to_json([_row(turn) for turn in turns if turn.previous is not None])

        def write(connection: Connection) -> Sequence[Verdict]:
            keys: dict[AgentId, int] = {}
            for statement, rows in ((START, starts), (GO_ON, others)):
                if rows != "[]":
                    keys |= {row.id: row.key for row in connection.execute(statement, {"rows": rows})}
            written = [history_row(turn, keys[turn.snapshot.agent_id]) for turn in turns if _is_in(turn, keys)]
            if written:
                connection.execute(insert(history), written)
            return [Verdict.COMMITTED if _is_in(turn, keys) else Verdict.STALE for turn in turns]

        return await self._write(write)

    async def erase(self, agent_id: AgentId) -> None:
        """See Store."""

        def write(connection: Connection) -> None:
            key = _agent(connection, agent_id).key
            connection.execute(delete(agents).where(agents.c.key == key))  # the history goes with it

        await self._write(write)

    async def _read(self, work: Callable[[Connection], T]) -> T:
        with read_errors(self._path):
            async with self._reader.connect() as connection:
                return await connection.run_sync(work)

    async def _write(self, work: Callable[[Connection], T]) -> T:
        """The work's result, all of it in one transaction that this owner's epoch still holds."""

        def owned_work(connection: Connection) -> T:
            check_epoch(connection, self._epoch, self._path)
            return work(connection)

        self._check_there()
        with write_errors(self._path):
            async with self._writer.begin() as connection:
                return await connection.run_sync(owned_work)

    def _check_there(self) -> None:
        """Raises StoreMissingError where the file was taken away, into which the connection would go on writing."""
        try:
            is_there = self._path.stat().st_ino == self._inode
        except OSError:
            is_there = False
        if not is_there:
            raise StoreMissingError(str(self._path))


def _row(turn: TurnRecord) -> list[Any]:
    row = snapshot_row(turn.snapshot)
    return [row[name] for name in COLUMNS]


def _is_in(turn: TurnRecord, keys: dict[AgentId, int]) -> bool:
    return turn.snapshot.agent_id in keys


def _agent(connection: Connection, agent_id: AgentId) -> Any:
    row = connection.execute(select(agents).where(agents.c.id == agent_id)).one_or_none()
    if row is None:
        raise UnknownAgentError(agent_id)
    return row


def _entries(agent_id: AgentId) -> Select[Any]:
    return select(history).join(agents, agents.c.key == history.c.agent).where(agents.c.id == agent_id)


def _search(query: Query, after_key: int) -> Select[Any]:
    found = select(agents).where(agents.c.key > after_key).order_by(agents.c.key).limit(query.limit + 1)
    if query.graph is not None:
        found = found.where(agents.c.graph == query.graph)
    if query.status is not None:
        found = found.where(agents.c.status == query.status.value)
    if query.active is not None:
        found = found.where(or_(false(), *map(_is_active, query.active)))
    return found


def _is_active(wanted: ActiveIn) -> ColumnElement[bool]:
    leaf = func.json_each(agents.c.configuration).table_valued("value")
    is_active = exists(select(leaf).where(leaf.c.value.in_(wanted.leaves)))
    return is_active if wanted.graph is None else and_(agents.c.graph == wanted.graph, is_active)

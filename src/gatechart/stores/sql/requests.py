"""Requests to the owner of a database: the asker's side and the owner's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any, Final, Protocol, TypeVar

from sqlalchemy import ColumnElement, Connection, Select, and_, delete, exists, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from gatechart.api.requests import is_about
from gatechart.stores.sql.columns import check_row, from_us, kinds_of, readable, text_of, to_json, to_us
from gatechart.stores.sql.database import Database, Notifier, Reader, Writer
from gatechart.stores.sql.dialects import listed
from gatechart.stores.sql.host_rows import beat, leave, stored_hosts
from gatechart.stores.sql.statements import Single
from gatechart.stores.sql.tables import owner, requests
from gatechart.values.hosts import HostRecord
from gatechart.values.names import LATEST, AgentId
from gatechart.values.queries import Request

T = TypeVar("T")

KEPT: Final = timedelta(hours=1)
"""The time for which an answer is kept. An asker that still runs fetches it at once."""

TIDY_S: Final = 60.0  # between two deletions of answers that were not fetched

_REQUEST: Final = kinds_of(requests)
_IS_NEW: Final = requests.c.taken_us.is_(None)
_IS_OPEN: Final = requests.c.answered_us.is_(None)
_OWNER: Final = select(owner.c.pid, owner.c.host)
_INSERTS: Final[Mapping[str, Any]] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}
_PLACES: Final[Mapping[str, Any]] = {"postgresql": func.strpos, "sqlite": func.instr}  # position of a text in another
ANY_NEW: Final = Single(select(exists().where(_IS_NEW)))
ANY_OPEN: Final = Single(select(exists().where(_IS_OPEN)))


class Owned(Protocol):
    """Runs reads and the owner's transactions, and translates their errors."""

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Return the result of work that only reads."""
        ...

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Return the result of work in one transaction that requires this owner's epoch."""
        ...

    def check_owned(self, connection: Connection) -> None:
        """Raise OwnershipLostError if another runtime became the owner. For work that only reads."""
        ...


class SqlRequests:
    """Requests to the owner of a database. Fulfils Requests."""

    def __init__(self, database: Owned, notifier: Notifier) -> None:
        self._database = database
        self._notifier = notifier
        self._tidies = 0.0  # next tidying, in monotonic time

    async def asked(self) -> None:
        """See Requests. Deletes finished requests meanwhile.

        An idle owner learns here that another runtime became the owner.
        """
        while not await self._is_there(ANY_NEW):
            await self._notifier.notified()
            await self._tidy()

    async def take(self, now: datetime, *, limit: int, again: bool = False) -> Sequence[Request]:
        """See Requests. Writes nothing if there is nothing to take."""
        if not await self._is_there(ANY_OPEN if again else ANY_NEW):
            return []
        self._notifier.listen()
        wanted = _to_take(limit, again=again)

        def write(connection: Connection) -> Sequence[Request]:
            connection.execute(delete(requests).where(_is_over(now)))
            taken = [_to_request(row) for row in connection.execute(wanted)]
            numbers = {"values": [request.number for request in taken]}
            mark = update(requests).where(requests.c.number.in_(listed(int))).values(taken_us=to_us(now))
            connection.execute(mark, numbers)
            return taken

        return await self._database.write(write)

    async def answer(self, number: int, text: str, now: datetime) -> None:
        """See Requests."""
        change = update(requests).where(requests.c.number == number).values(answer=text, answered_us=to_us(now))
        await self._database.write(lambda connection: connection.execute(change))

    async def _tidy(self) -> None:
        """Delete finished requests, once every `TIDY_S`. Writes nothing if there are none."""
        if monotonic() < self._tidies:
            return
        self._tidies = monotonic() + TIDY_S
        is_over = _is_over(datetime.now(UTC))
        question = select(exists().where(is_over))
        if await self._database.read(lambda connection: connection.execute(question).scalar_one()):
            await self._database.write(lambda connection: connection.execute(delete(requests).where(is_over)))

    async def _is_there(self, question: Single) -> bool:
        """Whether the query finds a request."""

        def read(connection: Connection) -> bool:
            self._database.check_owned(connection)
            ((found,),) = question.all(connection)
            return bool(found)

        return await self._database.read(read)


class SqlAsking:
    """Requests to the owner of a database from other processes, and signs of life. Fulfils Asking and SignsOfLife."""

    def __init__(self, database: Database, reader: Reader, writer: Writer) -> None:
        self._database = database
        self._reader = reader
        self._writer = writer

    async def owner(self) -> str:
        """See Asking."""
        with self._database.read_errors():
            pid, host = await self._reader.run(lambda connection: connection.execute(_OWNER).one())
        return f"process {pid} on {host}"

    async def is_owned(self) -> bool:
        """See Asking."""
        return await self._database.is_owned(self._reader)

    async def ask(self, request: Request) -> int:
        """See Asking."""
        row = {"id": request.id, "asker": request.asker, "call": request.call, "until_us": to_us(request.until)}
        number = select(requests.c.number).where(requests.c.id == request.id)

        def write(connection: Connection) -> int:
            insert = _INSERTS[connection.dialect.name](requests).values(**row)
            connection.execute(insert.on_conflict_do_nothing())
            self._database.notify(connection)
            found: int = connection.execute(number).scalar_one()
            return found

        return await self._writer.run(write)

    async def answer_to(self, number: int) -> str | None:
        """See Asking."""
        wanted = select(requests.c.answer).where(requests.c.number == number)
        with self._database.read_errors():
            return await self._reader.run(lambda connection: connection.execute(wanted).scalar_one_or_none())

    async def withdraw(self, number: int) -> bool:
        """See Asking."""
        has_number = requests.c.number == number

        def write(connection: Connection) -> bool:
            connection.execute(delete(requests).where(has_number, _IS_NEW))
            return connection.execute(select(requests.c.number).where(has_number)).one_or_none() is None

        return await self._writer.run(write)

    async def forget(self, number: int) -> None:
        """See Asking."""
        removal = delete(requests).where(requests.c.number == number)
        await self._writer.run(lambda connection: connection.execute(removal))

    async def beat(self, host: HostRecord, *, forget_before: datetime) -> None:
        """See SignsOfLife."""
        await self._writer.run(beat(host, forget_before))

    async def leave(self, host_id: str) -> None:
        """See SignsOfLife."""
        await self._writer.run(leave(host_id))

    async def hosts(self) -> Sequence[HostRecord]:
        """See SignsOfLife."""
        with self._database.read_errors():
            return await self._reader.run(stored_hosts)


def empty_answers(connection: Connection, agent_id: AgentId) -> None:
    """Remove an erased agent's data from answered requests and their answers.

    The rows stay. Otherwise an asker that has not fetched its answer would conclude that its request was not started.
    """
    position, name = _PLACES[connection.dialect.name], to_json(agent_id)
    is_named = or_(
        position(requests.c.call, name) > 0, position(requests.c.answer, name) > 0
    )  # a prefilter: the id may also be part of other text
    found = connection.execute(
        select(requests.c.number, requests.c.call, requests.c.answer).where(~_IS_OPEN, is_named)
    ).all()
    numbers = [row.number for row in found if is_about(agent_id, row.call, row.answer)]
    if numbers:
        empty = update(requests).where(requests.c.number.in_(listed(int))).values(call="{}", answer="{}")
        connection.execute(empty, {"values": numbers})


def _check(row: Any) -> bool:
    check_row(row, _REQUEST)
    return True


def _is_over(now: datetime) -> ColumnElement[bool]:
    """Whether a request expired before it was taken, or its answer was never fetched."""
    is_late = and_(_IS_NEW, requests.c.until_us < to_us(now))
    return or_(is_late, requests.c.answered_us < to_us(now - KEPT))


def _to_take(limit: int, *, again: bool) -> Select[Any]:
    wanted = select(requests).where(_IS_OPEN if again else _IS_NEW).order_by(requests.c.number).limit(limit)
    return wanted.with_for_update()  # so that no concurrent transaction withdraws one


def _to_request(row: Any) -> Request:
    """Read a request. A damaged request gets an unknown call, so that it is answered and then deleted."""
    if readable(row, _check, "requests", "number") is None:
        return Request(text_of(row.id), text_of(row.asker), "", LATEST, row.number)
    return Request(row.id, row.asker, row.call, from_us(row.until_us), row.number)

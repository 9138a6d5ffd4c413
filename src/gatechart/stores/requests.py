"""What others ask of the owner of a database file, on both sides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any, Final, Protocol, TypeVar

from sqlalchemy import Connection, Select, and_, delete, exists, or_, select, update
from sqlalchemy.dialects.sqlite import insert

from gatechart.stores.dialects import listed, read_errors, write_errors
from gatechart.stores.reader import Reader
from gatechart.stores.rows import from_us, to_json, to_us
from gatechart.stores.statements import Ask
from gatechart.stores.tables import owner, requests
from gatechart.stores.writer import Writer
from gatechart.values import Request

T = TypeVar("T")

KEPT: Final = timedelta(hours=1)
"""How long an answer waits for its asker, who fetches it at once if he still runs."""

FIRST_NAP_S: Final = 0.01
LONGEST_NAP_S: Final = 0.1
REST_S: Final = 0.2
LOOKS_EVERY: Final = 20  # naps: then it looks into the database, whatever the file says

_IS_NEW: Final = requests.c.taken_us.is_(None)
_IS_OPEN: Final = requests.c.answered_us.is_(None)
_OWNER: Final = select(owner.c.pid, owner.c.host)
ANY_NEW: Final = Ask(select(exists().where(_IS_NEW)))
ANY_OPEN: Final = Ask(select(exists().where(_IS_OPEN)))


class Database(Protocol):
    """What runs reads and the owner's transactions, and names what goes wrong."""

    async def read(self, work: Callable[[Connection], T]) -> T:
        """The result of what only reads."""
        ...

    async def write(self, work: Callable[[Connection], T]) -> T:
        """The result, in one transaction that this owner's epoch still holds."""
        ...


class SqlRequests:
    """What is asked of the owner of a database file. Fulfils Requests."""

    def __init__(self, database: Database, path: Path) -> None:
        self._database = database
        self._doorbell = Doorbell(path)

    async def asked(self) -> None:
        """See Requests."""
        while not await self._is_there(ANY_NEW):
            await self._doorbell.rung()

    async def take(self, now: datetime, *, limit: int, again: bool = False) -> Sequence[Request]:
        """See Requests. What asks for nothing writes nothing."""
        if not await self._is_there(ANY_OPEN if again else ANY_NEW):
            return []
        self._doorbell.listen()
        wanted = _to_take(limit, again=again)

        def write(connection: Connection) -> Sequence[Request]:
            connection.execute(_over(now))
            taken = [_to_request(row) for row in connection.execute(wanted)]
            numbers = {"values": to_json([each.number for each in taken])}
            mark = update(requests).where(requests.c.number.in_(listed())).values(taken_us=to_us(now))
            connection.execute(mark, numbers)
            return taken

        return await self._database.write(write)

    async def answer(self, number: int, text: str, now: datetime) -> None:
        """See Requests."""
        change = update(requests).where(requests.c.number == number).values(answer=text, answered_us=to_us(now))
        await self._database.write(lambda connection: connection.execute(change))

    async def _is_there(self, question: Ask) -> bool:
        """Whether there is any such request."""
        ((found,),) = await self._database.read(question.all)
        return bool(found)


class SqlAsking:
    """Asks something of the owner of a database file. Fulfils Asking."""

    def __init__(self, path: Path, reader: Reader, writer: Writer) -> None:
        self._path = path
        self._reader = reader
        self._writer = writer

    async def owner(self) -> str:
        """See Asking."""
        with read_errors(self._path):
            pid, host = await self._reader.run(lambda connection: connection.execute(_OWNER).one())
        return f"process {pid} on {host}"

    async def ask(self, request: Request) -> int:
        """See Asking."""
        row = {"id": request.id, "asker": request.asker, "call": request.call, "until_us": to_us(request.until)}
        number = select(requests.c.number).where(requests.c.id == request.id)

        def write(connection: Connection) -> int:
            connection.execute(insert(requests).values(**row).on_conflict_do_nothing())
            found: int = connection.execute(number).scalar_one()
            return found

        return await self._write(write)

    async def answer_to(self, number: int) -> str | None:
        """See Asking."""
        wanted = select(requests.c.answer).where(requests.c.number == number)
        with read_errors(self._path):
            return await self._reader.run(lambda connection: connection.execute(wanted).scalar_one_or_none())

    async def withdraw(self, number: int) -> bool:
        """See Asking."""
        is_it = requests.c.number == number

        def write(connection: Connection) -> bool:
            connection.execute(delete(requests).where(is_it, _IS_NEW))
            return connection.execute(select(requests.c.number).where(is_it)).one_or_none() is None

        return await self._write(write)

    async def forget(self, number: int) -> None:
        """See Asking."""
        gone = delete(requests).where(requests.c.number == number)
        await self._write(lambda connection: connection.execute(gone))

    async def _write(self, work: Callable[[Connection], T]) -> T:
        with write_errors(self._path):
            return await self._writer.run(work)


class Doorbell:
    """Tells when the database may have changed.

    SQLite tells nobody, so it looks at the log beside the database: whoever writes, writes there. A look at the file
    costs microseconds, one into the database a hundred times that. Looks come quickly after something was asked, and
    up to `LONGEST_NAP_S` apart when nothing is. An owner that itself writes all the time looks into the database
    every `REST_S`.
    """

    def __init__(self, path: Path) -> None:
        self._log = path.with_name(f"{path.name}-wal")
        self._seen: tuple[int, int] | None = None
        self._nap_s = FIRST_NAP_S
        self._rung = 0.0  # when it did last, as monotonic time

    def listen(self) -> None:
        """Looks often again, for who has asked asks more."""
        self._nap_s = FIRST_NAP_S

    async def rung(self) -> None:
        """Returns when the database may have changed, or after two seconds."""
        for _ in range(LOOKS_EVERY):
            await asyncio.sleep(self._nap_s)
            self._nap_s = min(self._nap_s * 1.5, LONGEST_NAP_S)
            seen, now = self._look(), monotonic()
            if seen != self._seen and now - self._rung >= min(self._nap_s * 2, REST_S):
                self._seen, self._rung = seen, now
                return

    def _look(self) -> tuple[int, int] | None:
        try:
            found = self._log.stat()
        except OSError:  # there is no log, so nobody has written
            return None
        return found.st_mtime_ns, found.st_size


def _over(now: datetime) -> Any:
    """Forgets what was not taken in time, and what nobody has fetched."""
    is_late = and_(_IS_NEW, requests.c.until_us < to_us(now))
    return delete(requests).where(or_(is_late, requests.c.answered_us < to_us(now - KEPT)))


def _to_take(limit: int, *, again: bool) -> Select[Any]:
    return select(requests).where(_IS_OPEN if again else _IS_NEW).order_by(requests.c.number).limit(limit)


def _to_request(row: Any) -> Request:
    return Request(row.id, row.asker, row.call, from_us(row.until_us), row.number)

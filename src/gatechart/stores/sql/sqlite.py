"""A database in a file. The process that holds the lock file next to it owns it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from secrets import token_hex
from time import monotonic, time_ns
from typing import Final
from urllib.parse import quote

from filelock import BaseFileLock, FileLock, Timeout
from sqlalchemy import Connection, text
from sqlalchemy.engine import URL

from gatechart.errors.outside import StoreBusyError, StoreMissingError, StoreReadOnlyError
from gatechart.stores.sql.database import Hold, Notifier, Reader, Writer, opened_reader
from gatechart.stores.sql.ownership import owned
from gatechart.stores.sql.sqlite_connections import (
    ThreadWriter,
    opened_writer,
    read_errors,
    reading_engine,
    write_errors,
    writing_engine,
)

ATTEMPTS: Final = 10  # at the lock
ATTEMPT_S: Final = 0.005  # between two attempts

TICK_NS: Final = 20_000_000  # longest difference of times that a file system may not distinguish
FIRST_NAP_S: Final = 0.01
LONGEST_NAP_S: Final = 0.1
REST_S: Final = 0.2
LOOKS_EVERY: Final = 20  # naps until the owner checks the database anyway


class SqliteFile:
    """A database in a file. Readers take no lock. Fulfils `Database`."""

    def __init__(self, url: URL, path: Path) -> None:
        """Create a database. path: the absolute path of the URL."""
        self._url = url
        self._path = path

    @property
    def name(self) -> str:
        """See Database."""
        return str(self._path)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Reader]:
        """See Database."""
        if self.is_absent():
            raise StoreMissingError(self.name)
        async with opened_reader(reading_engine(_readable(self._url, self._path))) as reader:
            yield reader

    @asynccontextmanager
    async def holding(self) -> AsyncIterator[Hold]:
        """See Database."""
        lock = LockFile(self._path)
        try:
            async with (
                opened_reader(reading_engine(self._url)) as reader,
                opened_writer(self._path, writing_engine(self._url)) as writer,
            ):
                yield _FileHold(self, self._path, lock, reader, writer)
        finally:
            lock.release()

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[tuple[Reader, Writer]]:
        """See Database."""
        if self.is_absent():
            raise StoreMissingError(self.name)
        async with (
            opened_reader(reading_engine(self._url)) as reader,
            opened_writer(self._path, writing_engine(self._url)) as writer,
        ):
            yield reader, writer

    def notify(self, connection: Connection) -> None:
        """See Database. Nothing to do: the owner notices the write itself."""

    async def is_owned(self, reader: Reader) -> bool:  # noqa: ARG002  the lock is another file
        """See Database."""
        lock = LockFile(self._path)
        try:
            return not lock.take()
        finally:
            lock.release()

    def is_absent(self) -> bool:
        """See Database."""
        return not self._path.exists()

    def read_errors(self) -> AbstractContextManager[None]:
        """See Database."""
        return read_errors(self._path)

    def write_errors(self) -> AbstractContextManager[None]:
        """See Database."""
        return write_errors(self._path)

    def last_number(self, connection: Connection) -> int:
        """See Database. SQLite remembers it for the autoincrement column."""
        found = connection.execute(text("SELECT seq FROM sqlite_sequence WHERE name = 'mail'"))
        return found.scalar_one_or_none() or 0


class _FileHold:
    """See Hold."""

    grace_s = 0.0

    def __init__(self, database: SqliteFile, path: Path, lock: LockFile, reader: Reader, writer: ThreadWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._database = database
        self._path = path
        self._lock = lock

    async def take(self) -> bool:
        """See Hold. Retries, as a process that only tests the lock holds it briefly."""
        for _ in range(ATTEMPTS):
            if self._lock.take():
                return True
            await asyncio.sleep(ATTEMPT_S)
        return self._lock.take()

    async def seize(self) -> None:
        """See Hold. Raises StoreBusyError if the owner is inside a transaction, which ends only when the owner dies."""
        try:
            await self.writer.run(lambda _connection: None)
        except StoreBusyError as error:
            problem = "its owner stopped inside a transaction and still holds SQLite's lock: end that process"
            raise StoreBusyError(self._database.name, problem) from error

    def confirm(self, connection: Connection) -> None:
        """See Hold."""
        if self._lock.is_passed_by():
            raise owned(connection, self._database.name)

    def settle(self) -> None:
        """See Hold. The transaction holds SQLite's write lock, so only one process at a time replaces the lock file."""
        self._lock.replace()

    @asynccontextmanager
    async def notifier(self) -> AsyncIterator[Notifier]:
        """See Hold."""
        yield _FileNotifier(self._path, self.writer)


class LockFile:
    """The lock file next to a database. The operating system frees it when the process that holds it dies."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._path = database.with_name(database.name + ".lock")
        self._lock = _file_lock(self._path)
        self._inode: int | None = None  # of the locked file

    def take(self) -> bool:
        """Take the lock, and return whether it is held now. Raises StoreReadOnlyError if the folder is not writable."""
        try:
            self._path.touch()
            before = self._current_inode()
            self._lock.acquire()
        except Timeout:
            return False
        except OSError as error:
            raise StoreReadOnlyError(str(self._database), str(error)) from error
        self._inode = self._current_inode()
        if before is None or before != self._inode:  # another runtime has replaced the file meanwhile
            self.release()
            return False
        return True

    def is_passed_by(self) -> bool:
        """Whether another runtime has replaced the locked file."""
        return self._inode is not None and self._inode != self._current_inode()

    def replace(self) -> None:
        """Replace the lock file by a new, locked one, unless the lock is already held.

        A frozen process keeps the lock of the old file, which no process checks any more.
        """
        if self._inode is not None:
            return
        fresh = self._path.with_name(f"{self._path.name}.{token_hex(4)}")
        try:
            self._lock = _file_lock(fresh)
            self._lock.acquire()
            fresh.replace(self._path)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            raise StoreReadOnlyError(str(self._database), str(error)) from error
        self._inode = self._current_inode()

    def release(self) -> None:
        """Release the lock."""
        self._inode = None
        self._lock.release()

    def _current_inode(self) -> int | None:
        try:
            return self._path.stat().st_ino
        except OSError:
            return None


class _FileNotifier:
    """Reports when another process may have written to the database file.

    SQLite sends no notifications, so this watches the log next to the database, where every writer writes. Checking the
    file costs microseconds. Only when it has changed, the notifier asks the database whether another connection has
    committed, at most every `REST_S` while the owner itself writes all the time. Checks are frequent after a request,
    and up to `LONGEST_NAP_S` apart when there are none.
    """

    def __init__(self, path: Path, writer: ThreadWriter) -> None:
        self._log = path.with_name(f"{path.name}-wal")
        self._writer = writer
        self._seen: tuple[int, int] | None = None
        self._foreign: int | None = None  # as of the last query
        self._nap_s = FIRST_NAP_S
        self._asked = 0.0  # monotonic time of the last query

    def listen(self) -> None:
        """Check more often again, because one request is often followed by more."""
        self._nap_s = FIRST_NAP_S

    async def notified(self) -> None:
        """Wait until another process may have written, or about two seconds have passed."""
        for _ in range(LOOKS_EVERY):
            await asyncio.sleep(self._nap_s)
            self._nap_s = min(self._nap_s * 1.5, LONGEST_NAP_S)
            seen, now = self._look(), monotonic()
            if seen != self._seen and now - self._asked >= min(self._nap_s * 2, REST_S):
                self._seen, self._asked = None if _is_fresh(seen) else seen, now
                before, self._foreign = self._foreign, await self._writer.foreign_commits()
                if self._foreign != before:
                    return

    def _look(self) -> tuple[int, int] | None:
        try:
            found = self._log.stat()
        except OSError:  # no log, so no process has written
            return None
        return found.st_mtime_ns, found.st_size


def _is_fresh(seen: tuple[int, int] | None) -> bool:
    """Whether the last write is so recent that another write may leave the time and size of the log unchanged."""
    return seen is not None and time_ns() - seen[0] < TICK_NS


def _file_lock(path: Path) -> BaseFileLock:
    return FileLock(path, blocking=False, thread_local=False)


def _readable(url: URL, path: Path) -> URL:
    """Return a URL that can read the database.

    SQLite keeps an index next to a database in WAL mode. If this process cannot write there, no other process writes to
    the database either, and the index is not needed.
    """
    if os.access(path.parent, os.W_OK) or path.with_name(f"{path.name}-wal").exists():
        return url
    return url.set(database=f"file:{quote(str(path))}").update_query_dict({"immutable": "1", "uri": "true"})

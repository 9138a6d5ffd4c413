"""The interface to one kind of database, which a module for each kind implements."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Protocol, TypeVar

from sqlalchemy import Connection

T = TypeVar("T")


class Reader(Protocol):
    """A reader that runs several reads at a time, on connections that cannot write."""

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Return the result of the work. Cancelling the caller stops the wait, not a read that has begun.

        Raises RuntimeError if the database was closed.
        """
        ...


class Writer(Protocol):
    """The one connection that writes."""

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Return the result of the work once its transaction is committed. Roll back if the work raises.

        Errors are translated as by `Database.write_errors`. Raises StoreMissingError if the database was removed while
        open.
        """
        ...


class Notifier(Protocol):
    """A notifier that wakes the owner when there may be a new request."""

    def listen(self) -> None:
        """Listen closely for a while, because whoever made a request often makes more."""
        ...

    async def notified(self) -> None:
        """Wait until there may be a new request, or until some time has passed."""
        ...


class Hold(Protocol):
    """The means to own a database: a lock of the operating system or the server that dies with its holder."""

    @property
    def reader(self) -> Reader:
        """The reader, which works whether the database is owned or not."""
        ...

    @property
    def writer(self) -> Writer:
        """The writer, which works once the database is owned."""
        ...

    @property
    def grace_s(self) -> float:
        """How many seconds after its holder's death the lock may still seem to be held."""
        ...

    async def take(self) -> bool:
        """Take the lock. Return False if another runtime holds it."""
        ...

    async def seize(self) -> None:
        """Take the lock from its holder, which may be frozen. Raises an OutsideError if that is impossible."""
        ...

    def confirm(self, connection: Connection) -> None:
        """Check that the lock is still held. Called first in the transaction that begins the epoch.

        Raises StoreOwnedError if another runtime has taken the lock meanwhile.
        """
        ...

    def settle(self) -> None:
        """Bring the lock into its final state. Called last in the transaction that begins the epoch."""
        ...

    def notifier(self) -> AbstractAsyncContextManager[Notifier]:
        """Open the owner's notifier, which hears every `Database.notify` from now on."""
        ...


class Database(Protocol):
    """A database that a URL names."""

    @property
    def name(self) -> str:
        """The name of the database in errors, without a password."""
        ...

    def reading(self) -> AbstractAsyncContextManager[Reader]:
        """Open a reader for a process that never writes. Raises StoreMissingError if there is nothing to read."""
        ...

    def holding(self) -> AbstractAsyncContextManager[Hold]:
        """Open the means to own the database, and release them at the end.

        Creates no database until it is seized or written, but may create a lock file beside it.
        """
        ...

    def asking(self) -> AbstractAsyncContextManager[tuple[Reader, Writer]]:
        """Open a reader and a writer for requests to the owner. Raises StoreMissingError as `reading` does."""
        ...

    def notify(self, connection: Connection) -> None:
        """Notify the owner of a request, once the transaction is committed."""
        ...

    async def is_owned(self, reader: Reader) -> bool:
        """Whether a runtime owns the database now. reader: a reader of this database."""
        ...

    def is_absent(self) -> bool:
        """Whether there is nothing yet, not even an empty database."""
        ...

    def read_errors(self) -> AbstractContextManager[None]:
        """Translate errors of the database and its contents, raised inside, into an OutsideError that names it."""
        ...

    def write_errors(self) -> AbstractContextManager[None]:
        """Translate errors raised inside into one that names the database.

        It is an OutsideError if the failure may pass or can be repaired, and an UnwritableError if the database will
        never accept what is to be written.
        """
        ...

    def last_number(self, connection: Connection) -> int:
        """Return the highest number that any mail ever had, even mail that is gone; 0 if there was none."""
        ...

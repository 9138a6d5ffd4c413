"""What a kind of database does in its own way: one small interface, fulfilled by a module for each."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Protocol, TypeVar

from sqlalchemy import Connection

from gatechart.stores.sql.connections import Reader

T = TypeVar("T")


class Writer(Protocol):
    """The one connection that writes."""

    async def run(self, work: Callable[[Connection], T]) -> T:
        """The result of the work, once its transaction is committed; taken back where it raises."""
        ...


class Notifier(Protocol):
    """Tells the owner when something may have been asked."""

    def listen(self) -> None:
        """Listens closely for a while, for who has asked asks more."""
        ...

    async def notified(self) -> None:
        """Returns when something may have been asked, or after a while."""
        ...


class Hold(Protocol):
    """The means to own a database: an operating system's or a server's lock that dies with its holder."""

    @property
    def reader(self) -> Reader:
        """What reads, owned or not."""
        ...

    @property
    def writer(self) -> Writer:
        """What writes, once it is owned."""
        ...

    @property
    def grace_s(self) -> float:
        """How long after its holder's death the lock may seem to be held."""
        ...

    async def take(self) -> bool:
        """Takes the lock; False where another runtime holds it."""
        ...

    async def seize(self) -> None:
        """Passes by whoever holds the lock, frozen perhaps. Raises an OutsideError where that cannot be."""
        ...

    def confirm(self, connection: Connection) -> None:
        """Called first in the transaction that begins the epoch.

        Raises StoreOwnedError where another runtime has passed this one by meanwhile.
        """
        ...

    def settle(self) -> None:
        """Called last in that transaction: what is to be true of the lock once it is committed."""
        ...


class Database(Protocol):
    """A database that a URL names."""

    @property
    def name(self) -> str:
        """As errors name it; without a password."""
        ...

    def reading(self) -> AbstractAsyncContextManager[Reader]:
        """What reads, for one who never writes. Raises StoreMissingError where there is nothing to read."""
        ...

    def holding(self) -> AbstractAsyncContextManager[Hold]:
        """The means to own it, which are let go at the end.

        Creates no database before it is seized or written, though perhaps a lock beside it.
        """
        ...

    def asking(self) -> AbstractAsyncContextManager[tuple[Reader, Writer]]:
        """What reads and writes, for one who asks the owner something. Raises StoreMissingError as `reading`."""
        ...

    def notifier(self) -> AbstractAsyncContextManager[Notifier]:
        """The owner's notifier, which hears those who `notify` from now on."""
        ...

    def notify(self, connection: Connection) -> None:
        """Tells the owner that something was asked, once the transaction is committed."""
        ...

    async def is_owned(self, reader: Reader) -> bool:
        """Whether a runtime owns it now. reader: of this database."""
        ...

    def is_absent(self) -> bool:
        """Whether there is nothing yet, not even an empty database."""
        ...

    def check_there(self) -> None:
        """Raises StoreMissingError where it was taken away under those who have it open."""
        ...

    def read_errors(self) -> AbstractContextManager[None]:
        """Turns what goes wrong inside, in the database or with what it holds, into the OutsideError that names it."""
        ...

    def write_errors(self) -> AbstractContextManager[None]:
        """Turns what goes wrong inside into the error that names it: an OutsideError where it may pass or be mended.

        UnwritableError where what is to be written is what the database will never take.
        """
        ...

    def last_number(self, connection: Connection) -> int:
        """The highest number that mail ever had, gone or not; 0 where there was none."""
        ...

    def keep_number(self, connection: Connection, number: int) -> None:
        """Sees to it that `last_number` says this number at least, once the transaction is committed."""
        ...

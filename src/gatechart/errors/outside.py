"""The world around failed: a database, a file, a program."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gatechart.errors.root import OutsideError


@dataclass(eq=False)
class StoreUrlError(OutsideError):
    """The URL names no store that gatechart can open."""

    url: str
    problem: str

    def __str__(self) -> str:
        return (
            f"cannot open a store at {self.url!r}: {self.problem}; "
            "use 'sqlite+aiosqlite:///agents.db' for a file, 'postgresql+asyncpg://user@host/database' for a server, "
            "or 'memory:' to keep nothing"
        )


@dataclass(eq=False)
class StoreMissingError(OutsideError):
    """There is no database to read."""

    path: str

    def __str__(self) -> str:
        return f"there is no database at {self.path}; name another, or start an agent, which creates it"


@dataclass(eq=False)
class StoreReadOnlyError(OutsideError):
    """The database, or the folder it lies in, cannot be written."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path} cannot be written ({self.problem}); make file and folder writable, or open it for reading"


@dataclass(eq=False)
class StoreUnreadableError(OutsideError):
    """The database, or a folder on the way to it, cannot be read."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path} cannot be read ({self.problem}); make file and folders readable for this user"


@dataclass(eq=False)
class StoreUnreachableError(OutsideError):
    """The database server does not answer, or lets this user not in."""

    path: str
    problem: str

    def __str__(self) -> str:
        return (
            f"cannot reach {self.path} ({self.problem}); see that the server runs, that the database is there "
            "(`createdb` makes one), and that host, user and password are right"
        )


@dataclass(eq=False)
class StoreCorruptError(OutsideError):
    """The file is not a sound gatechart database."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path} is not a sound gatechart database ({self.problem}); restore it from a backup"


@dataclass(eq=False)
class StoreBusyError(OutsideError):
    """Another program holds the database locked."""

    path: str
    problem: str

    def __str__(self) -> str:
        return (
            f"another program holds {self.path} locked ({self.problem}); end that program's transaction, "
            "or wait longer with `?timeout=` (seconds) in the URL"
        )


@dataclass(eq=False)
class StoreOwnedError(OutsideError):
    """Another runtime owns the database."""

    path: str
    host: str
    pid: int
    since: datetime | None

    def __str__(self) -> str:
        since = f" since {self.since:%Y-%m-%d %H:%M:%S} UTC" if self.since else ""
        owner = f"process {self.pid} on {self.host}{since}" if self.pid else "a process that has just opened it"
        return f"{self.path} is owned by {owner}; end it first, or open the database for reading"


@dataclass(eq=False)
class OwnershipLostError(OutsideError):
    """Another runtime has taken the database over; this one can no longer write."""

    path: str
    epoch: int
    current: int

    def __str__(self) -> str:
        return (
            f"this runtime owned {self.path} in epoch {self.epoch}, but epoch {self.current} has begun; "
            "nothing was written. Open a new runtime"
        )


@dataclass(eq=False)
class SchemaOutdatedError(OutsideError):
    """The database was written by an older gatechart."""

    path: str
    found: str
    needed: str

    def __str__(self) -> str:
        return f"{self.path} has the schema {self.found}, this gatechart needs {self.needed}; run `gatechart upgrade`"


@dataclass(eq=False)
class SchemaTooNewError(OutsideError):
    """The database was written by a newer gatechart."""

    path: str
    found: str
    known: str

    def __str__(self) -> str:
        return (
            f"{self.path} has the schema {self.found}, but this gatechart knows only up to {self.known}; "
            "install a newer gatechart"
        )


@dataclass(eq=False)
class StoreFailedError(OutsideError):
    """The database failed in a way that has no name of its own here."""

    path: str
    problem: str

    def __str__(self) -> str:
        return (
            f"the database {self.path} failed: {self.problem}; mend that, "
            "then try again, with the same id where there was one"
        )


@dataclass(eq=False)
class StaleAgentError(OutsideError):
    """Another writer has changed the agent meanwhile. Nothing of this turn was written."""

    agent_id: str
    version: int

    def __str__(self) -> str:
        return f"agent {self.agent_id!r} was changed by another writer after version {self.version}; send again"


@dataclass(eq=False)
class DrawingError(OutsideError):
    """Graphviz is missing, or could not draw."""

    problem: str

    def __str__(self) -> str:
        return f"cannot draw: {self.problem}"

"""Errors of the outside world: databases, engines, services, files, other processes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gatechart.errors.root import OutsideError, remote_problem


@dataclass(eq=False)
class StoreUrlError(OutsideError):
    """gatechart cannot open a store at this URL."""

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
    """The database to read does not exist."""

    path: str

    def __str__(self) -> str:
        return f"there is no database at {self.path}; name another, or start an agent, which creates it"


@dataclass(eq=False)
class StoreReadOnlyError(OutsideError):
    """The database or its folder is not writable."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path} cannot be written ({self.problem}); make file and folder writable, or open it for reading"


@dataclass(eq=False)
class StoreUnreadableError(OutsideError):
    """The database, or a folder on its path, is not readable."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path} cannot be read ({self.problem}); make file and folders readable for this user"


@dataclass(eq=False)
class StoreUnreachableError(OutsideError):
    """The database server does not answer, or does not let this user in."""

    path: str
    problem: str

    def __str__(self) -> str:
        return (
            f"cannot reach {self.path} ({self.problem}); see that the server runs, that the database is there "
            "(`createdb` makes one), and that host, user and password are right"
        )


@dataclass(eq=False)
class StoreCorruptError(OutsideError):
    """The file is not an intact gatechart database."""

    path: str
    problem: str

    def __str__(self) -> str:
        return f"{self.path} is not a sound gatechart database ({self.problem}); restore it from a backup"


@dataclass(eq=False)
class StoreBusyError(OutsideError):
    """Another program holds a lock on the database."""

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
    """Another runtime has taken over the database; this one can no longer write."""

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
    """The database failed in a way that has no specific error class."""

    path: str
    problem: str

    def __str__(self) -> str:
        return (
            f"the database {self.path} failed: {self.problem}; mend that, "
            "then try again, with the same id where there was one"
        )


@dataclass(eq=False)
class StaleAgentError(OutsideError):
    """Another writer changed the agent in the meantime. Nothing of this turn was written."""

    agent_id: str
    version: int

    def __str__(self) -> str:
        return f"agent {self.agent_id!r} was changed by another writer after version {self.version}; send again"


@dataclass(eq=False)
class DrawingError(OutsideError):
    """Graphviz is missing or failed to draw."""

    problem: str

    def __str__(self) -> str:
        return f"cannot draw: {self.problem}"


@dataclass(eq=False)
class EngineUnreachableError(OutsideError):
    """Nothing answers at the engine's address. Whether the call arrived is unknown."""

    url: str
    problem: str

    def __str__(self) -> str:
        return f"nobody answers at {self.url} ({self.problem}); start the engine, or name the address where it listens"


@dataclass(eq=False)
class EngineRefusedError(OutsideError):
    """The engine, or the service behind it, answered with an error."""

    url: str
    call: str
    problem: str

    def __str__(self) -> str:
        return (
            f"{self.call} failed at {self.url}: {self.problem}; look into the engine's log and the service's, and see "
            "that `gatechart restate serve` runs and `gatechart restate register` was run"
        )


@dataclass(eq=False)
class ServiceAddressError(OutsideError):
    """The service cannot listen at the given address."""

    address: str
    problem: str

    def __str__(self) -> str:
        return (
            f"cannot listen at {self.address} ({self.problem}); end whoever listens there, or name another with --bind"
        )


SHOWN = 10  # agents named in an error's text


@dataclass(eq=False)
class StoreMovedError(OutsideError):
    """The agents of the database were moved elsewhere; the database is kept for reading only."""

    path: str
    to: str
    since: datetime | None

    def __str__(self) -> str:
        since = f" at {self.since:%Y-%m-%d %H:%M:%S} UTC" if self.since else ""
        return (
            f"the agents of {self.path} were moved to {self.to}{since}; go on there, or open the database for reading"
        )


@dataclass(eq=False)
class MoveError(OutsideError):
    """Some or all agents cannot be moved. Their database is unchanged and can be used as before."""

    path: str
    to: str
    problem: str
    remedy: str
    agents: tuple[str, ...]  # the agents concerned; empty if all are

    def __str__(self) -> str:
        named = ", ".join(map(repr, self.agents[:SHOWN]))
        more = f" and {len(self.agents) - SHOWN:,} more" if len(self.agents) > SHOWN else ""
        about = f" ({named}{more})" if self.agents else ""
        return f"the agents of {self.path} were not moved to {self.to}: {self.problem}{about}; {self.remedy}"


@dataclass(eq=False)
class RemoteOutsideError(OutsideError):
    """The host of the agents raised an OutsideError that has no class here, or failed in an unknown way."""

    error: str
    message: str

    def __str__(self) -> str:
        return remote_problem(self.error, self.message)


@dataclass(eq=False)
class AnswerUnreadableError(OutsideError):
    """The answer of the database owner cannot be read here; the owner may run another version."""

    problem: str

    def __str__(self) -> str:
        return (
            f"the owner has dealt with the call, but its answer cannot be read here ({self.problem}); "
            "see what the agent is now, and bring both to the same version"
        )


@dataclass(eq=False)
class RequestTimeoutError(OutsideError):
    """The owner of the database did not answer in time. If the request was withdrawn, nothing was done."""

    path: str
    owner: str  # the owning process
    verb: str
    waited_s: float
    withdrawn: bool | None  # False: the owner has begun and will finish; None: unknown
    request: str = ""  # request id
    problem: str = ""  # why the outcome is unknown

    def __str__(self) -> str:
        became = "the request was withdrawn, and nothing was done" if self.withdrawn else f"it has begun {_AT_WORK}"
        if self.withdrawn is None:
            became = f"nobody can tell whether the request {self.request!r} is or will be done ({self.problem})"
        return (
            f"{self.path} is owned by {self.owner}, which did not answer {self.verb!r} within {self.waited_s:.3g} s: "
            f"{became}; wait longer, or see what the owner is doing"
        )


@dataclass(eq=False)
class OwnerGoneError(OutsideError):
    """The owner of the database went away before it answered. If the request was withdrawn, nothing was done."""

    path: str
    request: str  # request id
    number: int  # assigned by the database
    withdrawn: bool  # False: the owner had begun

    def __str__(self) -> str:
        became = "the request was withdrawn, and nothing was done" if self.withdrawn else f"it had begun {_AT_WORK}"
        return (
            f"the owner of {self.path} has gone before it answered {self.request!r} (number {self.number}): {became}; "
            "ask again"
        )


@dataclass(eq=False)
class RequestLateError(OutsideError):
    """A previous owner had begun the request; the next owner found it long overdue and did nothing."""

    request: str  # request id
    late_s: float

    def __str__(self) -> str:
        return (
            f"the owner that had begun with the request {self.request!r} is gone, and the next, which came "
            f"{self.late_s:.3g} s after its time was over, did nothing; read from the agent what the first did, and "
            "ask again as a new request"
        )


_AT_WORK = "with it, and what it comes to is to be read from the agent"

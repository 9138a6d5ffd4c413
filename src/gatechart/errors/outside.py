"""Errors of the outside world: databases, engines, services, files, other processes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from gatechart.errors.root import FromHost, OutsideError


@dataclass(eq=False)
class StoreError(OutsideError):
    """A problem with a database, or with the process that owns it. The base class of such errors."""

    path: str


@dataclass(eq=False)
class UnusableStoreError(StoreError):
    """The database cannot be used as it is. The base class of errors that name the cause and a remedy."""

    verdict: ClassVar[str]
    remedy: ClassVar[str]

    problem: str

    def __str__(self) -> str:
        return f"{self.path} {self.verdict} ({self.problem}); {self.remedy}"


@dataclass(eq=False)
class ProjectionLagError(OutsideError):
    """The projection lacks turns of an agent that are needed now. A retry may help."""

    agent_id: str
    version: int
    projected: int

    def __str__(self) -> str:
        return (
            f"the projection has agent {self.agent_id!r} up to version {self.projected} of {self.version}; "
            "try again once the service has projected the other versions"
        )


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


class StoreMissingError(StoreError):
    """The database to read does not exist."""

    def __str__(self) -> str:
        return f"there is no database at {self.path}; name another, or start an agent, which creates it"


class StoreReadOnlyError(UnusableStoreError):
    """The database or its folder is not writable."""

    verdict = "cannot be written"
    remedy = "make file and folder writable, or open it for reading"


class StoreUnreadableError(UnusableStoreError):
    """The database, or a folder on its path, is not readable."""

    verdict = "cannot be read"
    remedy = "make file and folders readable for this user"


class StoreUnreachableError(UnusableStoreError):
    """The database server does not answer, or does not let this user in."""

    verdict = "cannot be reached"
    remedy = (
        "check that the server runs, that the database exists (`createdb` creates one), and that host, "
        "user and password are right"
    )


class StoreCorruptError(UnusableStoreError):
    """The file is not an intact gatechart database."""

    verdict = "is not an intact gatechart database"
    remedy = "restore it from a backup"


class StoreBusyError(UnusableStoreError):
    """Another program holds a lock on the database."""

    verdict = "is locked by another program"
    remedy = "end that program's transaction, or wait longer with `?timeout=` (seconds) in the URL"


@dataclass(eq=False)
class StoreOwnedError(StoreError):
    """Another runtime owns the database."""

    host: str
    pid: int
    since: datetime | None

    def __str__(self) -> str:
        since = f" since {self.since:%Y-%m-%d %H:%M:%S} UTC" if self.since else ""
        owner = f"process {self.pid} on {self.host}{since}" if self.pid else "a process that has just opened it"
        return f"{self.path} is owned by {owner}; end it first, or open the database for reading"


@dataclass(eq=False)
class OwnershipLostError(StoreError):
    """Another runtime has taken over the database; this one can no longer write."""

    epoch: int
    current: int

    def __str__(self) -> str:
        return (
            f"this runtime owned {self.path} in epoch {self.epoch}, "
            f"but another runtime has started epoch {self.current}; nothing was written. Open a new runtime"
        )


@dataclass(eq=False)
class SchemaOutdatedError(StoreError):
    """The database was written by an older gatechart."""

    found: str
    needed: str

    def __str__(self) -> str:
        return f"{self.path} has the schema {self.found}, this gatechart needs {self.needed}; run `gatechart upgrade`"


@dataclass(eq=False)
class SchemaTooNewError(StoreError):
    """The database was written by a newer gatechart."""

    found: str
    known: str

    def __str__(self) -> str:
        return (
            f"{self.path} has the schema {self.found}, but this gatechart knows only up to {self.known}; "
            "install a newer gatechart"
        )


class StoreFailedError(UnusableStoreError):
    """The database failed in a way that has no specific error class."""

    verdict = "failed"
    remedy = "fix the cause, then try again, with the same id if the call had one"


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
class EngineError(OutsideError):
    """The engine, or the service behind it, could not carry out a call. The base class of such errors."""

    url: str


@dataclass(eq=False)
class EngineUnreachableError(EngineError):
    """No engine answers at the address. Whether the call arrived is unknown."""

    problem: str

    def __str__(self) -> str:
        return (
            f"no engine answers at {self.url} ({self.problem}); start the engine, or give the address where it listens"
        )


@dataclass(eq=False)
class EngineRefusedError(EngineError):
    """The engine, or the service behind it, answered with an error."""

    call: str
    problem: str

    def __str__(self) -> str:
        return (
            f"{self.call} failed at {self.url}: {self.problem}; check the logs of the engine and the service, "
            "that `gatechart restate serve` is running, and that `gatechart restate register` was run"
        )


@dataclass(eq=False)
class ServiceAddressError(OutsideError):
    """The service cannot listen at the given address."""

    address: str
    problem: str

    def __str__(self) -> str:
        return (
            f"cannot listen at {self.address} ({self.problem}); stop the program that listens there, or choose "
            "another address with --bind"
        )


SHOWN = 10  # agents named in an error's text


@dataclass(eq=False)
class StoreMovedError(StoreError):
    """The agents of the database were moved elsewhere; the database is kept for reading only."""

    to: str
    since: datetime | None

    def __str__(self) -> str:
        since = f" at {self.since:%Y-%m-%d %H:%M:%S} UTC" if self.since else ""
        return (
            f"the agents of {self.path} were moved to {self.to}{since}; continue there, or open the database for "
            "reading"
        )


@dataclass(eq=False)
class MoveError(StoreError):
    """Some or all agents cannot be moved. Their database is unchanged and can be used as before."""

    to: str
    problem: str
    remedy: str
    agents: tuple[str, ...]  # the agents concerned; empty if all are

    def __str__(self) -> str:
        named = ", ".join(map(repr, self.agents[:SHOWN]))
        more = f" and {len(self.agents) - SHOWN:,} more" if len(self.agents) > SHOWN else ""
        about = f" ({named}{more})" if self.agents else ""
        return f"the agents of {self.path} were not moved to {self.to}: {self.problem}{about}; {self.remedy}"


class RemoteOutsideError(FromHost, OutsideError):
    """The host of the agents raised an OutsideError that has no class here, or failed in an unknown way."""


@dataclass(eq=False)
class AnswerUnreadableError(OutsideError):
    """The answer of the database owner cannot be read here; the owner may run another version."""

    problem: str

    def __str__(self) -> str:
        return (
            f"the owner has processed the call, but its answer cannot be read here ({self.problem}); "
            "check the agent's state, and run the same version in both processes"
        )


@dataclass(eq=False)
class RequestTimeoutError(StoreError):
    """The owner of the database did not answer in time. If the request was withdrawn, nothing was done."""

    owner: str  # the owning process
    verb: str
    waited_s: float
    withdrawn: bool | None  # False: the owner has started and will finish; None: unknown
    request: str = ""  # request id
    problem: str = ""  # why the outcome is unknown

    def __str__(self) -> str:
        outcome = "the request was withdrawn, and nothing was done" if self.withdrawn else f"the owner has {_STARTED}"
        if self.withdrawn is None:
            outcome = f"it is unknown whether the request {self.request!r} was or will be carried out ({self.problem})"
        return (
            f"{self.path} is owned by {self.owner}, which did not answer {self.verb!r} within {self.waited_s:.3g} s: "
            f"{outcome}; wait longer, or see what the owner is doing"
        )


@dataclass(eq=False)
class OwnerGoneError(StoreError):
    """The owner of the database ended before it answered. If the request was withdrawn, nothing was done."""

    request: str  # request id
    number: int  # assigned by the database
    withdrawn: bool  # False: the owner had started on it

    def __str__(self) -> str:
        outcome = "the request was withdrawn, and nothing was done" if self.withdrawn else f"the owner had {_STARTED}"
        return (
            f"the owner of {self.path} ended before it answered {self.request!r} (number {self.number}): {outcome}; "
            "repeat the request"
        )


@dataclass(eq=False)
class RequestLateError(OutsideError):
    """A previous owner had started on the request; the next owner found the request long overdue and did nothing."""

    request: str  # request id
    late_s: float

    def __str__(self) -> str:
        return (
            f"the owner that had started on the request {self.request!r} ended, and the next owner did nothing, "
            f"because the request was {self.late_s:.3g} s past its deadline; "
            "check what the first owner did to the agent, and repeat the call as a new request"
        )


_STARTED = "started on the request, and the agent's state shows the result"


@dataclass(eq=False)
class EmbeddingError(OutsideError):
    """Texts cannot be compared by vectors: there is no model, or it returned no vectors or unusable ones."""

    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.problem}; {self.remedy}"

"""The terms of a service that hosts agents, its capabilities compared with other homes, and its configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from gatechart.handoff.reading import PacketMigration
from gatechart.hosting.choosing import USUAL, Choosing
from gatechart.hosting.registry import Registry
from gatechart.hosting.tool_gates import ToolGates
from gatechart.ports import Store
from gatechart.restate.directory import ServiceChooser
from gatechart.restate.process_breakers import ProcessBreakers
from gatechart.values.delays import Retry
from gatechart.values.homes import Capabilities

RESTATE: Final = Capabilities(
    home="Restate",
    finds_at_once=False,
    tells_at_once=False,
    shows_at_once=False,
    reads_back_at_once=False,
    watches_changes=False,
    migrates_ahead=False,
    bounds_backlogs=False,
    withdraws=False,
    tells_repeats=False,
    lists_all_mail=False,
    takes_a_clock=False,
    forgets_at_once=False,
    prunes=False,
    keeps_ids=200,
    looks_back=False,
    knows_hosts=False,
    counts_work_at_once=False,
    chooses_alike=False,
    settles_at_once=False,
)
"""The capabilities of this home, compared with other homes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The limits of a service that hosts agents on Restate. The defaults suit most services."""

    turn_s: float = 60.0  # time limit of one turn's actions; a longer turn is undone
    invoke_s: float = 86_400.0  # total time limit of one invoke; a longer invoke restarts with its steps
    idle_s: float = 10.0  # shortest wait of an idle invoke that the engine takes over from the process
    mail_retry: Retry = field(default_factory=lambda: Retry(attempts=5, first_s=1.0, factor=2.0, most_s=60.0))
    inbox: int = 10_000  # limit of mail waiting for or on its way to one agent, without timers; then `post` is refused
    inbox_bytes: int = 8_000_000  # the same in bytes, with the agent's state; also the limit of one turn's mail
    most_kept_bytes: int = 16_000_000  # limit of a state without large payloads; above it, small mail is postponed
    most_bytes: int = 1_000_000  # limit of an agent's snapshot with its last event; a larger turn is undone
    keep_ids: int = 200  # number of an agent's newest event ids that are recognised as repeats
    projection_s: float = 0.5  # how long turns wait to be projected together
    look_again_s: float = 5.0  # delay before mail for an unknown graph is retried

    def __post_init__(self) -> None:
        bounds = ("inbox", "inbox_bytes", "most_kept_bytes", "most_bytes", "keep_ids")
        for name in ("turn_s", "invoke_s", "idle_s", *bounds, "projection_s", "look_again_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"Terms({name}={getattr(self, name)!r}) is not a valid limit; give a number above 0")


TERMS: Final = Terms()


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a service's objects in the engine. A namespace keeps applications on one engine apart."""

    namespace: str = ""

    @property
    def agent(self) -> str:
        """Name of the objects that host agents."""
        return self._named("Agent")

    @property
    def breakers(self) -> str:
        """Name of the objects of circuit breakers."""
        return self._named("Breakers")

    @property
    def breaker_list(self) -> str:
        """Name of the object that lists circuit breakers."""
        return self._named("BreakerList")

    @property
    def capacity(self) -> str:
        """Name of the objects that count slots."""
        return self._named("Capacity")

    @property
    def inbox(self) -> str:
        """Name of the objects that reserve places in inboxes."""
        return self._named("Inbox")

    @property
    def invokes(self) -> str:
        """Name of the service that runs invokes."""
        return self._named("Invokes")

    @property
    def journals(self) -> str:
        """Name of the objects that keep the journals of agents."""
        return self._named("Journals")

    @property
    def payloads(self) -> str:
        """Name of the objects that keep large payloads."""
        return self._named("Payloads")

    @property
    def projection(self) -> str:
        """Name of the objects that project turns."""
        return self._named("Projection")

    def _named(self, name: str) -> str:
        return f"{self.namespace}.{name}" if self.namespace else name


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """The configuration of a service."""

    registry: Registry
    services: Any = None
    terms: Terms = TERMS
    packet_migrations: Sequence[PacketMigration] = ()
    projects: bool = False  # whether turns are kept until they are projected
    names: Names = Names()
    gates: ToolGates = field(default_factory=ToolGates)
    choosing: Choosing = USUAL
    projection: Store | None = None  # if this process reads it
    breakers: ProcessBreakers = field(init=False)
    chooser: ServiceChooser = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "breakers", ProcessBreakers(self.now))
        chooser = ServiceChooser(self.registry, self.now, self.projection, self.choosing)
        object.__setattr__(self, "chooser", chooser)

    @staticmethod
    def now() -> datetime:
        """Return the current time, aware, in UTC. Call it only within a journaled run."""
        return datetime.now(UTC)

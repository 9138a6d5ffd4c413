"""The terms on which a service hosts agents, and what turns and invokes need from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from gatechart.handoff import PacketMigration
from gatechart.hosting.registry import Registry
from gatechart.values import Retry


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The bounds of a service that hosts agents on Restate. Each has a default that suits most."""

    turn_s: float = 60.0  # that the actions of one turn may take; the turn is undone then
    invoke_s: float = 86_400.0  # that an invoke may take in all; a longer one is begun again, with its steps
    mail_retry: Retry = field(default_factory=lambda: Retry(attempts=5, first_s=1.0, factor=2.0, most_s=60.0))
    inbox: int = 10_000  # mail, timers aside, that waits for one agent or is under way when `post` brings no more
    inbox_bytes: int = 8_000_000  # of an agent's state and the mail on its way to it, likewise; also of a turn's mail
    most_kept_bytes: int = 16_000_000  # of an agent's state without large payloads; beyond it, small mail is put off
    most_bytes: int = 1_000_000  # of an agent's snapshot with the event that led to it; more undoes the turn
    keep_ids: int = 200  # newest event ids of an agent that are recognised when they repeat
    projection_s: float = 0.5  # that turns wait to be projected together
    look_again_s: float = 5.0  # after which mail is tried again whose graph the service does not know

    def __post_init__(self) -> None:
        bounds = ("inbox", "inbox_bytes", "most_kept_bytes", "most_bytes", "keep_ids")
        for name in ("turn_s", "invoke_s", *bounds, "projection_s", "look_again_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"Terms({name}={getattr(self, name)!r}) leaves no room; give a number above 0")


TERMS: Final = Terms()


@dataclass(frozen=True, slots=True)
class Names:
    """Under which names the engine knows what a service offers. A namespace keeps applications on one engine apart."""

    namespace: str = ""

    @property
    def agent(self) -> str:
        """Of the objects that host agents."""
        return self._named("Agent")

    @property
    def capacity(self) -> str:
        """Of the objects that count places."""
        return self._named("Capacity")

    @property
    def inbox(self) -> str:
        """Of the objects that give places in inboxes."""
        return self._named("Inbox")

    @property
    def invokes(self) -> str:
        """Of the service that runs what states invoke."""
        return self._named("Invokes")

    @property
    def payloads(self) -> str:
        """Of the objects that keep large payloads."""
        return self._named("Payloads")

    @property
    def projection(self) -> str:
        """Of the objects that project turns."""
        return self._named("Projection")

    def _named(self, name: str) -> str:
        return f"{self.namespace}.{name}" if self.namespace else name


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """What a service works with."""

    registry: Registry
    services: Any = None
    terms: Terms = TERMS
    packet_migrations: Sequence[PacketMigration] = ()
    projects: bool = False  # whether turns are kept until they are projected
    names: Names = Names()

    @staticmethod
    def now() -> datetime:
        """The present moment, aware, in UTC. To be asked within a journaled run only."""
        return datetime.now(UTC)

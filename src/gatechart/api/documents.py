"""Agents, outcomes and turns as JSON objects with stable keys: each is made from a value, and returns the value again.

Readers ignore unknown keys, so that a newer gatechart may add some.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, JsonValue
from pydantic_core import from_json, to_json

from gatechart.values import (
    AgentId,
    EntryVersions,
    Event,
    GuardError,
    HistoryEntry,
    Memory,
    OpenHandoff,
    Origin,
    Outcome,
    Refusal,
    Snapshot,
    Status,
)


class Document(BaseModel):
    """Base of all documents: made `of` a value, and returning the `value`."""

    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_inf_nan="strings")


class SnapshotDocument(Document):
    """An agent as it was last committed, or as it was at a version."""

    agent_id: AgentId
    graph: str
    graph_version: str
    fingerprint: str
    configuration: tuple[str, ...]  # the active leaves
    context: JsonValue
    version: int
    status: Status
    memory: Memory = ()
    entered: EntryVersions = ()
    handoffs: tuple[OpenHandoff, ...] = ()

    @classmethod
    def of(cls, snapshot: Snapshot) -> SnapshotDocument:
        """Make the document of a snapshot."""
        return cls.model_construct(
            agent_id=snapshot.agent_id,
            graph=snapshot.graph,
            graph_version=snapshot.graph_version,
            fingerprint=snapshot.fingerprint,
            configuration=snapshot.configuration,
            context=from_json(snapshot.context),
            version=snapshot.version,
            status=snapshot.status,
            memory=snapshot.memory,
            entered=snapshot.entered,
            handoffs=snapshot.handoffs,
        )

    def value(self) -> Snapshot:
        """Return the snapshot, with its context written as every store writes it."""
        return Snapshot(
            agent_id=self.agent_id,
            graph=self.graph,
            graph_version=self.graph_version,
            fingerprint=self.fingerprint,
            configuration=self.configuration,
            context=to_json(self.context).decode(),
            version=self.version,
            status=self.status,
            memory=self.memory,
            entered=self.entered,
            handoffs=self.handoffs,
        )


class OutcomeDocument(Document):
    """The outcome of an event; `refusal` is null if the event was applied."""

    agent_id: AgentId
    event: str
    applied: bool
    repeat: bool
    configuration: tuple[str, ...]
    version: int
    status: Status
    taken: tuple[str, ...]
    refusal: Refusal | None
    guard_errors: tuple[GuardError, ...]

    @classmethod
    def of(cls, agent_id: AgentId, outcome: Outcome) -> OutcomeDocument:
        """Make the document of an agent's outcome."""
        return cls.model_construct(
            agent_id=agent_id,
            event=outcome.event,
            applied=outcome.applied,
            repeat=outcome.repeat,
            configuration=outcome.configuration,
            version=outcome.version,
            status=outcome.status,
            taken=outcome.taken,
            refusal=outcome.refusal,
            guard_errors=outcome.guard_errors,
        )

    def value(self) -> Outcome:
        """Return the outcome."""
        return Outcome(
            self.event,
            self.configuration,
            self.version,
            self.status,
            self.taken,
            self.refusal,
            self.guard_errors,
            self.repeat,
        )


class EntryDocument(Document):
    """A turn of an agent's history."""

    agent_id: AgentId
    version: int
    event: Event
    source: tuple[str, ...]
    target: tuple[str, ...]
    taken: tuple[str, ...]
    changed: dict[str, JsonValue]
    appended: dict[str, tuple[JsonValue, ...]]
    status: Status
    took_us: int
    guard_errors: tuple[GuardError, ...]
    origin: Origin = Origin.OUTSIDE  # the event's origin

    @classmethod
    def of(cls, entry: HistoryEntry) -> EntryDocument:
        """Make the document of a turn."""
        return cls.model_construct(
            agent_id=entry.agent_id,
            version=entry.version,
            event=entry.event,
            source=entry.source,
            target=entry.target,
            taken=entry.taken,
            changed=dict(entry.changed),
            appended=dict(entry.appended),
            status=entry.status,
            took_us=entry.took_us,
            guard_errors=entry.guard_errors,
            origin=entry.event.origin,
        )

    def value(self) -> HistoryEntry:
        """Return the turn."""
        return HistoryEntry(
            agent_id=self.agent_id,
            version=self.version,
            event=self.event,
            source=self.source,
            target=self.target,
            taken=self.taken,
            changed=self.changed,
            status=self.status,
            took_us=self.took_us,
            guard_errors=self.guard_errors,
            appended=self.appended,
        )

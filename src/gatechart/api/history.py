"""Commands and verbs for an agent's history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from gatechart.api.arguments import made
from gatechart.api.codec import CUT, HISTORY, JOURNAL, SNAPSHOT, Answer
from gatechart.api.command import Command, Count, Executor, Limit, WritingCommand
from gatechart.api.route import Route
from gatechart.turn.arguments import check_version, checked_id, checked_key, checked_operator_reason
from gatechart.values.agents import Snapshot
from gatechart.values.commits import CONVERSATION, JournalEntry, TranscriptCut
from gatechart.values.names import AgentId
from gatechart.values.queries import HistoryEntry
from gatechart.values.secrets import all_shown


class SnapshotAtCommand(Command):
    """`snapshot_at`."""

    answer: ClassVar[Answer[Any]] = SNAPSHOT
    route: ClassVar[Route] = Route(
        "GET", "/agents/{agent_id}/versions/{version}", "Read an agent as it was at an earlier version"
    )
    verb: Literal["snapshot_at"] = "snapshot_at"
    agent_id: AgentId
    version: int


class HistoryCommand(Command):
    """`history`."""

    answer: ClassVar[Answer[Any]] = HISTORY
    route: ClassVar[Route] = Route("GET", "/agents/{agent_id}/history", "List an agent's turns, oldest first")
    verb: Literal["history"] = "history"
    agent_id: AgentId
    after: Count = 0
    limit: Count | None = None


class JournalCommand(Command):
    """`journal`."""

    answer: ClassVar[Answer[Any]] = JOURNAL
    route: ClassVar[Route] = Route(
        "GET", "/agents/{agent_id}/journals/{journal}", "Read one of an agent's journals, a page at a time"
    )
    verb: Literal["journal"] = "journal"
    agent_id: AgentId
    journal: str = CONVERSATION
    after: str | None = None
    limit: Limit = 100


class CutCommand(WritingCommand):
    """`cut`. Its key makes it safe to repeat."""

    answer: ClassVar[Answer[Any]] = CUT
    route: ClassVar[Route] = Route(
        "POST", "/agents/{agent_id}/journals/{journal}/cut", "Omit the newest turns of a model from its transcript"
    )
    verb: Literal["cut"] = "cut"
    agent_id: AgentId
    journal: str = CONVERSATION
    turns: Annotated[int, Field(ge=1)] = 1
    reason: str
    idempotency_key: str | None = None


class HistoryHome(Executor):
    """The part of `AgentHome` for an agent's history."""

    async def snapshot_at(self, agent_id: AgentId, version: int) -> Snapshot:
        """Return an agent's snapshot at a version: `Agent.snapshot_at` by agent id."""
        check_version("snapshot_at", version)
        snapshot: Snapshot = await self.execute(made(SnapshotAtCommand, agent_id=agent_id, version=version))
        return snapshot

    async def history(self, agent_id: AgentId, *, after: int = 0, limit: int | None = None) -> Sequence[HistoryEntry]:
        """Return the turns of any stored agent, as `Agent.history` does; its graph does not have to be registered."""
        command = made(HistoryCommand, agent_id=agent_id, after=after, limit=limit)
        turns: Sequence[HistoryEntry] = await self.execute(command)
        return all_shown(turns)

    async def journal(
        self, agent_id: AgentId, journal: str = CONVERSATION, *, after: str | None = None, limit: int = 100
    ) -> Sequence[JournalEntry]:
        """Return entries of an agent's journal, in the order written, a page at a time. Secrets are masked.

        journal: its name; by default the transcript of model loops. A journal without entries is empty.
        after: the last entry before the page; if a summary has replaced that entry, the page starts at the beginning.
        Raises UnknownAgentError and PayloadError.
        """
        name = checked_key(journal, "journal")
        command = made(JournalCommand, agent_id=agent_id, journal=name, after=after, limit=limit)
        entries: Sequence[JournalEntry] = await self.execute(command)
        return all_shown(entries)

    async def cut(
        self,
        agent_id: AgentId,
        turns: int = 1,
        *,
        reason: str,
        journal: str = CONVERSATION,
        idempotency_key: str | None = None,
    ) -> TranscriptCut:
        """Omit the newest turns of the model from an agent's transcript, with the results of their calls.

        The loop applies this when it next starts: enter its state again, or `retry_agent` a failed agent. Messages of
        users stay. The calls have been executed, and the model may repeat them. turns: at least 1. reason: for the
        journal. journal: as in `journal`. idempotency_key: repeating the call with the same key has no further effect.
        Returns the names of the omitted entries: none if there is no turn, or if the call is a repeat. Raises
        UnknownAgentError, PayloadError and FrameworkAgentError.
        """
        command = made(
            CutCommand,
            agent_id=agent_id,
            journal=checked_key(journal, "journal"),
            turns=turns,
            reason=checked_operator_reason(reason),
            idempotency_key=checked_id(idempotency_key, "idempotency_key"),
        )
        cut: TranscriptCut = await self.execute(command)
        return cut

"""Commands and verbs about handoffs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import AliasChoices, Field

from gatechart.api.arguments import handoff_fields, made
from gatechart.api.codec import ASKED, HANDOFFS, RECEIPT, Answer
from gatechart.api.command import Command, Count, Deadline, Executor, WritingCommand
from gatechart.api.route import Route
from gatechart.graph import Handoff
from gatechart.handoff import FallbackStep, HandoffPacket, fallbacks_of
from gatechart.handoff.packet import FALLBACK_FIELDS
from gatechart.values import AgentId, HandoffRecord, HandoffStatus, Mode, Reason, Receipt, all_shown


class HandoffCommand(WritingCommand):
    """`handoff`."""

    answer: ClassVar[Answer[Any]] = ASKED
    route: ClassVar[Route] = Route("POST", "/agents/{agent_id}/handoffs", "Hand an agent's work to another agent", 202)
    verb: Literal["handoff"] = "handoff"
    agent_id: AgentId  # the agent that hands on
    to: str  # a graph
    at: str
    packet: HandoffPacket | None = None
    reason: Reason | None = None
    agent: AgentId | None = None
    mode: Mode = Mode.TRANSFER
    deadline: Deadline | None = None
    fallbacks: tuple[FallbackStep, ...] | None = Field(None, validation_alias=AliasChoices(*FALLBACK_FIELDS))
    idempotency_key: str | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `Turn.handoff`, by name."""
        fallbacks = None if self.fallbacks is None else fallbacks_of(self.fallbacks)
        asked = {name: getattr(self, name) for name in ("to", "at", "packet", "reason", "agent", "mode", "deadline")}
        return asked | {"fallbacks": fallbacks}


class HandoffsCommand(Command):
    """`handoffs`."""

    answer: ClassVar[Answer[Any]] = HANDOFFS
    route: ClassVar[Route] = Route("GET", "/handoffs", "List handoffs, a page at a time")
    verb: Literal["handoffs"] = "handoffs"
    handoff_id: str | None = None
    request: str | None = None
    source: AgentId | None = None
    target: AgentId | None = None
    status: HandoffStatus | None = None
    newest_first: bool = False
    after: Count = 0
    limit: Count = 100


class CancelHandoffCommand(WritingCommand):
    """`cancel_handoff`."""

    answer: ClassVar[Answer[Any]] = RECEIPT
    route: ClassVar[Route] = Route("POST", "/handoffs/{handoff_id}/cancel", "Withdraw a handoff", 202)
    verb: Literal["cancel_handoff"] = "cancel_handoff"
    handoff_id: str
    reason: str
    idempotency_key: str | None = None


class HandoffsHome(Executor):
    """The part of `AgentHome` that is about handoffs."""

    async def handoff(
        self,
        agent_id: AgentId,
        handoff: Handoff,
        *,
        idempotency_key: str | None = None,
    ) -> str:
        """Let an agent hand on its work, as `Turn.handoff` does, and return the handoff's id.

        The agent stays in its state. If its graph does not handle `handoff.accepted`, it ends with that event.
        handoff: such as `Handoff("refunds", at="REVIEWING")`; without functions, which only a graph can have.
        idempotency_key: repeating the call with the same key returns the id of the handoff that the first call offered.
        Raises UnknownAgentError, PayloadError, and EventRefusedError if the agent has ended.
        """
        command = made(HandoffCommand, agent_id=agent_id, **handoff_fields(handoff), idempotency_key=idempotency_key)
        handoff_id: str = await self.execute(command)
        return handoff_id

    async def handoffs(
        self,
        *,
        handoff_id: str | None = None,
        request: str | None = None,
        source: AgentId | None = None,
        target: AgentId | None = None,
        status: HandoffStatus | str | None = None,
        newest_first: bool = False,
        after: int = 0,
        limit: int = 100,
    ) -> Sequence[HandoffRecord]:
        """List handoffs in the order offered, or the newest first, a page at a time.

        For the next page, pass the number of the last as `after`.
        request: the id of a first attempt, to list all attempts of one request. Raises PayloadError.
        """
        wanted = {"handoff_id": handoff_id, "request": request, "source": source, "target": target}
        command = made(HandoffsCommand, **wanted, status=status, newest_first=newest_first, after=after, limit=limit)
        found: Sequence[HandoffRecord] = await self.execute(command)
        return all_shown(found)

    async def cancel_handoff(self, handoff_id: str, *, reason: str, idempotency_key: str | None = None) -> Receipt:
        """Withdraw a handoff: cancel one not yet accepted, or end a delegation; an accepted transfer stands.

        The agent that asked gets `handoff.failed` with the reason. The order of the target's mail decides.
        A handoff that is listed as unreadable is deleted.
        idempotency_key: repeating the call with the same key has no further effect. It is the id of the mail.
        Raises NoHandoffError if the handoff is unknown or closed.
        """
        command = made(CancelHandoffCommand, handoff_id=handoff_id, reason=reason, idempotency_key=idempotency_key)
        receipt: Receipt = await self.execute(command)
        return receipt

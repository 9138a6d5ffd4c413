"""Commands and verbs for handoffs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, ClassVar, Literal

from pydantic import AliasChoices, Field, field_serializer

from gatechart.api.arguments import handoff_fields, made
from gatechart.api.codec import ASKED, HANDOFFS, RECEIPT, Answer
from gatechart.api.command import Command, Count, Deadline, Executor, WritingCommand
from gatechart.api.route import Route
from gatechart.errors.event import PayloadError
from gatechart.graph.handoff import Fallbacks, Handoff
from gatechart.handoff.fallbacks import fallbacks_of
from gatechart.handoff.packet import FALLBACK_FIELDS, FallbackStep, HandoffPacket, SelectionTerms
from gatechart.handoff.selections import best_of
from gatechart.values.handoffs import HandoffRecord, HandoffStatus, Mode, Reason
from gatechart.values.mail import Receipt
from gatechart.values.names import AgentId
from gatechart.values.secrets import all_shown


class HandoffCommand(WritingCommand):
    """`handoff`."""

    answer: ClassVar[Answer[Any]] = ASKED
    route: ClassVar[Route] = Route("POST", "/agents/{agent_id}/handoffs", "Hand an agent's work to another agent", 202)
    verb: Literal["handoff"] = "handoff"
    agent_id: AgentId  # the agent that hands its work over
    to: str | None = None  # a graph
    at: str | None = None
    best: SelectionTerms | None = None  # selects the target, in place of `to` and `at`
    packet: HandoffPacket | None = None
    reason: Reason | None = None
    agent: AgentId | None = None
    mode: Mode = Mode.TRANSFER
    deadline: Deadline | None = None
    fallbacks: tuple[FallbackStep, ...] | None = Field(None, validation_alias=AliasChoices(*FALLBACK_FIELDS))
    transcript: bool = True  # whether the packet also gets the messages of the agent's model loops
    idempotency_key: str | None = None

    @field_serializer("fallbacks")
    def _own_fields(self, fallbacks: tuple[FallbackStep, ...] | None) -> list[dict[str, Any]] | None:
        """Write only the fields that were set: a server refuses fields of other kinds of fallbacks."""
        return None if fallbacks is None else [step.model_dump(mode="json", exclude_unset=True) for step in fallbacks]

    @property
    def entries(self) -> tuple[str, ...]:
        """The ids of the directory entries that it names."""
        own = () if self.best is None else self.best.entries
        named = chain.from_iterable(best.entries for best in self._fallbacks.selections)
        return tuple(dict.fromkeys((*own, *named)))

    @property
    def _fallbacks(self) -> Fallbacks:
        return fallbacks_of(self.fallbacks or ())

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `Turn.handoff`, by name. Raises PayloadError unless there is exactly one target."""
        if self.best is None and not (self.to and self.at):
            raise PayloadError(
                "handoff", ("the handoff has no target",), "a graph as to= with its entry point as at=, or best="
            )
        if self.best is not None and (self.to or self.at or self.agent is not None):
            raise PayloadError(
                "handoff", ("both best= and to=, at= or agent= name a target",), "best= alone, or no best="
            )
        fallbacks = None if self.fallbacks is None else self._fallbacks
        arguments = {
            name: getattr(self, name) for name in ("packet", "reason", "agent", "mode", "deadline", "transcript")
        }
        to = self.to if self.best is None else best_of(self.best)
        return arguments | {"to": to, "at": self.at or "", "fallbacks": fallbacks}


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
    """The part of `AgentHome` for handoffs."""

    async def handoff(
        self,
        agent_id: AgentId,
        handoff: Handoff,
        *,
        idempotency_key: str | None = None,
    ) -> str:
        """Hand over an agent's work, as `Turn.handoff` does, and return the id of the handoff.

        The agent stays in its state. If its graph does not handle `handoff.accepted`, it ends with that event.
        handoff: such as `Handoff("refunds", at="REVIEWING")`, `Handoff(Best(entries="anna"))` for an entry of the
            directory, or `Handoff(Best(Needs(domains=("refunds",))))`; without functions and rules, which only a graph
            can have.
        idempotency_key: repeating the call with the same key returns the id of the handoff that the first call offered.
        Raises UnknownAgentError, UnknownEntryError, UnknownSelectorError for a filter or a scorer that is neither built
        in nor of the agent's graph, PayloadError, and EventRefusedError if the agent has ended.
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
        records: Sequence[HandoffRecord] = await self.execute(command)
        return all_shown(records)

    async def cancel_handoff(self, handoff_id: str, *, reason: str, idempotency_key: str | None = None) -> Receipt:
        """Withdraw a handoff: cancel a pending one, or end a delegation. An accepted transfer cannot be withdrawn.

        The source gets `handoff.failed` with the reason. If the target also accepts, its first mail decides.
        A handoff that is listed as unreadable is deleted.
        idempotency_key: repeating the call with the same key has no further effect. It is the id of the mail.
        Raises NoHandoffError if the handoff is unknown or closed.
        """
        command = made(CancelHandoffCommand, handoff_id=handoff_id, reason=reason, idempotency_key=idempotency_key)
        receipt: Receipt = await self.execute(command)
        return receipt

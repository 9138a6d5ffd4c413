"""Reports about handoffs: in logs, and as metrics and spans if opentelemetry-api is installed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from gatechart.hosting.escapes import log_attempt
from gatechart.runtime.handoff_facts import (
    Facts,
    closes_loop,
    facts_of_open,
    facts_of_packet,
    facts_of_record,
    latency_s,
    taken_by,
)
from gatechart.values.commits import TurnRecord
from gatechart.values.effects import ChangeHandoff, Offer, OfferChosen
from gatechart.values.escapes import Tried
from gatechart.values.findings import HealthFinding
from gatechart.values.handoffs import HandoffRecord, HandoffStatus, Obstacle
from gatechart.values.names import Payload

if TYPE_CHECKING:
    from gatechart.runtime.open_telemetry import OpenTelemetry

logger = logging.getLogger(__name__)

_is_logged = partial(logger.isEnabledFor, logging.INFO)

T = TypeVar("T")

MESSAGES: Final = {
    HandoffStatus.CHOOSING: "the target of a handoff is to be chosen",
    HandoffStatus.PENDING: "a handoff was offered",
    HandoffStatus.ACCEPTED: "a handoff was accepted",
    HandoffStatus.REJECTED: "a handoff was rejected",
    HandoffStatus.COMPLETED: "a handoff was completed",
    HandoffStatus.FAILED: "a handoff failed",
    HandoffStatus.CANCELLED: "a handoff was cancelled",
    HandoffStatus.EXPIRED: "a handoff has expired",
}
_PARTIES: Final = (
    ": %(handoff)s from agent %(source)s, graph %(source_graph)s, to agent %(target)s, graph %(target_graph)s"
)


class Telemetry:
    """Telemetry of one runtime's handoffs. It reports only committed turns, except for failed spans.

    A turn is reported at most once, and not at all if the process dies right after its commit.
    """

    begin: Callable[[TurnRecord, int | None], AbstractContextManager[TurnRecord]]
    """Return the context of a turn's commit, which yields the turn to commit, with the trace context in its offers.

    Called with the turn and the number of the mail that it applies.
    """

    def __init__(self) -> None:
        self._open = _open_telemetry()
        self.begin = _untraced if self._open is None else self._open.begin

    def as_the_caller(self, job: Callable[[], Coroutine[Any, Any, T]]) -> Callable[[], Coroutine[Any, Any, T]]:
        """Wrap the job so that it runs in the caller's trace context, in any task."""
        return job if self._open is None else self._open.as_the_caller(job)

    def found(self, finding: HealthFinding, by: int) -> None:
        """Count a new finding of the watchdog by 1, or a closed one by -1."""
        if self._open is not None:
            self._open.found(finding, by)

    def committed(self, turn: TurnRecord, effect: Offer | OfferChosen | ChangeHandoff) -> None:
        """Report a change of a handoff in a committed turn."""
        if isinstance(effect, Offer):
            self._offered(effect.handoff)
        elif isinstance(effect, OfferChosen):
            self._chosen(effect)
        elif effect.after is HandoffStatus.ACCEPTED:
            self._accepted(turn)
        else:
            handoff = turn.previous and taken_by(turn.previous.handoffs, effect.handoff)
            facts = facts_of_open(handoff, turn) if handoff else facts_of_packet(turn.event.payload)
            self._ended(facts, effect.after, effect.details)

    def escaped(self, turn: TurnRecord, attempt: Tried) -> None:
        """Report an agent's attempt to escape from a problem that its signals found, in a committed turn."""
        if self._open is not None:
            self._open.escaped(turn, attempt)
        log_attempt(turn, attempt)

    def answered(self, facts: Facts, settle: ChangeHandoff, obstacle: str, packet: Payload, start_ns: int) -> None:
        """Report an offer that a committed answer ended without acceptance.

        obstacle: the value of an Obstacle, or "". packet: the offered one. start_ns: when the answer started.
        """
        if self._open is not None:
            self._open.answered(facts, settle, obstacle, packet, start_ns)
        self._ended(facts, settle.after, settle.details, obstacle)

    def _offered(self, record: HandoffRecord) -> None:
        facts = facts_of_record(record)
        is_rejected_loop = closes_loop(record) and record.status is HandoffStatus.REJECTED
        if self._open is not None:
            self._open.offered(facts, diverts_loop=closes_loop(record) and not is_rejected_loop)
        if _is_logged():
            _log(HandoffStatus.PENDING if is_rejected_loop else record.status, facts)
        if is_rejected_loop:
            self._ended(facts, record.status, record.changes[-1].details, Obstacle.LOOP.value)

    def _chosen(self, effect: OfferChosen) -> None:
        facts = facts_of_record(effect.handoff)
        if self._open is not None:
            self._open.chosen(facts)
        if _is_logged():
            _log(HandoffStatus.PENDING, facts, effect.details)

    def _accepted(self, turn: TurnRecord) -> None:
        packet = turn.event.payload
        handoff = taken_by(turn.snapshot.handoffs, packet.get("handoff_id", ""))
        facts = facts_of_open(handoff, turn) if handoff else facts_of_packet(packet)
        if self._open is not None:
            path = handoff.path if handoff else packet.get("path")
            hops = len(path) if isinstance(path, Sequence) else 0
            self._open.accepted(facts, hops, latency_s(packet, turn.event.time))
        if _is_logged():
            _log(HandoffStatus.ACCEPTED, facts)

    def _ended(self, facts: Facts, status: HandoffStatus, details: str, obstacle: str = "") -> None:
        if self._open is not None:
            self._open.ended(facts, status, obstacle)
        if _is_logged():
            _log(status, facts, details, obstacle)


def _untraced(turn: TurnRecord, _consumes: int | None) -> AbstractContextManager[TurnRecord]:
    return nullcontext(turn)


def _open_telemetry() -> OpenTelemetry | None:
    """Return the counter and tracer of handoffs; None if opentelemetry-api is not installed."""
    try:
        from gatechart.runtime.open_telemetry import OpenTelemetry  # noqa: PLC0415 (an extra)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "opentelemetry":
            raise
        return None
    return OpenTelemetry()


def _log(status: HandoffStatus, facts: Facts, details: str = "", obstacle: str = "") -> None:
    known = {**facts.fields(), "details": details, "obstacle": obstacle}
    text = MESSAGES[status] + _PARTIES
    logger.info(text, known, extra=known)

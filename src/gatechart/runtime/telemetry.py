"""Logs, metrics and spans of handoffs, through whatever OpenTelemetry setup the application has.

Nothing is configured here. Without an SDK nothing is recorded, and packets carry no trace.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from functools import cache, lru_cache
from importlib.metadata import version
from time import time_ns
from types import TracebackType
from typing import Any, Final, TypeVar

from opentelemetry import metrics, trace
from opentelemetry.context import Context, attach, detach, get_current
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import (
    Link,
    Span,
    SpanKind,
    Status,
    StatusCode,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from gatechart.values import (
    ChangeHandoff,
    HandoffRecord,
    HandoffStatus,
    Obstacle,
    Offer,
    OpenHandoff,
    Payload,
    Side,
    TurnRecord,
)
from gatechart.values.frozen import replaced, value

logger = logging.getLogger(__name__)

T = TypeVar("T")

PREFIX: Final = "gatechart.handoff."  # of metric and attribute names
MESSAGES: Final = {
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
LATENCIES_S: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 86400.0)
HOPS: Final = (1, 2, 3, 4, 5, 6, 7, 8)
ROOT: Final = Context()

_W3C: Final = TraceContextTextMapPropagator()


@value
class Facts:
    """The facts that are reported about a handoff."""

    handoff: str  # its id
    source: str
    source_graph: str
    target: str
    target_graph: str
    mode: str
    reason: str

    def labels(self) -> dict[str, str]:
        """Return the facts that label metrics: each has few values."""
        return {
            "gatechart.handoff.reason": self.reason,
            "gatechart.handoff.source.graph": self.source_graph,
            "gatechart.handoff.target.graph": self.target_graph,
            "gatechart.handoff.mode": self.mode,
        }

    def attributes(self) -> dict[str, str]:
        """Return all facts as attributes of a span."""
        ids = {f"{PREFIX}id": self.handoff, f"{PREFIX}source.agent": self.source, f"{PREFIX}target.agent": self.target}
        return self.labels() | ids

    def fields(self) -> dict[str, str]:
        """Return all facts as fields of a log record."""
        return {name: getattr(self, name) for name in _FACTS}


_FACTS: Final = tuple(each.name for each in fields(Facts))


class Tracing:
    """A context around a commit that yields the turn to commit. Its handoff spans fail if the commit raises."""

    __slots__ = ("_spans", "turn")

    def __init__(self, turn: TurnRecord, spans: Sequence[Span] = ()) -> None:
        self.turn = turn
        self._spans = spans

    def __enter__(self) -> TurnRecord:
        return self.turn

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        for span in self._spans:
            if error is not None:
                span.record_exception(error)
                span.set_status(Status(StatusCode.ERROR, type(error).__name__))
            span.end()


@cache
def release() -> str:
    """Return the installed version of gatechart."""
    return version("gatechart")


class Instruments:
    """The metric instruments of handoffs. Created once per provider, because a provider may keep all it ever made."""

    def __init__(self, meters: MeterProvider) -> None:
        meter = meters.get_meter("gatechart", release())
        self.offers = meter.create_counter(f"{PREFIX}offers", "{handoff}", "Handoffs asked for")
        self.ends = meter.create_counter(f"{PREFIX}ends", "{handoff}", "Handoffs that are over, by how they ended")
        self.rejections = meter.create_counter(f"{PREFIX}rejections", "{handoff}", "Handoffs rejected, by obstacle")
        self.loops = meter.create_counter(f"{PREFIX}loops", "{loop}", "Loops detected")
        self.latency = meter.create_histogram(
            f"{PREFIX}latency", "s", "From the offer to its acceptance", explicit_bucket_boundaries_advisory=LATENCIES_S
        )
        self.hops = meter.create_histogram(
            f"{PREFIX}hops",
            "{hop}",
            "How often the work had been handed on, this time included, when it was accepted",
            explicit_bucket_boundaries_advisory=HOPS,
        )


instruments_of: Final = lru_cache(maxsize=4)(Instruments)


class Telemetry:
    """Telemetry of one runtime's handoffs. It reports only what was committed, except for failed spans.

    A turn is reported at most once, and never if the process dies right after its commit.
    """

    def __init__(self) -> None:
        self._tracer = trace.get_tracer_provider().get_tracer("gatechart", release())
        self._count = instruments_of(metrics.get_meter_provider())

    def begin(self, turn: TurnRecord) -> Tracing:
        """Start the spans of a turn about to be committed; its offers carry the trace context of theirs."""
        if not turn.effects:
            return Tracing(turn)
        accepts, offers = _handoffs_of(turn)
        if not accepts and not offers:
            return Tracing(turn)
        start_ns = time_ns() - turn.took_us * 1000
        parent = None if turn.consumes is None else ROOT
        spans: list[Span] = []
        if accepts:
            span = self._answer_span(turn.event.payload, start_ns)
            if span.is_recording():
                facts = facts_of_packet(turn.event.payload)
                span.set_attributes(facts.attributes() | _outcome(HandoffStatus.ACCEPTED))
            spans.append(span)
            if not offers:
                return Tracing(turn, spans)
            parent = set_span_in_context(span, ROOT)
        traced = {offer.handoff.id: self._traced(offer, parent, start_ns, spans) for offer in offers}
        if all(traced[offer.handoff.id] is offer for offer in offers):
            return Tracing(turn, spans)
        effects = (traced[each.handoff.id] if isinstance(each, Offer) else each for each in turn.effects)
        return Tracing(replaced(turn, effects=tuple(effects)), spans)

    def committed(self, turn: TurnRecord, effect: Offer | ChangeHandoff) -> None:
        """Report a change of a handoff in a committed turn."""
        if isinstance(effect, Offer):
            self._offered(effect.handoff)
        elif effect.after is HandoffStatus.ACCEPTED:
            self._accepted(turn)
        else:
            taken = turn.previous and _taken(turn.previous.handoffs, effect.handoff)
            facts = facts_of_open(taken, turn) if taken else facts_of_packet(turn.event.payload)
            self._ended(facts, effect.after, effect.details)

    def answered(self, facts: Facts, settle: ChangeHandoff, obstacle: str, packet: Payload, start_ns: int) -> None:
        """Report an offer that a committed answer ended without acceptance.

        obstacle: the value of an Obstacle, or "". packet: as it was offered. start_ns: when the answer began.
        """
        span = self._answer_span(packet, start_ns)
        if span.is_recording():
            span.set_attributes(facts.attributes() | _outcome(settle.after, obstacle))
        span.end()
        self._ended(facts, settle.after, settle.details, obstacle)

    def _offered(self, record: HandoffRecord) -> None:
        facts = facts_of_record(record)
        self._count.offers.add(1, facts.labels())
        _log(HandoffStatus.PENDING, facts)
        if not _closes_loop(record):
            return
        if record.status is HandoffStatus.REJECTED:
            self._ended(facts, record.status, record.changes[-1].details, Obstacle.LOOP.value)
        else:
            self._count.loops.add(1, facts.labels())

    def _accepted(self, turn: TurnRecord) -> None:
        packet = turn.event.payload
        taken = _taken(turn.snapshot.handoffs, packet.get("handoff_id", ""))
        facts = facts_of_open(taken, turn) if taken else facts_of_packet(packet)
        labels = facts.labels()
        path = taken.path if taken else packet.get("path")
        self._count.hops.record(len(path) if isinstance(path, Sequence) else 0, labels)
        latency_s = _latency_s(packet, turn.event.time)
        if latency_s is not None:
            self._count.latency.record(latency_s, labels)
        _log(HandoffStatus.ACCEPTED, facts)

    def _ended(self, facts: Facts, status: HandoffStatus, details: str, obstacle: str = "") -> None:
        labels = facts.labels()
        self._count.ends.add(1, {**labels, f"{PREFIX}status": status.value})
        if obstacle:
            self._count.rejections.add(1, {**labels, f"{PREFIX}obstacle": obstacle})
        if obstacle == Obstacle.LOOP:
            self._count.loops.add(1, labels)
        _log(status, facts, details, obstacle)

    def _traced(self, offer: Offer, parent: Context | None, start_ns: int, spans: list[Span]) -> Offer:
        """Start the offer's span and return the offer with its trace context; without any if nothing is traced."""
        record = offer.handoff
        span = self._tracer.start_span("handoff.offer", parent, SpanKind.PRODUCER, start_time=start_ns)
        if span.is_recording():
            obstacle = Obstacle.LOOP.value if _closes_loop(record) else ""
            span.set_attributes(facts_of_record(record).attributes() | _outcome(record.status, obstacle))
        spans.append(span)
        traceparent = _traceparent(span)
        if record.packet.get("traceparent", "") == traceparent:
            return offer
        return replaced(offer, handoff=replaced(record, packet={**record.packet, "traceparent": traceparent}))

    def _answer_span(self, packet: Payload, start_ns: int) -> Span:
        """Start the span of the target's answer to an offer, with a link to the offer's span."""
        links = _links(packet.get("traceparent"))
        return self._tracer.start_span("handoff.answer", ROOT, SpanKind.CONSUMER, links=links, start_time=start_ns)


def as_the_caller(job: Callable[[], Coroutine[Any, Any, T]]) -> Callable[[], Coroutine[Any, Any, T]]:
    """Wrap the job so that it runs in the caller's trace context, whichever task runs it."""
    mine = get_current()

    async def run() -> T:
        token = attach(mine)
        try:
            return await job()
        finally:
            detach(token)

    return run


def facts_of_record(record: HandoffRecord) -> Facts:
    """Return the facts of a stored handoff."""
    return Facts(
        record.id,
        record.source,
        record.source_graph,
        record.target,
        record.target_graph,
        record.mode.value,
        record.reason.value,
    )


def facts_of_packet(packet: Mapping[str, Any]) -> Facts:
    """Return the facts in a packet of JSON values, with "" for missing ones."""
    names = ("handoff_id", "source_agent", "source_graph", "target_agent", "target_graph", "mode", "reason")
    return Facts(*(str(packet.get(name, "")) for name in names))


def facts_of_open(taken: OpenHandoff, turn: TurnRecord) -> Facts:
    """Return the facts that the agent of the turn, which took the handoff, has."""
    agent, source = turn.snapshot, taken.path[-1]["graph"] if taken.path else ""
    return Facts(taken.id, taken.peer, source, agent.agent_id, agent.graph, taken.mode.value, taken.reason.value)


def _handoffs_of(turn: TurnRecord) -> tuple[bool, list[Offer]]:
    """Return whether the turn accepts a handoff, and the turn's offers."""
    accepts, offers = False, []
    for effect in turn.effects:
        if isinstance(effect, Offer):
            offers.append(effect)
        elif isinstance(effect, ChangeHandoff) and effect.after is HandoffStatus.ACCEPTED:
            accepts = True
    return accepts, offers


def _taken(handoffs: Sequence[OpenHandoff], handoff: str) -> OpenHandoff | None:
    return next((each for each in handoffs if each.id == handoff and each.side is Side.TOOK), None)


def _closes_loop(record: HandoffRecord) -> bool:
    """Return whether the handoff as first requested would have closed a loop, and so was redirected or rejected."""
    attempts = record.packet.get("attempts")
    last = attempts[-1] if attempts else {}
    return last.get("handoff_id") == record.id and last.get("obstacle") == Obstacle.LOOP


def _latency_s(packet: Payload, now: datetime) -> float | None:
    """Return the seconds since the offer; None if the packet, perhaps an older one, does not say."""
    try:
        steps = [held[-1] for held in (packet["path"], packet["attempts"]) if held]
        offered = max(datetime.fromisoformat(step["time"]) for step in steps)
        return max(0.0, (now - offered).total_seconds())
    except (LookupError, TypeError, ValueError):
        return None


def _outcome(status: HandoffStatus, obstacle: str = "") -> dict[str, str]:
    told = {f"{PREFIX}status": status.value}
    return told | {f"{PREFIX}obstacle": obstacle} if obstacle else told


def _traceparent(span: Span) -> str:
    if not span.get_span_context().is_valid:
        return ""
    carrier: dict[str, str] = {}
    _W3C.inject(carrier, set_span_in_context(span, ROOT))
    return carrier.get("traceparent", "")


def _links(traceparent: object) -> list[Link]:
    if not traceparent:
        return []
    offered = get_current_span(_W3C.extract({"traceparent": str(traceparent)}, ROOT)).get_span_context()
    return [Link(offered)] if offered.is_valid else []


def _log(status: HandoffStatus, facts: Facts, details: str = "", obstacle: str = "") -> None:
    if logger.isEnabledFor(logging.INFO):
        known = {**facts.fields(), "details": details, "obstacle": obstacle}
        text = MESSAGES[status] + _PARTIES
        logger.info(text, known, extra=known)

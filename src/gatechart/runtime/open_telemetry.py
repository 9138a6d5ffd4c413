"""Metrics and spans of handoffs, through the application's own OpenTelemetry setup.

Nothing is configured here. Without an SDK nothing is recorded, and packets carry no trace.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
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

from gatechart.runtime.handoff_facts import Facts, closes_loop, facts_of_packet, facts_of_record
from gatechart.values.agents import Status as AgentStatus
from gatechart.values.commits import TurnRecord
from gatechart.values.effects import ChangeHandoff, Offer, OfferChosen
from gatechart.values.escapes import Tried
from gatechart.values.findings import HealthFinding
from gatechart.values.frozen import replaced
from gatechart.values.handoffs import HandoffStatus, Obstacle
from gatechart.values.names import Payload

T = TypeVar("T")

ESCAPES: Final = "gatechart.escape."  # of metric and attribute names
PREFIX: Final = "gatechart.handoff."  # of metric and attribute names
LATENCIES_S: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 86400.0)
HOPS: Final = (1, 2, 3, 4, 5, 6, 7, 8)
ROOT: Final = Context()

_W3C: Final = TraceContextTextMapPropagator()


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
    """The metric instruments of handoffs. Created once per provider, because a provider may keep all it created."""

    def __init__(self, meters: MeterProvider) -> None:
        meter = meters.get_meter("gatechart", release())
        self.offers = meter.create_counter(f"{PREFIX}offers", "{handoff}", "Handoffs offered")
        self.choices = meter.create_counter(f"{PREFIX}choices", "{handoff}", "Handoffs whose target was chosen")
        self.ends = meter.create_counter(f"{PREFIX}ends", "{handoff}", "Ended handoffs, by outcome")
        self.rejections = meter.create_counter(f"{PREFIX}rejections", "{handoff}", "Handoffs rejected, by obstacle")
        self.loops = meter.create_counter(f"{PREFIX}loops", "{loop}", "Loops detected")
        self.latency = meter.create_histogram(
            f"{PREFIX}latency", "s", "From the offer to its acceptance", explicit_bucket_boundaries_advisory=LATENCIES_S
        )
        self.findings = meter.create_counter(
            "gatechart.watchdog.findings", "{finding}", "Findings of the watchdog, by kind"
        )
        self.open_findings = meter.create_up_down_counter(
            "gatechart.watchdog.open", "{finding}", "Open findings of the watchdog, by kind"
        )
        self.escapes = meter.create_counter(f"{ESCAPES}attempts", "{attempt}", "Escape attempts of agents")
        self.hops = meter.create_histogram(
            f"{PREFIX}hops",
            "{hop}",
            "Number of handoffs of the work, this one included, at acceptance",
            explicit_bucket_boundaries_advisory=HOPS,
        )


instruments_of: Final = lru_cache(maxsize=4)(Instruments)


class OpenTelemetry:
    """Counts and traces one runtime's handoffs, with the providers that are set when it is created."""

    def __init__(self) -> None:
        self._tracer = trace.get_tracer_provider().get_tracer("gatechart", release())
        self._count = instruments_of(metrics.get_meter_provider())

    def found(self, finding: HealthFinding, by: int) -> None:
        """Count a new finding by 1, or a closed one by -1."""
        attributes = {
            "gatechart.watchdog.kind": finding.kind.value,
            "gatechart.watchdog.severity": finding.severity.value,
        }
        self._count.open_findings.add(by, attributes)
        if by > 0:
            self._count.findings.add(by, attributes)

    def begin(self, turn: TurnRecord, consumes: int | None) -> Tracing:
        """Start the spans of a turn about to be committed; its offers carry the trace context of their spans.

        consumes: the number of the mail that the turn applies.
        """
        accepts, offers, choice = _handoffs_of(turn) if turn.effects else (False, [], None)
        start_ns = time_ns() - turn.took_us * 1000
        if choice is not None:
            return Tracing(turn, [self._choice_span(choice, start_ns)])
        if not accepts and not offers:
            return Tracing(turn)
        parent = None if consumes is None else ROOT
        spans: list[Span] = []
        if accepts:
            span = self._answer_span(turn.event.payload, start_ns)
            if span.is_recording():
                facts = facts_of_packet(turn.event.payload)
                span.set_attributes(_attributes(facts) | _outcome(HandoffStatus.ACCEPTED))
            spans.append(span)
            if not offers:
                return Tracing(turn, spans)
            parent = set_span_in_context(span, ROOT)
        traced = {offer.handoff.id: self._traced(offer, parent, start_ns, spans) for offer in offers}
        if all(traced[offer.handoff.id] is offer for offer in offers):
            return Tracing(turn, spans)
        effects = (traced[each.handoff.id] if isinstance(each, Offer) else each for each in turn.effects)
        return Tracing(replaced(turn, effects=tuple(effects)), spans)

    @staticmethod
    def as_the_caller(job: Callable[[], Coroutine[Any, Any, T]]) -> Callable[[], Coroutine[Any, Any, T]]:
        """Wrap the job so that it runs in the caller's trace context, in any task."""
        mine = get_current()

        async def run() -> T:
            token = attach(mine)
            try:
                return await job()
            finally:
                detach(token)

        return run

    def escaped(self, turn: TurnRecord, attempt: Tried) -> None:
        """Count and trace an escape attempt."""
        kinds = {f"{ESCAPES}signal": attempt.signal, f"{ESCAPES}strategy": attempt.strategy}
        kinds |= {f"{ESCAPES}graph": turn.snapshot.graph, f"{ESCAPES}reason": attempt.reason}
        self._count.escapes.add(1, kinds)
        end_ns = time_ns()
        name, start_ns = f"escape {attempt.strategy}", end_ns - turn.took_us * 1000
        span = self._tracer.start_span(name, ROOT, SpanKind.INTERNAL, kinds, start_time=start_ns)
        span.set_attributes({f"{ESCAPES}agent": turn.snapshot.agent_id, f"{ESCAPES}way": attempt.way})
        span.set_attribute(f"{ESCAPES}attempt", attempt.number)
        if turn.snapshot.status is AgentStatus.FAILED:
            span.set_status(Status(StatusCode.ERROR, "found no way out"))
        span.end(end_ns)

    def offered(self, facts: Facts, *, diverts_loop: bool) -> None:
        """Count an offer. diverts_loop: whether its target was changed because the requested one would close a loop."""
        labels = _labels(facts)
        self._count.offers.add(1, labels)
        if diverts_loop:
            self._count.loops.add(1, labels)

    def chosen(self, facts: Facts) -> None:
        """Count a choice of a target."""
        self._count.choices.add(1, _labels(facts))

    def accepted(self, facts: Facts, hops: int, latency_s: float | None) -> None:
        """Count an acceptance. latency_s: since the offer; None if unknown."""
        labels = _labels(facts)
        self._count.hops.record(hops, labels)
        if latency_s is not None:
            self._count.latency.record(latency_s, labels)

    def ended(self, facts: Facts, status: HandoffStatus, obstacle: str) -> None:
        """Count the end of a handoff. obstacle: the value of an Obstacle, or ""."""
        labels = _labels(facts)
        self._count.ends.add(1, {**labels, f"{PREFIX}status": status.value})
        if obstacle:
            self._count.rejections.add(1, {**labels, f"{PREFIX}obstacle": obstacle})
        if obstacle == Obstacle.LOOP:
            self._count.loops.add(1, labels)

    def answered(self, facts: Facts, settle: ChangeHandoff, obstacle: str, packet: Payload, start_ns: int) -> None:
        """Record the span of an answer that ended an offer without acceptance, or of a choice without a match.

        obstacle: the value of an Obstacle, or "". packet: the offered one. start_ns: when the answer started.
        """
        is_choice = settle.before is HandoffStatus.CHOOSING
        span = self._answer_span(packet, start_ns, "handoff.choose" if is_choice else "handoff.answer")
        if span.is_recording():
            why = {f"{PREFIX}choice": settle.details} if is_choice else {}
            span.set_attributes(_attributes(facts) | _outcome(settle.after, obstacle) | why)
        span.end()

    def _choice_span(self, choice: OfferChosen, start_ns: int) -> Span:
        """Start the span of the turn that offers work to the chosen target, with a link to the request for a choice."""
        record = choice.handoff
        span = self._answer_span(record.packet, start_ns, "handoff.choose")
        if span.is_recording():
            why = {f"{PREFIX}choice": choice.details, f"{PREFIX}recipient": str(record.packet.get("recipient", ""))}
            span.set_attributes(_attributes(facts_of_record(record)) | _outcome(record.status) | why)
        return span

    def _traced(self, offer: Offer, parent: Context | None, start_ns: int, spans: list[Span]) -> Offer:
        """Start the offer's span and return the offer with its trace context, or with none if nothing is traced."""
        record = offer.handoff
        span = self._tracer.start_span("handoff.offer", parent, SpanKind.PRODUCER, start_time=start_ns)
        if span.is_recording():
            obstacle = Obstacle.LOOP.value if closes_loop(record) else ""
            span.set_attributes(_attributes(facts_of_record(record)) | _outcome(record.status, obstacle))
        spans.append(span)
        traceparent = _traceparent(span)
        if record.packet.get("traceparent", "") == traceparent:
            return offer
        return replaced(offer, handoff=replaced(record, packet={**record.packet, "traceparent": traceparent}))

    def _answer_span(self, packet: Payload, start_ns: int, name: str = "handoff.answer") -> Span:
        """Start the span of a reaction to an offer, with a link to the offer's span."""
        links = _links(packet.get("traceparent"))
        return self._tracer.start_span(name, ROOT, SpanKind.CONSUMER, links=links, start_time=start_ns)


def _handoffs_of(turn: TurnRecord) -> tuple[bool, list[Offer], OfferChosen | None]:
    """Return whether the turn accepts a handoff, the turn's offers, and the offer to a chosen target."""
    accepts, offers, choice = False, [], None
    for effect in turn.effects:
        if isinstance(effect, Offer):
            offers.append(effect)
        elif isinstance(effect, ChangeHandoff) and effect.after is HandoffStatus.ACCEPTED:
            accepts = True
        elif isinstance(effect, OfferChosen):
            choice = effect
    return accepts, offers, choice


def _labels(facts: Facts) -> dict[str, str]:
    """Return the facts with few values, as labels of metrics."""
    return {
        "gatechart.handoff.reason": facts.reason,
        "gatechart.handoff.source.graph": facts.source_graph,
        "gatechart.handoff.target.graph": facts.target_graph,
        "gatechart.handoff.mode": facts.mode,
    }


def _attributes(facts: Facts) -> dict[str, str]:
    """Return all facts as attributes of a span."""
    ids = {f"{PREFIX}id": facts.handoff, f"{PREFIX}source.agent": facts.source, f"{PREFIX}target.agent": facts.target}
    return _labels(facts) | ids


def _outcome(status: HandoffStatus, obstacle: str = "") -> dict[str, str]:
    labels = {f"{PREFIX}status": status.value}
    return labels | {f"{PREFIX}obstacle": obstacle} if obstacle else labels


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

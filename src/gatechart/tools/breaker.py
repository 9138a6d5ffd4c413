"""The circuit breaker. Only the kernel evaluates its chart, without an agent and without a turn for each call."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from gatechart.context import read_context, write_context
from gatechart.kernel.plan import Block, Plan, plan_microstep
from gatechart.kernel.select import candidates
from gatechart.tools.breaker_chart import BreakerContext, breaker_graph
from gatechart.values.agents import Event, Snapshot, Status
from gatechart.values.breakers import Admission, BreakerPolicy, BreakerRecord, BreakerState, Permit, Rejection
from gatechart.values.names import Payload

_NOTHING: Final[Payload] = {}


class Breaker:
    """A circuit breaker in memory: the active state of its chart and its counts."""

    __slots__ = ("_configuration", "_context", "_graph", "name")

    def __init__(self, name: str, stored: BreakerRecord | None = None) -> None:
        """Start closed, or in the state of a record. A stored trial is over: its permits can be issued again."""
        self.name = name
        self._graph = breaker_graph()
        self._configuration: tuple[str, ...] = (BreakerState.CLOSED.value,)
        self._context = BreakerContext()
        if stored is not None:
            self._configuration = (stored.state.value,)
            self._context = _context_of(stored)

    @classmethod
    def read(cls, name: str, text: str) -> Breaker:
        """Return the breaker that `write` wrote, including running trials."""
        breaker = cls(name)
        state, _, context = text.partition(" ")
        breaker._configuration = (state,)
        breaker._context = read_context(BreakerContext, context)
        return breaker

    def write(self) -> str:
        """Return the complete breaker as text."""
        return f"{self.state.value} {write_context(self._context)}"

    @property
    def state(self) -> BreakerState:
        """Its state. An open breaker stays open until a call requests a permit after the break."""
        return BreakerState(self._configuration[0])

    @property
    def policy(self) -> BreakerPolicy:
        """The policy of the latest caller."""
        return self._context.policy

    @property
    def entry(self) -> int:
        """The number of changes of its state. A greater number shows that the state has changed."""
        return self._context.entry

    @property
    def record(self) -> BreakerRecord:
        """The part of it that is stored and shown."""
        context = self._context
        times = (context.since, context.retry_at, context.breaks, context.reason, context.open_since)
        return BreakerRecord(self.name, self.state, *times)

    @property
    def is_fresh(self) -> bool:
        """Whether it equals an unused breaker, so that it may be dropped."""
        context = self._context
        return self.state is BreakerState.CLOSED and not context.failed_in_a_row and not context.window

    def ask(self, policy: BreakerPolicy, now: datetime) -> Admission:
        """Return a permit for one call, or a rejection. The caller must report the end of a permitted call.

        policy: replaces the breaker's policy.
        """
        if self._context.policy is not policy:
            self._context.policy = policy
        if not self._take("CALL_ASKED", now):
            return self._rejection()
        return Permit(self.name, self._context.entry, self._context.trials_given)

    def succeed(self, permit: Permit, now: datetime) -> None:
        """Record that the call succeeded."""
        self._take("CALL_SUCCEEDED", now, {"entry": permit.entry, "number": permit.number})

    def fail(self, permit: Permit, now: datetime, reason: str) -> None:
        """Record that the call failed."""
        self._take("CALL_FAILED", now, {"entry": permit.entry, "number": permit.number, "reason": reason})

    def release(self, permit: Permit, now: datetime) -> None:
        """Record that the call was abandoned, without a result. Another call may get its permit at half-open."""
        self._take("CALL_RELEASED", now, {"entry": permit.entry, "number": permit.number})

    def trip(self, entry: int, policy: BreakerPolicy, now: datetime, reason: str) -> None:
        """Open it if it has been closed since that entry. Another process has counted too many failures."""
        self._context.policy = policy
        self._take("THRESHOLD_REACHED", now, {"entry": entry, "reason": reason})

    def isolate(self, now: datetime, reason: str) -> None:
        """Reject all calls until it is closed by `close`."""
        self._take("OPERATOR_ISOLATED", now, {"reason": reason})

    def close(self, now: datetime) -> None:
        """Let calls through again, and reset the counts."""
        self._take("OPERATOR_CLOSED", now)

    def _rejection(self) -> Rejection:
        context = self._context
        context.refused += 1
        retry_at = min(context.trials.values(), default=context.retry_at)
        return Rejection(self.name, self.state, retry_at, context.reason, context.open_since, context.refused)

    def _take(self, name: str, now: datetime, payload: Payload = _NOTHING) -> bool:
        """Take the first enabled transition; return whether there is one."""
        event = Event(name, payload, now)
        for edges in candidates(self._graph, self._configuration, name):  # of the only leaf
            for edge in edges:
                if edge.ask is None or edge.ask.function(self._context, event):
                    self._follow(plan_microstep(self._graph, self._configuration, (), (edge,)), event)
                    return True
        return False

    def _follow(self, plan: Plan, event: Event) -> None:
        self._configuration = plan.configuration
        for deed in plan.deeds:
            for step in deed.steps if isinstance(deed, Block) else ():
                step.function(self._context, event)


def breaker_snapshot(record: BreakerRecord) -> Snapshot:
    """Return a circuit breaker as a snapshot of its chart, for drawings with its state highlighted."""
    graph = breaker_graph()
    state, text = record.state.value, write_context(_context_of(record))
    return Snapshot(record.name, graph.name, graph.version, graph.fingerprint, (state,), text, 1, Status.ACTIVE)


def _context_of(record: BreakerRecord) -> BreakerContext:
    open_since = record.open_since or (record.since if record.breaks else None)  # at the latest
    return BreakerContext(
        since=record.since, retry_at=record.retry_at, open_since=open_since, breaks=record.breaks, reason=record.reason
    )

"""The circuit breakers in a process of a service: the process counts, and their objects decide on the counts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from time import monotonic
from typing import Any, Final, TypeAlias

from pydantic import TypeAdapter

from gatechart.hosting.breakers import LONGEST_REASON, MOST_IDLE
from gatechart.tools.breaker import Breaker
from gatechart.turn.turn_context import one_line
from gatechart.values.breakers import Admission, BreakerPolicy, BreakerRecord, BreakerState, Permit, Rejection
from gatechart.values.frozen import replaced

KNOWN_S: Final = 1.0  # validity of an object's answer: every process knows a change after a second
ALL: Final = "all"  # the key of the list of breakers
RECORD: Final = TypeAdapter(BreakerRecord)
PERMIT: Final = TypeAdapter(Permit)
POLICY: Final = TypeAdapter(BreakerPolicy)
ADMISSION: Final[TypeAdapter[Admission]] = TypeAdapter(Admission)

Ask: TypeAlias = Callable[[str, str, Mapping[str, Any]], Awaitable[Any]]
"""Calls a handler of a breaker's object: the breaker's name, the handler, its argument."""
Send: TypeAlias = Callable[[str, str, Mapping[str, Any]], None]
"""As Ask, without waiting for the answer."""


class ProcessBreakers:
    """One process's knowledge of the breakers, shared by the invocations that it runs."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._seen: dict[str, _Seen] = {}

    async def acquire(self, ask: Ask, name: str, policy: BreakerPolicy) -> Admission:
        """Return a permit or a rejection. The object is called only if its last answer is old, or it must decide."""
        seen = self._of(name)
        rejection = seen.rejection(self._now())
        if rejection is not None:
            return rejection
        if not seen.is_closed:
            answer = await ask(name, "ask", {"policy": POLICY.dump_python(policy, mode="json")})
            self._learn(seen, answer)
            admission = ADMISSION.validate_python(answer["admission"])
            if isinstance(admission, Rejection) or admission.number:
                return admission
        counted = seen.counts.ask(policy, self._now())  # a rejection while its object is being notified
        return counted if isinstance(counted, Rejection) else Permit(name, seen.entry)

    async def succeed(self, ask: Ask, permit: Permit) -> None:
        """Count a success; the object is notified of the success of a trial."""
        seen = self._of(permit.name)
        if permit.number:
            self._learn(seen, await ask(permit.name, "succeed", _permit_json(permit)))
        elif permit.entry == seen.entry:
            seen.counts.succeed(replaced(permit, entry=seen.counts.entry), self._now())

    async def fail(self, ask: Ask, permit: Permit, reason: str) -> None:
        """Count a failure; the object is notified of a failed trial, and of a failure that opens the breaker."""
        seen, text = self._of(permit.name), one_line(reason)[:LONGEST_REASON]
        if permit.number:
            self._learn(seen, await ask(permit.name, "fail", {**_permit_json(permit), "reason": text}))
        elif permit.entry == seen.entry and seen.is_too_much(permit, self._now(), text):
            policy = POLICY.dump_python(seen.counts.policy, mode="json")
            trip = {"entry": seen.entry, "policy": policy, "reason": text}
            self._learn(seen, await ask(permit.name, "trip", trip))

    def state(self, name: str) -> BreakerState:
        """Return the state in the object's last answer."""
        return self._of(name).state

    def release(self, send: Send, permit: Permit) -> None:
        """Give the permit of a trial back to the object."""
        if permit.number:
            send(permit.name, "release", _permit_json(permit))

    def _of(self, name: str) -> _Seen:
        seen = self._seen.get(name)
        if seen is None:
            if len(self._seen) >= MOST_IDLE:
                self._seen = {name: each for name, each in self._seen.items() if not each.is_idle}
            seen = self._seen[name] = _Seen(name)
        return seen

    def _learn(self, seen: _Seen, answer: Mapping[str, Any]) -> None:
        seen.learn(RECORD.validate_python(answer["record"]), answer["entry"])


class _Seen:
    """A breaker in its object's last answer, and the counts of this process since then."""

    __slots__ = ("_at", "_record", "counts", "entry", "refused")

    def __init__(self, name: str) -> None:
        self.counts = Breaker(name)  # stays closed until the failure that opens it
        self.entry = 0  # how often the object's state has changed
        self.refused = 0  # calls refused without the object since then
        self._record: BreakerRecord | None = None
        self._at = -KNOWN_S  # time of the last answer, by the machine's clock

    @property
    def state(self) -> BreakerState:
        """The state in the last answer; closed if there was none."""
        return BreakerState.CLOSED if self._record is None else self._record.state

    @property
    def is_known(self) -> bool:
        """Whether the last answer is still valid."""
        return self._record is not None and monotonic() - self._at < KNOWN_S

    @property
    def is_closed(self) -> bool:
        """Whether it is known to be closed."""
        return self.is_known and self._record is not None and self._record.state is BreakerState.CLOSED

    @property
    def is_idle(self) -> bool:
        """Whether it can be forgotten without losing data."""
        return self.counts.is_fresh and not self.is_known

    def learn(self, record: BreakerRecord, entry: int) -> None:
        """Record the object's answer; after a change of state all counts restart."""
        if entry < self.entry:
            return  # a later answer arrived first
        if entry != self.entry or self.counts.state is not BreakerState.CLOSED:
            self.counts, self.refused = Breaker(record.name), 0
        self.entry, self._record, self._at = entry, record, monotonic()

    def is_too_much(self, permit: Permit, now: datetime, reason: str) -> bool:
        """Count a failure, and return whether it is the one that opens the breaker."""
        before = self.counts.entry
        self.counts.fail(replaced(permit, entry=before), now, reason)
        return self.counts.entry != before

    def _refusal(self) -> int:
        """Count a refusal, and return the number of refusals here since the breaker changed."""
        self.refused += 1
        return self.refused

    def rejection(self, now: datetime) -> Rejection | None:
        """Return the rejection that is known without a call to the object; None if there is none."""
        record = self._record
        if record is None or not self.is_known:
            return None
        is_isolated = record.state is BreakerState.ISOLATED
        if is_isolated or (record.state is BreakerState.OPEN and record.retry_at is not None and now < record.retry_at):
            return Rejection(
                record.name, record.state, record.retry_at, record.reason, record.open_since, self._refusal()
            )
        return None


def _permit_json(permit: Permit) -> dict[str, Any]:
    return {"permit": PERMIT.dump_python(permit, mode="json")}


class InvocationBreakers:
    """The breakers for one invocation: the knowledge of its process, and the invocation's own calls to the objects.

    Fulfils Breakers.
    """

    def __init__(self, shared: ProcessBreakers, ask: Ask, send: Send) -> None:
        self._shared = shared
        self._ask = ask
        self._send = send

    async def acquire(self, name: str, policy: BreakerPolicy) -> Admission:
        """See Breakers."""
        return await self._shared.acquire(self._ask, name, policy)

    async def succeed(self, permit: Permit) -> None:
        """See Breakers."""
        await self._shared.succeed(self._ask, permit)

    async def fail(self, permit: Permit, reason: str) -> None:
        """See Breakers."""
        await self._shared.fail(self._ask, permit, reason)

    def state(self, name: str) -> BreakerState:
        """See Breakers."""
        return self._shared.state(name)

    def release(self, permit: Permit) -> None:
        """See Breakers. If the invocation is over, the object is not notified: it reissues the permit after a break."""
        self._shared.release(self._send, permit)

"""The way of a tool call through its policies, the same in every runtime.

From outside in: the limit of the whole call, alternatives, retries, circuit breaker, bulkhead, rate, the limit of an
attempt.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from math import inf
from typing import Any, Final, Protocol, TypeVar

from gatechart.errors.failures import failure_in, is_failure, message_of
from gatechart.errors.operation import BreakerOpenError, InvocationOverError, StepResultError
from gatechart.hosting.breaker_waits import refusal_text, wait_for_breakers
from gatechart.hosting.breakers import Breakers, refusal_of
from gatechart.hosting.durable_waits import Waits
from gatechart.hosting.idleness import Idleness
from gatechart.hosting.kept_results import KeptResult
from gatechart.hosting.tool_gates import ToolGates
from gatechart.hosting.tool_records import CallRecords, Progress
from gatechart.hosting.tool_run import ToolRun
from gatechart.tools.definition import AnyTool, ToolContext
from gatechart.tools.results import FailureKind, ToolFailure, ToolResult
from gatechart.tools.retries import MOST_RETRY_AFTER_S, is_in_doubt, is_worth_retrying, retry_after_s
from gatechart.values.breakers import BreakerPolicy, BreakerState, Permit, Rejection
from gatechart.values.delays import LONGEST_S, Retry
from gatechart.values.escapes import BreakerWait
from gatechart.values.frozen import replaced, value
from gatechart.values.names import AgentId, Payload
from gatechart.values.tool_policies import Rate, ToolPolicies

logger = logging.getLogger(__name__)

_FAILED: Final = "a tool call failed: %(tool)s of agent %(agent_id)s, attempt %(attempts)d: %(problem)s"
_TOO_LONG: Final = "it took longer than its limit of {:g} s"
_UNKNOWN: Final = "{} before its result was recorded"
_NOT_KEPT: Final = "it returned a result that cannot be stored: {}"
_OVER: Final = "the call as a whole would take longer than its limit of {:g} s"


T = TypeVar("T")


class CallHost(Protocol):
    """What a runtime does for calls of tools."""

    @property
    def services(self) -> Any:
        """The services that the runtime was opened with."""
        ...

    @property
    def breakers(self) -> Breakers:
        """The circuit breakers of the runtime."""
        ...

    @property
    def gates(self) -> ToolGates:
        """What the calls of the process share."""
        ...

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait by the runtime's clock."""
        ...

    async def within(self, seconds: float | None, function: Coroutine[Any, Any, T]) -> T:
        """Return the function's result. Raises TimeoutError if it takes longer than `seconds`."""
        ...


@value
class Candidate:
    """A tool that may answer a call: the one that was asked for, or an alternative."""

    tool: AnyTool
    policies: ToolPolicies
    arguments: Mapping[str, Any]  # as the tool takes them
    digest: Callable[[], str]  # returns that of these
    key: Callable[[], str]  # returns the idempotency key
    undo: Callable[[str | None], Payload | None] = lambda _: None  # returns what takes a result back, a JSON text

    def said(self, policy: str) -> Any:
        """Return a policy; None where it is not said, or switched off."""
        found = getattr(self.policies, policy)
        return None if found == "off" else found


@value
class _Tried:
    """What came of trying a candidate."""

    value: Any = None
    failure: ToolFailure | None = None
    again_s: float | None = None  # how long to wait at least before another attempt; None if none is worth it
    is_last: bool = False  # whether the call ends with it, so that no alternative is asked
    breaker: str = ""  # state of the candidate's circuit breaker

    @property
    def is_refused(self) -> bool:
        """Whether a circuit breaker refused the call."""
        return self.failure is not None and self.failure.is_refusal


class ToolCall:
    """One call of a tool, from where its records say that it is."""

    def __init__(
        self,
        host: CallHost,
        records: CallRecords,
        waits: Waits,
        idleness: Idleness,
        candidates: Sequence[Candidate],
        agent_id: AgentId,
        *,
        is_switched: bool = False,
        awaited: BreakerWait | None = None,
        undoes: str = "",
    ) -> None:
        """Bind to a runtime.

        candidates: the tool that was asked for and its alternatives, in order. is_switched: whether an escape has put
        one of these in its place. awaited: how long the call waits for circuit breakers that refuse it; None if it does
        not. undoes: the call that this one takes back.
        """
        self._host = host
        self._records = records
        self._waits = waits
        self._idleness = idleness
        self._candidates = candidates
        self._asked = next((each for each in candidates if each.tool.name == records.identity.tool), candidates[0])
        self._agent_id = agent_id
        self._is_switched = is_switched
        self._awaited = awaited
        self._refusals: list[BreakerOpenError] = []  # since the first candidate was asked last
        self._has_failed = False  # whether one of the candidates has used up its attempts since then
        self._undoes = undoes
        self._progress = Progress()

    async def result(self) -> ToolResult[Any]:
        """Return the recorded result, or call the tools. Raises InvocationOverError."""
        ended = self._records.ended()
        if ended is not None:
            return self._read(*ended)
        self._progress = self._records.progress()
        if self._records.is_unsettled():
            self._progress = self._progress.tried()
            unknown = ToolFailure(FailureKind.OUTCOME_UNKNOWN, _UNKNOWN.format(self._records.interruption()))
            return await self._end(_Tried(failure=unknown), self._asked)
        for name in (self._records.tried_name(self._progress), self._records.await_name(self._progress.waits)):
            if self._waits.ends(name) is not None:
                await self._waits.until_over(name, 0)
        if not self._progress.began:
            self._progress = self._begun()
        while True:
            tried, candidate = await self._over_candidates()
            wait_s = self._await_s() if tried.is_refused and not self._has_failed else None
            if wait_s is None:
                return await self._end(tried, candidate)
            await self._await_breakers(wait_s)

    def _begun(self) -> Progress:
        tools = tuple(each.tool.name for each in self._candidates) if self._is_switched else ()
        until, down_s = "", 0.0
        if self._awaited is not None:
            until, down_s = self._awaited.until.isoformat(), self._awaited.down_s
        began = self._host.now().isoformat()
        return replace(self._progress, began=began, tools=tools, until=until, down_s=down_s)

    async def _over_candidates(self) -> tuple[_Tried, Candidate]:
        """Ask one candidate after another, until one gives a value."""
        self._refusals, self._has_failed = [], False
        remaining = self._candidates[self._progress.candidate :]
        for candidate in remaining:
            before = self._progress.attempts
            tried = await self._over_retries(candidate)
            if tried.failure is None or tried.is_last or candidate is remaining[-1]:
                return tried, candidate
            self._has_failed |= not tried.is_refused
            self._progress = self._progress.next_candidate()
            if self._progress.attempts > before:
                await self._wait(0)
        raise AssertionError("unreachable")  # the last candidate returns

    def _await_s(self) -> float | None:
        """Return how long to wait for the circuit breakers that refused the call; None if it does not wait for them."""
        if not self._progress.until:
            return None
        until, draw = datetime.fromisoformat(self._progress.until), self._records.await_draw(self._progress.waits)
        wait_s = wait_for_breakers(self._refusals, until, self._progress.down_s, self._host.now(), draw)
        return None if wait_s is None or wait_s >= self._left_s() else wait_s

    async def _await_breakers(self, wait_s: float) -> None:
        if self._progress.attempts and self._waits.ends(self._records.tried_name(self._progress)) is None:
            await self._wait(0)
        await self._records.tell_wait(datetime.fromisoformat(self._progress.until))
        before = self._records.await_name(self._progress.waits)
        self._progress = self._progress.awaited(wait_s)
        name, facts = self._records.await_name(self._progress.waits), self._records.wait_facts(self._progress)
        await self._waits.until_over(name, wait_s, facts, (before,))

    async def _over_retries(self, candidate: Candidate) -> _Tried:
        while True:
            self._progress = self._records.progress_in_rate(self._progress) or self._progress
            if self._left_s() <= 0:
                return self._over()
            tried = await self._through_gates(candidate)
            wait_s = self._wait_s(candidate.said("retry"), tried)
            if wait_s is None:
                return tried
            if wait_s >= self._left_s():
                return self._over()
            await self._wait(wait_s)

    def _wait_s(self, retry: Retry | None, tried: _Tried) -> float | None:
        if retry is None or tried.again_s is None or tried.again_s > MOST_RETRY_AFTER_S:
            return None
        wait_s = retry.wait_s(self._progress.tries, self._records.draw(self._progress))
        return None if wait_s is None else max(wait_s, tried.again_s)

    async def _wait(self, wait_s: float) -> None:
        self._progress = self._progress.waited(wait_s)
        name = self._records.tried_name(self._progress)
        await self._waits.until_over(name, wait_s, self._records.wait_facts(self._progress))

    async def _through_gates(self, candidate: Candidate) -> _Tried:
        """Try once, through breaker, bulkhead and rate; a call that these do not let through costs no attempt."""
        try:
            async with self._breaker_of(candidate) as outcome, self._bulkhead_of(candidate) as place:
                await self._rate_of(candidate)
                outcome.tried = await self._attempt(candidate, place)
            return replaced(outcome.tried, breaker=outcome.breaker)
        except _RefusedError as refused:
            return _Tried(failure=refused.failure)
        except BreakerOpenError as refused:
            return self._refused(candidate, refused)

    @asynccontextmanager
    async def _breaker_of(self, candidate: Candidate) -> AsyncIterator[_Outcome]:
        """Hold a permit inside the block, and report the result. Raises BreakerOpenError."""
        policy: BreakerPolicy | None = candidate.said("breaker")
        outcome = _Outcome()
        if policy is None:
            yield outcome
            return
        permit = await self._host.breakers.acquire(candidate.tool.name, policy)
        if isinstance(permit, Rejection):
            raise refusal_of(permit)
        try:
            yield outcome
        finally:
            if outcome.tried is None:
                self._host.breakers.release(permit)
        if outcome.tried is not None:
            await self._report(permit, outcome.tried)
            outcome.breaker = self._host.breakers.state(permit.name).value

    async def _report(self, permit: Permit, tried: _Tried) -> None:
        """Report the result to the breaker. A failure that is not worth another attempt shows that the service answers.

        The refusal of another breaker, inside the tool, shows nothing.
        """
        if tried.is_refused:
            self._host.breakers.release(permit)
        elif tried.failure is None or (tried.failure.kind is FailureKind.RAISED and tried.again_s is None):
            await self._host.breakers.succeed(permit)
        else:
            await self._host.breakers.fail(permit, tried.failure.message or tried.failure.type)

    @asynccontextmanager
    async def _bulkhead_of(self, candidate: Candidate) -> AsyncIterator[_Place]:
        """Hold a place inside the block, and beyond it until the run has ended that it is left to."""
        name, limit = candidate.tool.name, candidate.said("bulkhead")
        if not self._host.gates.enter(name, limit):
            raise _RefusedError(FailureKind.BULKHEAD_FULL, f"{limit} calls of {name!r} are under way already")
        place = _Place(partial(self._host.gates.leave, name))
        try:
            yield place
        finally:
            if not place.is_left_to_run:
                place.leave()

    async def _rate_of(self, candidate: Candidate) -> None:
        """Wait until the rate lets the call begin. Raises _RefusedError if that would take too long."""
        rate: Rate | None = candidate.said("rate")
        if rate is None:
            return
        name = self._records.rate_name(self._progress)
        begins = self._waits.ends(name)
        if begins is None:
            await self._reserve(candidate, rate, name)
        else:
            self._host.gates.count_again(candidate.tool.name, rate, begins, self._records.key(name))
            await self._waits.until_over(name, 0)

    async def _reserve(self, candidate: Candidate, rate: Rate, name: str) -> None:
        """Reserve a moment under the rate, and wait for it; the wait is recorded under the name."""
        gates, key = self._host.gates, self._records.key(name)
        wait_s = gates.reserve(candidate.tool.name, rate, self._host.now(), self._left_s(), key)
        if wait_s is None:
            raise _RefusedError(
                FailureKind.RATE_LIMITED, f"{rate} are begun already, and the call cannot wait for more"
            )
        if wait_s > 0:
            self._progress = self._progress.waited(wait_s)
            await self._waits.until_over(name, wait_s, self._records.wait_facts(self._progress))

    async def _attempt(self, candidate: Candidate, place: _Place) -> _Tried:
        self._progress = self._progress.tried()
        if candidate.tool.repeat != "safe":
            told = {"call": self._records.call, "tool": candidate.tool.name, **_key(candidate)}
            await self._records.begin(self._progress, told, is_repeatable=candidate.tool.repeat == "keyed")
        limit_s = min(candidate.said("timeout_s") or inf, self._left_s())
        run = ToolRun(candidate.tool.function, self._called(candidate), place.left_to_run())
        try:
            return _Tried(value=await self._host.within(None if limit_s == inf else limit_s, run.result()))
        except InvocationOverError:
            raise
        except BaseException as error:
            if not is_failure(error):
                raise
            return self._failed(candidate, run, error, limit_s)
        finally:
            run.give_up()

    def _called(self, candidate: Candidate) -> Callable[[], Any]:
        tool, it = candidate.tool, self._records.identity
        if not tool.takes_context:
            return partial(tool.function, **candidate.arguments)
        context = ToolContext(
            tool=tool.name,
            agent_id=self._agent_id,
            call_id=it.call_id,
            idempotency_key=candidate.key(),
            attempt=self._progress.tries,
            services=self._host.services,
        )
        return partial(tool.function, context, **candidate.arguments)

    def _failed(self, candidate: Candidate, run: ToolRun, error: BaseException, limit_s: float) -> _Tried:
        is_late = isinstance(error, TimeoutError) and not run.is_over
        tried = self._too_late(candidate, run, limit_s) if is_late else self._raised(candidate, failure_in(error))
        assert tried.failure is not None
        facts = {"tool": candidate.tool.name, "agent_id": self._agent_id, "attempts": self._progress.attempts}
        facts["problem"] = f"{tried.failure.type}: {tried.failure.message}".removeprefix(": ")
        logger.warning(_FAILED, facts, extra=facts)
        return tried

    def _too_late(self, candidate: Candidate, run: ToolRun, limit_s: float) -> _Tried:
        message = _TOO_LONG.format(limit_s)
        if candidate.tool.repeat == "never" and run.has_begun:
            return _Tried(failure=ToolFailure(FailureKind.OUTCOME_UNKNOWN, message), is_last=True)
        if self._left_s() <= 0:
            return self._over()
        return _Tried(failure=ToolFailure(FailureKind.TIMED_OUT, message), again_s=0.0)

    def _raised(self, candidate: Candidate, error: BaseException) -> _Tried:
        said = message_of(error), type(error).__name__
        if candidate.tool.repeat == "never" and is_in_doubt(error):
            return _Tried(failure=ToolFailure(FailureKind.OUTCOME_UNKNOWN, *said), is_last=True)
        failure = ToolFailure(FailureKind.RAISED, *said)
        if isinstance(error, BreakerOpenError):
            self._refusals.append(error)
            failure = ToolFailure(FailureKind.BREAKER_OPEN, *said, retry_at=error.retry_at)
        if isinstance(error, Exception) and is_worth_retrying(error, candidate.tool.retry_on):
            return _Tried(failure=failure, again_s=retry_after_s(error, self._host.now()))
        return _Tried(failure=failure)

    def _refused(self, candidate: Candidate, error: BreakerOpenError) -> _Tried:
        """Return the outcome of a call that the candidate's own circuit breaker refused."""
        self._refusals.append(error)
        failure = ToolFailure(FailureKind.BREAKER_OPEN, refusal_text(error), retry_at=error.retry_at)
        return _Tried(failure=failure, breaker=self._host.breakers.state(candidate.tool.name).value)

    def _left_s(self) -> float:
        """Return the seconds that are left of the limit of the whole call, which may be less than none."""
        total_s = self._asked.said("total_s")
        if total_s is None:
            return inf
        ends = datetime.fromisoformat(self._progress.began) + timedelta(seconds=min(total_s, LONGEST_S))
        return (ends - self._host.now()).total_seconds()

    def _over(self) -> _Tried:
        message = _OVER.format(self._asked.said("total_s"))
        return _Tried(failure=ToolFailure(FailureKind.TOTAL_LIMIT, message), is_last=True)

    async def _end(self, tried: _Tried, candidate: Candidate) -> ToolResult[Any]:
        """Record what came of the call, and return what is recorded."""
        text = None
        if tried.failure is None:
            tried = replaced(tried, value=await self._records.apart(tried.value))
            try:
                text = self._kept(candidate.tool.returns).written(tried.value)
            except StepResultError as error:
                tried = replaced(tried, failure=_not_kept(candidate, error))
        it, is_answered = self._records.identity, tried.failure is None
        result: ToolResult[Any] = ToolResult(
            tool=it.tool,
            call_id=it.call_id,
            failure=tried.failure,
            answered_by=candidate.tool.name if is_answered else "",
            attempts=self._progress.attempts,
            waited_s=self._progress.waited_s,
            breaker=tried.breaker,
            undo=candidate.tool.undo if is_answered else "",
        )
        return self._read(*await self._records.end(result, text, self._more(result, candidate, text)))

    def _more(self, result: ToolResult[Any], candidate: Candidate, text: str | None) -> Payload:
        """Return what the trail is told of the call beside its entry, for an agent that may escape."""
        told: dict[str, Any] = {}
        is_own = result.answered_by == result.tool
        if self._is_switched and is_own and result.breaker == BreakerState.CLOSED.value:
            told["restored"] = True
        if not self._records.looks_back:
            return told
        told |= {"call": self._records.call, **_key(candidate)}
        if result.ok and not is_own:
            told["by"] = result.answered_by
        if result.failure is not None and result.failure.kind is FailureKind.OUTCOME_UNKNOWN:
            told["unknown"] = True
        undo = candidate.undo(text) if result.ok and not self._undoes else None
        return told | ({"undo": undo} if undo else {}) | ({"undoes": self._undoes} if self._undoes else {})

    def _read(self, result: ToolResult[Any], text: str | None) -> ToolResult[Any]:
        if text is None:
            return result
        kinds = {each.tool.name: each.tool.returns for each in self._candidates}
        return replace(result, value=self._kept(kinds.get(result.answered_by, Any)).read(text))

    def _kept(self, kind: Any) -> KeptResult:
        return KeptResult(self._agent_id, f"call {self._records.identity.tool}", kind)


def _not_kept(candidate: Candidate, error: StepResultError) -> ToolFailure:
    """Return the failure of a tool whose result cannot be stored. One that must not be repeated has acted."""
    kind = FailureKind.OUTCOME_UNKNOWN if candidate.tool.repeat == "never" else FailureKind.RAISED
    return ToolFailure(kind, _NOT_KEPT.format("; ".join(error.problems)), type(error).__name__)


def _key(candidate: Candidate) -> Payload:
    """Return the key of a call as a trail is told of it, if a repeat of the call must have the same."""
    is_own = candidate.tool.repeat == "keyed" and not candidate.tool.key  # otherwise that of a business object
    return {"key": candidate.key(), "keyed": candidate.digest()} if is_own else {}


class _RefusedError(Exception):
    """A call was not let through. Never leaves this module."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.failure = ToolFailure(kind, message)


class _Outcome:
    """What came of a call under a permit; nothing if it was given up."""

    def __init__(self) -> None:
        self.tried: _Tried | None = None
        self.breaker = ""  # the state of the breaker after it was told


class _Place:
    """A place of a bulkhead, and who gives it back."""

    def __init__(self, leave: Callable[[], None]) -> None:
        self.leave = leave
        self.is_left_to_run = False

    def left_to_run(self) -> Callable[[], None]:
        """Return what a run calls at its end to give the place back."""
        self.is_left_to_run = True
        return self.leave

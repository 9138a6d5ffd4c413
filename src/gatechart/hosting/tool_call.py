"""Apply the policies to a tool call, in the same order in every runtime.

From outermost to innermost: total limit, alternatives, retries, circuit breaker, bulkhead, rate, attempt limit.
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
from gatechart.hosting.breakers import BreakerPermits, refusal_of
from gatechart.hosting.durable_waits import Waits
from gatechart.hosting.idleness import Idleness
from gatechart.hosting.kept_results import KeptResult
from gatechart.hosting.tool_gates import ToolGates
from gatechart.hosting.tool_records import CallProgress, CallRecords
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
    """The services of a runtime for tool calls."""

    @property
    def services(self) -> Any:
        """The services that the runtime was opened with."""
        ...

    @property
    def breakers(self) -> BreakerPermits:
        """The circuit breakers of the runtime."""
        ...

    @property
    def gates(self) -> ToolGates:
        """The bulkheads and rates that the calls of the process share."""
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
class ToolCandidate:
    """A tool that may answer a call: the requested one or an alternative."""

    tool: AnyTool
    policies: ToolPolicies
    arguments: Mapping[str, Any]  # parsed, as the tool takes them
    digest: Callable[[], str]  # returns the digest of the arguments
    key: Callable[[], str]  # returns the idempotency key
    undo: Callable[[str | None], Payload | None] = lambda _: None  # returns the call that undoes a result, a JSON text

    def policy(self, name: str) -> Any:
        """Return a policy; None if it is unset or "off"."""
        policy = getattr(self.policies, name)
        return None if policy == "off" else policy


@value
class _AttemptResult:
    """The result of an attempt with a candidate."""

    value: Any = None
    failure: ToolFailure | None = None
    again_s: float | None = None  # minimum wait before another attempt; None if a retry is pointless
    is_last: bool = False  # whether it ends the call, without alternatives
    breaker: str = ""  # state of the candidate's circuit breaker

    @property
    def is_refused(self) -> bool:
        """Whether a circuit breaker refused the call."""
        return self.failure is not None and self.failure.is_refusal


class RunningCall:
    """One tool call, resumed at its recorded progress."""

    def __init__(
        self,
        host: CallHost,
        records: CallRecords,
        waits: Waits,
        idleness: Idleness,
        candidates: Sequence[ToolCandidate],
        agent_id: AgentId,
        *,
        is_switched: bool = False,
        awaited: BreakerWait | None = None,
        undoes: str = "",
    ) -> None:
        """Bind to a runtime.

        candidates: the requested tool and its alternatives, in order. is_switched: whether an escape has put one of
        these in its place. awaited: how long the call waits for circuit breakers that refuse it; None for no wait.
        undoes: the call that this one undoes.
        """
        self._host = host
        self._records = records
        self._waits = waits
        self._idleness = idleness
        self._candidates = candidates
        requested = (candidate for candidate in candidates if candidate.tool.name == records.identity.tool)
        self._requested = next(requested, candidates[0])
        self._agent_id = agent_id
        self._is_switched = is_switched
        self._awaited = awaited
        self._refusals: list[BreakerOpenError] = []  # since the latest call of the first candidate
        self._has_failed = False  # whether a candidate has used up its attempts since then
        self._undoes = undoes
        self._progress = CallProgress()

    async def result(self) -> ToolResult[Any]:
        """Return the recorded result, or call the tools. Raises InvocationOverError."""
        ended = self._records.ended()
        if ended is not None:
            return self._read(*ended)
        self._progress = self._records.progress()
        if self._records.is_unsettled():
            self._progress = self._progress.tried()
            unknown = ToolFailure(FailureKind.OUTCOME_UNKNOWN, _UNKNOWN.format(self._records.interruption()))
            return await self._end(_AttemptResult(failure=unknown), self._requested)
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

    def _begun(self) -> CallProgress:
        tools = tuple(candidate.tool.name for candidate in self._candidates) if self._is_switched else ()
        until, down_s = "", 0.0
        if self._awaited is not None:
            until, down_s = self._awaited.until.isoformat(), self._awaited.down_s
        began = self._host.now().isoformat()
        return replace(self._progress, began=began, tools=tools, until=until, down_s=down_s)

    async def _over_candidates(self) -> tuple[_AttemptResult, ToolCandidate]:
        """Try the candidates in order until one returns a value."""
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
        """Return the seconds to wait for the circuit breakers that refused the call; None for no wait."""
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

    async def _over_retries(self, candidate: ToolCandidate) -> _AttemptResult:
        while True:
            self._progress = self._records.progress_in_rate(self._progress) or self._progress
            if self._left_s() <= 0:
                return self._over()
            tried = await self._through_gates(candidate)
            wait_s = self._wait_s(candidate.policy("retry"), tried)
            if wait_s is None:
                return tried
            if wait_s >= self._left_s():
                return self._over()
            await self._wait(wait_s)

    def _wait_s(self, retry: Retry | None, tried: _AttemptResult) -> float | None:
        if retry is None or tried.again_s is None or tried.again_s > MOST_RETRY_AFTER_S:
            return None
        wait_s = retry.wait_s(self._progress.tries, self._records.draw(self._progress))
        return None if wait_s is None else max(wait_s, tried.again_s)

    async def _wait(self, wait_s: float) -> None:
        self._progress = self._progress.waited(wait_s)
        name = self._records.tried_name(self._progress)
        await self._waits.until_over(name, wait_s, self._records.wait_facts(self._progress))

    async def _through_gates(self, candidate: ToolCandidate) -> _AttemptResult:
        """Try once, through breaker, bulkhead and rate. A call that these refuse does not count as an attempt."""
        try:
            async with self._breaker_of(candidate) as outcome, self._bulkhead_of(candidate) as slot:
                await self._rate_of(candidate)
                outcome.tried = await self._attempt(candidate, slot)
            return replaced(outcome.tried, breaker=outcome.breaker)
        except _RefusedError as refused:
            return _AttemptResult(failure=refused.failure)
        except BreakerOpenError as refused:
            return self._refused(candidate, refused)

    @asynccontextmanager
    async def _breaker_of(self, candidate: ToolCandidate) -> AsyncIterator[_Outcome]:
        """Hold a permit inside the block, and report the result. Raises BreakerOpenError."""
        policy: BreakerPolicy | None = candidate.policy("breaker")
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

    async def _report(self, permit: Permit, tried: _AttemptResult) -> None:
        """Report the result to the breaker. A failure that a retry cannot help counts as success: the service answers.

        A refusal by another breaker, inside the tool, is not reported.
        """
        if tried.is_refused:
            self._host.breakers.release(permit)
        elif tried.failure is None or (tried.failure.kind is FailureKind.RAISED and tried.again_s is None):
            await self._host.breakers.succeed(permit)
        else:
            await self._host.breakers.fail(permit, tried.failure.message or tried.failure.type)

    @asynccontextmanager
    async def _bulkhead_of(self, candidate: ToolCandidate) -> AsyncIterator[_Slot]:
        """Hold a slot inside the block. If a run takes the slot over, it is released when the run ends."""
        name, limit = candidate.tool.name, candidate.policy("bulkhead")
        if not self._host.gates.enter(name, limit):
            raise _RefusedError(FailureKind.BULKHEAD_FULL, f"{limit} calls of {name!r} are already running")
        slot = _Slot(partial(self._host.gates.leave, name))
        try:
            yield slot
        finally:
            if not slot.is_left_to_run:
                slot.leave()

    async def _rate_of(self, candidate: ToolCandidate) -> None:
        """Wait until the rate allows the call to start. Raises _RefusedError if that would take too long."""
        rate: Rate | None = candidate.policy("rate")
        if rate is None:
            return
        name = self._records.rate_name(self._progress)
        begins = self._waits.ends(name)
        if begins is None:
            await self._reserve(candidate, rate, name)
        else:
            self._host.gates.count_again(candidate.tool.name, rate, begins, self._records.key(name))
            await self._waits.until_over(name, 0)

    async def _reserve(self, candidate: ToolCandidate, rate: Rate, name: str) -> None:
        """Reserve a start time under the rate, and wait for it. The wait is recorded under the name."""
        gates, key = self._host.gates, self._records.key(name)
        wait_s = gates.reserve(candidate.tool.name, rate, self._host.now(), self._left_s(), key)
        if wait_s is None:
            problem = f"the rate of {rate} is used up, and the call cannot wait long enough"
            raise _RefusedError(FailureKind.RATE_LIMITED, problem)
        if wait_s > 0:
            self._progress = self._progress.waited(wait_s)
            await self._waits.until_over(name, wait_s, self._records.wait_facts(self._progress))

    async def _attempt(self, candidate: ToolCandidate, slot: _Slot) -> _AttemptResult:
        self._progress = self._progress.tried()
        if candidate.tool.repeat != "safe":
            facts = {"call": self._records.call, "tool": candidate.tool.name, **_key(candidate)}
            await self._records.begin(self._progress, facts, is_repeatable=candidate.tool.repeat == "keyed")
        limit_s = min(candidate.policy("timeout_s") or inf, self._left_s())
        run = ToolRun(candidate.tool.function, self._bound_function(candidate), slot.left_to_run())
        try:
            return _AttemptResult(value=await self._host.within(None if limit_s == inf else limit_s, run.result()))
        except InvocationOverError:
            raise
        except BaseException as error:
            if not is_failure(error):
                raise
            return self._failed(candidate, run, error, limit_s)
        finally:
            run.give_up()

    def _bound_function(self, candidate: ToolCandidate) -> Callable[[], Any]:
        tool = candidate.tool
        if not tool.takes_context:
            return partial(tool.function, **candidate.arguments)
        context = ToolContext(
            tool=tool.name,
            agent_id=self._agent_id,
            call_id=self._records.identity.call_id,
            idempotency_key=candidate.key(),
            attempt=self._progress.tries,
            services=self._host.services,
        )
        return partial(tool.function, context, **candidate.arguments)

    def _failed(self, candidate: ToolCandidate, run: ToolRun, error: BaseException, limit_s: float) -> _AttemptResult:
        is_late = isinstance(error, TimeoutError) and not run.is_over
        tried = self._too_late(candidate, run, limit_s) if is_late else self._raised(candidate, failure_in(error))
        assert tried.failure is not None
        facts = {"tool": candidate.tool.name, "agent_id": self._agent_id, "attempts": self._progress.attempts}
        facts["problem"] = f"{tried.failure.type}: {tried.failure.message}".removeprefix(": ")
        logger.warning(_FAILED, facts, extra=facts)
        return tried

    def _too_late(self, candidate: ToolCandidate, run: ToolRun, limit_s: float) -> _AttemptResult:
        message = _TOO_LONG.format(limit_s)
        if candidate.tool.repeat == "never" and run.has_begun:
            return _AttemptResult(failure=ToolFailure(FailureKind.OUTCOME_UNKNOWN, message), is_last=True)
        if self._left_s() <= 0:
            return self._over()
        return _AttemptResult(failure=ToolFailure(FailureKind.TIMED_OUT, message), again_s=0.0)

    def _raised(self, candidate: ToolCandidate, error: BaseException) -> _AttemptResult:
        description = message_of(error), type(error).__name__
        if candidate.tool.repeat == "never" and is_in_doubt(error):
            return _AttemptResult(failure=ToolFailure(FailureKind.OUTCOME_UNKNOWN, *description), is_last=True)
        failure = ToolFailure(FailureKind.RAISED, *description)
        if isinstance(error, BreakerOpenError):
            self._refusals.append(error)
            failure = ToolFailure(FailureKind.BREAKER_OPEN, *description, retry_at=error.retry_at)
        if isinstance(error, Exception) and is_worth_retrying(error, candidate.tool.retry_on):
            return _AttemptResult(failure=failure, again_s=retry_after_s(error, self._host.now()))
        return _AttemptResult(failure=failure)

    def _refused(self, candidate: ToolCandidate, error: BreakerOpenError) -> _AttemptResult:
        """Return the result of a call that the candidate's own circuit breaker refused."""
        self._refusals.append(error)
        failure = ToolFailure(FailureKind.BREAKER_OPEN, refusal_text(error), retry_at=error.retry_at)
        return _AttemptResult(failure=failure, breaker=self._host.breakers.state(candidate.tool.name).value)

    def _left_s(self) -> float:
        """Return the seconds left of the whole call's limit; negative once it has passed."""
        total_s = self._requested.policy("total_s")
        if total_s is None:
            return inf
        ends = datetime.fromisoformat(self._progress.began) + timedelta(seconds=min(total_s, LONGEST_S))
        return (ends - self._host.now()).total_seconds()

    def _over(self) -> _AttemptResult:
        message = _OVER.format(self._requested.policy("total_s"))
        return _AttemptResult(failure=ToolFailure(FailureKind.TOTAL_LIMIT, message), is_last=True)

    async def _end(self, tried: _AttemptResult, candidate: ToolCandidate) -> ToolResult[Any]:
        """Record the result of the call, and return the recorded one."""
        text = None
        if tried.failure is None:
            tried = replaced(tried, value=await self._records.apart(tried.value))
            try:
                text = self._kept(candidate.tool.returns).written(tried.value)
            except StepResultError as error:
                tried = replaced(tried, failure=_not_kept(candidate, error))
        identity, is_answered = self._records.identity, tried.failure is None
        result: ToolResult[Any] = ToolResult(
            tool=identity.tool,
            call_id=identity.call_id,
            failure=tried.failure,
            answered_by=candidate.tool.name if is_answered else "",
            attempts=self._progress.attempts,
            waited_s=self._progress.waited_s,
            breaker=tried.breaker,
            undo=candidate.tool.undo if is_answered else "",
        )
        return self._read(*await self._records.end(result, text, self._more(result, candidate, text)))

    def _more(self, result: ToolResult[Any], candidate: ToolCandidate, text: str | None) -> Payload:
        """Return further facts about the call for the trail of an agent that may escape."""
        facts: dict[str, Any] = {}
        is_own = result.answered_by == result.tool
        if self._is_switched and is_own and result.breaker == BreakerState.CLOSED.value:
            facts["restored"] = True
        if not self._records.looks_back:
            return facts
        facts |= {"call": self._records.call, **_key(candidate)}
        if result.ok and not is_own:
            facts["by"] = result.answered_by
        if result.failure is not None and result.failure.kind is FailureKind.OUTCOME_UNKNOWN:
            facts["unknown"] = True
        undo = candidate.undo(text) if result.ok and not self._undoes else None
        return facts | ({"undo": undo} if undo else {}) | ({"undoes": self._undoes} if self._undoes else {})

    def _read(self, result: ToolResult[Any], text: str | None) -> ToolResult[Any]:
        if text is None:
            return result
        types = {candidate.tool.name: candidate.tool.returns for candidate in self._candidates}
        return replace(result, value=self._kept(types.get(result.answered_by, Any)).read(text))

    def _kept(self, result_type: Any) -> KeptResult:
        return KeptResult(self._agent_id, f"call {self._records.identity.tool}", result_type)


def _not_kept(candidate: ToolCandidate, error: StepResultError) -> ToolFailure:
    """Return the failure of a tool whose result cannot be stored. The outcome is unknown if it must not be repeated."""
    kind = FailureKind.OUTCOME_UNKNOWN if candidate.tool.repeat == "never" else FailureKind.RAISED
    return ToolFailure(kind, _NOT_KEPT.format("; ".join(error.problems)), type(error).__name__)


def _key(candidate: ToolCandidate) -> Payload:
    """Return the key of a call for the trail, if a repeat of the call must have the same key."""
    is_own = candidate.tool.repeat == "keyed" and not candidate.tool.key  # otherwise a business object has the key
    return {"key": candidate.key(), "keyed": candidate.digest()} if is_own else {}


class _RefusedError(Exception):
    """A gate refused a call. Never leaves this module."""

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.failure = ToolFailure(kind, message)


class _Outcome:
    """The result of a call under a permit; None if the call was abandoned."""

    def __init__(self) -> None:
        self.tried: _AttemptResult | None = None
        self.breaker = ""  # the state of the breaker after the report


class _Slot:
    """A bulkhead slot. Either the block or the run that takes it over releases it."""

    def __init__(self, leave: Callable[[], None]) -> None:
        self.leave = leave
        self.is_left_to_run = False

    def left_to_run(self) -> Callable[[], None]:
        """Leave the slot to a run. Return the function that the run calls at its end to release it."""
        self.is_left_to_run = True
        return self.leave

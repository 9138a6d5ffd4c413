"""An invoked function in a process that serves the engine: its requests become reports, journaled one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from pydantic_core import to_json

from gatechart.api.errors import ErrorDocument
from gatechart.errors.operation import InvocationOverError
from gatechart.graph.definition import EntryPoint
from gatechart.hosting.idleness import Idleness
from gatechart.hosting.invoke_attempts import TOO_LONG, InvokeEnded, attempt, failure_payload
from gatechart.hosting.invoke_host import check_not_over
from gatechart.hosting.invoke_journal import InvokeJournal
from gatechart.hosting.tool_gates import ToolGates
from gatechart.restate.journals import told_of
from gatechart.restate.process_breakers import InvocationBreakers
from gatechart.restate.state import MAIL, OUTCOME, SNAPSHOT, plain
from gatechart.restate.terms import ServiceConfig
from gatechart.tasks import awaited, start_task
from gatechart.values.agents import Outcome, Snapshot
from gatechart.values.commits import JournalRecord, Verdict
from gatechart.values.frozen import replaced
from gatechart.values.mail import ActiveInvocation, Invocation, Mail
from gatechart.values.names import EventName, Payload

T = TypeVar("T")


class Session:
    """One invocation in this process: an InvokeHost that journals each report before the function continues.

    As a Place it belongs to the engine: the engine waits for an idle function.
    """

    def __init__(self, config: ServiceConfig, running: ActiveInvocation) -> None:
        self.config = config
        self.running = running
        self._recorded: Mapping[str, str] = {}
        self._reports: asyncio.Queue[tuple[dict[str, Any], asyncio.Future[Any] | None]] = asyncio.Queue()
        self._reply: asyncio.Future[Any] | None = None  # set once the last report is journaled
        self._task: asyncio.Task[None] | None = None
        self._is_idle = False
        self._is_over = False  # closed; another process may continue it
        self._ends: list[float] = []  # ends of the running sleeps, by the event loop's clock
        self._is_reported = asyncio.Event()  # set with each report
        self.breakers = InvocationBreakers(config.breakers, self._ask_breaker, self._send_breaker)

    async def report(self, recorded: Mapping[str, str], failed: int, answer: Any) -> bytes:
        """Return the function's next report as JSON text: a step, a question, progress, its end, or a pending retry.

        The previous report is journaled by now. recorded: results by step name. failed: attempts so far. answer: the
        answer to the previous report, if that was a question.
        """
        if self._task is None:
            self._recorded = dict(recorded)
            self._task = start_task(self._run(failed))
        if self._reply is not None and not self._reply.done():
            self._reply.set_result(answer)
        report, self._reply = await self._reports.get()
        return to_json({**report, "time": self.now().isoformat()}, inf_nan_mode="constants")

    async def rest(self, slept: Awaitable[None]) -> None:
        """Wait until the engine has slept, or the function reports something before that.

        Meanwhile the engine may end this invocation and repeat it elsewhere. If the function is not running, because
        this is a repeat, it starts at once: apart from this wait, its awaits are not recorded, and may end sooner.
        """
        if self._task is None or not self._reports.empty():
            return
        self._is_reported.clear()
        waits = sleeping, reporting = start_task(awaited(slept)), start_task(self._is_reported.wait())
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if sleeping.done():
                sleeping.result()  # raises the exception that ends the invocation
        finally:
            sleeping.cancel()
            reporting.cancel()
            await asyncio.wait(waits)  # no other code may read from the engine in the meantime

    async def take(self) -> None:
        """See Place."""
        self._is_idle = False

    def give_up(self) -> None:
        """See Place. The engine takes over the wait that ends first."""
        if not self._is_idle:
            self._is_idle = True
            asyncio.get_running_loop().call_soon(self._hand_over)

    def _hand_over(self) -> None:
        if self._is_idle and self._ends:
            rest_s = min(self._ends) - asyncio.get_running_loop().time()
            if rest_s >= self.config.terms.idle_s:
                self._put({"idle": rest_s}, None)

    def close(self) -> None:
        """End the function, without waiting for it. Its further requests are refused."""
        self._is_over = True
        if self._task is not None:
            self._task.cancel()

    def begin_again(self) -> None:
        """Accept the next report from another attempt."""
        self._task = self._reply = None

    @property
    def services(self) -> Any:
        """See InvokeHost."""
        return self.config.services

    def now(self) -> datetime:
        """See InvokeHost."""
        return self.config.now()

    async def sleep(self, seconds: float) -> None:
        """See InvokeHost."""
        ends = asyncio.get_running_loop().time() + seconds
        self._ends.append(ends)
        try:
            await asyncio.sleep(seconds)
        finally:
            self._ends.remove(ends)

    async def recorded(self, _invocation: Invocation) -> Mapping[str, str]:
        """See InvokeHost."""
        return self._recorded

    async def record(
        self, _invocation: Invocation, name: str, text: str, replaces: Sequence[str] = (), tells: Mail | None = None
    ) -> str:
        """See InvokeHost."""
        step = {"step": name, "result": text} | ({"replaces": list(replaces)} if replaces else {})
        await self._report_and_wait(step | _with_mail(tells))
        return text

    async def journal(self, invocation: Invocation, name: str) -> Mapping[str, str]:
        """See InvokeHost."""
        argument = {"journal": name, "of": invocation.agent_id}
        entries: Mapping[str, str] = await self._report_and_wait({"ask": "journal", "told": argument})
        return entries

    async def enter(self, record: JournalRecord) -> str:
        """See InvokeHost."""
        report = {"ask": "enter", "told": told_of(replaced(record, tells=None))}
        verdict, entry = await self._report_and_wait(report | _with_mail(record.tells))
        if verdict == Verdict.STALE:
            call = record.invocation
            raise InvocationOverError(call.agent_id, call.state, call.invoke)
        return str(entry)

    async def snapshot(self, invocation: Invocation) -> Snapshot:
        """See TransferHost."""
        answer = await self._report_and_wait({"ask": "look_next", "told": {}})
        snapshot: Snapshot | None = None if answer is None else SNAPSHOT.validate_python(answer["snapshot"])
        if snapshot is None:
            raise InvocationOverError(invocation.agent_id, invocation.state, invocation.invoke)
        check_not_over(snapshot, invocation)
        return snapshot

    async def answered(self, invocation: Invocation) -> Snapshot:
        """See TrailHost."""
        answer = await self._report_and_wait({"ask": "answered", "told": _named(invocation)})
        if "error" in answer:
            raise ErrorDocument.model_validate(answer["error"]).value()
        snapshot: Snapshot = SNAPSHOT.validate_python(answer["snapshot"])
        return snapshot

    def entry_point(self, graph: str, name: str) -> EntryPoint | None:
        """See TransferHost."""
        return self.config.registry.entry_point(graph, name)

    async def choose(self, invocation: Invocation, event: EventName, payload: Payload, event_id: str) -> Outcome:
        """See TransferHost."""
        argument = {"event": event, "payload": payload, "id": event_id, **_named(invocation)}
        answer = await self._report_and_wait({"ask": "choose", "told": argument})
        if "error" in answer:
            raise ErrorDocument.model_validate(answer["error"]).value()
        outcome: Outcome = OUTCOME.validate_python(answer["outcome"])
        return outcome

    async def progress(self, _invocation: Invocation, payload: Payload) -> None:
        """See InvokeHost."""
        await self._report_and_wait({"progress": payload})

    def publish(self, _invocation: Invocation, item: Any) -> None:
        """Drop the item: invokes cannot be watched here, see `capabilities`."""

    @property
    def gates(self) -> ToolGates:
        """See InvokeHost."""
        return self.config.gates

    async def within(
        self, seconds: float | None, function: Coroutine[Any, Any, T], idleness: Idleness | None = None
    ) -> T:
        """See InvokeHost."""
        try:
            async with asyncio.timeout(seconds) as timeout:
                if idleness is not None and seconds is not None:
                    idleness.limit = _LoopLimit(timeout)
                return await function
        except TimeoutError:
            if timeout.expired():
                raise TimeoutError(TOO_LONG) from None
            raise

    async def _report_and_wait(self, report: dict[str, Any]) -> Any:
        """Queue a report, and return the answer to it once it is journaled.

        Raises InvocationOverError if the session is closed: a function that caught its cancellation would never end.
        """
        if self._is_over:
            call = self.running.invocation
            raise InvocationOverError(call.agent_id, call.state, call.invoke)
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._put(report, reply)
        return await reply

    def _put(self, report: dict[str, Any], reply: asyncio.Future[Any] | None) -> None:
        self._reports.put_nowait((report, reply))
        self._is_reported.set()

    async def _ask_breaker(self, name: str, call: str, argument: Mapping[str, Any]) -> Any:
        return await self._report_and_wait({"ask": call, "breaker": name, "told": argument})

    def _send_breaker(self, name: str, call: str, argument: Mapping[str, Any]) -> None:
        self._put({"ask": call, "breaker": name, "told": argument}, None)

    async def _run(self, failed: int) -> None:
        self._put(await self._attempt(failed), None)

    async def _attempt(self, failed: int) -> dict[str, Any]:
        graph = self.config.registry.version(self.running.graph, self.running.graph_version)
        try:
            journal = InvokeJournal(self, self.running.invocation, dict(self._recorded), failed)
            result = await attempt(self, graph, self.running, journal, self)
        except InvocationOverError as error:  # raised by the function itself: the engine cancels ended invocations
            return {"error": failure_payload(error, failed + 1)}
        if isinstance(result, InvokeEnded):
            return {result.kind: result.payload}
        return {"again": result.attempts, "wait_s": result.wait_s}


def _named(invocation: Invocation) -> dict[str, Any]:
    """Return the fields that identify the asking invocation for the agent's object."""
    return {"state": invocation.state, "epoch": invocation.epoch, "invoke": invocation.invoke}


def _with_mail(mail: Mail | None) -> dict[str, Any]:
    """Return the fields of a report for mail to the agent, which the engine sends once the report is journaled."""
    return {} if mail is None else {"tells": plain(MAIL, mail)}


class _LoopLimit:
    """A time limit by the event loop's clock. Fulfils TimeLimit."""

    def __init__(self, timeout: asyncio.Timeout) -> None:
        self._timeout = timeout
        self._left_s: float | None = None  # while the limit is stopped

    def stop(self) -> None:
        """See TimeLimit."""
        ends = self._timeout.when()
        if ends is not None and not self._timeout.expired():
            self._left_s = ends - asyncio.get_running_loop().time()
            self._timeout.reschedule(None)

    def go_on(self) -> None:
        """See TimeLimit."""
        if self._left_s is not None:
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._left_s)
            self._left_s = None

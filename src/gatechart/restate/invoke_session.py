"""An invoked function in a process that serves the engine: what it asks becomes reports, journaled one by one."""

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

    As a Place it is the engine's: an idle function is waited for there.
    """

    def __init__(self, config: ServiceConfig, running: ActiveInvocation) -> None:
        self.config = config
        self.running = running
        self._recorded: Mapping[str, str] = {}
        self._reports: asyncio.Queue[tuple[dict[str, Any], asyncio.Future[Any] | None]] = asyncio.Queue()
        self._told: asyncio.Future[Any] | None = None  # resolved once the last report is journaled
        self._task: asyncio.Task[None] | None = None
        self._is_idle = False
        self._is_over = False  # closed; another process may go on with it
        self._ends: list[float] = []  # of the sleeps under way, by the event loop's clock
        self._is_reported = asyncio.Event()  # set with each report
        self.breakers = InvocationBreakers(config.breakers, self._ask_breaker, self._send_breaker)

    async def report(self, recorded: Mapping[str, str], failed: int, answer: Any) -> bytes:
        """Return the function's next report as JSON text: a step, a question, progress, its end, or a pending retry.

        The previous report is journaled by now. recorded: results by step name. failed: attempts so far. answer: to the
        previous report, if that was a question.
        """
        if self._task is None:
            self._recorded = dict(recorded)
            self._task = start_task(self._run(failed))
        if self._told is not None and not self._told.done():
            self._told.set_result(answer)
        report, self._told = await self._reports.get()
        return to_json({**report, "time": self.now().isoformat()}, inf_nan_mode="constants")

    async def rest(self, slept: Awaitable[None]) -> None:
        """Wait until the engine has slept, or the function reports something before that.

        Meanwhile the engine may end this invocation and repeat it elsewhere. Where the function is not running, because
        it is a repeat, it begins at once: what it awaits besides its wait is not recorded, and may end sooner.
        """
        if self._task is None or not self._reports.empty():
            return
        self._is_reported.clear()
        waits = sleeping, reporting = start_task(awaited(slept)), start_task(self._is_reported.wait())
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if sleeping.done():
                sleeping.result()  # raises what ends the invocation
        finally:
            sleeping.cancel()
            reporting.cancel()
            await asyncio.wait(waits)  # nothing else may read from the engine meanwhile

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
        """End the function, without waiting for it. What it still asks for is refused."""
        self._is_over = True
        if self._task is not None:
            self._task.cancel()

    def begin_again(self) -> None:
        """Take the next report from another attempt."""
        self._task = self._told = None

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
        await self._tell(step | _with_mail(tells))
        return text

    async def journal(self, invocation: Invocation, name: str) -> Mapping[str, str]:
        """See InvokeHost."""
        told = {"journal": name, "of": invocation.agent_id}
        entries: Mapping[str, str] = await self._tell({"ask": "journal", "told": told})
        return entries

    async def enter(self, record: JournalRecord) -> str:
        """See InvokeHost."""
        asked = {"ask": "enter", "told": told_of(replaced(record, tells=None))}
        verdict, entry = await self._tell(asked | _with_mail(record.tells))
        if verdict == Verdict.STALE:
            call = record.invocation
            raise InvocationOverError(call.agent_id, call.state, call.invoke)
        return str(entry)

    async def snapshot(self, invocation: Invocation) -> Snapshot:
        """See TransferHost."""
        told = await self._tell({"ask": "look_next", "told": {}})
        snapshot: Snapshot | None = None if told is None else SNAPSHOT.validate_python(told["snapshot"])
        if snapshot is None:
            raise InvocationOverError(invocation.agent_id, invocation.state, invocation.invoke)
        check_not_over(snapshot, invocation)
        return snapshot

    async def answered(self, invocation: Invocation) -> Snapshot:
        """See TrailHost."""
        answer = await self._tell({"ask": "answered", "told": _named(invocation)})
        if "error" in answer:
            raise ErrorDocument.model_validate(answer["error"]).value()
        snapshot: Snapshot = SNAPSHOT.validate_python(answer["snapshot"])
        return snapshot

    def entry_point(self, graph: str, name: str) -> EntryPoint | None:
        """See TransferHost."""
        return self.config.registry.entry_point(graph, name)

    async def choose(self, invocation: Invocation, event: EventName, payload: Payload, event_id: str) -> Outcome:
        """See TransferHost."""
        told = {"event": event, "payload": payload, "id": event_id, **_named(invocation)}
        answer = await self._tell({"ask": "choose", "told": told})
        if "error" in answer:
            raise ErrorDocument.model_validate(answer["error"]).value()
        outcome: Outcome = OUTCOME.validate_python(answer["outcome"])
        return outcome

    async def progress(self, _invocation: Invocation, payload: Payload) -> None:
        """See InvokeHost."""
        await self._tell({"progress": payload})

    def publish(self, _invocation: Invocation, item: Any) -> None:
        """Drop the item: nobody can watch an invoke here, see `capabilities`."""

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

    async def _tell(self, report: dict[str, Any]) -> Any:
        """Queue a report, and return the answer to it once it is journaled.

        Raises InvocationOverError if the session is closed: a function that caught its cancellation would wait forever.
        """
        if self._is_over:
            call = self.running.invocation
            raise InvocationOverError(call.agent_id, call.state, call.invoke)
        told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._put(report, told)
        return await told

    def _put(self, report: dict[str, Any], told: asyncio.Future[Any] | None) -> None:
        self._reports.put_nowait((report, told))
        self._is_reported.set()

    async def _ask_breaker(self, name: str, call: str, told: Mapping[str, Any]) -> Any:
        return await self._tell({"ask": call, "breaker": name, "told": told})

    def _send_breaker(self, name: str, call: str, told: Mapping[str, Any]) -> None:
        self._put({"ask": call, "breaker": name, "told": told}, None)

    async def _run(self, failed: int) -> None:
        self._put(await self._attempt(failed), None)

    async def _attempt(self, failed: int) -> dict[str, Any]:
        graph = self.config.registry.version(self.running.graph, self.running.graph_version)
        try:
            journal = InvokeJournal(self, self.running.invocation, dict(self._recorded), failed)
            result = await attempt(self, graph, self.running, journal, self)
        except (
            InvocationOverError
        ) as error:  # raised by the function itself: the engine cancels invocations that are over
            return {"error": failure_payload(error, failed + 1)}
        if isinstance(result, InvokeEnded):
            return {result.kind: result.payload}
        return {"again": result.attempts, "wait_s": result.wait_s}


def _named(invocation: Invocation) -> dict[str, Any]:
    """Return what tells the agent's object which of its invocations asks."""
    return {"state": invocation.state, "epoch": invocation.epoch, "invoke": invocation.invoke}


def _with_mail(mail: Mail | None) -> dict[str, Any]:
    """Return what a report says of mail to the agent, which the engine sends once the report is journaled."""
    return {} if mail is None else {"tells": plain(MAIL, mail)}


class _LoopLimit:
    """A time limit by the event loop's clock. Fulfils TimeLimit."""

    def __init__(self, timeout: asyncio.Timeout) -> None:
        self._timeout = timeout
        self._left_s: float | None = None  # while it stands still

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

"""Invokes of active states: started after the commit that entered the state, cancelled when the agent leaves it."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from gatechart.errors.operation import InvocationOverError, UnwritableError
from gatechart.graph.definition import EntryPoint
from gatechart.hosting.breakers import OwnBreakers
from gatechart.hosting.idleness import Idleness, SharedPlace
from gatechart.hosting.invoke_attempts import TOO_LONG, InvokeEnded, attempts, failure_payload
from gatechart.hosting.invoke_context import report_mail
from gatechart.hosting.invoke_host import check_not_over
from gatechart.hosting.registry import Registry
from gatechart.hosting.subscriptions import Feeds
from gatechart.hosting.tool_gates import ToolGates
from gatechart.runtime.core import Core, log_failure
from gatechart.runtime.live_agent import LiveAgent
from gatechart.values.agents import Event, Outcome, Snapshot
from gatechart.values.commits import InvokeReport, JournalRecord, StepRecord, Verdict
from gatechart.values.mail import ActiveInvocation, Invocation, Mail
from gatechart.values.names import AgentId, EventName, Payload, StateName

logger = logging.getLogger(__name__)

PAGE: Final = 1000

T = TypeVar("T")

StreamKey: TypeAlias = tuple[AgentId, str]  # an agent, and the id of one of its invokes


class Invokes:
    """Runs invocations, up to the limit at once. Results are mail to their agents. Fulfils InvokeHost."""

    def __init__(
        self,
        core: Core,
        registry: Registry,
        accept: Callable[[Mail], None],
        live: Callable[[AgentId], Awaitable[LiveAgent]],
    ) -> None:
        """Run the invocations of a runtime. accept: takes committed mail. live: returns an agent."""
        self._core = core
        self._registry = registry
        self._accept = accept
        self._live = live
        self._slots = asyncio.Semaphore(core.limits.invokes)
        self._tasks: defaultdict[AgentId, dict[Invocation, asyncio.Task[None]]] = defaultdict(dict)
        # invocations whose graph is not registered
        self._unhosted: defaultdict[AgentId, dict[Invocation, ActiveInvocation]] = defaultdict(dict)
        self.streams: Feeds[StreamKey, Any] = Feeds(core.limits.feed)
        self._loop = asyncio.get_running_loop()

    async def recover(self) -> None:
        """Restart the invocations that had not ended."""
        after = 0
        while page := await self._core.store.running(after=after, limit=PAGE):
            after = page[-1][0]
            for _, running in page:
                self.begin(running)

    def begin(self, running: ActiveInvocation, *, is_new: bool = False) -> None:
        """Start an invocation, unless its graph is not registered: then it waits for the graph, or for a migration.

        If this runtime is closing, or has no background work, the next one starts it. If it is running, it continues.
        is_new: whether a turn that was just committed starts it, so that it has not run anywhere.
        """
        call = running.invocation
        if not self._core.is_open or not self._core.attends or call in self._tasks.get(call.agent_id, ()):
            return
        if not self._registry.has(running.graph, running.graph_version):
            self._unhosted[call.agent_id][call] = running
            return
        task = self._core.attend(self._run(running, is_new=is_new), "run an invoke")
        self._tasks[call.agent_id][call] = task
        task.add_done_callback(partial(self._forget, call))

    @property
    def unhosted(self) -> tuple[AgentId, ...]:
        """The agents whose invocations wait for their graph."""
        return tuple(self._unhosted)

    def begin_unhosted(self) -> None:
        """Start the invocations that waited for a graph that is now registered."""
        waiting, self._unhosted = self._unhosted, defaultdict(dict)
        for calls in waiting.values():
            for running in calls.values():
                self.begin(running)

    def end(self, agent_id: AgentId, state: StateName | None = None) -> None:
        """Cancel the agent's invocations, of one state or all."""
        for call in (*self._tasks.get(agent_id, ()), *self._unhosted.get(agent_id, ())):
            if state in (None, call.state):
                self._cancel(call)

    def adopt(self, call: Invocation, running: ActiveInvocation | None) -> None:
        """Cancel an invocation, and start another in its place, if any."""
        self._cancel(call)
        if running is not None:
            self.begin(running)

    def _cancel(self, call: Invocation) -> None:
        waiting = self._unhosted.get(call.agent_id, {})
        if waiting.pop(call, None) is not None and not waiting:
            del self._unhosted[call.agent_id]
        task = self._tasks.get(call.agent_id, {}).pop(call, None)
        if task is not None:
            task.cancel()

    @property
    def services(self) -> Any:
        """See InvokeHost."""
        return self._core.services

    def now(self) -> datetime:
        """See InvokeHost."""
        return self._core.clock.now()

    async def sleep(self, seconds: float) -> None:
        """See InvokeHost."""
        await self._core.sleep(seconds)

    async def recorded(self, invocation: Invocation) -> Mapping[str, str]:
        """See InvokeHost."""
        return await self._core.ask(partial(self._core.store.steps, invocation))

    async def record(
        self, invocation: Invocation, name: str, text: str, replaces: Sequence[str] = (), tells: Mail | None = None
    ) -> str:
        """See InvokeHost."""
        record = StepRecord(invocation, name, text, tuple(replaces), tells)
        verdict = await self._core.persist_mail(record, self._accept)
        if verdict is Verdict.REPEATED:  # an earlier verdict was lost, or an earlier attempt is still running
            return (await self.recorded(invocation)).get(name, text)
        if verdict is not Verdict.COMMITTED:
            raise InvocationOverError(invocation.agent_id, invocation.state, invocation.invoke)
        return text

    async def journal(self, invocation: Invocation, name: str) -> Mapping[str, str]:
        """See InvokeHost."""
        return await self._core.ask(partial(self._core.store.journal, invocation.agent_id, name))

    async def enter(self, record: JournalRecord) -> str:
        """See InvokeHost."""
        call, verdict = record.invocation, await self._core.persist_mail(record, self._accept)
        if verdict is Verdict.REPEATED:  # as in `record`
            return (await self.journal(call, record.journal)).get(record.name, record.entry)
        if verdict is not Verdict.COMMITTED:
            raise InvocationOverError(call.agent_id, call.state, call.invoke)
        return record.entry

    async def progress(self, invocation: Invocation, payload: Payload) -> None:
        """See InvokeHost."""
        mail = report_mail(self.now(), invocation, "progress", payload)
        report = InvokeReport(invocation, mail, ends=False)
        if await self._core.persist_mail(report, self._accept) is not Verdict.COMMITTED:
            raise InvocationOverError(invocation.agent_id, invocation.state, invocation.invoke)

    async def snapshot(self, invocation: Invocation) -> Snapshot:
        """See TransferHost."""
        agent = await self._core.ask(partial(self._live, invocation.agent_id))
        check_not_over(agent.snapshot, invocation)
        return agent.snapshot

    async def answered(self, invocation: Invocation) -> Snapshot:
        """See TrailHost."""

        async def answered() -> Snapshot:
            return await (await self._live(invocation.agent_id)).answered(invocation)

        return await self._core.ask(answered)

    def entry_point(self, graph: str, name: str) -> EntryPoint | None:
        """See TransferHost."""
        return self._registry.entry_point(graph, name)

    async def choose(self, invocation: Invocation, event: EventName, payload: Payload, event_id: str) -> Outcome:
        """See TransferHost."""
        chosen = Event(event, payload, self.now(), event_id)

        async def choose() -> Outcome:
            return await (await self._live(invocation.agent_id)).choose(chosen, invocation)

        return await self._core.ask(choose)

    def publish(self, invocation: Invocation, item: Any) -> None:
        """See InvokeHost."""
        key = (invocation.agent_id, invocation.invoke)
        if _loop_here() is self._loop:
            self.streams.publish(key, item)
        else:
            with suppress(RuntimeError):  # the loop has ended, and all its subscribers with it
                self._loop.call_soon_threadsafe(self.streams.publish, key, item)

    @property
    def breakers(self) -> OwnBreakers:
        """See InvokeHost."""
        return self._core.breakers

    @property
    def gates(self) -> ToolGates:
        """See InvokeHost."""
        return self._core.gates

    async def within(
        self, seconds: float | None, function: Coroutine[Any, Any, T], idleness: Idleness | None = None
    ) -> T:
        """See InvokeHost. A cancelled invocation stays cancelled even if its function suppresses the cancellation."""
        try:
            return await (function if seconds is None else self._limited(seconds, function, idleness))
        finally:
            _end_if_cancelled()

    async def _run(self, running: ActiveInvocation, *, is_new: bool) -> None:
        call = running.invocation
        try:
            graph = self._registry.version(running.graph, running.graph_version)
            async with SharedPlace(self._slots) as slot:
                ended = await attempts(self, graph, running, slot, is_new=is_new)
            try:
                await self._report(call, ended)
            except UnwritableError as error:
                facts = {
                    "agent_id": call.agent_id,
                    "graph": running.graph,
                    "invoke": call.invoke,
                    "problem": str(error),
                }
                text = "a result cannot be stored: %(invoke)s of agent %(agent_id)s, graph %(graph)s: %(problem)s"
                logger.warning(text, facts, extra=facts)
                await self._report(call, InvokeEnded("error", failure_payload(error, 1)))
        except InvocationOverError:
            logger.debug("an invoke continued after its agent had left the state", extra={"agent_id": call.agent_id})

    async def _report(self, call: Invocation, ended: InvokeEnded) -> None:
        mail = report_mail(self.now(), call, ended.kind, ended.payload)
        await self._core.persist_mail(InvokeReport(call, mail, ends=True), self._accept)

    def _forget(self, call: Invocation, task: asyncio.Task[None]) -> None:
        tasks = self._tasks.get(call.agent_id, {})
        if tasks.get(call) is task:  # otherwise it was replaced, see `adopt`
            del tasks[call]
        if not tasks:
            self._tasks.pop(call.agent_id, None)
        if not any(other.invoke == call.invoke for other in tasks):
            self.streams.end((call.agent_id, call.invoke))

    async def _limited(self, seconds: float, work: Coroutine[Any, Any, T], idleness: Idleness | None) -> T:
        """Return the work's result. Work that continues after its cancellation is not awaited."""
        function, limit = self._core.attend(work), _ClockLimit(self._core, seconds)
        if idleness is not None:
            idleness.limit = limit
        try:
            await asyncio.wait((function, limit.ran_out), return_when=asyncio.FIRST_COMPLETED)
            if function.done():
                return function.result()
            raise TimeoutError(TOO_LONG)
        finally:
            if not function.done():
                function.add_done_callback(partial(log_failure, "end an invoke"))
            function.cancel()
            limit.end()


class _ClockLimit:
    """A time limit by the runtime's clock, running from the start. Fulfils TimeLimit."""

    def __init__(self, core: Core, seconds: float) -> None:
        self.ran_out: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._core = core
        self._left_s = seconds
        self._began = core.clock.now()
        self._timer: asyncio.Task[None] | None = None
        self.go_on()

    def go_on(self) -> None:
        """See TimeLimit."""
        if self._timer is None and not self.ran_out.done():
            self._began = self._core.clock.now()
            self._timer = self._core.alarm(self._left_s)
            self._timer.add_done_callback(self._expire)

    def stop(self) -> None:
        """See TimeLimit."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            passed_s = (self._core.clock.now() - self._began).total_seconds()
            self._left_s -= max(0.0, passed_s)  # the clock may have been set back

    def end(self) -> None:
        """Stop for good."""
        self.stop()
        self.ran_out.cancel()

    def _expire(self, timer: asyncio.Task[None]) -> None:
        if not timer.cancelled() and not self.ran_out.done():
            self.ran_out.set_result(None)


def _loop_here() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs in this thread."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _end_if_cancelled() -> None:
    """Raise CancelledError if the invocation itself is being cancelled, and not only a task that it awaited."""
    task = asyncio.current_task()
    if task is not None and task.cancelling() > 0:
        raise asyncio.CancelledError

"""The functions that active states invoke: begun after the commit that entered the state, ended by its exit."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Coroutine
from functools import partial
from inspect import isawaitable
from typing import Any, Final

from gatechart.context import read_only_context
from gatechart.errors import InvocationOverError, UnknownInvokeError, UnwritableError, contained, failure_in
from gatechart.graph import Invoke, StateTransitionGraph
from gatechart.hosting.registry import Registry
from gatechart.hosting.subscriptions import Feeds
from gatechart.runtime.core import Core, log_failure, traceback_of
from gatechart.runtime.invoke_context import StreamKey, Work, report_mail
from gatechart.turn import message_of, plain_payload
from gatechart.values import ActiveInvocation, AgentId, Invocation, Mail, Report, StateName

logger = logging.getLogger(__name__)

PAGE: Final = 1000


class Invokes:
    """Runs invocations, as many at once as the limits allow. What they come to is mail for their agents."""

    def __init__(self, core: Core, registry: Registry, accept: Callable[[Mail], None]) -> None:
        self._core = core
        self._registry = registry
        self._accept = accept
        self._slots = asyncio.Semaphore(core.limits.invokes)
        self._tasks: defaultdict[AgentId, dict[Invocation, asyncio.Task[None]]] = defaultdict(dict)
        # without their graphs
        self._unhosted: defaultdict[AgentId, dict[Invocation, ActiveInvocation]] = defaultdict(dict)
        self.streams: Feeds[StreamKey, Any] = Feeds(core.limits.feed)

    async def recover(self) -> None:
        """Begins again what had not ended."""
        after = 0
        while found := await self._core.store.running(after=after, limit=PAGE):
            after = found[-1][0]
            for _, running in found:
                self.begin(running)

    def begin(self, running: ActiveInvocation) -> None:
        """Begins an invocation, unless its graph is not registered: then it waits for that, or for its migration.

        Where the runtime closes, or attends to nothing, it waits for the next one; where it is under way, it goes on.
        """
        call = running.invocation
        if not self._core.is_open or not self._core.attends or call in self._tasks.get(call.agent_id, ()):
            return
        if not self._registry.has(running.graph, running.graph_version):
            self._unhosted[call.agent_id][call] = running
            return
        task = self._core.attend(self._run(running), "run an invoke")
        self._tasks[call.agent_id][call] = task
        task.add_done_callback(partial(self._forget, call))

    @property
    def unhosted(self) -> tuple[AgentId, ...]:
        """The agents whose invocations wait for their graph."""
        return tuple(self._unhosted)

    def begin_unhosted(self) -> None:
        """Begins what waited for a graph that is registered now."""
        waiting, self._unhosted = self._unhosted, defaultdict(dict)
        for calls in waiting.values():
            for running in calls.values():
                self.begin(running)

    def end(self, agent_id: AgentId, state: StateName | None = None) -> None:
        """Cancels the agent's invocations, those of a state or all."""
        for call in (*self._tasks.get(agent_id, ()), *self._unhosted.get(agent_id, ())):
            if state in (None, call.state):
                self._cancel(call)

    def adopt(self, call: Invocation, running: ActiveInvocation | None) -> None:
        """Cancels an invocation, and begins another in its place, if any."""
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

    async def _run(self, running: ActiveInvocation) -> None:
        call = running.invocation
        try:
            kind, payload = await self._outcome(running)
            try:
                await self._report(call, kind, payload)
            except UnwritableError as error:
                logger.warning("the result of an invoke cannot be kept", extra={"agent_id": call.agent_id})
                await self._report(call, "error", told_failure(error, 1))
        except InvocationOverError:
            logger.debug("an invoke went on after its state had been left", extra={"agent_id": call.agent_id})

    async def _report(self, call: Invocation, kind: str, payload: Any) -> None:
        mail = report_mail(self._core.clock.now(), call, kind, payload)
        await self._core.persist_mail(Report(call, mail, ends=True), self._accept)

    def _forget(self, call: Invocation, task: asyncio.Task[None]) -> None:
        tasks = self._tasks.get(call.agent_id, {})
        if tasks.get(call) is task:
            del tasks[call]
        if not tasks:
            self._tasks.pop(call.agent_id, None)
        if not any(other.invoke == call.invoke for other in tasks):
            self.streams.end((call.agent_id, call.invoke))

    async def _outcome(self, running: ActiveInvocation) -> tuple[str, Any]:
        """The kind and the payload of the event that tells how the invocation ended."""
        failed = 0
        while True:
            try:
                invoke = self._invoke(running)
                with contained():
                    async with self._slots:
                        result = await self._attempt(invoke, running)
                    return "done", plain_payload({"result": result}, f"done.invoke.{invoke.id}")
            except InvocationOverError:
                raise
            except UnknownInvokeError as error:
                return "error", told_failure(error, failed)
            except Exception as error:
                failed += 1
                wait_s = None if invoke.retry is None else invoke.retry.wait_s(failed)
                report = told_failure(error, failed)
                known = {"agent_id": running.invocation.agent_id, "invoke": invoke.id, "attempts": failed}
                logger.warning("an invoke failed: %s", report["traceback"], extra=known)
                if wait_s is None:
                    return "error", report
            await self._core.sleep(wait_s)

    async def _attempt(self, invoke: Invoke, running: ActiveInvocation) -> Any:
        """What the function returned. Raises what it raised; TimeoutError where it took too long.

        Once it has been cancelled, it counts for nothing whatever it makes of that.
        """
        call = running.invocation
        recorded = await self._core.ask(partial(self._core.store.steps, call))
        work = Work(self._core, call, recorded, self._accept, self.streams)
        context = read_only_context(self._graph(running).context, running.context)
        result = result_of(invoke, context, work)
        try:
            return await (result if invoke.timeout_s is None else self._within(invoke.timeout_s, result))
        finally:
            _end_if_cancelled()

    async def _within(self, seconds: float, work: Coroutine[Any, Any, Any]) -> Any:
        """The result of the work, which is not waited for if it goes on after its cancellation."""
        tasks = function, _ = self._core.attend(work), self._core.attend(self._core.sleep(seconds))
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if function.done():
                return function.result()
            raise TimeoutError("it took longer than its timeout_s")
        finally:
            if not function.done():
                function.add_done_callback(partial(log_failure, "end an invoke"))
            for task in tasks:
                task.cancel()

    def _graph(self, running: ActiveInvocation) -> StateTransitionGraph:
        return self._registry.version(running.graph, running.graph_version)

    def _invoke(self, running: ActiveInvocation) -> Invoke:
        call = running.invocation
        node = self._graph(running).nodes.get(call.state)
        for invoke in () if node is None else node.invokes:
            if invoke.id == call.invoke:
                return invoke
        raise UnknownInvokeError(running.graph, call.state, call.invoke)


def _end_if_cancelled() -> None:
    """Raises CancelledError where the invocation is being ended, rather than something that its function waited for."""
    task = asyncio.current_task()
    if task is not None and task.cancelling() > 0:
        raise asyncio.CancelledError


async def result_of(invoke: Invoke, context: Any, work: Work) -> Any:
    """What the function returned. It raises Exceptions alone, for its task may be one that nobody else looks at."""
    assert invoke.function is not None  # else it is an agent, which is no call
    with contained():
        result = invoke.function(context, work)
        return await result if isawaitable(result) else result


def told_failure(raised: Exception, attempts: int) -> dict[str, Any]:
    """What an agent is told of an invocation that failed."""
    error = failure_in(raised)
    message = message_of(error).encode(errors="replace").decode()
    return {"type": type(error).__name__, "message": message, "traceback": traceback_of(error), "attempts": attempts}

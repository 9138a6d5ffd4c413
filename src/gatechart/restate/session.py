"""An invoked function at work: what it reports, piece by piece, each written down before it goes on.

The function runs in a task of its own and never sees the engine. A repeat of the invocation begins it anew with the
results that were written down, by the names of their steps: it may take another way then than it did before.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic_core import to_json

from gatechart.context import read_only_context
from gatechart.errors import InvocationOverError, UnknownInvokeError, contained
from gatechart.graph import Invoke, StateTransitionGraph
from gatechart.restate.terms import Bench
from gatechart.runtime.invoke_context import Work
from gatechart.runtime.invokes import result_of, told_failure
from gatechart.turn import plain_payload
from gatechart.values import ActiveInvocation

logger = logging.getLogger(__name__)


class Session:
    """One invocation in this process."""

    def __init__(self, bench: Bench, running: ActiveInvocation) -> None:
        self.bench = bench
        self.running = running
        self._reports: asyncio.Queue[tuple[dict[str, Any], asyncio.Future[None] | None]] = asyncio.Queue()
        self._told: asyncio.Future[None] | None = None  # who waits for the report that was told last
        self._task: asyncio.Task[None] | None = None

    async def report(self, recorded: Mapping[str, str], failed: int) -> bytes:
        """What the function reports next, as JSON text: a step, progress, its end, or that it is to be tried again.

        The report before it is written down by now. recorded: results by steps' names. failed: attempts so far.
        """
        if self._task is None:
            self._task = asyncio.create_task(self._run(dict(recorded), failed))
        if self._told is not None and not self._told.done():
            self._told.set_result(None)
        report, self._told = await self._reports.get()
        return to_json({**report, "time": self.bench.now().isoformat()}, inf_nan_mode="constants")

    def close(self) -> None:
        """Ends the function, which is not waited for."""
        if self._task is not None:
            self._task.cancel()

    def begin_again(self) -> None:
        """Has the next report come from another attempt."""
        self._task = self._told = None

    async def tell(self, report: dict[str, Any]) -> None:
        """Returns once the report is written down."""
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reports.put_nowait((report, told))
        await told

    async def _run(self, recorded: dict[str, str], failed: int) -> None:
        self._reports.put_nowait((await self._attempt(recorded, failed), None))

    async def _attempt(self, recorded: dict[str, str], failed: int) -> dict[str, Any]:
        try:
            invoke = self._invoke()
        except UnknownInvokeError as error:
            return {"error": told_failure(error, failed)}
        work = SessionWork(self, recorded)
        try:
            with contained():
                context = read_only_context(self._graph().context, self.running.context)
                async with asyncio.timeout(invoke.timeout_s):
                    result = await result_of(invoke, context, work)
                return {"done": plain_payload({"result": result}, f"done.invoke.{invoke.id}")}
        except TimeoutError as error:
            late = TimeoutError("it took longer than its timeout_s") if not str(error) else error
            return self._failed(invoke, late, failed + 1)
        except Exception as error:
            return self._failed(invoke, error, failed + 1)

    def _failed(self, invoke: Invoke, error: Exception, failed: int) -> dict[str, Any]:
        wait_s = None if invoke.retry is None else invoke.retry.wait_s(failed)
        report = told_failure(error, failed)
        known = {"agent_id": self.running.invocation.agent_id, "invoke": invoke.id, "attempts": failed}
        if isinstance(error, InvocationOverError):
            return {"error": report}
        logger.warning("an invoke failed: %s", report["traceback"], extra=known)
        if wait_s is None:
            return {"error": report}
        return {"again": failed, "wait_s": wait_s}

    def _graph(self) -> StateTransitionGraph:
        return self.bench.registry.version(self.running.graph, self.running.graph_version)

    def _invoke(self) -> Invoke:
        call = self.running.invocation
        node = self._graph().nodes.get(call.state)
        for invoke in () if node is None else node.invokes:
            if invoke.id == call.invoke:
                return invoke
        raise UnknownInvokeError(self.running.graph, call.state, call.invoke)


class SessionWork(Work[Any]):
    """The tools of one invocation. What it records is in the engine's journal before it goes on."""

    def __init__(self, session: Session, recorded: Mapping[str, str]) -> None:
        self._session = session
        self._invocation = session.running.invocation
        self._recorded = recorded
        self._names = set()

    @property
    def services(self) -> Any:
        """What the service was given as services."""
        return self._session.bench.services

    @property
    def now(self) -> datetime:
        """See Work.now."""
        return self._session.bench.now()

    async def sleep(self, seconds: float) -> None:
        """See Work.sleep."""
        await asyncio.sleep(seconds)

    async def progress(self, payload: Any = None) -> None:
        """See Work.progress."""
        await self._session.tell({"progress": plain_payload(payload, "progress")})

    def publish(self, item: Any) -> None:
        """Nobody can watch an invoke here, see `capabilities`: the item is dropped."""

    async def _record(self, name: str, text: str) -> str:
        await self._session.tell({"step": name, "result": text})
        return text

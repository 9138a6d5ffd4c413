"""Run one attempt at an invocation, on any runtime, and the loop of attempts for runtimes without an engine."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping
from datetime import datetime
from inspect import isawaitable
from typing import Any, Final, Literal

from gatechart.context import read_only_context
from gatechart.errors.definition import UnknownInvokeError
from gatechart.errors.failures import contained, failure_in, message_of
from gatechart.errors.operation import BreakerOpenError, InvocationOverError
from gatechart.errors.root import GatechartError
from gatechart.errors.tools import ToolFailedError
from gatechart.graph.definition import Invoke
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.durable_waits import Waits
from gatechart.hosting.idleness import Idleness, Place
from gatechart.hosting.invoke_context import Work
from gatechart.hosting.invoke_host import InvokeHost
from gatechart.hosting.invoke_journal import InvokeJournal
from gatechart.hosting.invoke_trail import TrailDesk
from gatechart.turn.arguments import plain_payload
from gatechart.values.frozen import value
from gatechart.values.mail import ActiveInvocation, Invocation
from gatechart.values.names import Payload

logger = logging.getLogger(__name__)

_FAILED: Final = (
    "an invoke failed: %(invoke)s in %(state)s of agent %(agent_id)s, graph %(graph)s, "
    "attempt %(attempts)d: %(problem)s"
)
TOO_LONG: Final = "it took longer than its timeout_s"


@value
class InvokeEnded:
    """The end of an invocation: the agent receives `<kind>.invoke.<id>` with the payload."""

    kind: Literal["done", "error"]
    payload: Mapping[str, Any]


@value
class InvokeFailed:
    """A failed attempt; the next one follows after a wait."""

    attempts: int  # so far
    wait_s: float


async def attempts(
    host: InvokeHost, graph: AnyGraph, running: ActiveInvocation, place: Place, *, is_new: bool
) -> InvokeEnded:
    """Run the invoked function until the invocation has ended. The attempts of earlier processes count.

    place: held by the caller, and given up while the invocation waits. is_new: whether this is the first attempt, so
    that nothing is recorded. Raises InvocationOverError if the state has been left.
    """
    call, failed = running.invocation, 0
    recorded: dict[str, str] = {}
    if not is_new:
        try:
            recorded.update(await host.recorded(call))
        except Exception as error:  # unreadable records; the agent must still get an end
            return InvokeEnded("error", failure_payload(error, 1))
        failed = await _waits_between(host, call, recorded, place).attempts()
    while True:
        result = await attempt(host, graph, running, InvokeJournal(host, call, recorded, failed), place)
        if isinstance(result, InvokeEnded):
            return result
        failed = result.attempts
        await _waits_between(host, call, recorded, place).before_next_attempt(failed, result.wait_s)


def _waits_between(host: InvokeHost, call: Invocation, recorded: dict[str, str], place: Place) -> Waits:
    """Return the waits between attempts, while no function is running."""
    return Waits(host, InvokeJournal(host, call, recorded), Idleness(place))


async def attempt(
    host: InvokeHost,
    graph: AnyGraph,
    running: ActiveInvocation,
    journal: InvokeJournal,
    place: Place | None = None,
) -> InvokeEnded | InvokeFailed:
    """Run the invoked function once, for the attempt of the journal.

    place: given up while the function only waits. Raises InvocationOverError if the state has been left.
    """
    idleness, failed = Idleness(place), journal.attempt
    try:
        invoke = _declared_invoke(graph, running)
    except UnknownInvokeError as error:
        return InvokeEnded("error", failure_payload(error, failed))
    try:
        with contained():
            context = read_only_context(graph.context, running.context)
            trail = TrailDesk(host, journal, idleness, graph, context) if graph.has_signals else None
            work = Work(host, journal, idleness, graph, trail)
            result = await host.within(invoke.timeout_s, result_of(invoke, context, work), idleness)
            return InvokeEnded("done", plain_payload({"result": result}, f"done.invoke.{invoke.id}"))
    except InvocationOverError:
        raise
    except Exception as error:
        return _after_failure(invoke, running, error, journal, host.now())
    finally:
        idleness.end()


def _after_failure(
    invoke: Invoke, running: ActiveInvocation, error: Exception, journal: InvokeJournal, now: datetime
) -> InvokeEnded | InvokeFailed:
    failed = journal.attempt + 1
    payload = failure_payload(error, failed)
    _log_failure(running, payload)
    draw = journal.draw(f"attempt {failed}")
    wait_s = None if invoke.retry is None else invoke.retry.wait_s(failed, draw)
    if wait_s is None:
        return InvokeEnded("error", payload)
    return InvokeFailed(failed, wait_s + _refused_s(error, now))


def _refused_s(error: Exception, now: datetime) -> float:
    """Return the seconds until the circuit breaker that refused a call allows one; 0 if no breaker refused it."""
    retry_at = error.retry_at if isinstance(error, BreakerOpenError | ToolFailedError) else None
    return 0.0 if retry_at is None else max((retry_at - now).total_seconds(), 0.0)


def _log_failure(running: ActiveInvocation, payload: Payload) -> None:
    """Log the first failure with its traceback, and each repeated failure in one line with the number of failures."""
    call, attempts = running.invocation, payload["attempts"]
    problem = f"{payload['type']}: {payload['message']}" if attempts > 1 else payload["traceback"]
    facts = {"agent_id": call.agent_id, "graph": running.graph, "state": call.state, "invoke": call.invoke}
    facts |= {"attempts": attempts, "problem": problem}
    logger.warning(_FAILED, facts, extra=facts)


def _declared_invoke(graph: AnyGraph, running: ActiveInvocation) -> Invoke:
    call = running.invocation
    node = graph.nodes.get(call.state)
    for invoke in () if node is None else node.invokes:
        if invoke.id == call.invoke:
            return invoke
    raise UnknownInvokeError(running.graph, call.state, call.invoke)


async def result_of(invoke: Invoke, context: Any, work: Work) -> Any:
    """Return the function's result. Raises only Exceptions, because no caller handles others from its task."""
    assert invoke.function is not None  # an invoke without a function delegates to an agent and is never called
    with contained():
        result = invoke.function(context, work)
        return await result if isawaitable(result) else result


def failure_payload(raised: Exception, attempts: int) -> Payload:
    """Return the payload of a failed invocation for its agent, with the reported fields of its error."""
    error = failure_in(raised)
    facts = {name: getattr(error, name) for name in error.reported} if isinstance(error, GatechartError) else {}
    return {
        **facts,
        "type": type(error).__name__,
        "message": message_of(error),
        "traceback": traceback_of(error),
        "attempts": attempts,
    }


def traceback_of(error: BaseException) -> str:
    """Format the exception as Python prints it, with only characters that all stores and streams accept."""
    return "".join(traceback.format_exception(error)).encode(errors="replace").decode()

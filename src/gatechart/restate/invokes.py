"""The service that runs invokes, each in an invocation of the engine that can be cancelled.

The function runs in its own task and never sees the engine. Its reports are journaled one by one, each before the
function continues. If the invocation is repeated, the function restarts with the journaled results, by step name. It
may then take another path.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from pydantic_core import to_json
from restate import Context, Service, TerminalError
from restate.exceptions import RetryableError

from gatechart.hosting.durable_waits import attempts_before
from gatechart.hosting.invoke_context import report_mail
from gatechart.restate.auxiliary_objects import AS_BYTES, patience
from gatechart.restate.invoke_session import Session
from gatechart.restate.state import MAIL, RUNNING, plain
from gatechart.restate.terms import ServiceConfig
from gatechart.values.commits import Verdict

logger = logging.getLogger(__name__)


def invokes_service(config: ServiceConfig) -> Service:
    """Build the service; each of its invocations runs one invoke."""
    invokes = Service(config.names.invokes, **patience(config.terms.invoke_s))

    @invokes.handler("run")
    async def run(ctx: Context, argument: dict[str, Any]) -> None:
        steps, running = argument.pop("steps", {}), RUNNING.validate_python(argument)
        if not config.registry.has(running.graph, running.graph_version):
            again = timedelta(seconds=config.terms.look_again_s)
            raise RetryableError(
                f"graph {running.graph!r} {running.graph_version!r} is not registered with this service",
                retry_after=again,
            )
        session = Session(config, running)
        try:
            await _conduct(ctx, session, steps)
        except TerminalError:  # the agent left the state
            logger.debug("an invoke was cancelled", extra={"agent_id": running.invocation.agent_id})
            raise
        finally:
            session.close()

    return invokes


async def _conduct(ctx: Context, session: Session, steps: Mapping[str, str]) -> None:
    """Journal the function's reports one at a time. Reports that are already journaled are not requested again.

    steps: those recorded before the agent moved here.
    """
    recorded = dict(steps)
    failed, rest_s = attempts_before(recorded, session.now())
    if failed:
        await ctx.sleep(timedelta(seconds=rest_s))
    name, answer = session.running.invocation.invoke, None
    while True:
        written = await ctx.run_typed(name, partial(session.report, dict(recorded), failed, answer), AS_BYTES)
        report, answer = json.loads(bytes(written)), None
        if "step" in report:
            note_step(recorded, report)
            _send_mail_of(ctx, session, report)
        elif "ask" in report:
            answer = await answer_of(ctx, session, report)
        elif "idle" in report:
            await session.rest(ctx.sleep(timedelta(seconds=report["idle"])))
        elif "again" in report:
            failed = report["again"]
            session.begin_again()
            await ctx.sleep(timedelta(seconds=report["wait_s"]))
        else:
            kind = next(kind for kind in ("progress", "done", "error") if kind in report)
            post_report(ctx, session, kind, report)
            if kind != "progress":
                return


def note_step(recorded: dict[str, str], report: Mapping[str, Any]) -> None:
    """Add a reported step to the recorded ones, in place of the steps that it replaces."""
    for replaced_step in report.get("replaces", ()):
        recorded.pop(replaced_step, None)
    recorded[report["step"]] = report["result"]


async def answer_of(ctx: Context, session: Session, report: Mapping[str, Any]) -> Any:
    """Return the answer of the agent's object about a journal or a choice, or the answer of a breaker's object."""
    names, argument = session.config.names, to_json(report["told"], inf_nan_mode="constants")
    target = names.agent, session.running.invocation.agent_id
    if "breaker" in report:
        target = names.breakers, report["breaker"]
    answer = json.loads(await ctx.generic_call(target[0], report["ask"], argument, target[1]))
    if report["ask"] == "enter" and answer[0] == Verdict.COMMITTED:
        _send_mail_of(ctx, session, report)
    return answer


def _send_mail_of(ctx: Context, session: Session, report: Mapping[str, Any]) -> None:
    """Send the agent the mail of a record, if any. It is delivered even after the agent has left the state."""
    if "tells" in report:
        argument = to_json({"mail": report["tells"]}, inf_nan_mode="constants")
        ctx.generic_send(session.config.names.agent, "deliver", argument, session.running.invocation.agent_id)


def post_report(ctx: Context, session: Session, kind: str, report: dict[str, Any]) -> None:
    """Send the agent a report of its invocation; it counts only while the state is active."""
    call = session.running.invocation
    mail = report_mail(datetime.fromisoformat(report["time"]), call, kind, report[kind])
    argument = {"mail": plain(MAIL, mail), "engine_id": ctx.request().id, "ends": kind != "progress"}
    ctx.generic_send(session.config.names.agent, "deliver", to_json(argument, inf_nan_mode="constants"), call.agent_id)

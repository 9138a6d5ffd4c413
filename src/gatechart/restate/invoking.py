"""The service that runs invokes, each in an invocation of the engine that can be cancelled."""

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

from gatechart.hosting.invoke_context import report_mail
from gatechart.restate.options import AS_BYTES, patience
from gatechart.restate.session import Session
from gatechart.restate.state import MAIL, RUNNING, plain
from gatechart.restate.terms import ServiceConfig

logger = logging.getLogger(__name__)


def invokes_service(config: ServiceConfig) -> Service:
    """Build the service; each of its invocations runs one invoke."""
    invokes = Service(config.names.invokes, **patience(config.terms.invoke_s))

    @invokes.handler("run")
    async def run(ctx: Context, told: dict[str, Any]) -> None:
        steps, running = told.pop("steps", {}), RUNNING.validate_python(told)
        if not config.registry.has(running.graph, running.graph_version):
            again = timedelta(seconds=config.terms.look_again_s)
            raise RetryableError(f"graph {running.graph!r} {running.graph_version!r} is not known", retry_after=again)
        session = Session(config, running)
        try:
            await _conducted(ctx, session, steps)
        except TerminalError:  # the state was left
            logger.debug("an invoke was cancelled", extra={"agent_id": running.invocation.agent_id})
            raise
        finally:
            session.close()

    return invokes


async def _conducted(ctx: Context, session: Session, steps: Mapping[str, str]) -> None:
    """Journal what the function reports, one report at a time. Journaled reports are not asked for again.

    steps: those recorded before the agent moved here.
    """
    recorded = dict(steps)
    failed, name = 0, session.running.invocation.invoke
    while True:
        written = await ctx.run_typed(name, partial(session.report, dict(recorded), failed), AS_BYTES)
        report = json.loads(bytes(written))
        if "step" in report:
            recorded[report["step"]] = report["result"]
        elif "again" in report:
            failed = report["again"]
            session.begin_again()
            await ctx.sleep(timedelta(seconds=report["wait_s"]))
        else:
            kind = next(kind for kind in ("progress", "done", "error") if kind in report)
            _post(ctx, session, kind, report)
            if kind != "progress":
                return


def _post(ctx: Context, session: Session, kind: str, report: dict[str, Any]) -> None:
    """Send the agent a report of its invocation; it counts only while the state lasts."""
    call = session.running.invocation
    mail = report_mail(datetime.fromisoformat(report["time"]), call, kind, report[kind])
    told = {"mail": plain(MAIL, mail), "engine_id": ctx.request().id, "ends": kind != "progress"}
    ctx.generic_send(session.config.names.agent, "deliver", to_json(told, inf_nan_mode="constants"), call.agent_id)

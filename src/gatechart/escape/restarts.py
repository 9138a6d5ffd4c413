"""Restarts of a stuck agent that the watchdog requests. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from gatechart.escape.attempts import Tactic, last_resort, nearest_plan
from gatechart.escape.scene import Scene
from gatechart.escape.strategies import Restart
from gatechart.values.agents import Event
from gatechart.values.escapes import Escapes, SignalFinding
from gatechart.values.findings import FOUND
from gatechart.values.framework import WATCHDOG_AGENT
from gatechart.values.handoffs import Reason
from gatechart.values.names import Payload
from gatechart.values.signal_reports import signal_report


def asked_restart(found: Payload, at: Mapping[str, str]) -> Payload:
    """Return the payload of the watchdog's request for a restart.

    found: the document of its finding. at: entry points by graph; agents of other graphs restart where they started.
    """
    evidence = {"detector": "Watchdog", "text": found["text"], **found["evidence"]}
    return {
        "signal": f"{FOUND}{found['kind']}",
        "reason": Reason.OTHER.value,
        "evidence": [evidence],
        "others": [],
        "at": dict(at),
    }


def finding_asked(escapes: Escapes, version: int, event: Event) -> SignalFinding | None:
    """Return the finding of the mail that requests an escape; None if the agent no longer needs one.

    The watchdog asks again only after its own finding has ceased, so each request is a new finding. An agent that has
    had a turn since the watchdog found it stuck, or that is undoing calls for an escape, is left alone. version: the
    agent's current version.
    """
    request = event.payload
    if event.sender != WATCHDOG_AGENT:
        return escapes.finding(request["finding"])
    report = signal_report(request)
    if escapes.undoing or report.evidence[0].version not in (0, version):
        return None
    return SignalFinding(escapes.findings + 1, report.signal, is_due=True)


def restart_tactic(scene: Scene) -> Tactic | None:
    """Return the tactic for a request of the watchdog, within the limits of the agent's plan; None for other signals.

    If the agent cannot restart, nothing follows, unless its calls have been undone: then a plan's last resort follows.
    """
    if not scene.finding.signal.startswith(FOUND):
        return None
    restart = Restart((scene.report.at or {}).get(scene.graph.name, ""))
    return Tactic(nearest_plan(scene), (restart,), last_resort(scene))

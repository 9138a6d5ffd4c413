"""What is done where somebody outside has an agent begin anew: the watchdog, which found it standing still. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from gatechart.escape.attempts import Tactic, last_resort, nearest_plan
from gatechart.escape.scene import Scene
from gatechart.escape.strategies import Restart
from gatechart.values import FOUND, WATCHDOG_AGENT, Escapes, Event, Finding, Payload, Reason


def asked_restart(found: Payload, at: Mapping[str, str]) -> Payload:
    """Return the payload by which the watchdog asks for a restart.

    found: the document of its finding. at: entry points by graph; others begin where they began.
    """
    evidence = {"detector": "Watchdog", "text": found["text"], **found["evidence"]}
    return {
        "signal": f"{FOUND}{found['kind']}",
        "reason": Reason.OTHER.value,
        "evidence": [evidence],
        "others": [],
        "at": dict(at),
    }


def finding_asked(escapes: Escapes, version: int, event: Event) -> Finding | None:
    """Return what an agent is to get out of, by the mail that asks for a way; None if it needs none any more.

    The watchdog does not ask again until its own finding has ceased, so each time is a new one. An agent that has had a
    turn since it was found to stand still, or that is on its way out, is left alone. version: of the agent.
    """
    told = event.payload
    if event.sender != WATCHDOG_AGENT:
        return escapes.finding(told["finding"])
    if escapes.undoing or told["evidence"][0].get("version", version) != version:
        return None
    return Finding(escapes.findings + 1, told["signal"], is_due=True)


def restart_tactic(scene: Scene) -> Tactic | None:
    """Return what is tried where the watchdog asks, within the limits of the agent's plan; None for other signals.

    Nothing follows if the agent cannot begin anew, but where its calls have been taken back: then a plan's last
    resort does.
    """
    if not scene.finding.signal.startswith(FOUND):
        return None
    again = Restart(scene.evidence.get("at", {}).get(scene.graph.name, ""))
    return Tactic(nearest_plan(scene), (again,), last_resort(scene))

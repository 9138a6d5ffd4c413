"""The watchdog's graph. Its only agent stores the findings, so that the watchdog handles each of them once."""

from __future__ import annotations

from typing import Any, Final

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from gatechart.context import AgentContext
from gatechart.escape.restarts import asked_restart
from gatechart.graph.definition import EntryPoint, Transition
from gatechart.graph.events import EventType
from gatechart.graph.graph import AnyGraph, FrameworkGraph
from gatechart.turn.alerts import alert_effects
from gatechart.turn.turn_context import Turn, log_of
from gatechart.values.agents import Event
from gatechart.values.alerts import AlertMessage, Severity
from gatechart.values.effects import Send
from gatechart.values.escapes import ESCAPE_DUE
from gatechart.values.findings import FOUND, FindingKind, has_lasted
from gatechart.values.framework import WATCHDOG_GRAPH
from gatechart.values.names import FRAMEWORK, AgentId, Payload
from gatechart.watchdog.home import Watchdog
from gatechart.watchdog.terms import Act

LOOKED, ACTED = f"{FRAMEWORK}looked", f"{FRAMEWORK}acted"
MOST_OPEN: Final = 500  # stored findings; if there are more, the worst ones


class OpenFinding(BaseModel):
    """A finding that the latest check still found."""

    model_config = ConfigDict(frozen=True)

    found: dict[str, Any]  # `HealthFinding.document` of the check that found it first
    number: int  # the version of the watchdog's agent that recorded it
    is_acted_on: bool = False

    def lasts(self, evidence: Payload | None) -> bool:
        """Return whether the finding persists, given the evidence of a later finding with its key."""
        return has_lasted(self.found["evidence"], evidence)


class FindingPayload(BaseModel):
    """The fields of `HealthFinding.document`, and whether to report the finding to its agent."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    key: str
    agent_id: AgentId
    tells: bool
    kind: FindingKind
    subject: str
    severity: Severity
    since: AwareDatetime | None
    graph: str
    text: str
    evidence: dict[str, Any]
    remedy: str


class LookedPayload(BaseModel):
    """All findings of one check."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    found: list[FindingPayload]


class ActedPayload(BaseModel):
    """Keys of findings that the watchdog has handled."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    keys: list[str]


class WatchdogContext(AgentContext):
    """The watchdog's open findings and totals."""

    open: dict[str, OpenFinding] = Field(default_factory=dict)  # by key
    total: int = 0  # findings so far
    ceased: int = 0


def watchdog_graph(watchdog: Watchdog) -> AnyGraph:
    """Return the graph whose agent stores findings, and reports new ones to agents and sinks."""
    notes = _Notes(watchdog)
    return FrameworkGraph(
        WATCHDOG_GRAPH,
        context=WatchdogContext,
        states=["WATCHING"],
        transitions=[
            Transition("WATCHING", LOOKED, actions=notes.take),
            Transition("WATCHING", ACTED, actions=notes.note_acts),
        ],
        entry_points=[EntryPoint("WATCHING")],
        events=[EventType(LOOKED, takes=LookedPayload), EventType(ACTED, takes=ActedPayload)],
        events_closed=True,
    )


class _Notes:
    def __init__(self, watchdog: Watchdog) -> None:
        self._watchdog = watchdog

    def take(self, context: WatchdogContext, event: Event, turn: Turn) -> None:
        """Store the findings of a check, and report the new ones."""
        current = {finding["key"]: finding for finding in event.payload["found"][:MOST_OPEN]}
        kept = {key: old for key, old in context.open.items() if key in current and old.lasts(current[key]["evidence"])}
        new = {key: finding for key, finding in current.items() if key not in kept}
        context.total += len(new)
        context.ceased += len(context.open) - len(kept)
        context.open = kept | {key: OpenFinding(found=finding, number=turn.version) for key, finding in new.items()}
        for key, finding in new.items():
            number = f"{key}:{turn.version}"
            if finding["tells"]:
                payload = {name: finding[name] for name in ("text", "since", "evidence", "remedy")}
                name = f"{FOUND}{finding['kind']}"
                log_of(turn).asked.append(Send(finding["subject"], name, payload, f"watchdog:{number}"))
            for sink in self._watchdog.sinks:
                log_of(turn).asked.extend(alert_effects(sink, _alert(number, finding, turn)))

    def note_acts(self, context: WatchdogContext, event: Event, turn: Turn) -> None:
        """Mark findings as handled, and request restarts of their agents where the watchdog is configured to."""
        handled = {key: context.open[key] for key in event.payload["keys"] if key in context.open}
        marked = {key: finding.model_copy(update={"is_acted_on": True}) for key, finding in handled.items()}
        context.open = context.open | marked
        for key, finding in handled.items():
            document = finding.found
            if Act.RESTART in self._watchdog.acts_on(document["kind"]):
                request = asked_restart(document, self._watchdog.restart_at)
                event_id = f"watchdog:{key}:{finding.number}:restart"
                log_of(turn).asked.append(Send(document["agent_id"], ESCAPE_DUE, request, event_id))


def _alert(number: str, finding: dict[str, Any], turn: Turn) -> AlertMessage:
    return AlertMessage(
        id=f"watchdog:{number}",
        kind=finding["kind"],
        title=f"{finding['subject']}: {finding['text']}",
        at=turn.now,
        severity=Severity(finding["severity"]),
        agent_id=finding["agent_id"],
        graph=finding["graph"],
        details={name: finding[name] for name in ("subject", "since", "evidence", "remedy")},
    )

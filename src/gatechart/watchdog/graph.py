"""The graph of the watchdog: its one agent keeps what is found, so that each finding is acted on once."""

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
MOST_OPEN: Final = 500  # findings that are kept; of more, the worst


class OpenFinding(BaseModel):
    """A finding that lasts."""

    model_config = ConfigDict(frozen=True)

    found: dict[str, Any]  # as `HealthFinding.document` has it, when it was found first
    number: int  # the version of the agent in which it was
    is_acted_on: bool = False

    def lasts(self, evidence: Payload | None) -> bool:
        """Tell whether it is found still, by the evidence of a later finding with its key."""
        return has_lasted(self.found["evidence"], evidence)


class FindingPayload(BaseModel):
    """A finding as `HealthFinding.document` has it, and whether to report it to the agent that it is about."""

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
    """All findings of one look."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    found: list[FindingPayload]


class ActedPayload(BaseModel):
    """Keys of findings that were acted on."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    keys: list[str]


class WatchdogContext(AgentContext):
    """What the watchdog keeps."""

    open: dict[str, OpenFinding] = Field(default_factory=dict)  # by key
    total: int = 0  # findings so far
    ceased: int = 0


def watchdog_graph(watchdog: Watchdog) -> AnyGraph:
    """Return the graph whose agent keeps findings, and tells agents and sinks of new ones."""
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
        """Keep what was found, and tell of what is new."""
        found = {each["key"]: each for each in event.payload["found"][:MOST_OPEN]}
        kept = {key: each for key, each in context.open.items() if key in found and each.lasts(found[key]["evidence"])}
        new = {key: each for key, each in found.items() if key not in kept}
        context.total += len(new)
        context.ceased += len(context.open) - len(kept)
        context.open = kept | {key: OpenFinding(found=each, number=turn.version) for key, each in new.items()}
        for key, each in new.items():
            number = f"{key}:{turn.version}"
            if each["tells"]:
                told = {name: each[name] for name in ("text", "since", "evidence", "remedy")}
                log_of(turn).asked.append(Send(each["subject"], f"{FOUND}{each['kind']}", told, f"watchdog:{number}"))
            for sink in self._watchdog.sinks:
                log_of(turn).asked.extend(alert_effects(sink, _alert(number, each, turn)))

    def note_acts(self, context: WatchdogContext, event: Event, turn: Turn) -> None:
        """Keep which findings were acted on, and ask their agents to begin anew, if that is to be done."""
        done = {key: context.open[key] for key in event.payload["keys"] if key in context.open}
        context.open = context.open | {key: each.model_copy(update={"is_acted_on": True}) for key, each in done.items()}
        for key, each in done.items():
            found = each.found
            if Act.RESTART in self._watchdog.acts_on(found["kind"]):
                asked = asked_restart(found, self._watchdog.restart_at)
                event_id = f"watchdog:{key}:{each.number}:restart"
                log_of(turn).asked.append(Send(found["agent_id"], ESCAPE_DUE, asked, event_id))


def _alert(number: str, found: dict[str, Any], turn: Turn) -> AlertMessage:
    return AlertMessage(
        id=f"watchdog:{number}",
        kind=found["kind"],
        title=f"{found['subject']}: {found['text']}",
        at=turn.now,
        severity=Severity(found["severity"]),
        agent_id=found["agent_id"],
        graph=found["graph"],
        details={name: found[name] for name in ("subject", "since", "evidence", "remedy")},
    )

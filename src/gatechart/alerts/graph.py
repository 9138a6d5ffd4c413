"""The graph of alerts: for each sink an agent, which delivers what it is told of."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, Final

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter

from gatechart.alerts.sinks import Alerts
from gatechart.context import AgentContext
from gatechart.errors.event import AgentExistsError
from gatechart.graph.definition import ANY, EntryPoint, Invoke, State, Transition
from gatechart.graph.events import EventType
from gatechart.graph.graph import AnyGraph, FrameworkGraph
from gatechart.hosting.invoke_context import Work
from gatechart.hosting.own_agents import OwnAgents
from gatechart.turn.alerts import sink_agent
from gatechart.turn.turn_context import Turn, told
from gatechart.values.agents import Event
from gatechart.values.alerts import ALERT, AlertMessage, Severity
from gatechart.values.delays import Retry
from gatechart.values.framework import ALERTS_GRAPH
from gatechart.values.names import AgentId

logger = logging.getLogger(__name__)

MOST_PENDING: Final = 200  # alerts that a sink keeps until they are delivered; of more, the newest are dropped
MOST_AT_ONCE: Final = 20  # delivered by one invocation
MOST_GIVEN_UP: Final = 50  # remembered one by one
_RETRY: Final = "RETRY"
_TIMER: Final = "retry"  # its key
_ALERT: Final = TypeAdapter(AlertMessage)


class SinkTerms(BaseModel):
    """Which sink an agent delivers to."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    sink: str


class AlertPayload(BaseModel):
    """An alert as an event carries it: an `AlertMessage` as JSON values."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    id: str = Field(min_length=1)
    kind: str
    title: str
    at: AwareDatetime
    severity: Severity
    agent_id: AgentId = ""
    graph: str = ""
    details: dict[str, Any] = Field(default_factory=dict)


class Pending(BaseModel):
    """An alert that is not delivered yet."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    alert: dict[str, Any]
    since: datetime
    attempts: int = 0
    due: datetime | None = None  # when it is tried again; None: at once
    problem: str = ""


class GivenUp(BaseModel):
    """An alert that nobody got."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    id: str
    title: str
    at: datetime
    attempts: int
    problem: str


class SinkContext(AgentContext):
    """What the agent of a sink keeps."""

    model_config = ConfigDict(defer_build=True)

    sink: str
    pending: list[Pending] = Field(default_factory=list)  # the oldest first
    sending: list[str] = Field(default_factory=list)  # ids of those that are being delivered
    delivered: int = 0
    lost: int = 0  # given up, or dropped because too many were pending
    given_up: list[GivenUp] = Field(default_factory=list)  # the newest last


def alerts_graph(alerts: Alerts) -> AnyGraph:
    """Return the graph whose agents deliver alerts to these sinks."""
    courier = _Courier(alerts)
    return FrameworkGraph(
        ALERTS_GRAPH,
        context=SinkContext,
        states=[
            State("IDLE"),
            State("DELIVERING", invoke=Invoke(courier.deliver, retry=Retry(attempts=3))),
            State("DELIVERED", description="what came of it decides what is next"),
            State("WAITING", description="before another attempt"),
        ],
        transitions=[
            Transition("IDLE", ALERT, "DELIVERING", actions=[_add, _pick]),
            Transition("WAITING", ALERT, "DELIVERING", actions=[_add, _pick]),
            Transition("WAITING", _RETRY, "DELIVERING", actions=_pick),
            Transition("DELIVERING", ALERT, actions=_add),
            Transition("DELIVERING", "done.invoke.deliver", "DELIVERED", actions=courier.note),
            Transition("DELIVERING", "error.invoke.deliver", "DELIVERED", actions=courier.note_error),
            Transition("DELIVERED", None, "DELIVERING", guard=_has_more),
            Transition("DELIVERED", None, "WAITING", guard=_has_pending, actions=_set_timer),
            Transition("DELIVERED", None, "IDLE"),
            Transition(ANY, _RETRY),  # it was set before a newer alert
        ],
        entry_points=[EntryPoint("IDLE", takes=SinkTerms)],
        events=[EventType(ALERT, takes=AlertPayload), _RETRY],
        events_closed=True,
    )


async def begin_sinks(own: OwnAgents, alerts: Alerts) -> None:
    """Start the agent of each sink that has none yet."""
    for sink in alerts:
        with suppress(AgentExistsError):
            await own.start(ALERTS_GRAPH, at="IDLE", payload=SinkTerms(sink=sink), agent_id=sink_agent(sink))


def _add(context: SinkContext, event: Event) -> None:
    if len(context.pending) >= MOST_PENDING:
        context.lost += 1
        return
    context.pending = [*context.pending, Pending(alert=dict(event.payload), since=event.time)]


def _pick(context: SinkContext, event: Event) -> None:
    due = [each.alert["id"] for each in context.pending if each.due is None or each.due <= event.time]
    context.sending = due[:MOST_AT_ONCE]


def _has_more(context: SinkContext, _event: Event) -> bool:
    return bool(context.sending)


def _has_pending(context: SinkContext, _event: Event) -> bool:
    return bool(context.pending)


def _set_timer(context: SinkContext, _event: Event, turn: Turn) -> None:
    due = min(each.due or turn.now for each in context.pending)
    turn.after(max(due - turn.now, timedelta(0)), _RETRY, key=_TIMER)


class _Courier:
    """Delivers for the agents, and notes in their turns what came of it."""

    def __init__(self, alerts: Alerts) -> None:
        self._alerts = alerts

    async def deliver(self, context: SinkContext, work: Work) -> dict[str, str]:
        """Try each alert that is due, and return by id what went wrong; nothing for one that was delivered."""
        due = [each.alert for each in context.pending if each.alert["id"] in context.sending]
        problems = await asyncio.gather(
            *(work.step(f"deliver {alert['id']}", self._try, context.sink, alert) for alert in due)
        )
        return dict(zip((alert["id"] for alert in due), problems, strict=True))

    async def _try(self, sink: str, alert: dict[str, Any]) -> str:
        found = self._alerts.sink(sink)
        if found is None:
            return f"no sink {sink!r} is configured"
        try:
            await found.deliver(_ALERT.validate_python(alert))
        except Exception as error:
            return told(error)
        return ""

    def note(self, context: SinkContext, event: Event) -> None:
        """Keep what is to be tried again."""
        self._settle(context, event.payload["result"], event.time)

    def note_error(self, context: SinkContext, event: Event) -> None:
        """Take a failure of the whole invocation for one of each alert."""
        problem = f"{event.payload['type']}: {event.payload['message']}"
        self._settle(context, dict.fromkeys(context.sending, problem), event.time)

    def _settle(self, context: SinkContext, problems: dict[str, str], now: datetime) -> None:
        kept: list[Pending] = []
        for each in context.pending:
            problem = problems.get(each.alert["id"])
            if problem is None:
                kept.append(each)
            elif not problem:
                context.delivered += 1
            elif (now - each.since).total_seconds() >= self._alerts.give_up_s:
                self._give_up(context, each, problem, now)
            else:
                kept.append(self._later(each, problem, now))
        context.pending = kept
        context.sending = [each.alert["id"] for each in kept if each.due is None or each.due <= now][:MOST_AT_ONCE]

    def _later(self, each: Pending, problem: str, now: datetime) -> Pending:
        wait_s = self._alerts.retry.wait_s(each.attempts + 1) or 0.0
        due = now + timedelta(seconds=wait_s)
        return each.model_copy(update={"attempts": each.attempts + 1, "due": due, "problem": problem})

    def _give_up(self, context: SinkContext, each: Pending, problem: str, now: datetime) -> None:
        facts = {"sink": context.sink, "alert": each.alert["id"], "problem": problem}
        logger.error("alert %(alert)s is given up, sink %(sink)s did not take it: %(problem)s", facts, extra=facts)
        context.lost += 1
        lost = GivenUp(
            id=each.alert["id"], title=each.alert["title"], at=now, attempts=each.attempts + 1, problem=problem
        )
        context.given_up = [*context.given_up, lost][-MOST_GIVEN_UP:]

"""The graph of alerts: an agent for each sink, which delivers the alerts sent to it."""

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

MOST_PENDING: Final = 200  # undelivered alerts of a sink; further alerts are dropped
MOST_AT_ONCE: Final = 20  # alerts that one invocation delivers
MOST_GIVEN_UP: Final = 50  # abandoned alerts in the context, the newest
_RETRY: Final = "RETRY"
_TIMER: Final = "retry"  # key of the timer
_ALERT: Final = TypeAdapter(AlertMessage)


class SinkTerms(BaseModel):
    """The sink of an agent."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    sink: str


class AlertPayload(BaseModel):
    """The payload of an alert event: an `AlertMessage` as JSON values."""

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
    """An alert that has not been delivered yet."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    alert: dict[str, Any]
    since: datetime
    attempts: int = 0
    due: datetime | None = None  # time of the next attempt; None: at once
    problem: str = ""


class GivenUp(BaseModel):
    """An alert whose delivery was abandoned."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    id: str
    title: str
    at: datetime
    attempts: int
    problem: str


class SinkContext(AgentContext):
    """The context of the agent of a sink."""

    model_config = ConfigDict(defer_build=True)

    sink: str
    pending: list[Pending] = Field(default_factory=list)  # the oldest first
    sending: list[str] = Field(default_factory=list)  # ids of the alerts in delivery
    delivered: int = 0
    lost: int = 0  # abandoned, or dropped because too many were pending
    given_up: list[GivenUp] = Field(default_factory=list)  # the newest last


def alerts_graph(alerts: Alerts) -> AnyGraph:
    """Return the graph of the agents that deliver alerts to these sinks."""
    courier = _Courier(alerts)
    return FrameworkGraph(
        ALERTS_GRAPH,
        context=SinkContext,
        states=[
            State("IDLE"),
            State("DELIVERING", invoke=Invoke(courier.deliver, retry=Retry(attempts=3))),
            State("DELIVERED", description="the result of the delivery decides the next state"),
            State("WAITING", description="until the next attempt"),
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
            Transition(ANY, _RETRY),  # from a timer that was set before a newer alert
        ],
        entry_points=[EntryPoint("IDLE", takes=SinkTerms)],
        events=[EventType(ALERT, takes=AlertPayload), _RETRY],
        events_closed=True,
    )


async def begin_sinks(own: OwnAgents, alerts: Alerts) -> None:
    """Start the agents of the sinks that do not have one yet."""
    for sink in alerts:
        with suppress(AgentExistsError):
            await own.start(ALERTS_GRAPH, at="IDLE", payload=SinkTerms(sink=sink), agent_id=sink_agent(sink))


def _add(context: SinkContext, event: Event) -> None:
    if len(context.pending) >= MOST_PENDING:
        context.lost += 1
        return
    context.pending = [*context.pending, Pending(alert=dict(event.payload), since=event.time)]


def _pick(context: SinkContext, event: Event) -> None:
    context.sending = _due_ids(context.pending, event.time)


def _due_ids(pending: list[Pending], now: datetime) -> list[str]:
    return [item.alert["id"] for item in pending if item.due is None or item.due <= now][:MOST_AT_ONCE]


def _has_more(context: SinkContext, _event: Event) -> bool:
    return bool(context.sending)


def _has_pending(context: SinkContext, _event: Event) -> bool:
    return bool(context.pending)


def _set_timer(context: SinkContext, _event: Event, turn: Turn) -> None:
    due = min(item.due or turn.now for item in context.pending)
    turn.after(max(due - turn.now, timedelta(0)), _RETRY, key=_TIMER)


class _Courier:
    """Delivers alerts for the agents, and records the results in their turns."""

    def __init__(self, alerts: Alerts) -> None:
        self._alerts = alerts

    async def deliver(self, context: SinkContext, work: Work) -> dict[str, str]:
        """Try to deliver the alerts that are due, and return their problems by id; an empty text means delivered."""
        due = [item.alert for item in context.pending if item.alert["id"] in context.sending]
        problems = await asyncio.gather(
            *(work.step(f"deliver {alert['id']}", self._try, context.sink, alert) for alert in due)
        )
        return dict(zip((alert["id"] for alert in due), problems, strict=True))

    async def _try(self, sink: str, alert: dict[str, Any]) -> str:
        destination = self._alerts.sink(sink)
        if destination is None:
            return f"no sink {sink!r} is configured"
        try:
            await destination.deliver(_ALERT.validate_python(alert))
        except Exception as error:
            return told(error)
        return ""

    def note(self, context: SinkContext, event: Event) -> None:
        """Record the results of an invocation, and keep the failed alerts for the next attempt."""
        self._settle(context, event.payload["result"], event.time)

    def note_error(self, context: SinkContext, event: Event) -> None:
        """Treat a failed invocation as a failure of each of its alerts."""
        problem = f"{event.payload['type']}: {event.payload['message']}"
        self._settle(context, dict.fromkeys(context.sending, problem), event.time)

    def _settle(self, context: SinkContext, problems: dict[str, str], now: datetime) -> None:
        kept: list[Pending] = []
        for item in context.pending:
            problem = problems.get(item.alert["id"])
            if problem is None:
                kept.append(item)
            elif not problem:
                context.delivered += 1
            elif (now - item.since).total_seconds() >= self._alerts.give_up_s:
                self._give_up(context, item, problem, now)
            else:
                kept.append(self._retry_later(item, problem, now))
        context.pending = kept
        context.sending = _due_ids(kept, now)

    def _retry_later(self, item: Pending, problem: str, now: datetime) -> Pending:
        wait_s = self._alerts.retry.wait_s(item.attempts + 1) or 0.0
        due = now + timedelta(seconds=wait_s)
        return item.model_copy(update={"attempts": item.attempts + 1, "due": due, "problem": problem})

    def _give_up(self, context: SinkContext, item: Pending, problem: str, now: datetime) -> None:
        facts = {"sink": context.sink, "alert": item.alert["id"], "problem": problem}
        logger.error("gave up on alert %(alert)s: sink %(sink)s did not accept it: %(problem)s", facts, extra=facts)
        context.lost += 1
        lost = GivenUp(
            id=item.alert["id"], title=item.alert["title"], at=now, attempts=item.attempts + 1, problem=problem
        )
        context.given_up = [*context.given_up, lost][-MOST_GIVEN_UP:]

"""The graph of schedules: each is an agent with a timer, whose invokes start other agents on its home."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from gatechart.api.home import AgentHome
from gatechart.context import AgentContext
from gatechart.errors.event import ActionFailedError, UnknownAgentError
from gatechart.errors.root import EventError
from gatechart.graph.definition import ANY, EntryPoint, Invoke, State, Transition
from gatechart.graph.events import EventType
from gatechart.graph.graph import AnyGraph, FrameworkGraph
from gatechart.hosting.invoke_context import Work
from gatechart.hosting.own_agents import NoPayload
from gatechart.turn.turn_context import Turn
from gatechart.values.agents import Event, Snapshot, Status
from gatechart.values.delays import Retry
from gatechart.values.framework import SCHEDULE_GRAPH
from gatechart.values.names import FRAMEWORK, AgentId
from gatechart.values.recurrence import Every, Missed
from gatechart.values.schedules import MOST_RUNNING, SHORTEST_PERIOD_S, Overlap, Schedule, is_too_short

logger = logging.getLogger(__name__)

_NOT_STARTED: Final = "schedule %(schedule)s could not start an agent of graph %(graph)s: %(problem)s"
RUN, PAUSE = f"{FRAMEWORK}run", f"{FRAMEWORK}pause"
RESUME, CHANGE = f"{FRAMEWORK}resume", f"{FRAMEWORK}change"
DUE: Final = "DUE"  # event of the timer
_SLOWED: Final = "its period of {} is too short; it starts an agent every {}"
TIMER: Final = "next"  # the key of the timer
_FIRST_LOOK_S: Final = 0.5
_LONGEST_LOOK_S: Final = 10.0
MOST_TOLD: Final = 10  # agents that a schedule remembers


class Terms(BaseModel):
    """What a schedule starts, and when."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    graph: str
    at: str
    payload: dict[str, Any] | None = None
    period: str | None = None
    cron: str = ""
    zone: str = "UTC"
    missed: Missed = "one"
    overlap: Overlap = Overlap.SKIP
    most_running: int = MOST_RUNNING

    @property
    def every(self) -> Every:
        """When it starts agents."""
        period = f"{SHORTEST_PERIOD_S * 1000:g}ms" if self.is_slowed else self.period
        return Every(period, self.cron, self.zone, self.missed)

    @property
    def is_slowed(self) -> bool:
        """Whether an earlier release accepted a period that is too short."""
        return is_too_short(self.period)


class ScheduleContext(AgentContext):
    """What a schedule knows."""

    terms: Terms
    next: datetime | None = None  # None while it is paused
    due: datetime | None = None  # the moment for which an agent is being started
    last: datetime | None = None
    started: list[AgentId] = Field(default_factory=list)  # the newest last
    running: list[AgentId] = Field(default_factory=list)  # with Overlap.START: agents that may still live
    skipped: int = 0
    problem: str = ""


def schedule_of(snapshot: Snapshot) -> Schedule:
    """Return what the agent of a schedule tells."""
    context = ScheduleContext.model_validate(snapshot.context)
    terms = context.terms
    return Schedule(
        agent_id=snapshot.agent_id,
        name=terms.name,
        graph=terms.graph,
        at=terms.at,
        payload=terms.payload,
        every=terms.every,
        overlap=terms.overlap,
        next=context.next,
        last=context.last,
        started=tuple(context.started),
        skipped=context.skipped,
        problem=context.problem or (_SLOWED.format(terms.period, terms.every.text) if terms.is_slowed else ""),
        most_running=terms.most_running,
    )


def id_at(name: str, due: datetime) -> AgentId:
    """Return the id of the agent that a schedule starts for a moment.

    >>> id_at("nightly", datetime(2026, 3, 29, 1, tzinfo=UTC))
    'nightly@2026-03-29T01:00:00Z'
    """
    return f"{name}@{due.astimezone(UTC).isoformat().replace('+00:00', 'Z')}"


def schedule_graph(home: AgentHome) -> AnyGraph:
    """Return the graph whose agents start others on this home."""
    starter = _Starter(home)
    return FrameworkGraph(
        SCHEDULE_GRAPH,
        context=ScheduleContext,
        states=[
            State("MADE"),
            State("WAITING", description="until the next moment"),
            State("PAUSED"),
            State("STARTING", invoke=Invoke(starter.start, retry=Retry(attempts=10)), defer=[DUE, RUN]),
            State("BEHIND", invoke=Invoke(starter.wait, retry=Retry(attempts=10)), description="one is to be started"),
        ],
        transitions=[
            Transition("MADE", None, "WAITING", actions=_plan),
            Transition("WAITING", DUE, "STARTING", guard=_is_made_up_for, actions=[_take_due, _plan_following]),
            Transition("WAITING", DUE, guard=_is_next, actions=_plan_following),
            Transition("WAITING", RUN, "STARTING", actions=_take_now),
            Transition("WAITING", PAUSE, "PAUSED", actions=_unplan),
            Transition("PAUSED", RESUME, "WAITING", actions=_plan),
            Transition("PAUSED", RUN, "STARTING", actions=_take_now),
            Transition("STARTING", "done.invoke.start", "BEHIND", guard=_is_behind),
            Transition("STARTING", "done.invoke.start", "PAUSED", guard=_is_paused, actions=_note),
            Transition("STARTING", "done.invoke.start", "WAITING", actions=_note),
            Transition("STARTING", "error.invoke.start", "PAUSED", guard=_is_paused, actions=_note_error),
            Transition("STARTING", "error.invoke.start", "WAITING", actions=_note_error),
            Transition("BEHIND", DUE, guard=_is_next, actions=[_pass_over, _plan_following]),
            Transition("BEHIND", RUN, actions=_pass_over),
            Transition("BEHIND", PAUSE, "PAUSED", actions=[_pass_over, _unplan]),
            Transition("BEHIND", "done.invoke.wait", "STARTING"),
            Transition("BEHIND", "error.invoke.wait", "STARTING"),
            Transition(ANY, PAUSE, guard=_is_planned, actions=_unplan),
            Transition(ANY, RESUME, guard=_is_paused, actions=_plan),
            Transition(ANY, CHANGE, actions=_change),
            Transition(ANY, RESUME, actions=_set_timer),  # a rollback has dropped it
            Transition(ANY, DUE),  # it was set before a change, and deferred
        ],
        entry_points=[EntryPoint("MADE", takes=Terms, maps=lambda terms: {"terms": terms})],
        events=[
            *(EventType(each, takes=NoPayload) for each in (RUN, PAUSE, RESUME)),
            EventType(CHANGE, takes=Terms),
            DUE,
        ],
        events_closed=True,
    )


def _is_next(context: ScheduleContext, event: Event) -> bool:
    return context.next is not None and event.payload.get("due") == context.next.isoformat()


def _is_made_up_for(context: ScheduleContext, event: Event) -> bool:
    due = context.next
    return due is not None and _is_next(context, event) and not context.terms.every.is_skipped(due, event.time)


def _is_planned(context: ScheduleContext, _event: Event) -> bool:
    return context.next is not None


def _is_paused(context: ScheduleContext, _event: Event) -> bool:
    return context.next is None


def _is_behind(context: ScheduleContext, event: Event) -> bool:
    return "behind" in event.payload["result"] and _is_planned(context, event)  # while it is paused, none is queued


def _plan(context: ScheduleContext, event: Event, turn: Turn) -> None:
    context.next = context.terms.every.next_after(turn.now)
    _set_timer(context, event, turn)


def _plan_following(context: ScheduleContext, event: Event, turn: Turn) -> None:
    if context.next is not None:
        context.next = context.terms.every.following(context.next, turn.now)
        _set_timer(context, event, turn)


def _set_timer(context: ScheduleContext, _event: Event, turn: Turn) -> None:
    if context.next is not None:
        delay = max(context.next - turn.now, timedelta(0))
        turn.after(delay, DUE, {"due": context.next.isoformat()}, key=TIMER)


def _unplan(context: ScheduleContext, _event: Event, turn: Turn) -> None:
    context.next = None
    turn.cancel(TIMER)


def _take_due(context: ScheduleContext, _event: Event) -> None:
    context.due = context.last = context.next


def _take_now(context: ScheduleContext, _event: Event, turn: Turn) -> None:
    context.due = context.last = turn.now


def _pass_over(context: ScheduleContext, event: Event) -> None:
    context.skipped += 1
    if event.name == DUE:
        context.last = context.next


def _note(context: ScheduleContext, event: Event) -> None:
    result = event.payload["result"]
    if "started" in result:
        context.started = [*context.started, result["started"]][-MOST_TOLD:]
        if context.terms.overlap is Overlap.START:
            context.running = [*result.get("running", context.running), result["started"]]
    context.skipped += "skipped" in result or "behind" in result
    context.problem = result.get("problem", "")


def _note_error(context: ScheduleContext, event: Event) -> None:
    context.problem = f"{event.payload['type']}: {event.payload['message']}"


def _change(context: ScheduleContext, event: Event, turn: Turn) -> None:
    before, context.terms = context.terms, Terms.model_validate(event.payload)
    if context.next is not None and context.terms.every != before.every:
        _plan(context, event, turn)


class _Starter:
    """What the invokes do on a home."""

    def __init__(self, home: AgentHome) -> None:
        self._home = home

    async def start(self, context: ScheduleContext, _work: Work) -> dict[str, Any]:
        """Start an agent for the moment that is due, unless the overlap policy says otherwise."""
        terms, due = context.terms, context.due
        assert due is not None  # each transition to STARTING sets it
        if terms.overlap is not Overlap.START and context.started and await self._lives(context.started[-1]):
            return {"behind" if terms.overlap is Overlap.QUEUE_ONE else "skipped": context.started[-1]}
        running = await self._running(context)
        if terms.overlap is Overlap.START and len(running) >= terms.most_running:
            return {"skipped": running[-1]}
        agent_id = id_at(terms.name, due)
        try:
            await self._home.start(terms.graph, at=terms.at, payload=terms.payload, idempotency_key=agent_id)
        except ActionFailedError:  # may go well another time
            raise
        except EventError as error:
            facts = {"schedule": terms.name, "graph": terms.graph, "problem": str(error)}
            logger.warning(_NOT_STARTED, facts, extra=facts)
            return {"problem": str(error)}
        return {"started": agent_id} | ({"running": running} if running != context.running else {})

    async def _running(self, context: ScheduleContext) -> list[AgentId]:
        """Return the agents that may still live. It looks at them only if they are as many as may."""
        if len(context.running) < context.terms.most_running:
            return context.running
        return [each for each in context.running if await self._lives(each)]

    async def wait(self, context: ScheduleContext, work: Work) -> None:
        """Wait until the agent started last has ended, or is erased.

        It looks again and again, by the clock: a host that runs until only the clock is waited for can then end.
        """
        wait_s = _FIRST_LOOK_S
        while await self._lives(context.started[-1]):
            await work.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_LOOK_S)

    async def _lives(self, agent_id: AgentId) -> bool:
        try:
            return (await self._home.read(agent_id)).status is Status.ACTIVE
        except UnknownAgentError:
            return False

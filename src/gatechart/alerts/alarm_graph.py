"""Alarms: each is an agent that tells others of it in its first turn, and then has ended."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from gatechart.api.alarms import AlarmCommand
from gatechart.api.home import AgentHome
from gatechart.context import AgentContext, canonical_json
from gatechart.errors.event import AgentExistsError, EventIdReusedError, PayloadError, UnknownAgentError
from gatechart.graph.definition import EntryPoint, State
from gatechart.graph.graph import AnyGraph, FrameworkGraph
from gatechart.hosting.own_agents import OwnAgents, check_own
from gatechart.turn.turn_context import Turn, log_of
from gatechart.values.agents import Event, Snapshot, Status
from gatechart.values.alarms import ALARM, ALARM_NAME, WATCHDOG_NAME, RaisedAlarm
from gatechart.values.effects import Send
from gatechart.values.framework import (
    ALARM_AGENT,
    ALARM_GRAPH,
    check_not_framework,
)
from gatechart.values.names import AgentId

_DIGEST: Final = 32  # hexadecimal digits
_NAMES: Final = "words of letters, digits, _ and -, with dots between, and not watchdog first"


class AlarmTerms(BaseModel):
    """An alarm, and who hears of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    payload: dict[str, Any] = Field(default_factory=dict)
    recipients: list[AgentId]
    asked: str  # digest of what was asked, by which a repeat is recognised


class AlarmContext(AgentContext):
    """What the agent of an alarm keeps."""

    terms: AlarmTerms


def alarm_graph() -> AnyGraph:
    """Return the graph whose agents are alarms."""
    return FrameworkGraph(
        ALARM_GRAPH,
        context=AlarmContext,
        states=[State("RAISED", final=True, on_entry=_tell)],
        entry_points=[EntryPoint("RAISED", takes=AlarmTerms, maps=lambda terms: {"terms": terms})],
    )


def _tell(context: AlarmContext, _event: Event, turn: Turn) -> None:
    """Tell all who are to hear of it: in the commit with which the alarm is accepted, or not at all."""
    terms = context.terms
    told = [Send(each, f"{ALARM}{terms.name}", terms.payload, turn.agent_id) for each in terms.recipients]
    log_of(turn).asked.extend(told)


async def alarmed(home: AgentHome, own: OwnAgents, command: AlarmCommand) -> RaisedAlarm:
    """Execute the command. Raises as `AgentHome.alarm` does."""
    _check(command)
    agent_id = f"{ALARM_AGENT}{command.alarm_id}"
    asked = _digest(command)
    try:
        return _raised_before(await home.read(agent_id), command, asked)
    except UnknownAgentError:
        pass
    recipients = await _recipients(home, command)
    terms = AlarmTerms(name=command.name, payload=command.payload or {}, recipients=recipients, asked=asked)
    try:
        await own.start(ALARM_GRAPH, at="RAISED", payload=terms, agent_id=agent_id)
    except AgentExistsError:  # the same alarm, raised twice at once
        return _raised_before(await home.read(agent_id), command, asked)
    return RaisedAlarm(command.alarm_id, f"{ALARM}{command.name}", tuple(recipients))


def _check(command: AlarmCommand) -> None:
    if not re.fullmatch(ALARM_NAME, command.name) or re.match(WATCHDOG_NAME, command.name):
        raise PayloadError("an alarm", (f"its name is {command.name!r}",), _NAMES)
    if bool(command.to) is (command.graph is not None):
        raise PayloadError("an alarm", ("who hears of it is not said, or twice",), "`to`, or `graph` with `where`")
    check_not_framework(*command.to, graph=command.graph or "")


def _digest(command: AlarmCommand) -> str:
    told = command.model_dump(mode="json", exclude={"verb", "alarm_id"})
    return sha256(canonical_json(told).encode()).hexdigest()[:_DIGEST]


def _raised_before(snapshot: Snapshot, command: AlarmCommand, asked: str) -> RaisedAlarm:
    """Return the alarm that was raised under this id.

    Raises EventIdReusedError if it was another one, and AgentExistsError if an application's agent has the id.
    """
    check_own(snapshot)
    terms = AlarmContext.model_validate(snapshot.context).terms
    if terms.asked != asked:
        raise EventIdReusedError(snapshot.agent_id, command.alarm_id, terms.name)
    return RaisedAlarm(command.alarm_id, f"{ALARM}{terms.name}", tuple(terms.recipients), repeat=True)


async def _recipients(home: AgentHome, command: AlarmCommand) -> list[AgentId]:
    """Return the agents that get an alarm. If there are too many, none does."""
    if command.graph is None:
        for agent_id in command.to:
            await home.read(agent_id)  # raises UnknownAgentError
        return list(dict.fromkeys(command.to))
    page = await home.find(graph=command.graph, where=command.where or {}, status=Status.ACTIVE, limit=command.most + 1)
    if len(page.agents) > command.most:
        raise PayloadError(
            "an alarm", (f"more than {command.most} agents match",), "a narrower `where`, or a larger `most`"
        )
    return [each.agent_id for each in page.agents]

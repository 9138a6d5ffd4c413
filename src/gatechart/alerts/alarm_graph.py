"""Alarms: an alarm is an agent whose only turn sends the alarm event to its recipients, and ends the agent."""

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
_VALID_NAMES: Final = "words of letters, digits, _ and -, separated by dots; the first word is not watchdog"


class AlarmTerms(BaseModel):
    """An alarm and its recipients."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    payload: dict[str, Any] = Field(default_factory=dict)
    recipients: list[AgentId]
    asked: str  # digest of the command, to recognise a repeat


class AlarmContext(AgentContext):
    """The context of the agent of an alarm."""

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
    """Send the alarm to all recipients, in the commit that accepts it, so that either all or none get it."""
    terms = context.terms
    sends = [Send(agent_id, f"{ALARM}{terms.name}", terms.payload, turn.agent_id) for agent_id in terms.recipients]
    log_of(turn).asked.extend(sends)


async def alarmed(home: AgentHome, own: OwnAgents, command: AlarmCommand) -> RaisedAlarm:
    """Execute the command. Raises as `AgentHome.alarm` does."""
    _check(command)
    agent_id = f"{ALARM_AGENT}{command.alarm_id}"
    digest = _digest(command)
    try:
        return _repeated_alarm(await home.read(agent_id), command, digest)
    except UnknownAgentError:
        pass
    recipients = await _recipients(home, command)
    terms = AlarmTerms(name=command.name, payload=command.payload or {}, recipients=recipients, asked=digest)
    try:
        await own.start(ALARM_GRAPH, at="RAISED", payload=terms, agent_id=agent_id)
    except AgentExistsError:  # the same alarm, raised twice at once
        return _repeated_alarm(await home.read(agent_id), command, digest)
    return RaisedAlarm(command.alarm_id, f"{ALARM}{command.name}", tuple(recipients))


def _check(command: AlarmCommand) -> None:
    if not re.fullmatch(ALARM_NAME, command.name) or re.match(WATCHDOG_NAME, command.name):
        raise PayloadError("an alarm", (f"its name is {command.name!r}",), _VALID_NAMES)
    if bool(command.to) is (command.graph is not None):
        raise PayloadError(
            "an alarm", ("it has no recipients, or both `to` and `graph`",), "`to`, or `graph` with `where`"
        )
    check_not_framework(*command.to, graph=command.graph or "")


def _digest(command: AlarmCommand) -> str:
    fields = command.model_dump(mode="json", exclude={"verb", "alarm_id"})
    return sha256(canonical_json(fields).encode()).hexdigest()[:_DIGEST]


def _repeated_alarm(snapshot: Snapshot, command: AlarmCommand, digest: str) -> RaisedAlarm:
    """Return the alarm that has this id already, if it is the same alarm.

    Raises EventIdReusedError if it is a different alarm, and AgentExistsError if an application's agent has the id.
    """
    check_own(snapshot)
    terms = AlarmContext.model_validate(snapshot.context).terms
    if terms.asked != digest:
        raise EventIdReusedError(snapshot.agent_id, command.alarm_id, terms.name)
    return RaisedAlarm(command.alarm_id, f"{ALARM}{terms.name}", tuple(terms.recipients), repeat=True)


async def _recipients(home: AgentHome, command: AlarmCommand) -> list[AgentId]:
    """Return the recipients of an alarm. Raises UnknownAgentError, and PayloadError for more than `most` matches."""
    if command.graph is None:
        for agent_id in command.to:
            await home.read(agent_id)  # raises UnknownAgentError
        return list(dict.fromkeys(command.to))
    page = await home.find(graph=command.graph, where=command.where or {}, status=Status.ACTIVE, limit=command.most + 1)
    if len(page.agents) > command.most:
        raise PayloadError(
            "an alarm", (f"more than {command.most} agents match",), "a narrower `where`, or a larger `most`"
        )
    return [agent.agent_id for agent in page.agents]

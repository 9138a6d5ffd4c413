"""Commands about schedules, executed by the verbs of the home that hosts them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from gatechart.api.command import Command
from gatechart.api.home import AgentHome
from gatechart.api.scheduling import (
    DeleteScheduleCommand,
    PauseScheduleCommand,
    ResumeScheduleCommand,
    RunScheduleCommand,
    ScheduleCommand,
    SchedulesCommand,
)
from gatechart.errors.directory import LookAlikeError
from gatechart.errors.event import (
    AgentExistsError,
    PayloadError,
    UnknownAgentError,
    UnknownGraphError,
    UnknownScheduleError,
)
from gatechart.errors.operation import ElsewhereError
from gatechart.hosting.own_agents import OwnAgents
from gatechart.hosting.registry import Registry
from gatechart.schedules.graph import CHANGE, PAUSE, RESUME, RUN, Terms, schedule_of
from gatechart.turn.arguments import checked_new_id, fit_payload
from gatechart.values.agents import Snapshot, Status
from gatechart.values.delays import delay_text
from gatechart.values.framework import SCHEDULE_AGENT, SCHEDULE_GRAPH, check_not_framework
from gatechart.values.look_alikes import first_alike, unclear
from gatechart.values.names import AgentId
from gatechart.values.recurrence import Every
from gatechart.values.schedules import Schedule, is_too_short


async def scheduled(home: AgentHome, own: OwnAgents, registry: Registry, command: Any) -> Any:
    """Execute a command about schedules. Raises what its verb raises."""
    return await SCHEDULING[type(command)](home, own, registry, command)


def agent_of(name: str) -> AgentId:
    """Return the id of the agent that keeps a schedule.

    >>> agent_of("nightly")
    'schedule:nightly'
    """
    return f"{SCHEDULE_AGENT}{name}"


async def _schedule(home: AgentHome, own: OwnAgents, registry: Registry, command: ScheduleCommand) -> Schedule:
    check_not_framework(graph=command.graph)
    graph = registry.graph(command.graph)
    entry = graph.entry_point(command.at)
    fit_payload(graph.name, entry, command.payload)
    terms = _terms(command)
    await _check_name(home, command.name)
    try:
        return schedule_of(await own.start(SCHEDULE_GRAPH, at="MADE", payload=terms, agent_id=agent_of(command.name)))
    except AgentExistsError:
        return await _changed(home, own, terms)
    except UnknownGraphError as error:
        raise ElsewhereError("schedule", home.capabilities.home, "run its service with serving(ingress=...)") from error


async def _check_name(home: AgentHome, name: str) -> None:
    """Raise PayloadError or LookAlikeError if a new schedule must not have the name. An old one can keep it.

    A name in ASCII is compared with no other one, because programs generate many such names.
    """
    if name.isascii() and not unclear(name):
        return
    try:
        await _found(home, name)
    except UnknownScheduleError:
        checked_new_id(name, "schedule")
        if alike := first_alike(name, await _names(home)):
            raise LookAlikeError(name, alike, "the name of a schedule") from None


async def _names(home: AgentHome) -> list[str]:
    """Return the names of all schedules; none on an engine without a projection, which cannot list them."""
    names: list[str] = []
    with suppress(ElsewhereError):
        page = await home.find(graph=SCHEDULE_GRAPH, status=Status.ACTIVE)
        names += (schedule_of(each).name for each in page.agents)
        while page.next is not None:
            page = await home.find(graph=SCHEDULE_GRAPH, status=Status.ACTIVE, after=page.next)
            names += (schedule_of(each).name for each in page.agents)
    return names


def _terms(command: ScheduleCommand) -> Terms:
    """Return what a schedule is to do. Raises PayloadError if it does not say when."""
    every = Every(command.every, command.cron, command.zone, command.missed)
    if every.fault is not None:
        raise PayloadError("schedule", every.fault[:1], every.fault[1].removeprefix("write "))
    if is_too_short(command.every):
        raise PayloadError("schedule", (f"{command.every!r} is too short a period",), "100 milliseconds or more")
    fields = command.model_dump(exclude={"verb", "every"})
    return Terms(**fields, period=None if command.every is None else delay_text(command.every))


async def _changed(home: AgentHome, own: OwnAgents, terms: Terms) -> Schedule:
    """Change a schedule that is there. One that was stopped is made again."""
    agent_id = agent_of(terms.name)
    snapshot = await home.read(agent_id)
    if snapshot.graph != SCHEDULE_GRAPH:
        raise AgentExistsError(agent_id, snapshot.graph)
    if snapshot.status is not Status.ACTIVE:
        await own.erase(agent_id)
        snapshot = await own.start(SCHEDULE_GRAPH, at="MADE", payload=terms, agent_id=agent_id)
    elif _differs(schedule_of(snapshot), terms):
        await own.send(agent_id, CHANGE, terms)
        snapshot = await home.read(agent_id)
    return schedule_of(snapshot)


def _differs(schedule: Schedule, terms: Terms) -> bool:
    given = (terms.graph, terms.at, terms.payload, terms.every, terms.overlap, terms.most_running)
    kept = (schedule.graph, schedule.at, schedule.payload, schedule.every, schedule.overlap, schedule.most_running)
    return given != kept


async def _found(home: AgentHome, name: str) -> Snapshot:
    """Return the agent of a schedule. Raises UnknownScheduleError."""
    try:
        snapshot = await home.read(agent_of(name))
    except UnknownAgentError:
        raise UnknownScheduleError(name) from None
    if snapshot.graph != SCHEDULE_GRAPH or snapshot.status is not Status.ACTIVE:
        raise UnknownScheduleError(name)
    return snapshot


async def _send(home: AgentHome, own: OwnAgents, name: str, event: str, event_id: str | None = None) -> Schedule:
    """Send the agent of a schedule an event. One that it refuses is about a schedule that is as it should be."""
    snapshot = await _found(home, name)
    await own.send(snapshot.agent_id, event, event_id=event_id)
    return schedule_of(await home.read(snapshot.agent_id))


async def _pause(home: AgentHome, own: OwnAgents, _registry: Registry, command: PauseScheduleCommand) -> Schedule:
    return await _send(home, own, command.name, PAUSE)


async def _resume(home: AgentHome, own: OwnAgents, _registry: Registry, command: ResumeScheduleCommand) -> Schedule:
    return await _send(home, own, command.name, RESUME)


async def _run(home: AgentHome, own: OwnAgents, _registry: Registry, command: RunScheduleCommand) -> Schedule:
    return await _send(home, own, command.name, RUN, command.idempotency_key)


async def _delete(home: AgentHome, own: OwnAgents, _registry: Registry, command: DeleteScheduleCommand) -> None:
    await own.erase((await _found(home, command.name)).agent_id)


async def _list(home: AgentHome, _own: OwnAgents, _registry: Registry, command: SchedulesCommand) -> Sequence[Schedule]:
    after = None if command.after is None else (await _found(home, command.after)).agent_id
    page = await home.find(graph=SCHEDULE_GRAPH, status=Status.ACTIVE, after=after, limit=command.limit)
    return tuple(map(schedule_of, page.agents))


SCHEDULING: Final[Mapping[type[Command], Callable[[AgentHome, OwnAgents, Registry, Any], Awaitable[Any]]]] = {
    ScheduleCommand: _schedule,
    SchedulesCommand: _list,
    PauseScheduleCommand: _pause,
    ResumeScheduleCommand: _resume,
    RunScheduleCommand: _run,
    DeleteScheduleCommand: _delete,
}
"""What executes each command about schedules."""

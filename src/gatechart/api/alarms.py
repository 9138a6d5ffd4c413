"""Commands and verbs for alarms from outside and for failed agents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field

from gatechart.api.agents import AgentsHome
from gatechart.api.arguments import made
from gatechart.api.codec import ALARM_RAISED, Answer
from gatechart.api.command import Plain, WritingCommand
from gatechart.api.history import HistoryHome
from gatechart.api.route import Route
from gatechart.errors.operation import NotFailedError, TakingBackError
from gatechart.graph.escape import UNDOING
from gatechart.graph.graph import AnyGraph, graph_name
from gatechart.turn.arguments import checked_addressee, checked_id, plain_payload
from gatechart.values.agents import Snapshot, Status
from gatechart.values.alarms import ALARM, RaisedAlarm
from gatechart.values.failure_reports import FailureReport, failure_report
from gatechart.values.names import LONGEST_NAME, AgentId, Name, name_of

_RECENT: Final = 100  # turns that are searched for a repeated call

MOST_NAMED: Final = 1000
"""The maximum number of agents that an alarm may name."""


class AlarmCommand(WritingCommand):
    """`alarm`. Its id makes it safe to repeat."""

    answer: ClassVar[Answer[Any]] = ALARM_RAISED
    route: ClassVar[Route] = Route("POST", "/alarms", "Raise an alarm; agents receive it as the event `alarm.NAME`")
    verb: Literal["alarm"] = "alarm"
    name: Annotated[str, Field(max_length=200)]
    alarm_id: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME - 10)]
    payload: Plain | None = None
    to: Annotated[tuple[AgentId, ...], Field(max_length=MOST_NAMED)] = ()
    graph: str | None = None
    where: Plain | None = None
    most: Annotated[int, Field(ge=1, le=1000)] = 100


class AlarmsHome(AgentsHome, HistoryHome):
    """The part of `AgentHome` for alarms and failed agents."""

    async def alarm(
        self,
        name: Name,
        *,
        alarm_id: str,
        payload: Any = None,
        to: Iterable[AgentId] | AgentId = (),
        graph: Name | AnyGraph | None = None,
        where: Mapping[str, Any] | None = None,
        most: int = 100,
    ) -> RaisedAlarm:
        """Raise an alarm: send `alarm.NAME` as durable mail to the named agents, or to active agents that match.

        An agent refuses it if its current state does not handle it; the mail is then listed as refused.
        alarm_id: repeating the call with the same id has no further effect, and returns the first result.
        to: ids of agents. graph, where: as in `find`, in place of `to`. most: if more agents match, none gets it.
        Raises PayloadError, UnknownAgentError, UnknownGraphError, UnknownFieldError, and EventIdReusedError if the id
        belongs to another alarm.
        """
        title = name_of(name).removeprefix(ALARM)
        named = (to,) if isinstance(to, str) else tuple(to)
        command = made(
            AlarmCommand,
            name=title,
            alarm_id=checked_id(alarm_id, "alarm_id"),
            payload=plain_payload(payload, f"{ALARM}{title}"),
            to=tuple(map(checked_addressee, named)),
            graph=None if graph is None else graph_name(graph),
            where=None if where is None else plain_payload(where, "alarm"),
            most=most,
        )
        raised: RaisedAlarm = await self.execute(command)
        return raised

    async def failure(self, agent_id: AgentId) -> FailureReport:
        """Return the cause of an agent's failure. Raises NotFailedError if it has not failed, and UnknownAgentError."""
        snapshot = await self.read(agent_id)
        if snapshot.status is not Status.FAILED:
            raise NotFailedError(agent_id, snapshot.status.value)
        [entry] = await self.history(agent_id, after=snapshot.version - 1, limit=1)
        return failure_report(entry, snapshot)

    async def retry_agent(self, agent_id: AgentId, *, reason: str, idempotency_key: str | None = None) -> Snapshot:
        """Restart a failed agent from the last version before it failed.

        If it was compensating calls by then, restart it from the version before the compensation.
        No action runs. Timers and invokes of the states in that version start from the beginning, and steps that were
        recorded in them run again. reason: for the history. idempotency_key: repeating the call with the same key has
        no further effect. Raises NotFailedError, UnknownAgentError, and what `rollback` raises.
        """
        snapshot = await self.read(agent_id)
        if idempotency_key is not None and snapshot.status is not Status.FAILED:
            recent = await self.history(agent_id, after=max(snapshot.version - _RECENT, 0), limit=_RECENT)
            if any(entry.event.id == idempotency_key for entry in recent):
                return snapshot
        if snapshot.status is not Status.FAILED or snapshot.version < 2:
            raise NotFailedError(agent_id, snapshot.status.value)
        try:
            return await self.rollback(agent_id, snapshot.version - 1, reason=reason, idempotency_key=idempotency_key)
        except TakingBackError:
            version = await self._version_before_compensation(snapshot)
            return await self.rollback(agent_id, version, reason=reason, idempotency_key=idempotency_key)

    async def _version_before_compensation(self, failed: Snapshot) -> int:
        recent = await self.history(failed.agent_id, after=max(failed.version - 1 - _RECENT, 0), limit=_RECENT)
        versions = (entry.version for entry in reversed(recent) if UNDOING not in entry.target)
        return next((version for version in versions if version < failed.version), failed.version - 1)

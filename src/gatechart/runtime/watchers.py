"""The callers that wait for states of an agent: woken when it gets there, and failed when it no longer can."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from gatechart.api.errors import ended_elsewhere
from gatechart.errors.event import DeadMailError, NotReachedError
from gatechart.errors.root import EventError, OutsideError
from gatechart.graph.graph import AnyGraph
from gatechart.runtime.core import Core
from gatechart.runtime.delivery import Job
from gatechart.turn.mail import fatal_mail
from gatechart.values.agents import Awaited, Snapshot, Status
from gatechart.values.mail import Mail, MailStatus
from gatechart.values.names import AgentId
from gatechart.values.queries import MailQuery

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Watched(Protocol):
    """An agent that callers wait for."""

    may_have_dead_mail: bool  # whether any mail to it may be dead; set as soon as some is

    @property
    def core(self) -> Core:
        """The core of its runtime."""
        ...

    @property
    def graph(self) -> AnyGraph:
        """Its graph."""
        ...

    @property
    def snapshot(self) -> Snapshot:
        """Its newest snapshot."""
        ...

    def run(self, job: Job[T]) -> asyncio.Future[T]:
        """Run the job after all jobs queued before it."""
        ...


class Watchers:
    """The callers that wait for states of one agent."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[tuple[Awaited, asyncio.Future[Snapshot]]] = []

    async def wait(self, agent: Watched, awaited: Awaited, timeout_s: float | None) -> Snapshot:
        """Return the first snapshot from now on that shows the awaited state.

        Raises NotReachedError after the timeout, by the runtime's clock, AgentEndedError, and DeadMailError if mail to
        the agent is dead and nothing else is pending.
        """
        reached: asyncio.Future[Snapshot] = asyncio.get_running_loop().create_future()
        watcher = (awaited, reached)

        self._waiting.append(watcher)
        self.look_for_dead_mail(agent)
        alarm = None
        if timeout_s is not None:
            alarm = agent.core.alarm(timeout_s)
            alarm.add_done_callback(partial(_expire, agent, awaited, reached, timeout_s))
        try:
            return await agent.core.wait_for_caller("until", reached)
        finally:
            self._waiting.remove(watcher)
            if alarm is not None:
                alarm.cancel()

    def see(self, snapshot: Snapshot) -> None:
        """Wake the callers whose state is active, and all of them if the agent has ended."""
        for awaited, reached in self._waiting:
            if reached.done():
                continue
            if awaited.is_reached_in(snapshot):
                reached.set_result(snapshot)
            elif snapshot.status is not Status.ACTIVE:
                reached.set_exception(ended_elsewhere(snapshot, awaited))

    def fail(self, error: Callable[[Awaited], Exception]) -> None:
        """Fail all waiting callers. error: returns the error for a caller."""
        for awaited, reached in self._waiting:
            if not reached.done():
                reached.set_exception(error(awaited))

    def look_for_dead_mail(self, agent: Watched) -> None:
        """Check, if there are callers, whether they wait in vain because of dead mail."""
        if self._waiting and agent.may_have_dead_mail:
            agent.core.spawn(self._look(agent), "look for dead mail")

    async def _look(self, agent: Watched) -> None:
        agent_id = agent.snapshot.agent_id
        agent.may_have_dead_mail = False  # before the read, so that mail that dies during it is not forgotten
        try:
            if await _mail(agent.core, agent_id, MailStatus.DEAD):
                agent.may_have_dead_mail = True
                await agent.run(lambda: self._tell(agent))  # as a job, so that no other job is running
        except (EventError, OutsideError):  # the agent was erased, or the runtime closes
            agent.may_have_dead_mail = True
            logger.debug("the search for dead mail failed", extra={"agent_id": agent_id}, exc_info=True)

    async def _tell(self, agent: Watched) -> None:
        """Fail the callers if mail is dead and nothing else is pending."""
        core, agent_id = agent.core, agent.snapshot.agent_id
        dead, waiting = await _mail(core, agent_id, MailStatus.DEAD), await _mail(core, agent_id, MailStatus.WAITING)
        fatal = fatal_mail(agent.graph, agent.snapshot, dead, waiting)
        if fatal is not None:
            self.fail(lambda awaited: DeadMailError(agent_id, str(awaited), fatal.number, fatal.event, fatal.reason))


def _expire(
    agent: Watched,
    awaited: Awaited,
    reached: asyncio.Future[Snapshot],
    timeout_s: float,
    _alarm: asyncio.Task[None],
) -> None:
    """Fail a caller whose timeout is over."""
    if not reached.done():
        at = agent.snapshot
        reached.set_exception(NotReachedError(at.agent_id, str(awaited), at.configuration, timeout_s))


async def _mail(core: Core, agent_id: AgentId, status: MailStatus) -> Sequence[Mail]:
    return await core.ask(lambda: core.store.mail(MailQuery(agent_id, status)))

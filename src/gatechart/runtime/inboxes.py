"""Accepts mail and takes it to its recipients, in the order accepted."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Final

from gatechart.errors import EventIdReusedError, OutsideError, StoreCorruptError, UnknownMailError
from gatechart.hosting.arguments import is_count
from gatechart.hosting.group_commit import NOBODY_CAN_WRITE, nothing
from gatechart.hosting.registry import Registry
from gatechart.runtime.agent_directory import AgentDirectory
from gatechart.runtime.backlogs import Room
from gatechart.runtime.core import Core
from gatechart.runtime.delivery import take
from gatechart.runtime.inbox_limits import InboxLimits
from gatechart.runtime.live_agent import LiveAgent
from gatechart.runtime.new_agent import NewAgent
from gatechart.turn import is_about_handoff
from gatechart.values import (
    AgentId,
    Backlog,
    Mail,
    MailChange,
    MailEnd,
    MailQuery,
    MailStatus,
    Posting,
    Receipt,
    Unit,
    Verdict,
)

logger = logging.getLogger(__name__)

PAGE: Final = 1000
PAUSE_S: Final = 1.0

_ALWAYS: Final = datetime.min.replace(tzinfo=UTC)


class Inboxes:
    """Delivers mail to agents, which are read from the store where they are not in memory.

    Mail for an agent that does not exist yet, or whose graph is not registered, stays in the store until it can be
    collected.
    """

    def __init__(
        self, core: Core, registry: Registry, directory: AgentDirectory, accept: Callable[[Mail], None]
    ) -> None:
        """accept: what takes mail that is due later to the timekeeper, and other mail here."""
        self._core = core
        self._registry = registry
        self._directory = directory
        self._accept = accept
        self._inboxes = InboxLimits(core)
        self._unclaimed = Room(core, Backlog.UNCLAIMED, core.limits.unclaimed)
        self._scheduled = Room(core, Backlog.SCHEDULED, core.limits.scheduled)
        self._held: dict[AgentId, list[Mail]] = {}  # until the recipient has been read from the store
        self._is_reading = True  # or nothing is to be read yet: not before all is recovered
        self._uncollected: set[AgentId] = set()  # recipients that were not there, or could not be hosted
        self._collecting = asyncio.Lock()
        self._late: dict[AgentId, list[Mail]] = {}  # accepted while the recipient's mail is collected
        self._called: set[AgentId] = set()  # where the runtime attends to nothing else
        self._unborn: dict[AgentId, deque[Mail]] = {}  # mail for agents that do not exist yet, offers among it
        self._doubted: set[int] = set()  # numbers of mail that was perhaps not accepted

    async def post(self, mail: Mail) -> Receipt:
        """Makes the mail durable, under the next number, and has it delivered when it is due.

        Raises InboxFullError, BacklogFullError, EventIdReusedError, and what the store raises.
        """
        if mail.sender is not None or (mail.due is None and self._directory.known(mail.recipient) is not None):
            return await self._post_in_room(mail)
        async with AsyncExitStack() as rooms:
            if await self._may_be_unclaimed(mail.recipient):
                await rooms.enter_async_context(self._unclaimed.kept(mail.recipient))
            if mail.due is not None:
                await rooms.enter_async_context(self._scheduled.kept(mail.recipient))
            return await self._post_in_room(mail)

    async def _may_be_unclaimed(self, agent_id: AgentId) -> bool:
        """Whether mail for the agent has to count as unclaimed; the store is only asked where there may be no room."""
        if self._directory.known(agent_id) is not None:
            return False
        return await self._unclaimed.is_there() or not await self._core.store.load_many([agent_id])

    async def _post_in_room(self, mail: Mail) -> Receipt:
        if mail.due is not None:
            return await self._post(mail)
        await self._inboxes.enter(mail.recipient)
        try:
            return await self._post(mail)
        finally:
            self._inboxes.leave(mail.recipient)

    async def _post(self, mail: Mail) -> Receipt:
        numbered = replace(mail, number=self._core.store.numbers(1), accepted=self._core.clock.now())
        try:
            verdict = await self._core.committer.commit(Posting(numbered), partial(self._accept, numbered))
        except NOBODY_CAN_WRITE:
            raise
        except OutsideError:  # it may have been accepted, and then what comes later comes behind it
            self._doubted.add(numbered.number)
            self._accept(numbered)
            raise
        _check_id(verdict, numbered)
        return Receipt(numbered.number, repeat=verdict is not Verdict.COMMITTED)

    def deliver(self, mail: Mail) -> None:
        """Takes the mail to its recipient, behind all that was delivered to it before."""
        agent_id = mail.recipient
        self._inboxes.accepted(agent_id)
        if agent_id in self._uncollected:  # and so is this, then, from the store
            self._late.get(agent_id, []).append(mail)
            if is_about_handoff(mail) and agent_id not in self._late:
                self._core.spawn(self.collect(agent_id), "collect mail")
            return
        if agent_id in self._unborn:
            self._unborn[agent_id].append(mail)
            return
        held = self._held.get(agent_id)
        agent = self._directory.known(agent_id) if held is None else None
        if agent is not None:
            self._put(agent, mail)
            return
        if held is None:
            self._held[agent_id] = [mail]
        else:
            held.append(mail)
        if not self._is_reading:
            self.begin()

    def finished(self, mail: Mail) -> None:
        """Takes note that the recipient is done with the mail."""
        if mail.due is not None and mail.sender is None:
            self._scheduled.left()
        self._inboxes.finished(mail.recipient)

    def amend(self, mail: Mail) -> bool:
        """Puts amended mail into the place of the old, where that has been delivered but not taken yet."""
        agent = self._directory.known(mail.recipient)
        return agent is not None and agent.amend(mail)

    def drop(self, agent_id: AgentId, is_over: Callable[[Mail], bool]) -> None:
        """Cancels mail that has been delivered but not taken yet."""
        agent = self._directory.known(agent_id)
        if agent is not None:
            agent.drop(is_over)

    def forget(self, agent_id: AgentId, *, had_timers: bool) -> None:
        """Forgets the mail of an agent that was erased; what was accepted since then comes from the store again."""
        is_known = self._inboxes.holds(agent_id)
        if agent_id in self._late:
            self._late[agent_id].clear()
        else:
            self._uncollected.discard(agent_id)
        self._held.pop(agent_id, None)
        self._called.discard(agent_id)
        self._inboxes.clear(agent_id)
        if is_known or had_timers:
            self._uncollected.add(agent_id)
            self._core.spawn(self.collect(agent_id), "collect mail")

    def hand_over(self, agent: LiveAgent) -> None:
        """Gives an agent that has come into memory what was held for it, before anything else comes to it."""
        agent_id = agent.snapshot.agent_id
        if not self._core.attends and agent_id not in self._called:
            self._called.add(agent_id)
            self._uncollected.add(agent_id)
            self._held.pop(agent_id, None)  # the store has it, with what came before
        if self._held and agent_id not in self._uncollected:
            for mail in self._held.pop(agent_id, ()):
                self._put(agent, mail)

    async def collect(self, agent_id: AgentId) -> None:
        """Delivers what waits in the store for an agent that was not there, or could not be hosted."""
        if agent_id in self._uncollected:
            async with self._collecting:
                if agent_id in self._uncollected:
                    await self._collect(agent_id)

    async def _collect(self, agent_id: AgentId) -> None:
        late = self._late[agent_id] = []
        try:
            waiting = await self._waiting_for(agent_id)
        finally:
            del self._late[agent_id]
        self._uncollected.discard(agent_id)
        self._inboxes.forget(agent_id)
        waiting |= {mail.number: mail for mail in late if mail.number not in waiting}
        for mail in sorted(waiting.values(), key=_place):
            self._accept(mail)

    async def _waiting_for(self, agent_id: AgentId) -> dict[int, Mail]:
        """All waiting mail of an agent by number, in the order accepted."""
        waiting: dict[int, Mail] = {}
        after, erasures = 0, self._core.erasures
        while found := await self._core.ask(partial(self._core.store.mail, _waiting(agent_id, after))):
            waiting |= {mail.number: mail for mail in found}
            after = found[-1].number
        return waiting if erasures == self._core.erasures else await self._waiting_for(agent_id)

    async def collect_all(self) -> None:
        """Collects for every recipient that could not be served so far."""
        for agent_id in tuple(self._uncollected):
            await self.collect(agent_id)

    async def retry(self, number: int) -> Mail:
        """Delivers refused or dead mail once more, and lifts the wait of mail that failed before its next attempt.

        Raises UnknownMailError, and EventIdReusedError where its id stands for another event by now.
        """
        found = await self._numbered(number)
        if found.status is MailStatus.WAITING:
            return await self._lift(found)
        if found.status is MailStatus.UNREADABLE:  # to write it anew would lose what may be mended by hand
            raise UnknownMailError(number)
        mail = replace(found, status=MailStatus.WAITING, attempts=0, retry_at=None, reason="", due=None)
        verdict = await self._change(MailChange(mail), number, lambda: self.deliver(mail))
        _check_id(verdict, mail)
        if verdict is Verdict.REPEATED:  # what it says has reached the agent in other mail
            await self._change(MailEnd(number), number)
        return mail

    async def discard(self, number: int) -> Mail:
        """Forgets refused or dead mail, and such as cannot be read. Raises UnknownMailError."""
        found = await self._numbered(number)
        if found.status is MailStatus.WAITING:
            raise UnknownMailError(number)
        await self._change(MailEnd(number), number)
        return found

    async def _lift(self, found: Mail) -> Mail:
        if found.retry_at is None:
            raise UnknownMailError(found.number)
        mail = replace(found, retry_at=None)
        await self._change(MailChange(mail), mail.number, lambda: self._try_now(mail))
        return mail

    def _try_now(self, mail: Mail) -> None:
        """Mail that does not wait here is being tried at this moment, or was given up meanwhile, or is nobody's yet."""
        agent = self._directory.known(mail.recipient)
        if not self._core.lift(mail.number) and not (agent is not None and agent.holds(mail)):
            self.deliver(mail)

    async def _change(self, unit: Unit, number: int, then: Callable[[], None] = nothing) -> Verdict:
        verdict = await self._core.committer.commit(unit, then)
        if verdict is Verdict.STALE:
            raise UnknownMailError(number)
        return verdict

    async def _numbered(self, number: int) -> Mail:
        if not is_count(number):
            raise UnknownMailError(number)
        found = await self._core.store.mail(MailQuery(after=number - 1, limit=1))
        if not found or found[0].number != number:
            raise UnknownMailError(number)
        return found[0]

    async def recover(self) -> None:
        """Takes over, in the order accepted, what was accepted before and is not done; `begin` then hands it over."""
        after = 0
        while found := await self._core.store.waiting(after=after, limit=PAGE):
            after = found[-1].number
            for mail in found:
                self.deliver(mail)

    def begin(self) -> None:
        """Hands over what is held for agents that are not in memory."""
        self._is_reading = True
        self._core.spawn(self._read_recipients(), "read the recipients of mail")

    def _put(self, agent: LiveAgent, mail: Mail) -> None:
        agent.put(mail, lambda: self._take(agent, mail))

    async def _take(self, agent: LiveAgent, mail: Mail) -> bool:
        """As `take`, unless the mail was not accepted."""
        if mail.number in self._doubted:
            try:
                is_there = await self._core.ask(lambda: self._core.committer.is_written(Posting(mail)))
            except OutsideError:
                logger.debug("the runtime closes before it knows of mail", exc_info=True)
                return False
            self._doubted.discard(mail.number)
            if not is_there:
                return True
        return await take(agent, mail, agent.note)

    async def _read_recipients(self) -> None:
        try:
            while self._held and self._core.is_open:
                await self._read_some(list(islice(self._held, PAGE)))
        finally:
            self._is_reading = False

    async def _read_some(self, agent_ids: list[AgentId]) -> None:
        try:
            hosted = await self._directory.get_many(agent_ids)  # held here, so that they stay in memory
        except StoreCorruptError:
            if len(agent_ids) > 1:  # which of them? The others are not to wait for it
                for agent_id in agent_ids:
                    await self._read_some([agent_id])
                return
            logger.exception("an agent with mail is damaged", extra={"agent_id": agent_ids[0]})
            hosted = ()
        except OutsideError:
            logger.exception("agents with mail cannot be read; it is tried again")
            await self._core.pause(PAUSE_S)
            return
        logger.debug("agents with mail were read", extra={"agents": len(hosted)})
        for agent_id in agent_ids:
            agent = self._directory.known(agent_id)
            if agent is not None:
                self.hand_over(agent)
            self._leave(agent_id, self._held.pop(agent_id, ()))

    def _leave(self, agent_id: AgentId, mails: Sequence[Mail]) -> None:
        """Leaves mail to the store until there is somebody to take it; offers may bring about that there is."""
        if any(map(is_about_handoff, mails)):
            self._unborn[agent_id] = deque(mails)
            self._core.spawn(self._bring_up(agent_id), "offer a handoff to a new agent")
        elif mails:
            self._uncollected.add(agent_id)

    async def _bring_up(self, agent_id: AgentId) -> None:
        """Takes offers to an agent that does not exist yet, and the rest of its mail when it does."""
        mails = self._unborn[agent_id]
        unborn = NewAgent(self._core, agent_id, self._registry, self._directory, self._accept)
        rest: list[Mail] = []
        try:
            while mails and self._directory.known(agent_id) is None:
                mail = mails.popleft()
                if not is_about_handoff(mail) or await unborn.leaves(mail):
                    rest.append(mail)
                elif not await take(unborn, mail):  # it is left to the next runtime, with all behind it
                    return
                elif unborn.is_born or self._directory.known(agent_id) is None:
                    self._inboxes.finished(agent_id)
                else:  # an agent was started under this id: the mail is for that one
                    rest.append(mail)
        finally:
            del self._unborn[agent_id]
            agent = self._directory.known(agent_id)
            if agent is not None:
                for mail in (*rest, *mails):
                    self._put(agent, mail)
            elif rest or mails:
                self._uncollected.add(agent_id)


def _waiting(agent_id: AgentId, after: int) -> MailQuery:
    return MailQuery(agent_id, MailStatus.WAITING, after, PAGE)


def _place(mail: Mail) -> tuple[bool, datetime, int]:
    """The order in which a runtime that opens delivers: as accepted, and behind that, as due, what has a due time."""
    return (True, mail.due, mail.number) if mail.due is not None else (False, _ALWAYS, mail.number)


def _check_id(verdict: Verdict, mail: Mail) -> None:
    if verdict is Verdict.REUSED:
        raise EventIdReusedError(mail.recipient, mail.id or "", mail.event)

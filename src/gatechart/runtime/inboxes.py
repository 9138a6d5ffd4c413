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
from typing import Final, assert_never

from gatechart.errors import EventIdReusedError, OutsideError, StoreCorruptError, UnknownMailError
from gatechart.hosting.arguments import is_count
from gatechart.hosting.group_commit import NOBODY_CAN_WRITE, nothing
from gatechart.hosting.registry import Registry
from gatechart.runtime.agent_directory import AgentDirectory
from gatechart.runtime.agent_slots import AgentSlot, AgentSlots, SlotState
from gatechart.runtime.backlogs import Room
from gatechart.runtime.core import Core
from gatechart.runtime.delivery import take
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
        self._slots = AgentSlots(core)
        self._unclaimed = Room(core, Backlog.UNCLAIMED, core.limits.unclaimed)
        self._scheduled = Room(core, Backlog.SCHEDULED, core.limits.scheduled)
        self._unread: dict[AgentId, None] = {}  # whose mail is held, in the order in which they are to be read
        self._is_reading = True  # or nothing is to be read yet: not before all is recovered
        self._collecting = asyncio.Lock()

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
        await self._slots.enter(mail.recipient)
        try:
            return await self._post(mail)
        finally:
            self._slots.leave(mail.recipient)

    async def _post(self, mail: Mail) -> Receipt:
        numbered = replace(mail, number=self._core.store.numbers(1), accepted=self._core.clock.now())
        try:
            verdict = await self._core.committer.commit(Posting(numbered), partial(self._accept, numbered))
        except NOBODY_CAN_WRITE:
            raise
        except OutsideError:  # it may have been accepted, and then what comes later comes behind it
            self._core.doubted.add(numbered.number)
            self._accept(numbered)
            raise
        _check_id(verdict, numbered)
        return Receipt(numbered.number, repeat=verdict is not Verdict.COMMITTED)

    def deliver(self, mail: Mail) -> None:
        """Take the mail to its recipient, behind all that was delivered to it before."""
        agent_id = mail.recipient
        slot = self._slots.of(agent_id)
        slot.waiting += 1
        match slot.state:
            case SlotState.OPEN:
                agent = self._directory.known(agent_id)
                if agent is None:
                    self._hold(slot, mail)
                else:
                    agent.put(mail)
            case SlotState.BEING_READ:
                self._hold(slot, mail)
            case SlotState.OFFERED:
                assert slot.offered is not None
                slot.offered.append(mail)
            case SlotState.COLLECTING:
                assert slot.late is not None
                slot.late.append(mail)
            case SlotState.UNHOSTED:
                # It will be collected with the rest. A handoff may be what brings the agent into being, so it is now.
                if is_about_handoff(mail):
                    self._core.spawn(self.collect(agent_id), "collect mail")
            case never:
                assert_never(never)

    def _hold(self, slot: AgentSlot, mail: Mail) -> None:
        """Hold mail until its recipient has been read, and see to it that it is."""
        if slot.held is None:
            slot.held = []
            self._unread[mail.recipient] = None
        slot.held.append(mail)
        if not self._is_reading:
            self.begin()

    def _release(self, agent_id: AgentId) -> Sequence[Mail]:
        """Return the mail that is held for the agent, and hold it no longer."""
        slot = self._slots.known(agent_id)
        self._unread.pop(agent_id, None)
        if slot is None or slot.held is None:
            return ()
        held, slot.held = slot.held, None
        return held

    def finished(self, mail: Mail) -> None:
        """Take note that the recipient is done with the mail."""
        if mail.due is not None and mail.sender is None:
            self._scheduled.left()
        self._slots.finished(mail.recipient)

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
        """Forget the mail of an agent that was erased; what was accepted since then comes from the store again."""
        slot = self._slots.of(agent_id)
        is_known = slot.waiting > 0
        if slot.late is None:
            slot.is_unhosted = False
        else:  # a collection is under way, and will come to what was accepted since then
            slot.late.clear()
        self._release(agent_id)
        slot.is_called = False
        if is_known or had_timers:
            slot.is_unhosted = True
            self._core.spawn(self.collect(agent_id), "collect mail")
        self._slots.clear(agent_id)

    def hand_over(self, agent: LiveAgent) -> None:
        """Give an agent that has come into memory what was held for it, before anything else comes to it."""
        agent_id = agent.snapshot.agent_id
        if not self._core.attends:
            self._call(agent_id)
        slot = self._slots.known(agent_id) if self._unread else None
        if slot is not None and not slot.is_unhosted:
            for mail in self._release(agent_id):
                agent.put(mail)

    def _call(self, agent_id: AgentId) -> None:
        """Have the mail of an agent collected, once, by a runtime that attends to nothing else.

        It has recovered nothing, so what it is sent comes behind what waits in the store.
        """
        slot = self._slots.of(agent_id)
        if not slot.is_called:
            slot.is_called = slot.is_unhosted = True
            self._release(agent_id)  # the store has it, with what came before

    async def collect(self, agent_id: AgentId) -> None:
        """Deliver what waits in the store for an agent that was not there, or could not be hosted."""
        if self._is_unhosted(agent_id):
            async with self._collecting:
                if self._is_unhosted(agent_id):  # else somebody else has collected it meanwhile
                    await self._collect(agent_id)

    def _is_unhosted(self, agent_id: AgentId) -> bool:
        slot = self._slots.known(agent_id)
        return slot is not None and slot.is_unhosted

    async def _collect(self, agent_id: AgentId) -> None:
        slot = self._slots.of(agent_id)
        late = slot.late = []
        try:
            waiting = await self._waiting_for(agent_id)
        finally:
            slot.late = None
        slot.is_unhosted = False
        slot.waiting = 0  # all of it is delivered, and counted, anew
        waiting |= {mail.number: mail for mail in late if mail.number not in waiting}
        for mail in sorted(waiting.values(), key=_place):
            self._accept(mail)
        self._slots.tidy(agent_id)

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
        for agent_id in self._slots.unhosted():
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

    async def _read_recipients(self) -> None:
        try:
            while self._unread and self._core.is_open:
                await self._read_some(list(islice(self._unread, PAGE)))
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
            self._leave(agent_id, self._release(agent_id))

    def _leave(self, agent_id: AgentId, mails: Sequence[Mail]) -> None:
        """Leave mail to the store until there is somebody to take it; offers may bring about that there is."""
        slot = self._slots.of(agent_id)
        if any(map(is_about_handoff, mails)):
            slot.offered = deque(mails)
            self._core.spawn(self._bring_up(agent_id, slot.offered), "offer a handoff to a new agent")
        elif mails:
            slot.is_unhosted = True
        self._slots.tidy(agent_id)

    async def _bring_up(self, agent_id: AgentId, mails: deque[Mail]) -> None:
        """Take offers to an agent that does not exist yet, and the rest of its mail when it does.

        mails: what is offered in its slot; more may come meanwhile.
        """
        new = NewAgent(self._core, agent_id, self._registry, self._directory, self._accept)
        rest: list[Mail] = []
        try:
            while mails and self._directory.known(agent_id) is None:
                mail = mails.popleft()
                if not is_about_handoff(mail) or await new.leaves(mail):
                    rest.append(mail)
                elif not await take(new, mail):  # it is left to the next runtime, with all behind it
                    return
                elif new.is_born or self._directory.known(agent_id) is None:
                    self._slots.finished(agent_id)
                else:  # an agent was started under this id: the mail is for that one
                    rest.append(mail)
        finally:
            self._end_offers(agent_id, [*rest, *mails])

    def _end_offers(self, agent_id: AgentId, rest: Sequence[Mail]) -> None:
        """Deliver the rest of the mail to the agent that was begun; leave it to the store if none was."""
        slot = self._slots.of(agent_id)
        slot.offered = None
        agent = self._directory.known(agent_id)
        if agent is not None:
            for mail in rest:
                agent.put(mail)
        elif rest:
            slot.is_unhosted = True
        self._slots.tidy(agent_id)


def _waiting(agent_id: AgentId, after: int) -> MailQuery:
    return MailQuery(agent_id, MailStatus.WAITING, after, PAGE)


def _place(mail: Mail) -> tuple[bool, datetime, int]:
    """The order in which a runtime that opens delivers: as accepted, and behind that, as due, what has a due time."""
    return (True, mail.due, mail.number) if mail.due is not None else (False, _ALWAYS, mail.number)


def _check_id(verdict: Verdict, mail: Mail) -> None:
    if verdict is Verdict.REUSED:
        raise EventIdReusedError(mail.recipient, mail.id or "", mail.event)

"""Inboxes: accepted mail on its way to its recipients, in the order accepted."""

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
    """Delivers mail to agents, reading them from the store if they are not in memory.

    Mail for an agent that does not exist yet, or whose graph is not registered, stays in the store until it can be
    collected.
    """

    def __init__(
        self, core: Core, registry: Registry, directory: AgentDirectory, accept: Callable[[Mail], None]
    ) -> None:
        """accept: sends mail that is due later to the timers, and other mail here."""
        self._core = core
        self._registry = registry
        self._directory = directory
        self._accept = accept
        self._slots = AgentSlots(core)
        self._unclaimed = Room(core, Backlog.UNCLAIMED, core.limits.unclaimed)
        self._scheduled = Room(core, Backlog.SCHEDULED, core.limits.scheduled)
        self._unread: dict[AgentId, None] = {}  # agents with held mail, in the order in which to read them
        self._is_reading = True  # also True until recovery is complete, so that no read starts earlier
        self._collecting = asyncio.Lock()

    async def post(self, mail: Mail) -> Receipt:
        """Store the mail under the next number, and deliver it when it is due.

        Raises InboxFullError, BacklogFullError, EventIdReusedError, and whatever the store raises.
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
        """Return whether mail for the agent counts as unclaimed. The store is asked only if there may be no room."""
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
        except OutsideError:  # it may have been accepted, and then later mail must come after it
            self._core.doubted.add(numbered.number)
            self._accept(numbered)
            raise
        _check_id(verdict, numbered)
        return Receipt(numbered.number, repeat=verdict is not Verdict.COMMITTED)

    def deliver(self, mail: Mail) -> None:
        """Send the mail to its recipient, after everything delivered to it before."""
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
                # It will be collected with the rest. Handoff mail may create the agent, so it is collected now.
                if is_about_handoff(mail):
                    self._core.spawn(self.collect(agent_id), "collect mail")
            case never:
                assert_never(never)

    def _hold(self, slot: AgentSlot, mail: Mail) -> None:
        """Hold mail until its recipient has been read, and make sure that it is read."""
        if slot.held is None:
            slot.held = []
            self._unread[mail.recipient] = None
        slot.held.append(mail)
        if not self._is_reading:
            self.begin()

    def _release(self, agent_id: AgentId) -> Sequence[Mail]:
        """Return the mail held for the agent and stop holding it."""
        slot = self._slots.known(agent_id)
        self._unread.pop(agent_id, None)
        if slot is None or slot.held is None:
            return ()
        held, slot.held = slot.held, None
        return held

    def finished(self, mail: Mail) -> None:
        """Record that the recipient is done with the mail."""
        if mail.due is not None and mail.sender is None:
            self._scheduled.left()
        self._slots.finished(mail.recipient)

    def amend(self, mail: Mail) -> bool:
        """Replace mail that was delivered but not taken yet; return False if it is not there."""
        agent = self._directory.known(mail.recipient)
        return agent is not None and agent.amend(mail)

    def drop(self, agent_id: AgentId, is_over: Callable[[Mail], bool]) -> None:
        """Cancel mail that was delivered but not taken yet."""
        agent = self._directory.known(agent_id)
        if agent is not None:
            agent.drop(is_over)

    def forget(self, agent_id: AgentId, *, had_timers: bool) -> None:
        """Forget the mail of an erased agent. Mail accepted since the erasure is read from the store again."""
        slot = self._slots.of(agent_id)
        is_known = slot.waiting > 0
        if slot.late is None:
            slot.is_unhosted = False
        else:  # a collection is under way and will find mail accepted since the erasure
            slot.late.clear()
        self._release(agent_id)
        slot.is_called = False
        if is_known or had_timers:
            slot.is_unhosted = True
            self._core.spawn(self.collect(agent_id), "collect mail")
        self._slots.clear(agent_id)

    def hand_over(self, agent: LiveAgent) -> None:
        """Give an agent that has come into memory its held mail, before anything else reaches it."""
        agent_id = agent.snapshot.agent_id
        if not self._core.attends:
            self._call(agent_id)
        slot = self._slots.known(agent_id) if self._unread else None
        if slot is not None and not slot.is_unhosted:
            for mail in self._release(agent_id):
                agent.put(mail)

    def _call(self, agent_id: AgentId) -> None:
        """Collect an agent's mail, once, in a runtime that attends to nothing else.

        The runtime has recovered nothing, so new mail must come after what waits in the store.
        """
        slot = self._slots.of(agent_id)
        if not slot.is_called:
            slot.is_called = slot.is_unhosted = True
            self._release(agent_id)  # the store holds it, with the earlier mail

    async def collect(self, agent_id: AgentId) -> None:
        """Deliver the stored mail of an agent that did not exist or could not be hosted."""
        if self._is_unhosted(agent_id):
            async with self._collecting:
                if self._is_unhosted(agent_id):  # otherwise another task has just collected it
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
        slot.waiting = 0  # all of it is delivered again, and counted again
        waiting |= {mail.number: mail for mail in late if mail.number not in waiting}
        for mail in sorted(waiting.values(), key=_place):
            self._accept(mail)
        self._slots.tidy(agent_id)

    async def _waiting_for(self, agent_id: AgentId) -> dict[int, Mail]:
        """Return all waiting mail of an agent by number, in the order accepted."""
        waiting: dict[int, Mail] = {}
        after, erasures = 0, self._core.erasures
        while found := await self._core.ask(partial(self._core.store.mail, _waiting(agent_id, after))):
            waiting |= {mail.number: mail for mail in found}
            after = found[-1].number
        # An erasure while reading may have removed mail that was already read.
        return waiting if erasures == self._core.erasures else await self._waiting_for(agent_id)

    async def collect_all(self) -> None:
        """Collect for every recipient that could not be served so far."""
        for agent_id in self._slots.unhosted():
            await self.collect(agent_id)

    async def retry(self, number: int) -> Mail:
        """Deliver refused or dead mail once more, or end the wait of failed mail before its next attempt.

        Raises UnknownMailError, and EventIdReusedError if its id now belongs to another event.
        """
        found = await self._numbered(number)
        if found.status is MailStatus.WAITING:
            return await self._lift(found)
        if found.status is MailStatus.UNREADABLE:  # rewriting it would lose what can still be repaired by hand
            raise UnknownMailError(number)
        mail = replace(found, status=MailStatus.WAITING, attempts=0, retry_at=None, reason="", due=None)
        verdict = await self._change(MailChange(mail), number, lambda: self.deliver(mail))
        _check_id(verdict, mail)
        if verdict is Verdict.REPEATED:  # other mail has already brought its event to the agent
            await self._change(MailEnd(number), number)
        return mail

    async def discard(self, number: int) -> Mail:
        """Forget refused, dead or unreadable mail. Raises UnknownMailError."""
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
        """Try the mail now: end its wait, or deliver it if its agent does not hold it.

        Mail that the agent holds without waiting is being tried right now.
        """
        agent = self._directory.known(mail.recipient)
        if not self._core.lift(mail.number) and not (agent is not None and agent.holds(mail)):
            self.deliver(mail)

    async def _change(self, unit: Unit, number: int, then: Callable[[], None] = nothing) -> Verdict:
        verdict = await self._core.committer.commit(unit, then)
        if verdict is Verdict.STALE:
            raise UnknownMailError(number)
        return verdict

    async def _numbered(self, number: int) -> Mail:
        found = await self._core.store.mail(MailQuery(after=number - 1, limit=1))
        if not found or found[0].number != number:
            raise UnknownMailError(number)
        return found[0]

    async def recover(self) -> None:
        """Deliver, in the order accepted, mail accepted earlier and not finished. It is held until `begin`."""
        after = 0
        while found := await self._core.store.waiting(after=after, limit=PAGE):
            after = found[-1].number
            for mail in found:
                self.deliver(mail)

    def begin(self) -> None:
        """Start reading the agents with held mail, and hand it over."""
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
            hosted = await self._directory.get_many(agent_ids)  # referred to here, so that they stay in memory
        except StoreCorruptError:
            if len(agent_ids) > 1:  # it is unknown which one is damaged, and the others must not wait for it
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
        """Leave mail to the store until something can take it. An offer may create its agent, so it is taken now."""
        slot = self._slots.of(agent_id)
        if any(map(is_about_handoff, mails)):
            slot.offered = deque(mails)
            self._core.spawn(self._bring_up(agent_id, slot.offered), "offer a handoff to a new agent")
        elif mails:
            slot.is_unhosted = True
        self._slots.tidy(agent_id)

    async def _bring_up(self, agent_id: AgentId, mails: deque[Mail]) -> None:
        """Take offers to an agent that does not exist yet, and give it the rest of its mail once it does.

        mails: the slot's offered mail; more may arrive meanwhile.
        """
        new = NewAgent(self._core, agent_id, self._registry, self._directory, self._accept)
        rest: list[Mail] = []
        try:
            while mails and self._directory.known(agent_id) is None:
                mail = mails.popleft()
                if not is_about_handoff(mail) or await new.leaves(mail):
                    rest.append(mail)
                elif not await take(new, mail):  # it is left to the next runtime, with all mail behind it
                    return
                elif new.is_born or self._directory.known(agent_id) is None:
                    self._slots.finished(agent_id)
                else:  # an agent was started under this id: the mail is for that agent
                    rest.append(mail)
        finally:
            self._end_offers(agent_id, [*rest, *mails])

    def _end_offers(self, agent_id: AgentId, rest: Sequence[Mail]) -> None:
        """Deliver the rest of the mail to the new agent, or leave it to the store if there is none."""
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
    """Return the sort key of recovery: mail as accepted, and after it mail with a due time, as due."""
    return (True, mail.due, mail.number) if mail.due is not None else (False, _ALWAYS, mail.number)


def _check_id(verdict: Verdict, mail: Mail) -> None:
    if verdict is Verdict.REUSED:
        raise EventIdReusedError(mail.recipient, mail.id or "", mail.event)

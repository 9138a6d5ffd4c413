"""Mail from outside turns: accepted within the limits, retried, discarded.

Two backlogs have separate limits: mail for agents that may never exist, and mail for a distant moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Final

from gatechart.errors.event import EventIdReusedError
from gatechart.errors.operation import BacklogFullError, UnknownMailError
from gatechart.errors.root import OutsideError
from gatechart.hosting.group_commit import NOBODY_CAN_WRITE, nothing
from gatechart.hosting.registry import Registry
from gatechart.ports import Store
from gatechart.runtime.agent_directory import AgentDirectory
from gatechart.runtime.core import Core
from gatechart.turn.mail import shown
from gatechart.values.agents import Snapshot
from gatechart.values.commits import MailChange, MailEnd, Posting, Unit, Verdict
from gatechart.values.frozen import replaced
from gatechart.values.mail import Backlog, Mail, MailStatus, Receipt
from gatechart.values.names import AgentId
from gatechart.values.queries import MailQuery

_SHARE: Final = 20  # while there is no room, counting takes at most 1/20 of the time


class Room:
    """A limit on a backlog that costs each post only one addition.

    The count is an upper bound: each post raises it, but not all mail that leaves lowers it. When it reaches the
    limit, the store counts again. The store also makes the first count, so the bound holds after a restart, too.
    """

    def __init__(self, core: Core, backlog: Backlog, limit: int) -> None:
        self._core = core
        self._backlog = backlog
        self._limit = limit
        self._count: int | None = None  # upper bound on waiting mail and open posts; None until first counted
        self._entered = 0  # posts so far
        self._under_way = 0  # posts that may not be committed yet
        self._was_full = False  # at the store's last count
        self._count_again_at = 0.0  # in the event loop's time
        self._counting = asyncio.Lock()

    async def is_there(self) -> bool:
        """Return whether there is room, by the last count. The store counts again only if that is not recent."""
        await self._count_anew()
        return self._has_room()

    @asynccontextmanager
    async def kept(self, agent_id: AgentId) -> AsyncIterator[None]:
        """Reserve room for mail that is posted to the agent inside the context. Raises BacklogFullError."""
        await self._count_anew(even_again=not self._was_full)
        if not self._has_room():
            raise BacklogFullError(agent_id, self._backlog.value, self._limit)
        self._count = (self._count or 0) + 1
        self._entered += 1
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    def left(self) -> None:
        """Record that one piece of mail has left the backlog."""
        if self._count:
            self._count -= 1

    async def _count_anew(self, *, even_again: bool = False) -> None:
        """Let the store count if there may be no room, but seldom unless `even_again`."""
        if self._has_room():
            return
        loop = asyncio.get_running_loop()
        async with self._counting:
            began = loop.time()
            if self._has_room() or (began < self._count_again_at and not even_again):
                return
            unseen = self._under_way - self._entered
            count = await self._core.store.count(self._backlog, most=self._limit)
            self._was_full = count >= self._limit
            self._count = count + unseen + self._entered  # plus posts open at the start of the count, or since
            self._count_again_at = loop.time() + (loop.time() - began) * _SHARE

    def _has_room(self) -> bool:
        return self._count is not None and self._count < self._limit


class PostedMail:
    """Accepts mail from outside turns, for agents in memory, in the store, or not yet created."""

    def __init__(
        self,
        core: Core,
        directory: AgentDirectory,
        accept: Callable[[Mail], None],
        deliver: Callable[[Mail], None],
    ) -> None:
        """accept: routes mail with a later due time to the timers, other mail to its agent; deliver: all mail."""
        self._core = core
        self._directory = directory
        self._slots = directory.slots
        self._accept = accept
        self._deliver = deliver
        self._unclaimed = Room(core, Backlog.UNCLAIMED, core.limits.unclaimed)
        self._scheduled = Room(core, Backlog.SCHEDULED, core.limits.scheduled)

    async def post(self, mail: Mail) -> Receipt:
        """Store the mail under the next number, and deliver it when it is due.

        Raises InboxFullError, BacklogFullError, EventIdReusedError, and the store's exceptions.
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
        """Return whether mail for the agent counts as unclaimed. Reads the store only if there may be no room."""
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
        numbered = replaced(mail, number=self._core.store.numbers(1), accepted=self._core.clock.now())
        try:
            verdict = await self._core.committer.commit(Posting(numbered), partial(self._accept, numbered))
        except NOBODY_CAN_WRITE:
            raise
        except OutsideError:  # the mail may have been accepted, and later mail must then follow it
            self._core.doubted.add(numbered.number)
            self._accept(numbered)
            raise
        if verdict is Verdict.COMMITTED:
            return Receipt(numbered.number)
        _check_id(verdict, numbered)
        return Receipt(numbered.number, repeat=True)

    def finished(self, mail: Mail) -> None:
        """Record that the recipient is done with the mail."""
        if mail.due is not None and mail.sender is None:
            self._scheduled.left()
        self._slots.finished(mail.recipient)

    async def retry(self, number: int) -> Mail:
        """Deliver refused or dead mail once more, or retry failed mail without waiting any longer.

        Raises UnknownMailError, and EventIdReusedError if its id now belongs to another event.
        """
        mail_before = await self._numbered(number)
        if mail_before.status is MailStatus.WAITING:
            return await self._lift(mail_before)
        if mail_before.status is MailStatus.UNREADABLE:  # rewriting it would lose data that can be repaired by hand
            raise UnknownMailError(number)
        mail = replaced(mail_before, status=MailStatus.WAITING, attempts=0, retry_at=None, reason="", due=None)
        verdict = await self._change(MailChange(mail), number, lambda: self._deliver(mail))
        _check_id(verdict, mail)
        if verdict is Verdict.REPEATED:  # other mail has already delivered its event to the agent
            await self._change(MailEnd(number), number)
        return mail

    async def discard(self, number: int) -> Mail:
        """Forget refused, dead or unreadable mail. Raises UnknownMailError."""
        mail = await self._numbered(number)
        if mail.status is MailStatus.WAITING:
            raise UnknownMailError(number)
        await self._change(MailEnd(number), number)
        return mail

    async def _lift(self, failed: Mail) -> Mail:
        if failed.retry_at is None:
            raise UnknownMailError(failed.number)
        mail = replaced(failed, retry_at=None)
        await self._change(MailChange(mail), mail.number, lambda: self._try_now(mail))
        return mail

    def _try_now(self, mail: Mail) -> None:
        """Try the mail now: end its wait, or deliver it if its agent does not hold it.

        Mail that the agent holds without waiting is being tried right now.
        """
        agent = self._directory.known(mail.recipient)
        if not self._core.retry_now(mail.number) and not (agent is not None and agent.holds(mail)):
            self._deliver(mail)

    async def _change(self, unit: Unit, number: int, then: Callable[[], None] = nothing) -> Verdict:
        verdict = await self._core.committer.commit(unit, then)
        if verdict is Verdict.STALE:
            raise UnknownMailError(number)
        return verdict

    async def _numbered(self, number: int) -> Mail:
        page = await self._core.store.mail(MailQuery(after=number - 1, limit=1))
        if not page or page[0].number != number:
            raise UnknownMailError(number)
        return page[0]


async def shown_mail(store: Store, registry: Registry, mails: Sequence[Mail], now: datetime) -> Sequence[Mail]:
    """Return mail as listed for people, with deferred mail marked."""
    recipients = tuple({mail.recipient for mail in mails if mail.status is MailStatus.WAITING})
    if not recipients or not any(graph.has_deferring for graph in registry.versions):
        return mails
    agents = {each.agent_id: each for each in await store.load_many(recipients)}
    return [_shown(registry, agents.get(mail.recipient), mail, now) for mail in mails]


def _shown(registry: Registry, snapshot: Snapshot | None, mail: Mail, now: datetime) -> Mail:
    graph = None if snapshot is None else registry.same_version(snapshot)
    return mail if graph is None or snapshot is None else shown(graph, snapshot, mail, now)


def _check_id(verdict: Verdict, mail: Mail) -> None:
    if verdict is Verdict.REUSED:
        raise EventIdReusedError(mail.recipient, mail.id or "", mail.event)

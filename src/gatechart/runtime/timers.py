"""Timers and other mail with a due time. Mail that is due much later stays only in the store."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from heapq import heapify, heappop, heappush, nsmallest
from typing import Final, TypeAlias

from gatechart.runtime.core import Core
from gatechart.turn.mail import no_later
from gatechart.values.mail import Mail
from gatechart.values.names import AgentId

DueKey: TypeAlias = tuple[datetime, int]  # due time and number of mail: the order of delivery

FIRST: Final[DueKey] = (datetime.min.replace(tzinfo=UTC), 0)


class Timers:
    """Keeps the mail that is due first, within the limits, and delivers it as it becomes due."""

    def __init__(self, core: Core, deliver: Callable[[Mail], None]) -> None:
        self._core = core
        self._deliver = deliver
        self._most = core.limits.timers
        self._keys: list[DueKey] = []  # a heap, which may contain keys of dropped or postponed mail
        self._mail: dict[int, Mail] = {}
        self._of_agent: defaultdict[AgentId, set[int]] = defaultdict(set)
        self._horizon: DueKey | None = None  # mail beyond it may be only in the store; None if there is none
        self._is_reading = False
        self._sleeper: asyncio.Task[None] | None = None
        self._wakes_at: datetime | None = None

    async def recover(self) -> None:
        """Load mail from the store, and deliver mail that became due in the meantime, in due order.

        Raises the store's exceptions, because the caller that opens the runtime must know.
        """
        self._take_over(await self._core.store.due(after=FIRST, limit=self._most))
        await self._work()

    def add(self, mail: Mail) -> None:
        """Add newly committed mail with a due time."""
        mail = no_later(mail, self._core.clock.now())
        key = _due_key(mail)
        # A read under way may miss this mail and then move the horizon past it, so the mail is kept meanwhile.
        if self._horizon is not None and key > self._horizon and not self._is_reading:
            return
        self._keep(mail, key)
        # Not during a read, which would then move the horizon past the mail dropped here.
        if len(self._mail) > 2 * self._most and not self._is_reading:
            self._shrink()
        self._set_alarm()

    def drop(self, agent_id: AgentId, is_over: Callable[[Mail], bool]) -> bool:
        """Forget the agent's timers that are over; return whether there were any."""
        over = [number for number in self._of_agent.get(agent_id, ()) if is_over(self._mail[number])]
        for number in over:
            self._forget(number)
        if over:
            self._set_alarm()
        return bool(over)

    async def _work(self) -> None:
        """Deliver mail that is due, and read more when little is left."""
        while True:
            self._deliver_due()
            if self._horizon is None or self._is_reading or len(self._mail) > self._most // 2:
                break
            await self._read_on(self._horizon)
        self._set_alarm()

    def _deliver_due(self) -> None:
        now = self._core.clock.now()
        while self._keys and self._keys[0][0] <= now:
            key = heappop(self._keys)
            if self._stands(key):
                mail = self._mail[key[1]]
                self._forget(mail.number)
                self._deliver(mail)

    async def _read_on(self, after: DueKey) -> None:
        """Read the mail that is due next. The store leaves out mail cancelled meanwhile."""
        self._is_reading = True
        try:
            page = await self._core.ask(partial(self._core.store.due, after=after, limit=self._most))
        finally:
            self._is_reading = False
        self._take_over(page)

    def _take_over(self, page: Sequence[Mail]) -> None:
        self._keep_nearer(page)
        self._horizon = _due_key(page[-1]) if len(page) == self._most else None

    def _set_alarm(self) -> None:
        """Sleep until the next mail is due."""
        next_due = self._next_due()
        if self._sleeper is not None and self._wakes_at == next_due:
            return
        if self._sleeper is not None:
            self._sleeper.cancel()
            self._sleeper = None
        if next_due is not None and self._core.is_open:
            self._wakes_at = next_due
            self._sleeper = self._core.attend(self._sleep(next_due), "deliver what is due")

    def _next_due(self) -> datetime | None:
        while self._keys and not self._stands(self._keys[0]):
            heappop(self._keys)
        if self._keys:
            return self._keys[0][0]
        if self._horizon is None or self._is_reading:
            return None
        return self._horizon[0]  # all mail in memory was dropped; the store has mail from here on

    def _stands(self, key: DueKey) -> bool:
        """Return whether the key belongs to mail that was neither dropped nor postponed."""
        mail = self._mail.get(key[1])
        return mail is not None and mail.due == key[0]

    async def _sleep(self, due: datetime) -> None:
        if not await self._core.wait_until(due):
            self._keep_nearer(tuple(self._mail.values()))
        self._sleeper = None
        await self._work()

    def _keep_nearer(self, mails: Sequence[Mail]) -> None:
        """Keep mail. A handoff's next attempt is due no later than the longest wait of its fallbacks from now."""
        now = self._core.clock.now()
        for mail in (no_later(mail, now) for mail in mails):
            self._keep(mail, _due_key(mail))

    def _keep(self, mail: Mail, key: DueKey) -> None:
        known = self._mail.get(mail.number)
        if known is None or known.due != mail.due:
            heappush(self._keys, key)
        self._mail[mail.number] = mail
        self._of_agent[mail.recipient].add(mail.number)

    def _forget(self, number: int) -> None:
        mail = self._mail.pop(number)
        numbers = self._of_agent[mail.recipient]
        numbers.discard(number)
        if not numbers:
            del self._of_agent[mail.recipient]

    def _shrink(self) -> None:
        """Leave the mail that is due last to the store."""
        first = nsmallest(self._most, map(_due_key, self._mail.values()))
        self._horizon = first[-1] if self._horizon is None else min(self._horizon, first[-1])
        for number in self._mail.keys() - {number for _, number in first}:
            self._forget(number)
        self._keys = first
        heapify(self._keys)


def _due_key(mail: Mail) -> DueKey:
    if mail.due is None:
        raise ValueError(f"mail {mail.number} has no due time")
    return (mail.due, mail.number)

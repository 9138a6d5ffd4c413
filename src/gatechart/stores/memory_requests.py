"""Requests to the owner of a store in memory. Whoever asks is in the same process and holds the same store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from gatechart.api.requests import is_about
from gatechart.values.names import AgentId
from gatechart.values.queries import Request

KEPT: Final = timedelta(hours=1)


@dataclass(slots=True)
class _Asked:
    request: Request
    is_taken: bool = False
    answer: str | None = None
    answered: datetime | None = None


class MemoryRequests:
    """Requests and their answers, in memory. Fulfils Asking and Requests."""

    def __init__(self) -> None:
        self._asked: dict[int, _Asked] = {}
        self._numbers = 0
        self._news: asyncio.Event | None = None  # set when a request arrives

    async def owner(self) -> str:
        """See Asking."""
        return "this process"

    async def is_owned(self) -> bool:
        """See Asking. Whoever holds the store owns it."""
        return True

    async def ask(self, request: Request) -> int:
        """See Asking."""
        known = [number for number, each in self._asked.items() if each.request.id == request.id]
        if known:
            return known[0]
        self._numbers += 1
        self._asked[self._numbers] = _Asked(replace(request, number=self._numbers))
        if self._news is not None:
            self._news.set()
        return self._numbers

    async def answer_to(self, number: int) -> str | None:
        """See Asking."""
        found = self._asked.get(number)
        return None if found is None else found.answer

    async def withdraw(self, number: int) -> bool:
        """See Asking."""
        found = self._asked.get(number)
        if found is not None and not found.is_taken:
            del self._asked[number]
        return number not in self._asked

    async def forget(self, number: int) -> None:
        """See Asking."""
        self._asked.pop(number, None)

    async def asked(self) -> None:
        """See Requests."""
        while all(each.is_taken for each in self._asked.values()):
            self._news = asyncio.Event()
            await self._news.wait()

    async def take(self, now: datetime, *, limit: int, again: bool = False) -> Sequence[Request]:
        """See Requests."""
        self._asked = {number: each for number, each in self._asked.items() if not _is_over(each, now)}
        open_ones = [each for each in self._asked.values() if each.answer is None and (again or not each.is_taken)]
        for each in open_ones[:limit]:
            each.is_taken = True
        return [each.request for each in open_ones[:limit]]

    async def answer(self, number: int, text: str, now: datetime) -> None:
        """See Requests."""
        if number in self._asked:
            self._asked[number].answer, self._asked[number].answered = text, now

    def empty_answers(self, agent_id: AgentId) -> None:
        """Remove an erased agent's data from answered requests and their answers."""
        for each in self._asked.values():
            if each.answer is not None and is_about(agent_id, each.request.call, each.answer):
                each.request, each.answer = replace(each.request, call="{}"), "{}"


def _is_over(asked: _Asked, now: datetime) -> bool:
    """Whether the request was not taken in time, or its answer was not fetched."""
    if asked.answered is not None:
        return asked.answered < now - KEPT
    return not asked.is_taken and asked.request.until < now

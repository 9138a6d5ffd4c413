"""Requests to the owner of a store in memory. Askers are in the same process and hold the same store."""

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
class _StoredRequest:
    request: Request
    is_taken: bool = False
    answer: str | None = None
    answered: datetime | None = None


class MemoryRequests:
    """Requests and their answers, in memory. Fulfils Asking and Requests."""

    def __init__(self) -> None:
        self._asked: dict[int, _StoredRequest] = {}
        self._numbers = 0
        self._news: asyncio.Event | None = None  # set when a request arrives

    async def owner(self) -> str:
        """See Asking."""
        return "this process"

    async def is_owned(self) -> bool:
        """See Asking. Always true: a process owns its store."""
        return True

    async def ask(self, request: Request) -> int:
        """See Asking."""
        known = [number for number, asked in self._asked.items() if asked.request.id == request.id]
        if known:
            return known[0]
        self._numbers += 1
        self._asked[self._numbers] = _StoredRequest(replace(request, number=self._numbers))
        if self._news is not None:
            self._news.set()
        return self._numbers

    async def answer_to(self, number: int) -> str | None:
        """See Asking."""
        asked = self._asked.get(number)
        return None if asked is None else asked.answer

    async def withdraw(self, number: int) -> bool:
        """See Asking."""
        asked = self._asked.get(number)
        if asked is not None and not asked.is_taken:
            del self._asked[number]
        return number not in self._asked

    async def forget(self, number: int) -> None:
        """See Asking."""
        self._asked.pop(number, None)

    async def asked(self) -> None:
        """See Requests."""
        while all(asked.is_taken for asked in self._asked.values()):
            self._news = asyncio.Event()
            await self._news.wait()

    async def take(self, now: datetime, *, limit: int, again: bool = False) -> Sequence[Request]:
        """See Requests."""
        self._asked = {number: asked for number, asked in self._asked.items() if not _is_over(asked, now)}
        unanswered = [asked for asked in self._asked.values() if asked.answer is None]
        open_ones = [asked for asked in unanswered if again or not asked.is_taken][:limit]
        for asked in open_ones:
            asked.is_taken = True
        return [asked.request for asked in open_ones]

    async def answer(self, number: int, text: str, now: datetime) -> None:
        """See Requests."""
        if number in self._asked:
            self._asked[number].answer, self._asked[number].answered = text, now

    def empty_answers(self, agent_id: AgentId) -> None:
        """Remove an erased agent's data from answered requests and their answers."""
        for asked in self._asked.values():
            if asked.answer is not None and is_about(agent_id, asked.request.call, asked.answer):
                asked.request, asked.answer = replace(asked.request, call="{}"), "{}"


def _is_over(asked: _StoredRequest, now: datetime) -> bool:
    """Whether the request expired before it was taken, or its answer was never fetched."""
    if asked.answered is not None:
        return asked.answered < now - KEPT
    return not asked.is_taken and asked.request.until < now

"""Waits of invocations that survive their process: the moment is recorded first, and a repeat waits for the rest."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from gatechart.hosting.idleness import Idleness
from gatechart.hosting.invoke_journal import InvokeJournal, mark
from gatechart.values.delays import LONGEST_S
from gatechart.values.names import Payload


class WaitHost(Protocol):
    """What waits by a clock."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait by the runtime's clock."""
        ...


class Waits:
    """The durable waits of one attempt, or those between attempts.

    Each belongs inside a block of `Idleness.busy`, except those between attempts, when no function is under way.
    """

    def __init__(self, host: WaitHost, journal: InvokeJournal, idleness: Idleness) -> None:
        """host: whose clock counts. journal: where moments are recorded. idleness: what is told of each wait."""
        self._host = host
        self._journal = journal
        self._idleness = idleness

    async def until_over(
        self, name: str, wait_s: float, facts: Payload | None = None, replaces: Sequence[str] = ()
    ) -> None:
        """Wait so many seconds from the first time that the invocation came to this wait.

        name: a mark. facts: what is recorded with the moment. replaces: marks that are forgotten then. Raises
        InvocationOverError if the state has been left.
        """
        text = self._journal.recorded(name)
        if text is None:
            moment = self._host.now() + timedelta(seconds=min(wait_s, LONGEST_S))
            wait = {"until": moment.isoformat(), "wait_s": wait_s, **(facts or {})}
            text = await self._journal.record(name, json.dumps(wait), replaces)
        await self._rest(text)

    def ends(self, name: str) -> datetime | None:
        """Return the recorded moment at which a wait ends; None if the invocation did not come to it."""
        text = self._journal.recorded(name)
        return None if text is None else datetime.fromisoformat(json.loads(text)["until"])

    async def tried(self, step: str) -> int:
        """Return how many tries of a step failed in this attempt, after the wait that follows the last of them."""
        return await self._counted(partial(self._try, step))

    async def before_next(self, step: str, failed: int, wait_s: float) -> None:
        """Record that so many tries of a step have failed, and wait before the next. Raises InvocationOverError."""
        await self._before(partial(self._try, step), failed, wait_s)

    async def attempts(self) -> int:
        """Return how many attempts at the function failed, after the wait that follows the last of them."""
        async with self._idleness.busy():
            return await self._counted(_attempt)

    async def before_next_attempt(self, failed: int, wait_s: float) -> None:
        """Record that so many attempts have failed, and wait before the next. Raises InvocationOverError."""
        tries = self._journal.names(mark("retry", ""))  # of attempts that have ended
        async with self._idleness.busy():
            await self._before(_attempt, failed, wait_s, tries)

    def _try(self, step: str, failed: int) -> str:
        return mark("retry", self._journal.attempt, failed % 2, step)

    async def _before(
        self, name: Callable[[int], str], failed: int, wait_s: float, replaces: Sequence[str] = ()
    ) -> None:
        # Each mark replaces the one before it, so that those who try again for ever do not leave more and more.
        await self.until_over(name(failed), wait_s, {"failed": failed}, (name(failed - 1), *replaces))

    async def _counted(self, name: Callable[[int], str]) -> int:
        failed, text = _last(self._journal.recorded, name)
        if text:
            await self._rest(text)
        return failed

    async def _rest(self, text: str) -> None:
        rest_s = _rest_s(text, self._host.now())
        if rest_s > 0:
            async with self._idleness.waiting():
                await self._host.sleep(rest_s)


def attempts_before(recorded: Mapping[str, str], now: datetime) -> tuple[int, float]:
    """Return how many attempts at a function failed by its invocation's records, and the seconds until the next.

    now: aware, in UTC.
    """
    failed, text = _last(recorded.get, _attempt)
    return failed, _rest_s(text, now) if text else 0.0


def _attempt(failed: int) -> str:
    return mark("attempt", failed % 2)


def _last(recorded: Callable[[str], str | None], name: Callable[[int], str]) -> tuple[int, str]:
    """Return the highest count of failures of which there is a mark, with its text; 0 and no text if there is none."""
    texts = (recorded(name(failed)) for failed in (0, 1))
    return max(((json.loads(text)["failed"], text) for text in texts if text is not None), default=(0, ""))


def _rest_s(text: str, now: datetime) -> float:
    """Return the seconds that are left of a recorded wait, 0 if it is over.

    Never more than the whole wait: the clock by which its end was recorded may have been ahead.
    """
    wait = json.loads(text)
    left = datetime.fromisoformat(wait["until"]) - now
    whole_s: float = wait["wait_s"]
    return max(0.0, min(left.total_seconds(), whole_s))

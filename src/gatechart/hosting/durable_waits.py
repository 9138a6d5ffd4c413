"""Waits that survive the process: an invocation records when the wait ends, and a repeat waits for the rest."""

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
    """A clock to wait by."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait by the runtime's clock."""
        ...


class Waits:
    """The durable waits within one attempt, or between attempts.

    Wait inside a block of `Idleness.busy`, except between attempts, when no function is running.
    """

    def __init__(self, host: WaitHost, journal: InvokeJournal, idleness: Idleness) -> None:
        """host: whose clock counts. journal: where moments are recorded. idleness: notified of each wait."""
        self._host = host
        self._journal = journal
        self._idleness = idleness

    async def until_over(
        self, name: str, wait_s: float, facts: Payload | None = None, replaces: Sequence[str] = ()
    ) -> None:
        """Wait until `wait_s` seconds after the invocation first reached this wait.

        name: a mark. facts: recorded with the moment. replaces: marks to delete when the moment is recorded. Raises
        InvocationOverError if the agent has left the state.
        """
        text = self._journal.recorded(name)
        if text is None:
            moment = self._host.now() + timedelta(seconds=min(wait_s, LONGEST_S))
            wait = {"until": moment.isoformat(), "wait_s": wait_s, **(facts or {})}
            text = await self._journal.record(name, json.dumps(wait), replaces)
        await self._rest(text)

    def ends(self, name: str) -> datetime | None:
        """Return the recorded moment when a wait ends; None if the invocation did not reach the wait."""
        text = self._journal.recorded(name)
        return None if text is None else datetime.fromisoformat(json.loads(text)["until"])

    async def tried(self, step: str) -> int:
        """Return how many tries of a step failed in this attempt, after the wait that follows the last of them."""
        return await self._counted(partial(self._try, step))

    async def before_next(self, step: str, failed: int, wait_s: float) -> None:
        """Record how many tries of a step have failed, and wait before the next. Raises InvocationOverError."""
        await self._before(partial(self._try, step), failed, wait_s)

    async def attempts(self) -> int:
        """Return how many attempts at the function failed, after the wait that follows the last of them."""
        async with self._idleness.busy():
            return await self._counted(_attempt)

    async def before_next_attempt(self, failed: int, wait_s: float) -> None:
        """Record how many attempts have failed, and wait before the next. Raises InvocationOverError."""
        tries = self._journal.names(mark("retry", ""))  # of attempts that have ended
        async with self._idleness.busy():
            await self._before(_attempt, failed, wait_s, tries)

    def _try(self, step: str, failed: int) -> str:
        return mark("retry", self._journal.attempt, failed % 2, step)

    async def _before(
        self, name: Callable[[int], str], failed: int, wait_s: float, replaces: Sequence[str] = ()
    ) -> None:
        # Each mark replaces the previous one, so that endless retries do not accumulate marks.
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
    """Return how many attempts at a function failed, from its invocation's records, and the seconds until the next.

    now: aware, in UTC.
    """
    failed, text = _last(recorded.get, _attempt)
    return failed, _rest_s(text, now) if text else 0.0


def _attempt(failed: int) -> str:
    return mark("attempt", failed % 2)


def _last(recorded: Callable[[str], str | None], name: Callable[[int], str]) -> tuple[int, str]:
    """Return the highest count of failures that has a mark, with the mark's text; 0 and no text if there is no mark."""
    texts = (recorded(name(failed)) for failed in (0, 1))
    return max(((json.loads(text)["failed"], text) for text in texts if text is not None), default=(0, ""))


def _rest_s(text: str, now: datetime) -> float:
    """Return the seconds left of a recorded wait; 0 if it is over.

    Never more than the whole wait: the clock that recorded its end may have been ahead.
    """
    wait = json.loads(text)
    left = datetime.fromisoformat(wait["until"]) - now
    whole_s: float = wait["wait_s"]
    return max(0.0, min(left.total_seconds(), whole_s))

"""Server of the requests that other processes leave in the database for its owner."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

from gatechart.api.command import Command
from gatechart.api.commands import COMMANDS
from gatechart.api.errors import ErrorDocument, Reply
from gatechart.context import problems_of
from gatechart.errors.event import PayloadError
from gatechart.errors.operation import RuntimeClosedError, UnwritableError
from gatechart.errors.outside import OwnershipLostError, RequestLateError
from gatechart.ports import Requests
from gatechart.runtime.core import Core
from gatechart.tasks import start_task
from gatechart.values.queries import Request

logger = logging.getLogger(__name__)

MOST: Final = 1000  # requests in progress at a time
PAUSE_S: Final = 1.0  # pause while the store does not answer
GRACE: Final = timedelta(minutes=1)  # after a request's deadline, for work begun by another owner

Execute: TypeAlias = Callable[[Command, str], Awaitable[Any]]  # takes a command and the id of its request


class RequestServer:
    """Takes requests, executes each once, and answers it; requests of one asker run one after another.

    A command without an id runs under its request's id. If an owner dies with a request, the next owner can therefore
    execute it again without repeating its effect. Requests are timed in real time, regardless of the runtime's clock,
    because their askers wait in real time.
    """

    def __init__(self, core: Core, requests: Requests, execute: Execute) -> None:
        self._core = core
        self._requests = requests
        self._execute = execute
        self._under_way: dict[str, deque[Request]] = {}  # by asker
        self._numbers: set[int] = set()  # of the requests under way
        self._has_room = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start taking requests, in a task that does not count as pending work."""
        self._task = start_task(self._run())

    def close(self) -> None:
        """Take no more requests. Requests already taken end with the runtime, or are left to the next one."""
        if self._task is not None:
            self._task.cancel()

    async def end(self) -> None:
        """Wait until it has closed."""
        if self._task is not None:
            await asyncio.wait((self._task,))

    async def _run(self) -> None:
        """Take requests as they arrive. At first, and after an error, also retake requests that were not answered."""
        again, failed = True, 0
        while True:
            try:
                if not again:
                    await self._requests.asked()
                await self._take(again=again)
                again, failed = False, 0
            except OwnershipLostError as error:
                self._core.lose(error)
                return
            except Exception as error:  # on any error: no other task takes the requests
                failed += 1
                facts = {"attempts": failed, "problem": str(error)}
                text = "requests to the owner cannot be read (attempt %(attempts)d); retrying: %(problem)s"
                logger.error(text, facts, extra=facts, exc_info=error if failed == 1 else None)  # noqa: TRY400
                await asyncio.sleep(PAUSE_S)
                again = True

    async def _take(self, *, again: bool) -> None:
        await self._wait_for_room()
        known = frozenset(self._numbers)  # read before `take`, because a request may be answered meanwhile
        limit, now = MOST if again else MOST - len(known), datetime.now(UTC)
        for request in await self._requests.take(now, limit=limit, again=again):
            if request.number in known:
                continue
            if again and request.until < now - GRACE:  # its asker got an unknown result, and has continued
                late = RequestLateError(request.id, (now - request.until).total_seconds())
                await self._answer(request.number, _failed(request, late))
            else:
                self._put(request)

    async def _wait_for_room(self) -> None:
        while len(self._numbers) >= MOST:
            self._has_room.clear()
            await self._has_room.wait()

    def _put(self, request: Request) -> None:
        self._numbers.add(request.number)
        waiting = self._under_way.get(request.asker)
        if waiting is not None:
            waiting.append(request)
            return
        self._under_way[request.asker] = deque([request])
        self._core.spawn(self._serve(request.asker), "carry out requests")

    async def _serve(self, asker: str) -> None:
        """Execute the asker's requests one after another until none is left."""
        waiting = self._under_way[asker]
        try:
            while waiting and self._core.is_open:
                request = waiting[0]
                text = await self._reply_to(request)
                if text is None:
                    return
                await self._core.ask(partial(self._answer_in_any_case, request, text))
                waiting.popleft()
                self._numbers.discard(request.number)
                self._has_room.set()
        finally:
            del self._under_way[asker]

    async def _answer_in_any_case(self, request: Request, text: str) -> None:
        try:
            await self._answer(request.number, text)
        except UnwritableError as error:
            await self._answer(request.number, _failed(request, error))

    async def _answer(self, number: int, text: str) -> None:
        await self._requests.answer(number, text, datetime.now(UTC))

    async def _reply_to(self, request: Request) -> str | None:
        """Return the reply; None if the runtime closes first and leaves the request to the next one."""
        try:
            command = _read(request)
            result = await self._execute(command, request.id)
            return Reply(answer=command.answer.plain(result)).model_dump_json()
        except RuntimeClosedError as error:
            if not self._core.is_open:
                return None
            return _failed(request, error)
        except Exception as error:
            return _failed(request, error)


def _read(request: Request) -> Command:
    try:
        return COMMANDS.validate_json(request.call)
    except ValidationError as error:
        raise PayloadError("the owner", problems_of(error), "a call that this gatechart knows") from error


def _failed(request: Request, error: Exception) -> str:
    logger.info("a request failed", extra={"request": request.id, "asker": request.asker}, exc_info=error)
    return Reply(error=ErrorDocument.of(error)).model_dump_json()

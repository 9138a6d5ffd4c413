"""The verbs of a runtime that another process hosts, which are asked for through the database."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from secrets import token_hex
from typing import Final, TypeVar, cast

from gatechart.errors import OwnerGoneError, RequestTimeoutError
from gatechart.graph import StateTransitionGraph
from gatechart.ports import Asking, Store
from gatechart.runtime.core import random_id
from gatechart.runtime.runtime import Runtime
from gatechart.stores import DEFAULT_URL
from gatechart.stores.opening import open_asking
from gatechart.values import Request
from gatechart.wire import Call, Document, Performer, Verbs, perform, read_reply

D = TypeVar("D", bound=Document)

TIMEOUT_S: Final = 30.0
FIRST_NAP_S: Final = 0.005
LONGEST_NAP_S: Final = 0.1
CHECKS_EVERY_S: Final = 0.5  # whether there is an owner still


class Asker(Verbs):
    """Has calls carried out by the owner of a database, and reads for itself. Get it from `open_asker`.

    What writes raises what the verb raised there; RequestTimeoutError where the owner does not answer in time, and
    OwnerGoneError where it goes before. A request that the owner has not taken by then is withdrawn. So it is where the
    caller is cancelled: `given_up` is called with whether it was withdrawn.
    """

    def __init__(
        self,
        path: str,
        asking: Asking,
        reading: Performer,
        *,
        timeout_s: float,
        given_up: Callable[[bool], None],
        request: str | None = None,
    ) -> None:
        self._path = path
        self._asking = asking
        self._reading = reading
        self._timeout_s = timeout_s
        self._given_up = given_up
        self._request = request
        self._name = f"{socket.gethostname()}:{os.getpid()}:{token_hex(4)}"

    async def _call(self, call: Call, answer: type[D]) -> D:
        if not call.writes:
            return cast("D", await perform(self._reading, call))
        until = datetime.now(UTC) + timedelta(seconds=self._timeout_s)
        request = Request(self._request or random_id(), self._name, call.model_dump_json(), until)
        self._request = None
        asked = asyncio.ensure_future(self._asking.ask(request))
        try:
            number = await asyncio.shield(asked)
            text = await self._answered(number, request, call)
        except asyncio.CancelledError:
            self._given_up(await self._asking.withdraw(await asked))
            raise
        await self._asking.forget(number)
        return read_reply(text).of_kind(answer)

    async def _answered(self, number: int, request: Request, call: Call) -> str:
        loop = asyncio.get_running_loop()
        nap_s, began = FIRST_NAP_S, loop.time()
        checks = began + CHECKS_EVERY_S
        while (text := await self._asking.answer_to(number)) is None:
            now = loop.time()
            if now - began >= self._timeout_s:
                withdrawn = await self._asking.withdraw(number)
                owner = await self._asking.owner()
                raise RequestTimeoutError(self._path, owner, call.verb, self._timeout_s, withdrawn)
            if now >= checks:
                checks = now + CHECKS_EVERY_S
                if not await self._asking.is_owned() and await self._asking.answer_to(number) is None:
                    raise OwnerGoneError(self._path, request.id, number, await self._asking.withdraw(number))
            await asyncio.sleep(nap_s)
            nap_s = min(nap_s * 1.3, LONGEST_NAP_S)
        return text


@asynccontextmanager
async def open_asker(
    store: str | Store = DEFAULT_URL,
    *,
    graphs: Sequence[StateTransitionGraph] | StateTransitionGraph = (),
    timeout_s: float = TIMEOUT_S,
    given_up: Callable[[bool], None] = lambda _withdrawn: None,
    request: str | None = None,
) -> AsyncIterator[Asker]:
    """The verbs of the runtime that owns a database, for who does not: what it is asked goes through the database.

    graphs: those of the agents that are to be read. timeout_s: how long to wait for an answer; a request that was not
    taken by then is never carried out. given_up: told, where a caller is cancelled, whether its request was withdrawn.
    request: the id of one that was made before and may have been carried out: the first call that writes goes under it,
    and is not asked again where the owner knows it. Raises as `Runtime.open` does for one that is only read.
    """
    async with (
        open_asking(store) as asking,
        Runtime.open(store, graphs=graphs, read_only=True) as reading,
    ):
        yield Asker(
            str(store),
            asking,
            reading,
            timeout_s=timeout_s,
            given_up=given_up,
            request=request,
        )

"""The guard around a turn: its time limit, its exceptions, and the calls that are forbidden inside it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar
from typing import Any, TypeVar

from gatechart.errors.failures import contain
from gatechart.errors.operation import InsideTurnError, TurnTimeoutError
from gatechart.graph.graph import AnyGraph
from gatechart.values.names import AgentId

T = TypeVar("T")


class OpenTurn:
    """Marks code that runs inside a turn, and tasks started there, while the turn is open.

    Whatever the application's code raises leaves the turn as an Exception. Otherwise an exception that ends a task
    would leave the turn's mail undelivered, and SystemExit would end every host that tries the turn.
    """

    __slots__ = ("_token", "agent_id", "is_open")

    def __init__(self, agent_id: AgentId) -> None:
        self.agent_id = agent_id
        self.is_open = False

    def __enter__(self) -> None:
        self.is_open = True
        self._token = open_turn.set(self)

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self.is_open = False
        open_turn.reset(self._token)
        if error is not None:
            contain(error)


open_turn: ContextVar[OpenTurn | None] = ContextVar("open_turn", default=None)


def check_outside_turns(call: str) -> None:
    """Raise InsideTurnError if a turn is open."""
    turn = open_turn.get()
    if turn is not None and turn.is_open:
        raise InsideTurnError(call, turn.agent_id)


async def in_turn(graph: AnyGraph, agent_id: AgentId, event: str, turn: Coroutine[Any, Any, T], limit_s: float) -> T:
    """Run the turn inside an OpenTurn and return its result. Raises TurnTimeoutError after `limit_s` seconds.

    A graph without async actions cannot be interrupted, so its turns have no limit.
    """
    with OpenTurn(agent_id):
        if graph.runs_at_once:
            return await turn
        try:
            async with asyncio.timeout(limit_s) as limit:
                return await turn
        except TimeoutError as error:
            if limit.expired():  # otherwise an action raised it
                raise TurnTimeoutError(agent_id, event, limit_s) from error
            raise

"""What runs inside a turn, for how long, and what must not be called there."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar
from typing import Any, TypeVar

from gatechart.errors import InsideTurnError, TurnTimeoutError, contain
from gatechart.graph import AnyGraph
from gatechart.values import AgentId

T = TypeVar("T")


class OpenTurn:
    """Marks what runs inside it, and the tasks begun there, as part of a turn, for as long as the turn is open.

    All that an application's code may raise in a turn comes out of it as an Exception: what ends a task would leave the
    turn's mail to nobody, and SystemExit would end every host at it.
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
    """Raises InsideTurnError where a turn is open."""
    turn = open_turn.get()
    if turn is not None and turn.is_open:
        raise InsideTurnError(call, turn.agent_id)


async def in_turn(graph: AnyGraph, agent_id: AgentId, event: str, turn: Coroutine[Any, Any, T], limit_s: float) -> T:
    """Return what the turn comes to, run inside an OpenTurn. Raises TurnTimeoutError after `limit_s` seconds.

    A graph without async actions cannot be interrupted, so its turns have no limit.
    """
    with OpenTurn(agent_id):
        if graph.runs_at_once:
            return await turn
        try:
            async with asyncio.timeout(limit_s) as limit:
                return await turn
        except TimeoutError as error:
            if limit.expired():  # else an action raised it
                raise TurnTimeoutError(agent_id, event, limit_s) from error
            raise


def run_at_once(work: Coroutine[Any, Any, T]) -> T:
    """The result of work that never suspends, without a task.

    >>> async def double(number):
    ...     return 2 * number
    >>> run_at_once(double(21))
    42
    """
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    work.close()
    raise RuntimeError(f"{work!r} suspended, though its store and its graph declare that they never do")

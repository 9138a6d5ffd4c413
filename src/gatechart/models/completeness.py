"""Completeness of a model's answer: calls that are not made, and answers that end a loop with an error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from gatechart.models.entries import ModelTurn
from gatechart.models.model import Finish
from gatechart.models.output import ANSWER

INCOMPLETE: Final = (Finish.LENGTH, Finish.REFUSED, Finish.FILTERED, Finish.EMPTY, Finish.UNKNOWN)
"""Reasons for which an answer is incomplete unless the loop accepts them."""

_WITHHELD: Final = (Finish.REFUSED, Finish.FILTERED)
_AT_LIMIT: Final = (
    "this call was not made: your message reached the limit of tokens, so the call may lack arguments. "
    "Make it again, in a shorter message"
)
_NO_CALLS: Final = "this call was not made: your message was {}"
_UNKNOWN_END: Final = (
    "this call was not made: your message ended for an unknown reason, so the call may lack arguments. Make it again"
)


def accepted_finishes(accept: Iterable[Finish | str]) -> frozenset[Finish]:
    """Return the reasons that a loop accepts. Raises ValueError for one that it cannot accept."""
    given = (accept,) if isinstance(accept, str) else tuple(accept)
    wrong = [each for each in given if each not in INCOMPLETE]
    if wrong:
        raise ValueError(
            f"ModelLoop(accept={wrong[0]!r}) is not a finish reason to accept; use {', '.join(INCOMPLETE)}"
        )
    return frozenset(map(Finish, given))


def calls_not_made(turn: ModelTurn, accept: frozenset[Finish]) -> Mapping[int, str]:
    """Return the places of the calls that are never made, each with what to tell the model.

    A limit of tokens may cut off the last call, so that it lacks arguments, and other ends may, too. Calls of a message
    that was refused or filtered are not made at all.
    """
    places = range(len(turn.message.tool_calls))
    if turn.finish is Finish.LENGTH:
        return dict.fromkeys(places[-1:], _AT_LIMIT)
    if turn.finish is Finish.UNKNOWN and turn.finish not in accept:
        return dict.fromkeys(places[-1:], _UNKNOWN_END)
    return dict.fromkeys(places if turn.finish in _WITHHELD else (), _NO_CALLS.format(turn.finish))


def is_incomplete(turns: list[ModelTurn], accept: frozenset[Finish]) -> bool:
    """Return whether the newest of these turns, oldest first, ends the loop with an error.

    After a turn that was cut off in a call, the loop continues, because the model learns of it. After a second turn
    in a row that was cut off in its answer, the loop ends, because the next turn would cost as much.
    """
    last = turns[-1]
    if last.finish not in INCOMPLETE or last.finish in accept:
        return False
    if last.finish in _WITHHELD or not last.message.tool_calls:
        return True
    return len(turns) > 1 and all(_is_cut_off_answer(each) for each in turns[-2:])


def _is_cut_off_answer(turn: ModelTurn) -> bool:
    calls = turn.message.tool_calls
    return turn.finish in {Finish.LENGTH, Finish.UNKNOWN} and bool(calls) and calls[-1].name == ANSWER

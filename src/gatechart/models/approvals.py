"""The approval of calls by a function of the application."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from gatechart.errors.failures import contained, failure_in, message_of
from gatechart.handoff.packet import ToolCall, readable

logger = logging.getLogger(__name__)

Approval: TypeAlias = "Callable[[Any, ToolCall], bool | str | None]"
"""Whether a call may be made, from the agent's context: True; False or why not; None if a person is to be asked."""

NOT_APPROVED: Final = "this call was not approved"
_RAISED: Final = "approval of %(tool)s raised %(problem)s"
_WANTED: Final = "True, False, a text that says why not, or None to ask a person"


def decision(approval: Approval, context: Any, call: ToolCall) -> bool | str | None:
    """Return True if the call may be made, a text that says why not, or None if a person is to be asked.

    A function that raises, or answers anything else, is the failure of the call, so that it cannot stop the agent.
    """
    try:
        with contained():
            answer: Any = approval(context, call)
    except Exception as error:
        problem = f"{type(failure_in(error)).__name__}: {message_of(failure_in(error))}"
        logger.warning(_RAISED, {"tool": call.name, "problem": problem}, exc_info=error)
        return f"{NOT_APPROVED}: its approval raised {problem}"
    if isinstance(answer, str):
        return readable(answer) or NOT_APPROVED
    if answer is None or answer is True:
        return answer
    if answer is False:
        return NOT_APPROVED
    if inspect.iscoroutine(answer):
        answer.close()
    logger.warning("the approval function of %s returned %r; it must return %s", call.name, type(answer), _WANTED)
    return f"{NOT_APPROVED}: its approval function returned {type(answer).__name__}, not {_WANTED}"

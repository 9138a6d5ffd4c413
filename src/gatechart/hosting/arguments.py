"""Checks on the arguments of callers: members of enums, numbers within every store's range."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatechart.api import HandoffsCommand
from gatechart.errors import PayloadError
from gatechart.turn import checked_words, known_id, plain_payload, sought_id
from gatechart.values import HIGHEST_NUMBER, HandoffQuery, is_count


def handoff_query(command: HandoffsCommand) -> HandoffQuery:
    """Return the query of a command. Raises PayloadError, and UnknownAgentError if no agent can have the id."""
    for agent_id in (command.source, command.target):
        if agent_id is not None:
            known_id(agent_id)
    request, handoff_id = sought_id(command.request, "request"), sought_id(command.handoff_id)
    return HandoffQuery(
        command.source, command.target, command.status, request, handoff_id, command.after, command.limit
    )


def check_part(call: str, after: int, limit: int | None) -> None:
    """Raise PayloadError unless `after` and `limit` describe a part of a history."""
    if not is_count(after) or not (limit is None or is_count(limit)):
        raise PayloadError(call, (f"after is {after!r}, limit is {limit!r}",), "whole numbers from 0 on")


def check_version(call: str, version: int) -> None:
    """Raise PayloadError if the version is outside every store's range."""
    if not isinstance(version, int) or abs(version) >= HIGHEST_NUMBER:
        raise PayloadError(call, (f"version is {version!r}",), "a whole number, as the history has it")


def check_limit(call: str, limit: int) -> None:
    """Raise PayloadError if the limit is not a possible page size."""
    if not is_count(limit) or limit == 0:
        raise PayloadError(call, (f"limit is {limit!r}",), "a whole number of 1 or more")


def ending(invoke: str, result: Any, error: str | None) -> tuple[str, Mapping[str, Any]]:
    """Return the kind and payload of the event that reports how an operator ended an invoke. Raises PayloadError."""
    if error is None:
        return "done", plain_payload({"result": result}, f"done.invoke.{invoke}")
    if result is not None:
        raise PayloadError("end_invoke", ("it has both a result and an error",), "one of them")
    told = {"type": "OperatorError", "message": error, "traceback": "", "attempts": 0}
    return "error", plain_payload(told, f"error.invoke.{invoke}")


def checked_operator_reason(reason: str) -> str:
    """Return the reason. Raises PayloadError if it is empty or is a text that not every store can keep."""
    if checked_words(reason):
        return reason
    raise PayloadError("reason", ("it is empty",), "a text that says why, for the history")

"""The arguments of a call as models write them: one JSON object, which anything else must not be taken for."""

from __future__ import annotations

import json
from typing import Any, Final

from pydantic import JsonValue
from pydantic_core import from_json

from gatechart.values.nesting import depth_exceeds

DEEPEST: Final = 64
"""How deep objects and arrays may be nested in the arguments of a call, the outermost object included."""


def read_arguments(given: object) -> tuple[dict[str, JsonValue], str]:
    """Return the arguments of a call, and the problem with them; "" if they are readable.

    given: JSON text, as most providers send it, or an object. None and blank text are a call without arguments.

    >>> read_arguments('{"order": "4711"}')
    ({'order': '4711'}, '')
    >>> read_arguments('{"order": "4711", "order": "4712"}')
    ({}, "the arguments have the key 'order' more than once")
    """
    if isinstance(given, str):
        value, problem = _read_text(given)
    else:
        value, problem = ({} if given is None else given), ""
    if not problem:
        problem = _problem(value)
    return ({}, problem) if problem else (value, "")


def _read_text(text: str) -> tuple[Any, str]:
    if not text.strip():
        return {}, ""
    try:
        value = from_json(text, allow_inf_nan=False)
        json.loads(text, object_pairs_hook=_distinct)
    except _RepeatedKeyError as error:
        return {}, f"the arguments have the key {error.args[0]!r} more than once"
    except (ValueError, RecursionError) as error:
        return {}, f"the arguments are not JSON: {error}"
    return ({} if value is None else value), ""


def _problem(value: object) -> str:
    """Return why a JSON value cannot be the arguments of a call; "" if it can."""
    if not isinstance(value, dict):
        return f"the arguments are not a JSON object, but {_KINDS.get(type(value), type(value).__name__)}"
    if depth_exceeds(value, DEEPEST):
        return f"the arguments are nested more than {DEEPEST} deep"
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, TypeError) as error:  # infinity, or half a surrogate pair
        return f"the arguments cannot be stored: {error}"
    return ""


_KINDS: Final = {list: "an array", str: "a text", bool: "a truth value", int: "a number", float: "a number"}


class _RepeatedKeyError(Exception):
    """An object has a key twice; the argument is the key."""


def _distinct(pairs: list[tuple[str, Any]]) -> None:
    """Raise if an object has a key twice. Which of the values counts is up to the reader, so neither may."""
    if len(pairs) == len(dict(pairs)):
        return
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise _RepeatedKeyError(key)
        seen.add(key)

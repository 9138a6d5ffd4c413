"""What `--payload` brings."""

from __future__ import annotations

import json
import sys
from math import isfinite
from pathlib import Path
from typing import Any

from gatechart.cli.errors import UsageError


def read_payload(given: str | None) -> dict[str, Any] | None:
    """The JSON object that the option holds, or names as `@FILE` or `-`. Raises UsageError.

    >>> read_payload('{"text": "help"}'), read_payload(None)
    ({'text': 'help'}, None)
    """
    payload = read_json("--payload", given)
    if payload is None and given is None:
        return None
    if not isinstance(payload, dict):
        problem = f"it is no JSON object but {_KINDS[type(payload)]}; write it like '{{\"text\": ...}}'"
        raise _wrong("--payload", given or "", problem)
    return payload


def read_json(option: str, given: str | None) -> Any:
    """Return the JSON value that an option holds, or names as `@FILE` or `-`; None if left out. Raises UsageError.

    >>> read_json("--result", "[1, true]")
    [1, True]
    """
    if given is None:
        return None
    try:
        return json.loads(_text(given), parse_constant=_refuse, parse_float=_number)
    except (ValueError, RecursionError) as error:  # what is no UTF-8 is a ValueError, too
        problem = f'it is no JSON ({error}); write it like \'{{"text": "help"}}\', in single quotes'
        raise _wrong(option, given, problem) from error
    except OSError as error:
        raise _wrong(option, given, f"it cannot be read ({error.strerror})") from error


_KINDS = {
    list: "an array",
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number in JSON")


def _number(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"the number {digits} is too large")
    return number


def _text(given: str) -> str:
    if given == "-":
        return sys.stdin.read()
    return Path(given[1:]).read_text(encoding="utf-8") if given.startswith("@") else given


def _wrong(option: str, given: str, problem: str) -> UsageError:
    source = "stdin" if given == "-" else given[1:] if given.startswith("@") else option
    return UsageError(f"{source}: {problem}")

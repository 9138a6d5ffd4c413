"""Write plain data as readable YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from gatechart.chartfiles.source import scalar_of

_PLAIN: Final = re.compile(r"[^\W\d][\w./-]*(?: [\w./-]+)*|\d+(?:ms|s|m|h|d)")
_UNPRINTABLE: Final = re.compile("[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_LONGEST_LINE: Final = 100  # characters of a list in brackets
_LONGEST_KEY: Final = 500  # longer keys are written after `?`; YAML allows 1,024 characters without it


def write_yaml(value: Mapping[str, Any]) -> str:
    """Return the text, with a line break at its end.

    >>> print(write_yaml({"on": {"A": "B", "C": [{"target": "1"}, "~"]}, "n": None, "x": {}}), end="")
    on:
      A: B
      C:
        - target: "1"
        - "~"
    n: null
    x: {}
    """
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            text = _scalar(key)
            if len(text) > _LONGEST_KEY:
                yield f"? {text}"
                text = ""
            yield from _under(f"{text}:", each)
    else:
        for each in value:
            first, *rest = [_flow(each)] if _is_flow(each) else _lines(each)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)


def _under(head: str, value: Any) -> Iterator[str]:
    if _is_flow(value):
        yield f"{head} {_flow(value)}"
    else:
        yield head
        yield from (f"  {line}" for line in _lines(value))


def _is_flow(value: Any) -> bool:
    """Return whether it fits on one line: a scalar, nothing, or a short list of scalars."""
    if isinstance(value, list):
        return not any(isinstance(each, Mapping | list) for each in value) and len(_flow(value)) <= _LONGEST_LINE
    return not isinstance(value, Mapping) or not value


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{}"
    return f"[{', '.join(map(_scalar, value))}]" if isinstance(value, list) else _scalar(value)


def _scalar(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN.fullmatch(value) and scalar_of(value) == value:
        return value
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))

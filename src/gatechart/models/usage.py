"""Usage as providers report it: numbers that may be missing, null, or odd. It never makes an answer fail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gatechart.models.model import Usage


def merged_usage(old: Mapping[str, Any], new: object) -> dict[str, Any]:
    """Return usage with later figures in place of earlier ones; null never replaces a number.

    >>> merged_usage({"input_tokens": 7}, {"input_tokens": None, "output_tokens": 2})
    {'input_tokens': 7, 'output_tokens': 2}
    """
    if not isinstance(new, Mapping):
        return dict(old)
    return {**old, **{key: value for key, value in new.items() if value is not None}}


def openai_usage(reported: object) -> Usage:
    """Return the usage of a chat completion."""
    details = _first(reported, ("prompt_tokens_details", "input_tokens_details"), Mapping)
    cached = _number(details, "cached_tokens")
    if cached is None:  # DeepSeek, Moonshot
        cached = _number(reported, "prompt_cache_hit_tokens", "cached_tokens")
    written, total = _number(reported, "completion_tokens", "output_tokens"), _number(reported, "total_tokens")
    read = _number(reported, "prompt_tokens", "input_tokens")
    if total is not None and read is None and written is not None:
        read = max(total - written, 0)
    if total is not None and written is None and read is not None:
        written = max(total - read, 0)
    return _usage(read, written, cached)


def anthropic_usage(reported: object) -> Usage:
    """Return the usage of a message; its input does not count tokens that the cache read or wrote."""
    cached = _number(reported, "cache_read_input_tokens")
    stored = _number(reported, "cache_creation_input_tokens")
    fresh = _number(reported, "input_tokens")
    counts = [each for each in (fresh, cached, stored) if each is not None]
    return _usage(sum(counts) if counts else None, _number(reported, "output_tokens"), cached)


def _usage(read: int | None, written: int | None, cached: int | None) -> Usage:
    """Return usage of one request. A request that read nothing was not counted: servers that do not count report 0."""
    is_reported = bool(read) and written is not None
    return Usage(
        input_tokens=read or 0,
        output_tokens=written or 0,
        cached_tokens=min(cached or 0, read or 0),
        unreported=0 if is_reported else 1,
    )


def _number(reported: object, *names: str) -> int | None:
    """Return the first figure of these names that is a number of tokens."""
    for name in names:
        value = reported.get(name) if isinstance(reported, Mapping) else None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12:
            return value
    return None


def _first(reported: object, names: Iterable[str], kind: type) -> object:
    found = (reported.get(name) for name in names) if isinstance(reported, Mapping) else ()
    return next((each for each in found if isinstance(each, kind)), None)

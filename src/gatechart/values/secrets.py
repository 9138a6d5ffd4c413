"""Secrets in JSON values, marked in storage, so that code that does not know their types can mask them.

A secret is an object with one key: `{"$secret": "0815"}`. The types in `gatechart.secrets` mark them; senders of
plain JSON may mark them, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final, TypeVar

T = TypeVar("T")

SECRET: Final = "$secret"
"""The only key of an object that holds a secret."""

MASK: Final = "**********"
"""The text shown in place of a secret, as in pydantic."""

_SIGN: Final = f'"{SECRET}"'


def hidden(value: Any) -> Any:
    """Return JSON values for people and other programs, with a mask in place of each secret.

    >>> hidden({"user": "ada", "pin": {"$secret": "0815"}})
    {'user': 'ada', 'pin': '**********'}
    """
    return _with(value, lambda _: MASK)


def revealed(value: Any) -> Any:
    """Return JSON values with their secrets in plain form, for the code that uses them.

    >>> revealed({"user": "ada", "pin": {"$secret": "0815"}})
    {'user': 'ada', 'pin': '0815'}
    """
    return _with(value, lambda secret: secret)


def withheld(value: Any) -> Any:
    """Return JSON values with each secret emptied but still marked.

    >>> withheld({"user": "ada", "pin": {"$secret": "0815"}})
    {'user': 'ada', 'pin': {'$secret': None}}
    """
    return _with(value, lambda _: {SECRET: None})


def hidden_text(text: str) -> str:
    """Return JSON text with a mask in place of each secret."""
    return _text(hidden(json.loads(text))) if _SIGN in text else text


def revealed_text(text: str) -> str:
    """Return JSON text with its secrets in plain form."""
    return _text(revealed(json.loads(text))) if _SIGN in text else text


def shown(record: T) -> T:
    """Return a frozen value, such as mail or a history entry, with its secrets masked. Texts are unchanged."""
    changes = {name: masked for name, content in _contents(record) if (masked := _shown(content)) is not content}
    return replace(record, **changes) if changes else record  # type: ignore[type-var]


def all_shown(records: Sequence[T]) -> Sequence[T]:
    """Return frozen values with their secrets masked; the same sequence if there are none."""
    masked = tuple(map(shown, records))
    return records if all(new is old for new, old in zip(masked, records, strict=True)) else masked


def _shown(content: Any) -> Any:
    return shown(content) if is_dataclass(content) else hidden(content)


def shown_repr(record: Any) -> str:
    """Return the repr of a frozen value with its secrets masked, including secrets in JSON texts."""
    contents = (
        (name, hidden_text(content) if isinstance(content, str) else hidden(content))
        for name, content in _contents(record)
    )
    return f"{type(record).__name__}({', '.join(f'{name}={content!r}' for name, content in contents)})"


def _contents(record: Any) -> list[tuple[str, Any]]:
    return [(item.name, getattr(record, item.name)) for item in fields(record)]


def _with(value: Any, put: Callable[[Any], Any]) -> Any:
    """Replace each secret. A value without secrets is returned unchanged, as the same object."""
    if isinstance(value, Mapping):
        if len(value) == 1 and SECRET in value:
            return put(value[SECRET])
        contents = {key: _with(content, put) for key, content in value.items()}
        return value if all(contents[key] is content for key, content in value.items()) else contents
    if isinstance(value, list | tuple):
        items = [_with(item, put) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else type(value)(items)
    return value


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

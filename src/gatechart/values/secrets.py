"""Secrets in JSON values, marked where they are stored, so that whoever shows them needs no type to mask them.

A secret is an object with one key: `{"$secret": "0815"}`. Types mark them, see `gatechart.secrets`; whoever sends plain
JSON may do so, too.
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
"""What stands in place of a secret where it is shown, as in pydantic."""

_SIGN: Final = f'"{SECRET}"'


def hidden(value: Any) -> Any:
    """Return JSON values as people and other programs may see them: with a mask in place of each secret.

    >>> hidden({"user": "ada", "pin": {"$secret": "0815"}})
    {'user': 'ada', 'pin': '**********'}
    """
    return _with(value, lambda _: MASK)


def revealed(value: Any) -> Any:
    """Return JSON values with their secrets, for what is to work with them.

    >>> revealed({"user": "ada", "pin": {"$secret": "0815"}})
    {'user': 'ada', 'pin': '0815'}
    """
    return _with(value, lambda secret: secret)


def withheld(value: Any) -> Any:
    """Return JSON values that still say where secrets are, and no longer which.

    >>> withheld({"user": "ada", "pin": {"$secret": "0815"}})
    {'user': 'ada', 'pin': {'$secret': None}}
    """
    return _with(value, lambda _: {SECRET: None})


def hidden_text(text: str) -> str:
    """Return JSON text with a mask in place of each secret."""
    return _text(hidden(json.loads(text))) if _SIGN in text else text


def revealed_text(text: str) -> str:
    """Return JSON text with its secrets."""
    return _text(revealed(json.loads(text))) if _SIGN in text else text


def shown(record: T) -> T:
    """Return a frozen value, such as mail or a turn of a history, with its secrets masked. Texts stay as they are."""
    changes = {name: masked for name, each in _contents(record) if (masked := _shown(each)) is not each}
    return replace(record, **changes) if changes else record  # type: ignore[type-var]


def all_shown(records: Sequence[T]) -> Sequence[T]:
    """Return frozen values with their secrets masked; the same sequence if there are none."""
    masked = tuple(map(shown, records))
    return records if all(new is old for new, old in zip(masked, records, strict=True)) else masked


def _shown(content: Any) -> Any:
    return shown(content) if is_dataclass(content) else hidden(content)


def shown_repr(record: Any) -> str:
    """Return the repr of a frozen value with its secrets masked, those in JSON texts, too."""
    contents = (
        (name, hidden_text(each) if isinstance(each, str) else hidden(each)) for name, each in _contents(record)
    )
    return f"{type(record).__name__}({', '.join(f'{name}={each!r}' for name, each in contents)})"


def _contents(record: Any) -> list[tuple[str, Any]]:
    return [(each.name, getattr(record, each.name)) for each in fields(record)]


def _with(value: Any, put: Callable[[Any], Any]) -> Any:
    """Put something in place of each secret. What has no secret is returned itself."""
    if isinstance(value, Mapping):
        if len(value) == 1 and SECRET in value:
            return put(value[SECRET])
        made = {key: _with(each, put) for key, each in value.items()}
        return value if all(made[key] is each for key, each in value.items()) else made
    if isinstance(value, list | tuple):
        items = [_with(each, put) for each in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else type(value)(items)
    return value


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

"""Trails and fired signals in columns."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Final

from pydantic import TypeAdapter

from gatechart.stores.sql.columns import to_json
from gatechart.values.fired_signals import FiredSignal
from gatechart.values.frozen import replaced
from gatechart.values.trail import MARK, NO_TRAIL, Trail

_DEFAULTS: Final = {column.name: column.default for column in fields(Trail) if column.name != "text"}
_REST: Final[TypeAdapter[Trail]] = TypeAdapter(Trail)
_FIRED: Final[TypeAdapter[FiredSignal]] = TypeAdapter(FiredSignal)


def from_trail(trail: Trail) -> dict[str, str | None]:
    """Return the columns of a trail."""
    if trail is NO_TRAIL or trail == NO_TRAIL:
        return {"trail": None, "noticed": None}
    return {"trail": trail.text, "noticed": to_json(rest) if (rest := _set_fields(trail)) else None}


def changed_columns(before: Trail, after: Trail) -> dict[str, str | None]:
    """Return the columns of a trail that have changed."""
    if after is NO_TRAIL:
        return from_trail(after)
    noticed = to_json(_set_fields(after))
    return {"noticed": noticed} if before.text == after.text else {"trail": after.text, "noticed": noticed}


def to_trail(text: str | None, noticed: str | None) -> Trail:
    """Read a trail from its columns. Its text is not parsed. Raises ValueError if they are damaged."""
    if text is None and noticed is None:
        return NO_TRAIL
    trail = replaced(_REST.validate_json(noticed or "{}"), text=text or "")
    if len(trail.marks) != len(trail.slots) * MARK:
        raise ValueError(f"the marks {trail.marks!r} do not fit {len(trail.slots)} slots")
    return trail


def entry_point_in(noticed: str | None) -> str:
    """Return the entry point in the columns of a trail; empty if there is none."""
    return "" if noticed is None else str(json.loads(noticed).get("entry_point", ""))


def from_fired(fired: FiredSignal) -> str:
    """Return the signals that fired in a turn as JSON text."""
    return _FIRED.dump_json(fired, exclude_defaults=True).decode()


def to_fired(text: str | None) -> FiredSignal | None:
    """Read the signals that fired from the text that `from_fired` wrote."""
    return None if text is None else _FIRED.validate_json(text)


def _set_fields(trail: Trail) -> dict[str, object]:
    """Return the fields that differ from their defaults, without the text."""
    return {name: held for name, default in _DEFAULTS.items() if (held := getattr(trail, name)) != default}

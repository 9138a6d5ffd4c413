"""What agents remember of their handoffs, as the text that a database keeps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, fields
from operator import attrgetter
from typing import Any, Final

from pydantic_core import to_json

from gatechart.values import Mode, OpenHandoff, Reason, Side

_DEFAULTS: Final = {each.name: each.default for each in fields(OpenHandoff) if each.default is not MISSING}
_MORE: Final = attrgetter(*_DEFAULTS)


def from_open(handoffs: Iterable[OpenHandoff]) -> str | None:
    """The handoffs in which an agent has a part, as JSON text; None where there are none."""
    kept = [_from_open(each) for each in handoffs]
    return to_json(kept).decode() if kept else None


def to_open(text: str | None) -> tuple[OpenHandoff, ...]:
    """The handoffs of that text."""
    return () if text is None else tuple(map(_to_open, json.loads(text)))


def _from_open(each: OpenHandoff) -> dict[str, Any]:
    """The fields that are not as where they are left out."""
    kept: dict[str, Any] = {
        "id": each.id,
        "side": each.side.value,
        "peer": each.peer,
        "mode": each.mode.value,
        "since": each.since,
    }
    for (name, default), held in zip(_DEFAULTS.items(), _MORE(each), strict=True):
        if held != default:
            kept[name] = held
    return kept


def _to_open(kept: dict[str, Any]) -> OpenHandoff:
    tuples: dict[str, Sequence[Any]] = {name: tuple(kept[name]) for name in ("states", "path") if name in kept}
    side, mode, reason = Side(kept["side"]), Mode(kept["mode"]), Reason(kept.get("reason", Reason.OTHER))
    return OpenHandoff(**kept | tuples | {"side": side, "mode": mode, "reason": reason})

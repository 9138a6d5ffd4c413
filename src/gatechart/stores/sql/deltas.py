"""What the history keeps of a turn's context: the difference, and now and then a full copy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pydantic_core import to_json

from gatechart.context import difference
from gatechart.values import TurnRecord

LEAST: Final = 8  # characters that a turn counts for at least, so that a rebuild never reads very many rows
EXTRA: Final = 256  # characters of deltas allowed in addition, so that full copies of a small context are rare


class Delta(NamedTuple):
    """The difference that a history row keeps of a turn's context, as JSON text. None if nothing changed."""

    changed: str | None
    appended: str | None
    deltas: int  # characters since the last full copy, the new value of `agents.deltas`

    @property
    def is_whole(self) -> bool:
        """Whether the row also holds a full copy."""
        return self.deltas == 0


def delta_of(turn: TurnRecord, deltas: int) -> Delta:
    """Return what a turn changed. deltas: characters of deltas since the agent's last full copy.

    A full copy is made if the turn starts the agent, if the graph or the fields have changed, or if the deltas are more
    than twice the context. Twice as much change pays for each copy, so the history stays in proportion to what was
    added, however large a context grows.
    """
    before, after = turn.previous, turn.snapshot
    if before is None:
        return Delta(None, None, 0)
    told = difference(before.context, after.context)
    changed, appended = _json_or_null(told.changed), _json_or_null(told.appended)
    deltas += max(len(changed or "") + len(appended or ""), LEAST)
    is_same_graph = before.fingerprint == after.fingerprint and before.graph_version == after.graph_version
    is_enough = is_same_graph and told.is_enough and deltas <= 2 * len(after.context) + EXTRA
    return Delta(changed, appended, deltas if is_enough else 0)


def _json_or_null(value: Mapping[str, Any]) -> str | None:
    return to_json(value).decode() if value else None

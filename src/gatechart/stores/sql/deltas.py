"""What the history keeps of the context that a turn left: what changed, and now and then all of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pydantic_core import to_json

from gatechart.context import difference
from gatechart.values import TurnRecord

LEAST: Final = 8  # characters that a turn counts for where less changed, so that a rebuild never reads very many
EXTRA: Final = 256  # characters that deltas may have beyond that, so that full copies of a small context are rare


class Delta(NamedTuple):
    """What a row of the history keeps of a turn's context, as JSON text; None where nothing changed."""

    changed: str | None
    appended: str | None
    deltas: int  # characters since the last full copy, as `agents.deltas` has it then

    @property
    def is_whole(self) -> bool:
        """Whether the row is to hold a full copy beside."""
        return self.deltas == 0


def delta_of(turn: TurnRecord, deltas: int) -> Delta:
    """What the turn changed, of an agent with so many characters of deltas since its last full copy.

    There is a full copy where the turn starts the agent, where graph or fields are others than before, and where the
    deltas outweigh the context twice. Such a copy is paid for by twice as much that changed, so that the history stays
    in proportion to what was added, however large a context grows.
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

"""The savepoint of a turn: its state to restore if the answer to a signal raises."""

from __future__ import annotations

from typing import Any, Final

from gatechart.context import read_context, write_context
from gatechart.turn.macrostep import Macrostep, use_in_turn
from gatechart.turn.turn_context import TurnLog

_QUEUE: Final = ("raised", "_raised")  # one object under two names; it is empty once the configuration is stable


class Savepoint:
    """The state of a turn after its microsteps, before the chart answers a signal."""

    __slots__ = ("_context", "_context_type", "_log", "_steps")

    def __init__(self, macrostep: Macrostep) -> None:
        self._context_type = type(macrostep.context)
        self._context = write_context(macrostep.context)
        self._steps = _contents(macrostep, Macrostep.__slots__)
        self._log = _contents(macrostep.log, TurnLog.__slots__)

    def restore(self, macrostep: Macrostep) -> None:
        """Undo all changes of the turn since then. The sequence of random numbers continues."""
        macrostep.log.raised.clear()
        for name, content in self._log.items():
            setattr(macrostep.log, name, content)
        for name, content in self._steps.items():
            setattr(macrostep, name, content)
        macrostep.context = macrostep.turn.context = read_context(self._context_type, self._context)
        use_in_turn(macrostep.context, macrostep.turn)


def _contents(holder: object, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the values of attributes, with copies of lists and dictionaries."""
    contents = {name: getattr(holder, name) for name in names if name not in _QUEUE}
    return {name: content.copy() if isinstance(content, list | dict) else content for name, content in contents.items()}

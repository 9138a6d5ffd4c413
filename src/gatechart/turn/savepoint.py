"""A savepoint to which a turn rolls back when the answer to a signal raises."""

from __future__ import annotations

from typing import Any, Final

from gatechart.context import read_context, write_context
from gatechart.turn.macrostep import Macrostep, use_in_turn
from gatechart.turn.turn_context import TurnLog

_QUEUE: Final = ("raised", "_raised")  # one object under two names; it is empty once the microsteps are done


class Savepoint:
    """The state of a turn after its microsteps, before the chart answers a signal."""

    __slots__ = ("_context", "_kind", "_log", "_steps")

    def __init__(self, macrostep: Macrostep) -> None:
        self._kind = type(macrostep.context)
        self._context = write_context(macrostep.context)
        self._steps = _contents(macrostep, Macrostep.__slots__)
        self._log = _contents(macrostep.log, TurnLog.__slots__)

    def restore(self, macrostep: Macrostep) -> None:
        """Undo every change of the turn since the savepoint. The stream of random numbers is not reset."""
        macrostep.log.raised.clear()
        for name, content in self._log.items():
            setattr(macrostep.log, name, content)
        for name, content in self._steps.items():
            setattr(macrostep, name, content)
        macrostep.context = macrostep.turn.context = read_context(self._kind, self._context)
        use_in_turn(macrostep.context, macrostep.turn)


def _contents(holder: object, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the values of attributes, with lists and dictionaries copied."""
    contents = {name: getattr(holder, name) for name in names if name not in _QUEUE}
    return {name: value.copy() if isinstance(value, list | dict) else value for name, value in contents.items()}

"""What a turn goes back to when the answer to a signal raises."""

from __future__ import annotations

from typing import Any, Final

from gatechart.context import read_context, write_context
from gatechart.turn.macrostep import Macrostep, use_in_turn
from gatechart.turn.turn_context import TurnLog

_QUEUE: Final = ("raised", "_raised")  # one object under two names; it is empty whenever a turn has come to rest


class Savepoint:
    """A turn as it was when it had come to rest, before the chart answered a signal."""

    __slots__ = ("_context", "_kind", "_log", "_steps")

    def __init__(self, macrostep: Macrostep) -> None:
        self._kind = type(macrostep.context)
        self._context = write_context(macrostep.context)
        self._steps = _contents(macrostep, Macrostep.__slots__)
        self._log = _contents(macrostep.log, TurnLog.__slots__)

    def restore(self, macrostep: Macrostep) -> None:
        """Take back everything that has happened in the turn since. Its random numbers go on."""
        macrostep.log.raised.clear()
        for name, content in self._log.items():
            setattr(macrostep.log, name, content)
        for name, content in self._steps.items():
            setattr(macrostep, name, content)
        macrostep.context = macrostep.turn.context = read_context(self._kind, self._context)
        use_in_turn(macrostep.context, macrostep.turn)


def _contents(holder: object, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the contents of attributes, lists and dictionaries copied."""
    contents = {name: getattr(holder, name) for name in names if name not in _QUEUE}
    return {name: each.copy() if isinstance(each, list | dict) else each for name, each in contents.items()}

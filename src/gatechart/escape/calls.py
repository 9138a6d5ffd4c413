"""Calls that a rollback of an agent would repeat: reasons against it, and calls to undo before it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from gatechart.values.escapes import MOST_KEYS, KeptKey, PastTurn, Undoing
from gatechart.values.frozen import value
from gatechart.values.names import Payload, StateName
from gatechart.values.payloads import read

CALLED: Final = "trail.call"
BEGAN: Final = "trail.began"


@value
class UndoingCall:
    """The call of another tool that undoes a call."""

    tool: str = ""
    arguments: Payload | None = None
    digest: str = ""  # of the arguments


@value
class RecordedCall:
    """A call, as the agent's history has it."""

    tool: str = ""
    arguments: str = ""  # digest
    ok: bool | None = None  # None while it runs
    call: str = ""  # its id, unique in the agent; empty for steps
    by: str = ""  # the tool that answered in place of the called one
    error: str = ""  # type of the error
    attempts: int = 1
    unknown: bool = False  # whether its outcome is unknown
    undo: Payload | None = None
    undoes: str = ""  # id of the call that it undoes
    key: str = ""  # idempotency key
    keyed: str = ""  # digest of the arguments for the key
    restored: bool = False  # whether the tool is used again after a switch to another one
    state: StateName = ""  # of the invoke
    epoch: int | None = None  # version of the entry of this state

    @property
    def answered_by(self) -> str:
        """The tool that answered the call."""
        return self.by or self.tool

    @property
    def undoing_call(self) -> UndoingCall | None:
        """The call that undoes it; None if it cannot be undone."""
        return read(UndoingCall, self.undo) if self.undo else None


def recorded_call(turn: PastTurn) -> RecordedCall:
    """Read the call that a turn recorded."""
    return read(RecordedCall, turn.payload)


class CallsMade:
    """The calls in some turns of an agent's past."""

    def __init__(self, turns: Iterable[PastTurn]) -> None:
        """Read the calls of the turns, oldest first."""
        entries = [(turn.event, recorded_call(turn)) for turn in turns if turn.event in (CALLED, BEGAN)]
        self._ended = [call for event, call in entries if event == CALLED]
        ended = {call.call for call in self._ended}
        self._running = [call for event, call in entries if event == BEGAN and call.call not in ended]
        self._succeeded = [call for call in self._ended if call.ok]
        self._undone = {call.undoes for call in self._succeeded if call.undoes}
        self._match_own_undoing()

    def _match_own_undoing(self) -> None:
        """Record the calls that the agent undid by itself: each such call undoes the newest matching one before it."""
        self._undoing: set[int] = set()
        undoable: dict[tuple[str, str], list[str]] = {}  # (tool, digest of arguments) -> ids of calls that it undoes
        for index, call in enumerate(self._succeeded):
            earlier = undoable.get((call.tool, call.arguments), [])
            while earlier and not call.undoes:
                call_id = earlier.pop()
                if call_id not in self._undone:
                    self._undone.add(call_id)
                    self._undoing.add(index)
                    break
            if undo := call.undoing_call:
                undoable.setdefault((undo.tool, undo.digest), []).append(call.call)

    def kept_by(self, repeats: Mapping[str, str], allowed: Sequence[str]) -> str:
        """Return why the agent must not roll back before the calls; empty if it may.

        repeats: whether a call may be repeated, by tool; other names are not tools. allowed: tools to ignore.
        """
        started = (*self._running, *self._ended)
        for tool in (call.answered_by for call in started if call.unknown or call.ok is None):
            if repeats.get(tool, "safe") == "never" and tool not in allowed:
                return f"it is not known what came of a call of {tool}, which must not be called again"
        for index, call in enumerate(self._succeeded):
            tool = call.answered_by
            is_undoing = call.undoes or index in self._undoing
            is_safe = repeats.get(tool, "safe") != "never" or tool in allowed
            if not (is_safe or is_undoing or call.undo or call.call in self._undone):
                return f"{tool} was called, and must not be called again"
        return f"more than {MOST_KEYS} calls would need the keys that they had" if len(self.keys) > MOST_KEYS else ""

    @property
    def undoing(self) -> tuple[Undoing, ...]:
        """The calls to undo, the newest first."""
        left = ((call, call.undoing_call) for call in reversed(self._succeeded) if call.call not in self._undone)
        return tuple(Undoing(undo.tool, undo.arguments or {}, call.call) for call, undo in left if undo)

    @property
    def undone(self) -> tuple[str, ...]:
        """The tools of the undone calls, in the order of the calls."""
        return tuple(call.answered_by for call in self._succeeded if call.call in self._undone)

    @property
    def keys(self) -> tuple[KeptKey, ...]:
        """The idempotency keys for repeated calls, in the order of the calls; without undone calls."""
        started = (*self._ended, *self._running)
        keyed = [call for call in started if call.key and call.call not in self._undone]
        return tuple({call.key: KeptKey(call.answered_by, call.keyed, call.key) for call in keyed}.values())

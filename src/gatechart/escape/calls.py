"""Calls that a rollback of an agent would repeat: reasons against it, and calls to undo before it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from gatechart.values.escapes import MOST_KEYS, KeptKey, PastTurn, Undoing
from gatechart.values.names import Payload

CALLED: Final = "trail.call"
BEGAN: Final = "trail.began"


class CallsMade:
    """The calls in some turns of an agent's past."""

    def __init__(self, turns: Iterable[PastTurn]) -> None:
        """Read the calls of the turns, oldest first."""
        entries = [*turns]
        self._ended = [turn.payload for turn in entries if turn.event == CALLED]
        ended = {call["call"] for call in self._ended if "call" in call}
        self._running = [turn.payload for turn in entries if turn.event == BEGAN and turn.payload["call"] not in ended]
        self._succeeded = [call for call in self._ended if call["ok"]]
        self._undone = {call["undoes"] for call in self._succeeded if call.get("undoes")}
        self._match_own_undoing()

    def _match_own_undoing(self) -> None:
        """Record the calls that the agent undid by itself: each such call undoes the newest matching one before it."""
        own: set[int] = set()
        for index, call in enumerate(self._succeeded):
            for earlier in reversed(self._succeeded[:index]):
                undo = earlier.get("undo")
                if undo and earlier["call"] not in self._undone and _is_call(call, undo) and not call.get("undoes"):
                    self._undone.add(earlier["call"])
                    own.add(index)
                    break
        self._undoing = own

    def kept_by(self, repeats: Mapping[str, str], allowed: Sequence[str]) -> str:
        """Return why the agent must not roll back before the calls; empty if it may.

        repeats: whether a call may be repeated, by tool; other names are not tools. allowed: tools to ignore.
        """
        started = (*self._running, *self._ended)
        doubtful = (_tool(call) for call in started if call.get("unknown") or "ok" not in call)
        for tool in doubtful:
            if repeats.get(tool, "safe") == "never" and tool not in allowed:
                return f"it is not known what came of a call of {tool}, which must not be called again"
        for index, call in enumerate(self._succeeded):
            is_undoing = call.get("undoes") or index in self._undoing
            is_safe = repeats.get(_tool(call), "safe") != "never" or _tool(call) in allowed
            if not (is_safe or is_undoing or call.get("undo") or call.get("call") in self._undone):
                return f"{_tool(call)} was called, and must not be called again"
        return f"more than {MOST_KEYS} calls would need the keys that they had" if len(self.keys) > MOST_KEYS else ""

    @property
    def undoing(self) -> tuple[Undoing, ...]:
        """The calls to undo, the newest first."""
        left = [call for call in reversed(self._succeeded) if call.get("undo") and call["call"] not in self._undone]
        return tuple(Undoing(call["undo"]["tool"], call["undo"]["arguments"], call["call"]) for call in left)

    @property
    def undone(self) -> tuple[str, ...]:
        """The tools of the undone calls, in the order of the calls."""
        return tuple(_tool(call) for call in self._succeeded if call.get("call") in self._undone)

    @property
    def keys(self) -> tuple[KeptKey, ...]:
        """The idempotency keys for repeated calls, in the order of the calls; without undone calls."""
        started = (*self._ended, *self._running)
        keyed = [call for call in started if "key" in call and call["call"] not in self._undone]
        return tuple({call["key"]: KeptKey(_tool(call), call["keyed"], call["key"]) for call in keyed}.values())


def _tool(call: Payload) -> str:
    return str(call.get("by") or call["tool"])


def _is_call(call: Payload, undo: Mapping[str, Any]) -> bool:
    return (call["tool"], call["arguments"]) == (undo["tool"], undo["digest"])

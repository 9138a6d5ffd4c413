"""The calls over which an agent would go back: what keeps it from that, and what is taken back before. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from gatechart.values import MOST_KEYS, PastTurn, Payload, Undoing
from gatechart.values.escapes import KeptKey

CALLED: Final = "trail.call"
BEGAN: Final = "trail.began"


class CallsMade:
    """The calls that some turns of an agent's past tell of."""

    def __init__(self, turns: Iterable[PastTurn]) -> None:
        """Read what the turns tell, oldest first."""
        told = [*turns]
        self._ended = [each.payload for each in told if each.event == CALLED]
        ended = {each["call"] for each in self._ended if "call" in each}
        self._begun = [each.payload for each in told if each.event == BEGAN and each.payload["call"] not in ended]
        self._made = [each for each in self._ended if each["ok"]]
        self._undone = {each["undoes"] for each in self._made if each.get("undoes")}
        self._match_own_undoing()

    def _match_own_undoing(self) -> None:
        """Note the calls that the agent took back by itself: each undoes the newest like call before it."""
        own: set[int] = set()
        for place, each in enumerate(self._made):
            for earlier in reversed(self._made[:place]):
                undo = earlier.get("undo")
                if undo and earlier["call"] not in self._undone and _is_call(each, undo) and not each.get("undoes"):
                    self._undone.add(earlier["call"])
                    own.add(place)
                    break
        self._undoing = own

    def kept_by(self, repeats: Mapping[str, str], allowed: Sequence[str]) -> str:
        """Return why the agent must not go back over them; empty if it may.

        repeats: whether a call may be repeated, by tool; others are no tools. allowed: tools over which it may go back.
        """
        doubtful = (_tool(each) for each in (*self._begun, *self._ended) if each.get("unknown") or "ok" not in each)
        for tool in doubtful:
            if repeats.get(tool, "safe") == "never" and tool not in allowed:
                return f"it is not known what came of a call of {tool}, which must not be called again"
        for place, each in enumerate(self._made):
            is_undoing = each.get("undoes") or place in self._undoing
            is_safe = repeats.get(_tool(each), "safe") != "never" or _tool(each) in allowed
            if not (is_safe or is_undoing or each.get("undo") or each.get("call") in self._undone):
                return f"{_tool(each)} was called, and must not be called again"
        return f"more than {MOST_KEYS} calls would need the keys that they had" if len(self.keys) > MOST_KEYS else ""

    @property
    def undoing(self) -> tuple[Undoing, ...]:
        """The calls to be taken back, the newest first."""
        left = [each for each in reversed(self._made) if each.get("undo") and each["call"] not in self._undone]
        return tuple(Undoing(each["undo"]["tool"], each["undo"]["arguments"], each["call"]) for each in left)

    @property
    def undone(self) -> tuple[str, ...]:
        """The tools whose calls were taken back, in the order made."""
        return tuple(_tool(each) for each in self._made if each.get("call") in self._undone)

    @property
    def keys(self) -> tuple[KeptKey, ...]:
        """The keys of calls that have one for their repeats, in the order made; those taken back apart."""
        told = [each for each in (*self._ended, *self._begun) if "key" in each and each["call"] not in self._undone]
        return tuple({each["key"]: KeptKey(_tool(each), each["keyed"], each["key"]) for each in told}.values())


def _tool(told: Payload) -> str:
    return str(told.get("by") or told["tool"])


def _is_call(told: Payload, undo: Mapping[str, Any]) -> bool:
    return (told["tool"], told["arguments"]) == (undo["tool"], undo["digest"])

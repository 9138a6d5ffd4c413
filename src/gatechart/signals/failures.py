"""Tools that fail: often, again and again, or most of the time. Tools whose circuit breakers refuse calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, Final, Literal, TypeAlias

from gatechart.graph.names import names_of
from gatechart.graph.signal_faults import MOST_MOVES
from gatechart.signals.slots import (
    CALLS,
    calls_in,
    calls_through,
    require,
    require_seconds,
    require_whole,
    require_window,
    slot_of,
)
from gatechart.values import HOLDS, Called, Detector, Evidence, Look, Reason, character_of
from gatechart.values.frozen import fill

Same: TypeAlias = Literal["tool", "arguments", "error"]
"""What failures must share to be counted together: their tool, and its arguments or the type of error as well."""

_KINDS: Final = ("tool", "arguments", "error")
_Failure: TypeAlias = tuple[str, int]
"""Two characters for what failures must share, the first for the tool; and the time in ms since 1970."""

_NONE: Final = "-"  # in place of the second of these characters

_LEAST_KEPT: Final = 5
"""Failures that are remembered at least, so that those of several tools may alternate; but no more than MOST_MOVES."""

_ENTRY: Final = 15  # characters of a failure in a slot: two for what it shares, thirteen for its time


@dataclass(frozen=True, slots=True, init=False)
class ToolFailures(Detector):
    """Notice that calls fail, each of them after all its attempts.

    A call that a circuit breaker refused is no failure of its tool, see ToolRefusals. Without `within`, a success of
    the same tool (with the same arguments, if those count) forgets its failures. It ceases when fewer than `n` less one
    are left, or with progress that the chart declares.
    """

    sees: ClassVar[int] = CALLS
    reason: ClassVar[Reason] = Reason.TOOL_FAILURE

    n: int  # failures
    within: float | None  # seconds in which they are counted; None for any time
    same: Same
    among: tuple[str, ...]  # tools that count; empty for all

    def __init__(
        self, n: int = 2, within: float | None = None, *, same: Same = "tool", among: Iterable[str] | str = ()
    ) -> None:
        require_window(self, n=(n, 1))
        if within is not None:
            require_seconds(self, within=within)
        if same not in _KINDS:
            raise ValueError(f"ToolFailures(same={same!r}) is not possible; use {', '.join(map(repr, _KINDS))}")
        named = names_of(among)
        if not all(isinstance(each, str) for each in named):
            raise ValueError(f"ToolFailures(among={among!r}) names no tools; pass their names")
        fill(self, n=n, within=within, same=same, among=named)

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: what the last failures shared, and when they happened."""
        if look.is_told:
            slot = ""
        for call in calls_through(look):
            if not self.among or call.tool in self.among:
                slot = self._after_call(slot, call)
        return slot

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return how often the tool failed, over how many seconds, and its last error."""
        shared = _most_frequent(_failures(slot))
        times = [time for each, time in _failures(slot) if each == shared]
        failed = [each for each in look.read_trail() if isinstance(each, Called) and each.has_failed]
        last = next((each for each in reversed(failed) if self._shared(each) == shared), None)
        told = {} if last is None else {"tool": last.tool, "error": last.error}
        return {"failures": len(times), "seconds": (times[-1] - times[0]) / 1000, "threshold": self.n, **told}

    def _after_call(self, slot: str, call: Called) -> str:
        if call.ok and len(slot) < _ENTRY:
            return slot
        shared = self._shared(call)
        failures = self._recent(_failures(slot), call.time_ms)
        if not call.ok:
            failures = _with_failure(failures, (shared, call.time_ms), self.n)
        elif self.within is None:
            forgiven = shared[:1] if self.same == "error" else shared
            failures = [each for each in failures if not each[0].startswith(forgiven)]
        shares = [each for each, _ in failures]
        least = max(self.n - 1, 1) if slot.startswith(HOLDS) else self.n
        found = any(shares.count(each) >= least for each in set(shares))
        return slot_of(found, "".join(f"{each}{time:013}" for each, time in failures))

    def _recent(self, failures: list[_Failure], now_ms: int) -> list[_Failure]:
        if self.within is None:
            return failures
        return [each for each in failures if now_ms - each[1] <= self.within * 1000]

    def _shared(self, call: Called) -> str:
        detail = {"tool": "", "arguments": call.arguments, "error": call.error}[self.same]
        return character_of(call.tool) + (character_of(detail) if detail else _NONE)


@dataclass(frozen=True, slots=True)
class RetriesOver(Detector):
    """Notice that more than so many retries were needed: by calls of one tool, or within one task.

    Each attempt after the first is a retry, and so is the next call after one that failed. For a tool, the next call
    after a success restarts the count; for a task, the next task does, and for both, progress that the chart declares.
    Calls that circuit breakers refused do not count.
    """

    sees: ClassVar[int] = CALLS
    reason: ClassVar[Reason] = Reason.TOOL_FAILURE

    n: int
    per: Literal["tool", "task"] = "tool"

    def __post_init__(self) -> None:
        """Refuse numbers with which nothing can be found."""
        require_whole(self, n=(self.n, 0))
        if self.per not in ("tool", "task"):
            raise ValueError(f"RetriesOver(per={self.per!r}) is not possible; use 'tool' or 'task'")

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: of each tool, or of the task, whether its last call failed, and its retries."""
        if look.is_told:
            slot = ""
        for call in calls_through(look):
            counts = _counts(slot)
            key = character_of(getattr(call, self.per))
            failed, before = counts.pop(key, (False, 0))
            if self.per == "task":
                counts = {}
            elif not failed:
                before = 0
            counts[key] = (not call.ok, before + call.attempts - 1 + failed)
            slot = slot_of(any(retries > self.n for _, retries in counts.values()), _counted(counts))
        return slot

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the retries, and of what."""
        counts = _counts(slot)
        most = max(counts, key=lambda each: counts[each][1])
        called = (each for each in reversed(look.read_trail()) if isinstance(each, Called))
        made = (getattr(each, self.per) for each in called if not each.is_refused)
        name = next((each for each in made if character_of(each) == most), "")
        return {"retries": counts[most][1], "threshold": self.n, self.per: name}


@dataclass(frozen=True, slots=True)
class ErrorRate(Detector):
    """Notice that more than a part of the last calls failed. It ceases at four fifths of that part.

    Calls that circuit breakers refused do not count.
    """

    sees: ClassVar[int] = CALLS
    reason: ClassVar[Reason] = Reason.TOOL_FAILURE

    above: float = 0.5  # part of the calls, from 0 to 1
    least: int = 10  # calls before it is asked
    last: int = 20  # calls that it is asked of

    def __post_init__(self) -> None:
        """Refuse numbers with which nothing can be found."""
        require(self, above=(self.above, 0))
        require_whole(self, least=(self.least, 1))
        require_window(self, last=(self.last, self.least))
        if self.above >= 1:
            raise ValueError(f"ErrorRate(above={self.above!r}) notices nothing; pass a part below 1")

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: a character for each of the last calls."""
        if look.is_told:
            slot = ""
        for call in calls_through(look):
            calls = (slot[1:] + ("." if call.ok else "x"))[-self.last :]
            threshold = self.above * 0.8 if slot.startswith(HOLDS) else self.above
            slot = slot_of(len(calls) >= self.least and calls.count("x") > threshold * len(calls), calls)
        return slot

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return how many of how many calls failed."""
        return {"failures": slot.count("x"), "calls": len(slot) - 1, "threshold": self.above}


@dataclass(frozen=True, slots=True, init=False)
class ToolRefusals(Detector):
    """Notice that circuit breakers refused `n` calls of a tool, or another attempt of these, and none ended otherwise.

    It ceases when a call of the tool ends otherwise, or with progress that the chart declares.
    """

    sees: ClassVar[int] = CALLS
    reason: ClassVar[Reason] = Reason.TOOL_FAILURE

    n: int  # refused calls
    among: tuple[str, ...]  # tools that count; empty for all

    def __init__(self, n: int = 2, *, among: Iterable[str] | str = ()) -> None:
        require_window(self, n=(n, 1))
        named = names_of(among)
        if not all(isinstance(each, str) for each in named):
            raise ValueError(f"ToolRefusals(among={among!r}) names no tools; pass their names")
        fill(self, n=n, among=named)

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: how many calls of each tool were refused."""
        if look.is_told:
            slot = ""
        for call in calls_in(look):
            if self.among and call.tool not in self.among:
                continue
            counts, key = _counts(slot), character_of(call.tool)
            _, before = counts.pop(key, (False, 0))
            if call.ended_refused:
                counts[key] = (True, before + 1)
            slot = slot_of(any(count >= self.n for _, count in counts.values()), _counted(counts)) if counts else ""
        return slot

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the tool, how many of its calls were refused, and when its circuit breaker lets one through."""
        counts = _counts(slot)
        most = max(counts, key=lambda each: counts[each][1])
        refused = (each for each in reversed(look.read_trail()) if isinstance(each, Called) and each.ended_refused)
        last = next((each for each in refused if character_of(each.tool) == most), None)
        told = {} if last is None else {"tool": last.tool, "error": last.error, **_until(last)}
        return {"refusals": counts[most][1], "threshold": self.n, **told}


def _until(call: Called) -> dict[str, str]:
    return {"until": datetime.fromtimestamp(call.until_ms / 1000, UTC).isoformat()} if call.until_ms else {}


def _failures(slot: str) -> list[_Failure]:
    entries = (slot[at : at + _ENTRY] for at in range(1, len(slot), _ENTRY))
    return [(each[:2], int(each[2:])) for each in entries]


def _with_failure(failures: list[_Failure], failure: _Failure, n: int) -> list[_Failure]:
    """Return the failures with another, at most `n` of those that share the same, and few in all."""
    same = [each for each in failures if each[0] == failure[0]]
    kept = [each for each in failures if len(same) < n or each is not same[0]]
    return [*kept, failure][-min(max(2 * n, _LEAST_KEPT), MOST_MOVES) :]


def _most_frequent(failures: list[_Failure]) -> str:
    shared = [each for each, _ in failures]
    return max(shared, key=shared.count)


_MOST_TOOLS: Final = 8


def _counts(slot: str) -> dict[str, tuple[bool, int]]:
    return {each[0]: (each[1] == "x", int(each[2:])) for each in slot[1:].split()}


def _counted(counts: dict[str, tuple[bool, int]]) -> str:
    kept = list(counts.items())[-_MOST_TOOLS:]
    return " ".join(f"{key}{'x' if failed else '.'}{retries}" for key, (failed, retries) in kept)

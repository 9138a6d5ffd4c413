"""Detectors of failing tools: repeated failures, retries and error rates, and calls that circuit breakers refuse."""

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
from gatechart.values.detectors import HOLDS, Detector, Evidence, Look
from gatechart.values.frozen import fill
from gatechart.values.handoffs import Reason
from gatechart.values.trail import Called, character_of

Same: TypeAlias = Literal["tool", "arguments", "error"]
"""The common part of failures that count together: their tool, and also its arguments or the type of error."""

_KINDS: Final = ("tool", "arguments", "error")
_Failure: TypeAlias = tuple[str, int]
"""Two characters for the common part of failures, the first for the tool; and the time in ms since 1970."""

_NONE: Final = "-"  # in place of the second character

_LEAST_KEPT: Final = 5
"""Minimum number of stored failures, so that failures of several tools may alternate; the limit is MOST_MOVES."""

_ENTRY: Final = 15  # characters of a failure in a slot: two for the common part, thirteen for the time


@dataclass(frozen=True, slots=True, init=False)
class ToolFailures(Detector):
    """Detect failed calls. A call counts once, after all its attempts.

    A call that a circuit breaker refused is not a failure of its tool, see ToolRefusals. Without `within`, a success of
    the same tool (with the same arguments, if `same` includes them) resets its failures. The signal ceases when fewer
    than `n` - 1 failures are left, or with progress that the chart declares.
    """

    sees: ClassVar[int] = CALLS
    reason: ClassVar[Reason] = Reason.TOOL_FAILURE

    n: int  # failures
    within: float | None  # seconds of the window; None for any time
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
        if not all(isinstance(tool, str) for tool in named):
            raise ValueError(f"ToolFailures(among={among!r}) names no tools; pass their names")
        fill(self, n=n, within=within, same=same, among=named)

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: the common part and the time of each of the last failures."""
        if look.is_told:
            slot = ""
        for call in calls_through(look):
            if not self.among or call.tool in self.among:
                slot = self._after_call(slot, call)
        return slot

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the tool's number of failures, their time span in seconds, and its last error."""
        shared = _most_frequent(_failures(slot))
        times = [time for key, time in _failures(slot) if key == shared]
        failed = [entry for entry in look.read_trail() if isinstance(entry, Called) and entry.has_failed]
        last = next((call for call in reversed(failed) if self._shared(call) == shared), None)
        details = {} if last is None else {"tool": last.tool, "error": last.error}
        return {"failures": len(times), "seconds": (times[-1] - times[0]) / 1000, "threshold": self.n, **details}

    def _after_call(self, slot: str, call: Called) -> str:
        if call.ok and len(slot) < _ENTRY:
            return slot
        shared = self._shared(call)
        failures = self._recent(_failures(slot), call.time_ms)
        if not call.ok:
            failures = _with_failure(failures, (shared, call.time_ms), self.n)
        elif self.within is None:
            # A success has no type of error, so it resets all failures of its tool.
            forgiven = shared[:1] if self.same == "error" else shared
            failures = [failure for failure in failures if not failure[0].startswith(forgiven)]
        keys = [key for key, _ in failures]
        # It ceases one failure below `n`, so that the signal does not flicker.
        least = max(self.n - 1, 1) if slot.startswith(HOLDS) else self.n
        holds = any(keys.count(key) >= least for key in set(keys))
        return slot_of(holds, "".join(f"{key}{time:013}" for key, time in failures))

    def _recent(self, failures: list[_Failure], now_ms: int) -> list[_Failure]:
        if self.within is None:
            return failures
        return [failure for failure in failures if now_ms - failure[1] <= self.within * 1000]

    def _shared(self, call: Called) -> str:
        detail = {"tool": "", "arguments": call.arguments, "error": call.error}[self.same]
        return character_of(call.tool) + (character_of(detail) if detail else _NONE)


@dataclass(frozen=True, slots=True)
class RetriesOver(Detector):
    """Detect more than `n` retries by calls of one tool, or within one task.

    Each attempt after the first is a retry, and so is the next call after a failed one. For a tool, the next call after
    a success restarts the count; for a task, the next task does. Progress that the chart declares restarts both. Calls
    that circuit breakers refused do not count.
    """

    sees: ClassVar[int] = CALLS
    reason: ClassVar[Reason] = Reason.TOOL_FAILURE

    n: int
    per: Literal["tool", "task"] = "tool"

    def __post_init__(self) -> None:
        """Refuse a negative number, and an unknown `per`."""
        require_whole(self, n=(self.n, 0))
        if self.per not in ("tool", "task"):
            raise ValueError(f"RetriesOver(per={self.per!r}) is not possible; use 'tool' or 'task'")

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: for each tool, or the task, whether its last call failed, and its retries."""
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
        """Return the number of retries, and the tool or the task."""
        counts = _counts(slot)
        most = max(counts, key=lambda key: counts[key][1])
        calls = (entry for entry in reversed(look.read_trail()) if isinstance(entry, Called))
        names = (getattr(call, self.per) for call in calls if not call.is_refused)
        name = next((name for name in names if character_of(name) == most), "")
        return {"retries": counts[most][1], "threshold": self.n, self.per: name}


@dataclass(frozen=True, slots=True)
class ErrorRate(Detector):
    """Detect that more than a part of the last calls failed. The signal ceases at four fifths of that part.

    Calls that circuit breakers refused do not count.
    """

    sees: ClassVar[int] = CALLS
    reason: ClassVar[Reason] = Reason.TOOL_FAILURE

    above: float = 0.5  # part of the calls, from 0 to 1
    least: int = 10  # minimum number of calls
    last: int = 20  # calls in the window

    def __post_init__(self) -> None:
        """Refuse numbers that can never match."""
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
        """Return the number of failures, and of calls in the window."""
        return {"failures": slot.count("x"), "calls": len(slot) - 1, "threshold": self.above}


@dataclass(frozen=True, slots=True, init=False)
class ToolRefusals(Detector):
    """Detect that the last `n` calls of a tool ended because circuit breakers refused an attempt.

    The signal ceases when a call of the tool ends otherwise, or with progress that the chart declares.
    """

    sees: ClassVar[int] = CALLS
    reason: ClassVar[Reason] = Reason.TOOL_FAILURE

    n: int  # refused calls
    among: tuple[str, ...]  # tools that count; empty for all

    def __init__(self, n: int = 2, *, among: Iterable[str] | str = ()) -> None:
        require_window(self, n=(n, 1))
        named = names_of(among)
        if not all(isinstance(tool, str) for tool in named):
            raise ValueError(f"ToolRefusals(among={among!r}) names no tools; pass their names")
        fill(self, n=n, among=named)

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: the number of refused calls of each tool."""
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
        """Return the tool, the number of its refused calls, and when its circuit breaker admits a call."""
        counts = _counts(slot)
        most = max(counts, key=lambda key: counts[key][1])
        refused = (entry for entry in reversed(look.read_trail()) if isinstance(entry, Called) and entry.ended_refused)
        last = next((call for call in refused if character_of(call.tool) == most), None)
        details = {} if last is None else {"tool": last.tool, "error": last.error, **_until(last)}
        return {"refusals": counts[most][1], "threshold": self.n, **details}


def _until(call: Called) -> dict[str, str]:
    return {"until": datetime.fromtimestamp(call.until_ms / 1000, UTC).isoformat()} if call.until_ms else {}


def _failures(slot: str) -> list[_Failure]:
    entries = (slot[at : at + _ENTRY] for at in range(1, len(slot), _ENTRY))
    return [(entry[:2], int(entry[2:])) for entry in entries]


def _with_failure(failures: list[_Failure], failure: _Failure, n: int) -> list[_Failure]:
    """Return the failures with a new one: at most `n` with the same common part, and a limited number in total."""
    same = [earlier for earlier in failures if earlier[0] == failure[0]]
    kept = [earlier for earlier in failures if len(same) < n or earlier is not same[0]]
    return [*kept, failure][-min(max(2 * n, _LEAST_KEPT), MOST_MOVES) :]


def _most_frequent(failures: list[_Failure]) -> str:
    keys = [key for key, _ in failures]
    return max(keys, key=keys.count)


_MOST_TOOLS: Final = 8


def _counts(slot: str) -> dict[str, tuple[bool, int]]:
    return {entry[0]: (entry[1] == "x", int(entry[2:])) for entry in slot[1:].split()}


def _counted(counts: dict[str, tuple[bool, int]]) -> str:
    kept = list(counts.items())[-_MOST_TOOLS:]
    return " ".join(f"{key}{'x' if failed else '.'}{retries}" for key, (failed, retries) in kept)

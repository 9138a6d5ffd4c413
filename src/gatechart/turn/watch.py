"""The signals of an entry point, prepared for turns: each detector once, signals in the order of their reasons."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from re import sub
from typing import Final, TypeAlias
from zlib import crc32

from gatechart.errors.failures import is_failure
from gatechart.graph.escape import REFUSED_TOOL, EscapePlan
from gatechart.graph.graph import AnyGraph
from gatechart.graph.signals import Signal, Signals
from gatechart.signals.failures import ToolRefusals
from gatechart.turn.arguments import plain_payload
from gatechart.turn.trail_mail import FIELDS
from gatechart.turn.trail_text import bounds_of
from gatechart.turn.turn_context import told
from gatechart.values.detectors import EVERY_TURN, HOLDS, Detector, Evidence, Look, walk
from gatechart.values.fired_signals import FiredSignal
from gatechart.values.frozen import replaced
from gatechart.values.handoffs import Reason
from gatechart.values.names import EventName, StateName
from gatechart.values.profiles import Profile
from gatechart.values.trail import MARK, MOVED, SAID, Trail

logger = logging.getLogger(__name__)

_ORDER: Final = (
    Reason.USER_ESCALATION,
    Reason.KNOWLEDGE_GAP,
    Reason.OUT_OF_SCOPE,
    Reason.TOOL_FAILURE,
    Reason.COMPLEXITY_EXCEEDED,
    Reason.LOW_CONFIDENCE,
    Reason.LOOP_DETECTED,
)
"""Reasons by precedence, highest first; other reasons follow."""

_REFUSED: Final = Signal(ToolRefusals(), REFUSED_TOOL)
_SAYING: Final = ("text", "message", "content")  # fields with the message of an event from outside
_WATCHES: Final = "watches"  # key of a graph's memo

_Ask: TypeAlias = tuple[int, Callable[[str, Look], str], bool]
"""The index of a detector, its function, and whether to call it while its slot is empty."""


class Watch:
    """The signals and detectors for agents that started at an entry point."""

    __slots__ = (
        "_concerned",
        "_moving",
        "asking",
        "bounds",
        "detectors",
        "implies",
        "is_told",
        "marks",
        "progress_states",
        "signals",
        "telling",
        "terms",
        "timed",
    )

    def __init__(self, graph: AnyGraph, terms: Signals, profile: Profile | None = None) -> None:
        self.terms = terms
        self.bounds = bounds_of(terms)
        self.signals = tuple(sorted(terms.signals, key=_rank_of))
        self.detectors = tuple(walk([signal.when for signal in terms.signals]))
        self.asking = tuple(detector.of_entry_point(profile) for detector in self.detectors)
        self.marks = "".join(map(_mark_of, self.detectors))
        is_heard = any(detector.sees & SAID for detector in self.detectors)
        # each payload with an entry for the trail has at least one of these fields
        self.telling = frozenset((*FIELDS, *(fields_of(terms) if is_heard else ())))
        self.progress_states = graph.progress_states
        self.implies = not (graph.progress_states or terms.measure)  # whether a first entry to a state is progress
        self.is_told = bool(
            graph.progress_states or terms.task or terms.measure
        )  # whether the chart can report progress
        self._moving = tuple(
            (index, self.asking[index].after_move, is_woken) for index, _, is_woken in self._asks_for(MOVED)
        )
        self._concerned: dict[int, tuple[_Ask, ...]] = {}  # by kinds of entries
        self.timed = tuple(index for index, detector in enumerate(self.detectors) if detector.due_s is not None)

    def slots_of(self, trail: Trail) -> tuple[str, ...]:
        """Return the slots of the detectors. Detectors added since the trail was written get empty slots."""
        if trail.marks == self.marks:
            return trail.slots
        marks = (trail.marks[at : at + MARK] for at in range(0, len(trail.marks), MARK))
        kept = dict(zip(marks, trail.slots, strict=False))
        return tuple(kept.get(_mark_of(detector), "") for detector in self.detectors)

    def begun(self, slots: tuple[str, ...], now: datetime) -> tuple[str, ...]:
        """Start the clocks of an agent at work: time-measuring detectors with an empty slot count from now on."""
        counting = {index: self.asking[index].begun(now) for index in self.timed if not slots[index]}
        return tuple(counting.get(index, slot) for index, slot in enumerate(slots)) if counting else slots

    def asked(self, slots: tuple[str, ...], look: Look) -> tuple[tuple[str, ...], FiredSignal | None]:
        """Return the slots after a turn, and the signal that fires; None if none does.

        A detector that raises keeps its slot, because it must not break the turn.
        """
        concerned = self._concerned.get(look.kinds)
        if concerned is None:
            concerned = self._concerned[look.kinds] = self._asks_for(look.kinds)
        before, after, is_changed = slots, [*slots], False
        for index, ask, is_woken in concerned:
            slot = slots[index]
            if not (slot or is_woken):
                continue
            try:
                after[index] = new = "" + ask(slot, look)  # raises unless it returned a text
                was_holding, is_holding = slot and slot[0] == HOLDS, new and new[0] == HOLDS
                if not (was_holding or is_holding):  # the usual case
                    continue
                is_anew = was_holding and is_holding and self.asking[index].finds_anew(look)
            except BaseException as error:
                after[index] = slot
                self._log_raised(index, look, error)
                continue
            if not (was_holding and is_holding):
                is_changed = True
            elif is_anew:
                before, is_changed = (*before[:index], "", *before[index + 1 :]), True
        kept = tuple(after)
        return kept, self._fired(before, kept, look) if is_changed else None

    def after_move(self, slots: tuple[str, ...], move: str, place: str) -> tuple[str, ...] | None:
        """Return the slots after a turn that only moved the agent; None if a detector needs a full look."""
        after = [*slots]
        for at, after_move, is_woken in self._moving:
            slot = slots[at]
            if slot or is_woken:
                new = after_move(slot, move, place)
                if new is None:
                    return None
                after[at] = new
        return tuple(after)

    def _asks_for(self, kinds: int) -> tuple[_Ask, ...]:
        """Return the detectors that see entries of these kinds, each with its index."""
        return tuple(
            (index, detector.after, _is_among(detector.wakes, kinds))
            for index, detector in enumerate(self.asking)
            if _is_among(detector.sees, kinds)
        )

    def _log_raised(self, index: int, look: Look, error: BaseException) -> None:
        if not is_failure(error):
            raise error
        facts = {"detector": repr(self.detectors[index]), "event": look.event.name}
        logger.warning("a detector raised: %(detector)s at %(event)s", facts, extra=facts, exc_info=error)

    def wait_s(self, slots: tuple[str, ...]) -> float | None:
        """Return the seconds of work until a detector must be evaluated again; None if none must."""
        waits = [_remaining_s(self.detectors[index], slots[index]) for index in self.timed]
        return min((wait for wait in waits if wait is not None), default=None)

    def _fired(self, before: tuple[str, ...], after: tuple[str, ...], look: Look) -> FiredSignal | None:
        """Return the signals whose symptoms hold after a turn and did not before, as one; None if no signal fires."""
        held, holds = self._holding(before), self._holding(after)
        new_signals = [
            signal
            for signal in self.signals
            if signal.when.holds(holds.__contains__) and not signal.when.holds(held.__contains__)
        ]
        if not new_signals:
            return None
        asked = zip(self.detectors, self.asking, after, strict=True)
        answers = {detector: (asking, slot) for detector, asking, slot in asked}
        first, *others = (_fired(signal, answers, look) for signal in new_signals)
        return replaced(
            first, others=tuple({k: v for k, v in other.payload.items() if k != "others"} for other in others)
        )

    def _holding(self, slots: tuple[str, ...]) -> set[Detector]:
        return {detector for detector, slot in zip(self.detectors, slots, strict=True) if slot.startswith(HOLDS)}


def fields_of(terms: Signals, event: EventName = "") -> tuple[str, ...]:
    """Return the payload fields that contain a message. event: the event's name; empty for all events."""
    if terms.said is None:
        return _SAYING
    return tuple(field for name, field in terms.said.items() if event in ("", name))


def watch_of(graph: AnyGraph, entry_point: StateName) -> Watch | None:
    """Return the watch for agents that started at the entry point; None if it has no signals. Memoized."""
    try:
        watch: Watch | None = graph.memo[_WATCHES][entry_point]
    except KeyError:
        terms = graph.signals_at(entry_point)
        watch = None if terms is None else Watch(graph, _with_refusals(graph, terms), _profile_of(graph, entry_point))
        graph.memo.setdefault(_WATCHES, {})[entry_point] = watch
    return watch


def _with_refusals(graph: AnyGraph, terms: Signals) -> Signals:
    """Add a signal for refusals of circuit breakers if a plan answers it and no signal detects them yet."""
    if any(signal.name == REFUSED_TOOL or _REFUSED.when in signal.when.detectors for signal in terms.signals):
        return terms
    plans = (*(node.escape for node in graph.nodes.values()), graph.escape)
    is_answered = any(_answers_refusals(plan) for plan in plans if plan is not None)
    return replace(terms, signals=(*terms.signals, _REFUSED)) if is_answered else terms


def _answers_refusals(plan: EscapePlan) -> bool:
    return bool(plan.answers(REFUSED_TOOL)) or any(plan.answers_for(tool, REFUSED_TOOL) for tool, _ in plan.tools)


def _profile_of(graph: AnyGraph, entry_point: StateName) -> Profile | None:
    """Return the profile of an entry point. A migration may have removed the name; then return the graph's profile."""
    return graph.profile_at(entry_point) if entry_point in graph.entry_points else graph.profile


def _fired(signal: Signal, asked: Mapping[Detector, tuple[Detector, str]], look: Look) -> FiredSignal:
    """Return a signal with the evidence of its detectors that hold.

    asked: by declared detector, the detector that was evaluated for it, and its slot.
    """
    holding = (asked[detector] for detector in walk([signal.when]) if asked[detector][1].startswith(HOLDS))
    return FiredSignal(signal.name, signal.reason, tuple(_evidence(detector, slot, look) for detector, slot in holding))


def _evidence(detector: Detector, slot: str, look: Look) -> Evidence:
    """Return the evidence of a detector. A detector that fails to produce it fires all the same."""
    detector_name = {"detector": type(detector).__name__}
    try:
        return {**detector_name, **plain_payload(detector.evidence(slot, look), "evidence")}
    except BaseException as error:
        if not is_failure(error):
            raise
        return {**detector_name, "problem": told(error)}


def _remaining_s(detector: Detector, slot: str) -> float | None:
    """Return the seconds until a detector must be evaluated again. If its slot is unreadable, evaluation reports it."""
    try:
        return detector.remaining_s(slot)
    except BaseException as error:
        if not is_failure(error):
            raise
        return detector.due_s


def _is_among(concern: int, kinds: int) -> bool:
    return concern == EVERY_TURN or bool(concern & kinds)


def _rank_of(signal: Signal) -> int:
    return _ORDER.index(signal.reason) if signal.reason in _ORDER else len(_ORDER)


def _mark_of(detector: Detector) -> str:
    """Return six hexadecimal digits that equal detectors share in every process."""
    text = sub(r" at 0x[0-9a-fA-F]+", "", repr(detector))
    return f"{crc32(text.encode(errors='surrogatepass')):08x}"[:MARK]

"""The signals of an entry point, prepared for turns: each detector once, signals in the order of their reasons."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from re import sub
from typing import Final, TypeAlias
from zlib import crc32

from gatechart.errors import is_failure
from gatechart.graph import REFUSED_TOOL, AnyGraph, EscapePlan, Signal, Signals
from gatechart.signals import ToolRefusals
from gatechart.turn.arguments import plain_payload
from gatechart.turn.trail_mail import FIELDS
from gatechart.turn.trail_text import bounds_of
from gatechart.turn.turn_context import told
from gatechart.values import (
    HOLDS,
    MARK,
    MOVED,
    SAID,
    Detector,
    EventName,
    Evidence,
    FiredSignal,
    Look,
    Profile,
    Reason,
    StateName,
    Trail,
    walk,
)
from gatechart.values.detectors import EVERY_TURN
from gatechart.values.frozen import replaced

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
"""Reasons by priority, highest first; all other reasons follow."""

_REFUSED: Final = Signal(ToolRefusals(), REFUSED_TOOL)
_SAYING: Final = ("text", "message", "content")  # fields with a user's text, in events from outside
_WATCHES: Final = "watches"  # key of a graph's memo

_Ask: TypeAlias = tuple[int, Callable[[str, Look], str], bool]
"""The index of a detector, the function that evaluates it, and whether it is evaluated while its slot is empty."""


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
        self.signals = tuple(sorted(terms.signals, key=_place_of))
        self.detectors = tuple(walk([each.when for each in terms.signals]))
        self.asking = tuple(each.of_entry_point(profile) for each in self.detectors)
        self.marks = "".join(map(_mark_of, self.detectors))
        is_heard = any(each.sees & SAID for each in self.detectors)
        # a payload that extends the trail has at least one of these fields
        self.telling = frozenset((*FIELDS, *(fields_of(terms) if is_heard else ())))
        self.progress_states = graph.progress_states
        self.implies = not (
            graph.progress_states or terms.measure
        )  # whether entering a state for the first time counts as progress
        self.is_told = bool(graph.progress_states or terms.task or terms.measure)  # whether the chart declares progress
        self._moving = tuple(
            (place, self.asking[place].after_move, is_woken) for place, _, is_woken in self._places_of(MOVED)
        )
        self._concerned: dict[int, tuple[_Ask, ...]] = {}  # by kinds of entries
        self.timed = tuple(place for place, each in enumerate(self.detectors) if each.due_s is not None)

    def slots_of(self, trail: Trail) -> tuple[str, ...]:
        """Return the slots of the detectors. Detectors added since the last turn get an empty slot."""
        if trail.marks == self.marks:
            return trail.slots
        marks = (trail.marks[at : at + MARK] for at in range(0, len(trail.marks), MARK))
        kept = dict(zip(marks, trail.slots, strict=False))
        return tuple(kept.get(_mark_of(each), "") for each in self.detectors)

    def begun(self, slots: tuple[str, ...], now: datetime) -> tuple[str, ...]:
        """Start the empty slots of detectors that count time, for an agent with running work: they count from now."""
        counting = {place: self.asking[place].begun(now) for place in self.timed if not slots[place]}
        return tuple(counting.get(place, slot) for place, slot in enumerate(slots)) if counting else slots

    def asked(self, slots: tuple[str, ...], look: Look) -> tuple[tuple[str, ...], FiredSignal | None]:
        """Return the slots after a turn, and the signal that fires; None if none does.

        A detector that raises keeps its slot: it must not break the turn.
        """
        concerned = self._concerned.get(look.kinds)
        if concerned is None:
            concerned = self._concerned[look.kinds] = self._places_of(look.kinds)
        before, after, is_changed = slots, [*slots], False
        for place, ask, is_woken in concerned:
            slot = slots[place]
            if not (slot or is_woken):
                continue
            try:
                after[place] = new = "" + ask(slot, look)  # raises unless it returned a text, as it must
                held, holds = slot and slot[0] == HOLDS, new and new[0] == HOLDS
                if not (held or holds):  # the common case
                    continue
                is_anew = held and holds and self.asking[place].finds_anew(look)
            except BaseException as error:
                after[place] = slot
                self._log_raised(place, look, error)
                continue
            if not (held and holds):
                is_changed = True
            elif is_anew:
                before, is_changed = (*before[:place], "", *before[place + 1 :]), True
        kept = tuple(after)
        return kept, self._fired(before, kept, look) if is_changed else None

    def after_move(self, slots: tuple[str, ...], move: str, place: str) -> tuple[str, ...] | None:
        """Return the slots after a turn that only moved the agent; None if a detector needs a look."""
        after = [*slots]
        for at, after_move, is_woken in self._moving:
            slot = slots[at]
            if slot or is_woken:
                new = after_move(slot, move, place)
                if new is None:
                    return None
                after[at] = new
        return tuple(after)

    def _places_of(self, kinds: int) -> tuple[_Ask, ...]:
        """Return the detectors that entries of these kinds concern, with their indexes."""
        return tuple(
            (place, each.after, _is_among(each.wakes, kinds))
            for place, each in enumerate(self.asking)
            if _is_among(each.sees, kinds)
        )

    def _log_raised(self, place: int, look: Look, error: BaseException) -> None:
        if not is_failure(error):
            raise error
        facts = {"detector": repr(self.detectors[place]), "event": look.event.name}
        logger.warning("a detector raised: %(detector)s at %(event)s", facts, extra=facts, exc_info=error)

    def wait_s(self, slots: tuple[str, ...]) -> float | None:
        """Return the seconds of work until a detector must be evaluated again; None if none must."""
        waits = [_remaining_s(self.detectors[place], slots[place]) for place in self.timed]
        return min((wait_s for wait_s in waits if wait_s is not None), default=None)

    def _fired(self, before: tuple[str, ...], after: tuple[str, ...], look: Look) -> FiredSignal | None:
        """Return the signals whose symptoms hold after a turn and did not before, as one; None if no signal fires."""
        held, holds = self._found(before), self._found(after)
        came = [
            each
            for each in self.signals
            if each.when.holds(holds.__contains__) and not each.when.holds(held.__contains__)
        ]
        if not came:
            return None
        found = {each: (asked, slot) for each, asked, slot in zip(self.detectors, self.asking, after, strict=True)}
        first, *others = (_fired(each, found, look) for each in came)
        return replaced(
            first, others=tuple({k: v for k, v in each.payload.items() if k != "others"} for each in others)
        )

    def _found(self, slots: tuple[str, ...]) -> set[Detector]:
        return {each for each, slot in zip(self.detectors, slots, strict=True) if slot.startswith(HOLDS)}


def fields_of(terms: Signals, event: EventName = "") -> tuple[str, ...]:
    """Return the payload fields that hold a user's text. event: the name of the event; empty for all events."""
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
    """Add a signal for refusals by circuit breakers, if a plan answers it and no signal detects them yet."""
    if any(each.name == REFUSED_TOOL or _REFUSED.when in each.when.detectors for each in terms.signals):
        return terms
    plans = (*(node.escape for node in graph.nodes.values()), graph.escape)
    is_answered = any(_answers_refusals(plan) for plan in plans if plan is not None)
    return replace(terms, signals=(*terms.signals, _REFUSED)) if is_answered else terms


def _answers_refusals(plan: EscapePlan) -> bool:
    return bool(plan.answers(REFUSED_TOOL)) or any(plan.answers_for(tool, REFUSED_TOOL) for tool, _ in plan.tools)


def _profile_of(graph: AnyGraph, entry_point: StateName) -> Profile | None:
    """Return the profile of an entry point; the graph's own for an unknown name, as after a migration."""
    return graph.profile_at(entry_point) if entry_point in graph.entry_points else graph.profile


def _fired(signal: Signal, asked: Mapping[Detector, tuple[Detector, str]], look: Look) -> FiredSignal:
    """Return a signal with the evidence of its detectors that hold.

    asked: for each detector, the variant evaluated for the entry point, and its slot.
    """
    found = (asked[each] for each in walk([signal.when]) if asked[each][1].startswith(HOLDS))
    return FiredSignal(signal.name, signal.reason, tuple(_evidence(each, slot, look) for each, slot in found))


def _evidence(detector: Detector, slot: str, look: Look) -> Evidence:
    """Return the evidence of a detector. If the detector raises here, its signal still fires."""
    kind = {"detector": type(detector).__name__}
    try:
        return {**kind, **plain_payload(detector.evidence(slot, look), "evidence")}
    except BaseException as error:
        if not is_failure(error):
            raise
        return {**kind, "problem": told(error)}


def _remaining_s(detector: Detector, slot: str) -> float | None:
    """Return the seconds until a detector must be evaluated again. If it cannot read its slot, it raises then."""
    try:
        return detector.remaining_s(slot)
    except BaseException as error:
        if not is_failure(error):
            raise
        return detector.due_s


def _is_among(concern: int, kinds: int) -> bool:
    return concern == EVERY_TURN or bool(concern & kinds)


def _place_of(signal: Signal) -> int:
    return _ORDER.index(signal.reason) if signal.reason in _ORDER else len(_ORDER)


def _mark_of(detector: Detector) -> str:
    """Return six hexadecimal digits, equal in every process for detectors that detect the same."""
    text = sub(r" at 0x[0-9a-fA-F]+", "", repr(detector))
    return f"{crc32(text.encode(errors='surrogatepass')):08x}"[:MARK]

"""Whether a turn goes forward: by what the chart says, or by what it does where the chart says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gatechart.turn.macrostep import Macrostep
from gatechart.turn.watch import Watch
from gatechart.values import Progressed, character_of


@dataclass(slots=True)
class Progress:  # not a value: that would take twice as long to make
    """What a turn showed of progress, with what the trail remembers of it afterwards."""

    entries: Sequence[Progressed]
    is_made: bool
    is_told: bool  # by the chart
    recent: str
    task: str
    best: float | None


def went_on(macrostep: Macrostep, watch: Watch, entered: str) -> Progress:
    """Return the progress of a turn. entered: a character for each leaf in which the agent was not before."""
    trail, terms = macrostep.trail, watch.terms
    recent, is_new = _entered(trail.recent, entered, terms.window)
    if not (watch.is_told or macrostep.log.progressed):  # as in most charts
        return Progress(_NOTHING, is_new, False, recent, trail.task, trail.best)
    context, states = macrostep.context, watch.progress_states
    told = [*macrostep.log.progressed]
    if states:
        told += [state for plan in macrostep.plans for state in plan.entries if state in states]
    task, best = trail.task, trail.best
    done = ""
    if terms.task:
        task, done = _text(getattr(context, terms.task, None)), task
        character = character_of(f"task {done}") if done and done != task else ""
        recent, is_done = _entered(recent, character, terms.window)
        done = done if is_done and watch.implies else ""
    if terms.measure:
        number = getattr(context, terms.measure, None)
        if isinstance(number, int | float) and (best is None or number > best):
            told += [] if best is None else [terms.measure]
            best = number
    entries = [Progressed(by) for by in (*told, *([done] if done else []))]
    is_made = bool(entries) or (is_new and watch.implies)
    return Progress(entries, is_made, bool(told), recent, task, best)


def _entered(recent: str, characters: str, window: int) -> tuple[str, bool]:
    """Return the characters with others added, and whether one of those was not among them before."""
    # as a substring, in the turns that enter one state or none, which are nearly all
    is_new = characters not in recent if len(characters) < 2 else any(each not in recent for each in characters)
    return (recent + characters)[-window:], is_new


_NOTHING: Final[tuple[Progressed, ...]] = ()


def _text(task: object) -> str:
    return "" if task is None else str(task)

"""Decide whether a turn makes progress: as the chart declares, or by its moves if the chart declares nothing."""

from __future__ import annotations

from typing import Final

from gatechart.turn.macrostep import Macrostep
from gatechart.turn.watch import Watch
from gatechart.values.frozen import value
from gatechart.values.names import LONGEST_NAME
from gatechart.values.trail import LONGEST_TOLD, Progressed, character_of

_SLACK: Final = 8
"""Characters kept beyond the window, so that not every turn has to cut the text."""


@value
class Progress:
    """The progress that a chart reports in a turn, and the state that the trail keeps afterwards."""

    entries: tuple[Progressed, ...]
    is_told: bool  # whether states, actions or measures report it, and not only a completed task
    recent: str
    task: str
    best: float | None


def with_entered(recent: str, characters: str, window: int) -> str:
    """Append the characters of entered states to the recent ones, and keep at least the characters of the window."""
    recent += characters
    return recent if len(recent) <= window + _SLACK else recent[-window:]


def is_first(recent: str, characters: str, window: int) -> bool:
    """Return whether one of the characters denotes a state that was not entered within the window."""
    lately = recent[-window:]
    return any(character not in lately for character in characters)


def progress_of(macrostep: Macrostep, watch: Watch, recent: str) -> Progress:
    """Return the progress that the chart reports in a turn. recent: see `with_entered`."""
    trail, terms, context, states = macrostep.trail, watch.terms, macrostep.context, watch.progress_states
    told = [*macrostep.log.progressed]
    if states:
        told += [state for plan in macrostep.plans for state in plan.entries if state in states]
    task, best = trail.task, trail.best
    done = ""
    if terms.task:
        task, done = _text(getattr(context, terms.task, None)), task
        character = character_of(f"task {done}") if done and done != task else ""
        done = done if is_first(recent, character, terms.window) and watch.implies else ""
        recent = with_entered(recent, character, terms.window)
    if terms.measure:
        number = getattr(context, terms.measure, None)
        if isinstance(number, int | float) and (best is None or number > best):
            told += [] if best is None else [terms.measure]
            best = number
    entries = tuple(Progressed(by[:LONGEST_TOLD]) for by in (*told, *([done] if done else [])))
    return Progress(entries, bool(told), recent, task, best)


def _text(task: object) -> str:
    return "" if task is None else str(task)[:LONGEST_NAME]

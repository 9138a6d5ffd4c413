"""Whether a turn goes forward: by what the chart says, or by what it does where the chart says nothing."""

from __future__ import annotations

from typing import Final

from gatechart.turn.macrostep import Macrostep
from gatechart.turn.watch import Watch
from gatechart.values.frozen import value
from gatechart.values.names import LONGEST_NAME
from gatechart.values.trail import LONGEST_TOLD, Progressed, character_of

_SLACK: Final = 8
"""Characters beyond the window that are kept, so that they are not cut off with each turn."""


@value
class Progress:
    """What a chart tells of progress in a turn, with what the trail remembers of it afterwards."""

    entries: tuple[Progressed, ...]
    is_told: bool  # by states, actions and measures, and not just by a task that is done
    recent: str
    task: str
    best: float | None


def with_entered(recent: str, characters: str, window: int) -> str:
    """Return the characters of states entered lately with others at their end: at least those of the window."""
    recent += characters
    return recent if len(recent) <= window + _SLACK else recent[-window:]


def is_first(recent: str, characters: str, window: int) -> bool:
    """Tell whether one of the characters is of a state that was not entered within the window."""
    lately = recent[-window:]
    return any(each not in lately for each in characters)


def told_progress(macrostep: Macrostep, watch: Watch, recent: str) -> Progress:
    """Return the progress of which the chart tells in a turn. recent: see `with_entered`."""
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

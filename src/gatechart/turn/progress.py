"""Whether a turn goes forward: by what the chart says, or by what it does where the chart says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from gatechart.turn.macrostep import Macrostep
from gatechart.turn.watch import Watch
from gatechart.values import Progressed, StateName, character_of


class Progress(NamedTuple):  # not a value: that would take several times as long to make
    """What a turn showed of progress, with what the trail remembers of it afterwards."""

    entries: Sequence[Progressed]
    is_made: bool
    is_told: bool  # by the chart
    recent: str
    task: str
    best: float | None


def went_on(macrostep: Macrostep, watch: Watch, before: tuple[StateName, ...]) -> Progress:
    """Return the progress of a turn. before: the leaves in which it began, or those after it if it entered none."""
    trail, context, terms = macrostep.trail, macrostep.context, watch.terms
    recent, is_new, after = trail.recent, False, macrostep.configuration
    if after != before:
        recent, is_new = _entered(recent, [leaf for leaf in after if leaf not in before])
        recent = recent[-terms.window :]
    told, states = macrostep.log.progressed, watch.progress_states
    if not (told or states or terms.task or terms.measure):  # as in most charts
        return Progress(_NOTHING, is_new, False, recent, trail.task, trail.best)
    told = [*told]
    if states:
        told += [state for plan in macrostep.plans for state in plan.entries if state in states]
    task, best = trail.task, trail.best
    done = ""
    if terms.task:
        task, done = _text(getattr(context, terms.task, None)), task
        recent, is_done = _entered(recent, [f"task {done}"] if done and done != task else [])
        done = done if is_done and watch.implies else ""
    if terms.measure:
        number = getattr(context, terms.measure, None)
        if isinstance(number, int | float) and (best is None or number > best):
            told += [] if best is None else [terms.measure]
            best = number
    entries = [Progressed(by) for by in (*told, *([done] if done else []))]
    is_made = bool(entries) or (is_new and watch.implies)
    return Progress(entries, is_made, bool(told), recent[-terms.window :], task, best)


def _entered(recent: str, names: Sequence[str]) -> tuple[str, bool]:
    """Return the characters with those of the names added, and whether one of them was not among them before."""
    if len(names) == 1:
        character = _character_of(names[0])
        return recent + character, character not in recent
    characters = "".join(map(_character_of, names))
    return recent + characters, any(each not in recent for each in characters)


_NOTHING: Final[tuple[Progressed, ...]] = ()
_character_of: Final = lru_cache(1024)(character_of)


def _text(task: object) -> str:
    return "" if task is None else str(task)

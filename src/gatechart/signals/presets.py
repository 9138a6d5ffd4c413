"""Signals for usual purposes, ready to pass to a graph: `signals=handing_on() + looping()`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from gatechart.graph import Signal
from gatechart.signals.failures import ToolFailures
from gatechart.signals.measures import Confidence
from gatechart.signals.repeats import Repeats, SameCall
from gatechart.signals.said import Keywords, UserAsked
from gatechart.signals.standing import NoProgress

Preset: TypeAlias = tuple[Signal, ...]


def handing_on(
    failures: int | None = 2,
    turns: int | None = 3,
    seconds: float | None = 15,
    *,
    asked: UserAsked | None = UserAsked(),  # noqa: B008  a frozen value
    keywords: Keywords | None = Keywords(),  # noqa: B008
    confidence: float | None = 0.5,
) -> Preset:
    """Return the signals that say: somebody else should go on with this work.

    failures: of one tool without a success between. turns, seconds: of work without progress. asked: phrases by which
    somebody asks for a person. keywords: words of trouble. confidence: below which a noted `confidence` is low. None
    leaves a signal out.
    """
    return tuple(_handing_on(failures, turns, seconds, asked, keywords, confidence))


def looping(
    window: int | None = 20,
    calls: int | None = 3,
    failures: int | None = 5,
    within: float = 60,
) -> Preset:
    """Return the signals that say: the agent goes round in circles.

    window: moves and calls in which repeats are looked for; None for no repeats of moves. calls: times that the same
    call must be made; None for any number. failures: of one tool within so many seconds; None for any number.
    """
    found: list[Signal] = []
    if failures is not None:
        found.append(Signal(ToolFailures(failures, within), "failing_tool"))
    if window is not None:
        found.append(Signal(Repeats(window=window)))
    if calls is not None:
        found.append(Signal(SameCall(calls, window=window or 20)))
    return tuple(found)


def _handing_on(
    failures: int | None,
    turns: int | None,
    seconds: float | None,
    asked: UserAsked | None,
    keywords: Keywords | None,
    confidence: float | None,
) -> Iterator[Signal]:
    if asked is not None:
        yield Signal(asked)
    if keywords is not None:
        yield Signal(keywords)
    if failures is not None:
        yield Signal(ToolFailures(failures))
    if turns is not None or seconds is not None:
        yield Signal(NoProgress(turns, seconds))
    if confidence is not None:
        yield Signal(Confidence(confidence))

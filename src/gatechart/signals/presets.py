"""Signals for usual purposes, ready to pass to a graph: `signals=handing_on() + looping()`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from gatechart.graph import NeedRule, Signal
from gatechart.signals.failures import ToolFailures
from gatechart.signals.lacking import Lacks, rules_of
from gatechart.signals.measures import Confidence
from gatechart.signals.no_progress import NoProgress
from gatechart.signals.repeats import Repeats, SameCall
from gatechart.signals.said import Keywords, UserAsked

Preset: TypeAlias = tuple[Signal, ...]


def handing_on(
    failures: int | None = 2,
    turns: int | None = 3,
    seconds: float | None = 15,
    *,
    asked: UserAsked | None = UserAsked(),  # noqa: B008  a frozen value
    keywords: Keywords | None = Keywords(),  # noqa: B008
    confidence: float | None = 0.5,
    rules: Iterable[NeedRule] | NeedRule = (),
) -> Preset:
    """Return the signals that say: somebody else should go on with this work.

    failures: of one tool without a success between. turns, seconds: of work without progress. asked: phrases by which
    somebody asks for a person. keywords: words of trouble. confidence: below which a noted `confidence` is low. None
    leaves a signal out. rules: what work needs by what somebody says; a domain or a capability that the agent's entry
    point lacks is noticed.
    """
    return (
        *_handing_on(failures, turns, seconds, asked, keywords, confidence),
        *_lacking(rules_of(rules)),
    )


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


def _lacking(rules: tuple[NeedRule, ...]) -> Iterator[Signal]:
    if any(rule.needs.domains for rule in rules):
        yield Signal(Lacks("domain", rules))
    if any(rule.needs.capabilities for rule in rules):
        yield Signal(Lacks("capability", rules))

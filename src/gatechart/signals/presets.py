"""Signals for usual purposes, ready to pass to a graph: `signals=handing_on() + looping()`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from gatechart.graph.selection import NeedRule
from gatechart.graph.signals import Signal
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
    """Return the signals for handing the work on to another agent or a person.

    failures: failures of one tool without a success between them. turns, seconds: work without progress. asked: phrases
    of people that ask for a person. keywords: words of trouble. confidence: bound below which a noted `confidence` is
    low. None leaves a signal out. rules: needs of messages, for signals about a domain or a capability that the agent's
    entry point lacks.
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
    """Return the signals for an agent that goes in circles.

    window: moves and calls to search for repeats; None for no signal about moves. calls: occurrences of the same call;
    None for no signal about calls. failures: failures of one tool within `within` seconds; None for no such signal.
    """
    signals: list[Signal] = []
    if failures is not None:
        signals.append(Signal(ToolFailures(failures, within), "failing_tool"))
    if window is not None:
        signals.append(Signal(Repeats(window=window)))
    if calls is not None:
        signals.append(Signal(SameCall(calls, window=window or 20)))
    return tuple(signals)


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

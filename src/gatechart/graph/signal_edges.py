"""What the answers to signals mean as ordinary states and transitions, which a graph adds when it is compiled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from gatechart.graph.definition import ANY, EntryPoint, State, Transition
from gatechart.graph.handoff import Handoff, unanswered
from gatechart.graph.signals import Signal, Signals
from gatechart.values import StateName


def declared_signals(signals: Signals | None, doors: Iterable[EntryPoint]) -> tuple[Signal, ...]:
    """Return the signals of a graph and its entry points, those with the same name and answer once."""
    each = (signals, *(door.signals for door in doors))
    found: dict[tuple[str, StateName], Signal] = {}
    for signal in (signal for some in each if some for signal in some.signals):
        found.setdefault((signal.name, signal.waiting_state), signal)
    return tuple(found.values())


def answering(signals: Iterable[Signal]) -> Iterator[Transition[Any]]:
    """Yield the transitions that offer the work where a signal fires, and those of the states added to wait in."""
    declared = tuple(signals)
    for signal in declared:
        if signal.answer is not None:
            yield Transition(ANY, signal.event, signal.waiting_state, actions=_offer(signal))
    # Several signals may wait in one state, which they leave in the same way.
    ways = (
        (signal.waiting_state, event, signal.otherwise)
        for signal in declared
        if signal.answer is not None and not signal.waits
        for event in unanswered(signal.answer)
    )
    for way in dict.fromkeys(ways):
        yield Transition(*way)


def waiting_states(signals: Iterable[Signal], known: Iterable[StateName]) -> Iterator[State[Any]]:
    """Yield the states that the answers add. known: names of states that the graph has."""
    taken = set(known)
    for signal in signals:
        if signal.answer is not None and signal.waiting_state not in taken and not signal.waits:
            taken.add(signal.waiting_state)
            yield State(signal.waiting_state, description=f"waits until {signal.answer.target} takes the work over")


def _offer(signal: Signal) -> Handoff:
    assert signal.answer is not None
    return signal.answer if signal.answer.reason is not None else replace(signal.answer, reason=signal.reason)

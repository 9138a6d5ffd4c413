"""Answers to signals as ordinary states and transitions, which a graph adds when it is compiled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from gatechart.graph.definition import ANY, EntryPoint, State, Transition
from gatechart.graph.handoff import Handoff, unanswered
from gatechart.graph.signals import Signal, Signals
from gatechart.values.names import StateName


def declared_signals(signals: Signals | None, doors: Iterable[EntryPoint]) -> tuple[Signal, ...]:
    """Return the signals of a graph and its entry points, without duplicates of a name and waiting state."""
    declarations = (signals, *(door.signals for door in doors))
    by_key: dict[tuple[str, StateName], Signal] = {}
    for signal in (signal for some in declarations if some for signal in some.signals):
        by_key.setdefault((signal.name, signal.waiting_state), signal)
    return tuple(by_key.values())


def answering(signals: Iterable[Signal]) -> Iterator[Transition[Any]]:
    """Yield the transitions that offer the work when a signal fires, and the exits of the added waiting states."""
    declared = tuple(signals)
    for signal in declared:
        if signal.answer is not None:
            yield Transition(ANY, signal.event, signal.waiting_state, actions=_offer(signal))
    # Several signals may share a waiting state, and then also its exits.
    exits = (
        (signal.waiting_state, event, signal.otherwise)
        for signal in declared
        if signal.answer is not None and not signal.waits
        for event in unanswered(signal.answer)
    )
    for exit_of_state in dict.fromkeys(exits):
        yield Transition(*exit_of_state)


def waiting_states(signals: Iterable[Signal], known: Iterable[StateName]) -> Iterator[State[Any]]:
    """Yield the states that the answers add. known: names of existing states of the graph."""
    used = set(known)
    for signal in signals:
        if signal.answer is not None and signal.waiting_state not in used and not signal.waits:
            used.add(signal.waiting_state)
            yield State(signal.waiting_state, description=f"waits until {signal.answer.target} takes the work over")


def _offer(signal: Signal) -> Handoff:
    assert signal.answer is not None
    return signal.answer if signal.answer.reason is not None else replace(signal.answer, reason=signal.reason)

"""Faults in the signals that a graph and its entry points declare."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel

from gatechart.context import has_any_field
from gatechart.errors.definition import Fault
from gatechart.errors.root import suggestion
from gatechart.graph.definition import EntryPoint, State
from gatechart.graph.function_faults import handoff_faults
from gatechart.graph.names import texts
from gatechart.graph.signals import Signal, Signals
from gatechart.values.names import LONGEST_NAME, unkept

MOST_MOVES: Final = 200
"""The longest window for repeats, in moves and calls: a detector stores a character for each."""

_LEAST_BYTES: Final = 256
"""The smallest trail, in bytes, so that a few moves fit."""

_ANY: Final = "*"  # a pattern in names of events, and of signals in plans

_BOUNDS: Final = ("states", "calls", "window", "most_bytes")


def signal_faults(
    place: str, signals: Signals | None, states: Sequence[State[Any]], context: object
) -> Iterator[Fault]:
    """Yield the faults of signals. place: where they are declared."""
    if signals is None:
        return
    yield from _bound_faults(place, signals)
    yield from _naming_faults(place, signals)
    yield from _field_faults(place, signals, context)
    for name, count in Counter(signal.name for signal in signals.signals).items():
        if count > 1:
            yield Fault(f"{place}, {name}", "the name occurs twice", "give one of them another with name=")
    for signal in signals.signals:
        yield from _faults_of(f"{place}, {signal.name}", signal, texts(state.name for state in states))


def answer_faults(signals: Signals | None, doors: Iterable[EntryPoint]) -> Iterator[Fault]:
    """Yield a fault for each signal with several different answers in the graph and its entry points."""
    answers = defaultdict(set)
    for some in (signals, *(door.signals for door in doors)):
        for signal in () if some is None else some.signals:
            if signal.answer is not None:
                answers[signal.name].add((signal.waiting_state, signal.answer.to, signal.answer.at))
    for name in (name for name, variants in answers.items() if len(variants) > 1):
        problem = "it has several answers, of which only the first would be taken"
        yield Fault(f"signals, {name}", problem, "give each another name= for its own answer")


def _bound_faults(place: str, signals: Signals) -> Iterator[Fault]:
    for name in _BOUNDS:
        number = getattr(signals, name)
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            yield Fault(place, f"{name}={number!r} is not a bound", "pass a whole number of 1 or more")
            return
    if signals.most_bytes < _LEAST_BYTES:
        problem = f"most_bytes={signals.most_bytes} leaves no room for what the agent did"
        yield Fault(place, problem, f"pass {_LEAST_BYTES} or more")
    if signals.window > MOST_MOVES:
        yield Fault(place, f"window={signals.window} is too long", f"pass {MOST_MOVES} at most")
    if signals.window > signals.states:
        problem = f"window={signals.window} is longer than the trail, which keeps states={signals.states}"
        yield Fault(place, problem, "shorten the window, or keep more states")


def _naming_faults(place: str, signals: Signals) -> Iterator[Fault]:
    said = {} if signals.said is None else signals.said
    if not (isinstance(said, Mapping) and all(isinstance(text, str) for pair in said.items() for text in pair)):
        yield Fault(place, f"said={said!r} does not name a field for each event", "write it as {'SAID': 'text'}")
    if not all(isinstance(name, str) for name in signals.ignore):
        yield Fault(place, f"ignore={signals.ignore!r} does not name fields", "pass their names")


def _field_faults(place: str, signals: Signals, context: object) -> Iterator[Fault]:
    if not (isinstance(context, type) and issubclass(context, BaseModel)) or has_any_field(context):
        return
    fields = tuple(context.model_fields)
    for what in ("task", "measure"):
        name = getattr(signals, what)
        if name and name not in fields:
            yield Fault(place, f"{context.__name__} has no field {name!r} for the {what}", suggestion(name, fields))


def _faults_of(place: str, signal: Signal, names: tuple[str, ...]) -> Iterator[Fault]:
    why = unkept(signal.name, LONGEST_NAME) or _unusable(signal.name)
    if why:
        yield Fault(place, f"no event can have the name {signal.name!r}: {why}", "use a word, such as tool_failures")
    if signal.answer is None:
        for what in (option for option in ("waits", "otherwise") if getattr(signal, option)):
            yield Fault(place, f"it has {what}=, but no answer=", f"name who takes the work, or drop {what}=")
        return
    yield from handoff_faults(place, signal.answer)
    if signal.waits and signal.otherwise:
        problem = "it has waits= and otherwise="
        yield Fault(place, problem, "let the state that waits say what follows a rejection, and drop otherwise=")
    elif not (signal.waits or signal.otherwise):
        problem = "it does not say what follows if nobody takes the work"
        yield Fault(place, problem, "name the state with otherwise=, or one that waits with waits=")
    for what in ("waits", "otherwise"):
        name = getattr(signal, what)
        if name and name not in names:
            yield Fault(f"{place}, {what}", f"unknown state {name!r}", suggestion(name, names))


def _unusable(name: str) -> str:
    """Return why transitions cannot name the event `signal.<name>`; empty if they can."""
    if name.split() != [name]:
        return "it has spaces"
    if _ANY in name:
        return f"{_ANY!r} stands for any signal"
    return "" if all(name.split(".")) else "a part before or after a dot is empty"

"""Signals as a graph declares them: their symptoms, names and answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from re import sub
from typing import Any, Final, TypeAlias

from gatechart.graph.handoff import Handoff
from gatechart.graph.names import names_of, one_or_more
from gatechart.values.detectors import Detector, Symptom, require_symptoms
from gatechart.values.frozen import fill
from gatechart.values.handoffs import Reason
from gatechart.values.names import EventName, Name, StateName, name_of

SIGNAL: Final = "signal."
"""Prefix of the event of a signal; its name follows."""


@dataclass(frozen=True, init=False)
class Signal:
    """A signal about an agent's own behaviour. When it fires, it becomes the event `signal.<name>`.

    It fires when its symptom starts to hold, and again only after the symptom has stopped holding in between.
    """

    name: str
    when: Symptom
    reason: Reason  # reason of a handoff that answers it
    answer: Handoff | None  # offered if no other transition of the chart takes the event
    waits: StateName  # waiting state; by default `ASKING_<graph>`, which is added
    otherwise: StateName  # state after the added one if no target accepts the work

    def __init__(
        self,
        when: Symptom,
        name: Name = "",
        *,
        reason: Reason | str | None = None,
        answer: Handoff | None = None,
        waits: Name = "",
        otherwise: Name = "",
    ) -> None:
        require_symptoms(when)
        if not (answer is None or isinstance(answer, Handoff)):
            raise TypeError(f"{answer!r} is not an answer; use a handoff, such as Handoff('human_desk', at='NORMAL')")
        _require_hashable(when.detectors)
        first = when.detectors[0]
        fields = {
            "name": name_of(name) or name_after(first),
            "when": when,
            "reason": first.reason if reason is None else Reason(reason),
            "answer": answer,
            "waits": name_of(waits),
            "otherwise": name_of(otherwise),
        }
        fill(self, **fields)

    @property
    def event(self) -> EventName:
        """The event that the signal becomes."""
        return f"{SIGNAL}{self.name}"

    @property
    def waiting_state(self) -> StateName:
        """The waiting state of its answer; empty if it has no answer."""
        return "" if self.answer is None else self.waits or f"ASKING_{self.answer.target}"


def _require_hashable(detectors: Iterable[Detector]) -> None:
    """Raise TypeError, with a remedy, for a detector without a hash, which could not be distinguished from others."""
    for detector in detectors:
        try:
            hash(detector)
        except TypeError as error:
            remedy = "make its class a @dataclass(frozen=True), with tuples in place of lists"
            raise TypeError(f"{type(detector).__name__} has no hash ({error}); {remedy}") from None


def usual_name(cls: type) -> str:
    """Return the name of a class in the style of charts: `tool_failures` for the detector ToolFailures."""
    return sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()


def name_after(detector: Detector) -> str:
    """Return the default name of a signal, from its first detector."""
    name = usual_name(type(detector))
    return f"{name}_{detector.variant}" if detector.variant else name


def answered(
    signals: Iterable[Signal | Symptom] | Signal | Symptom,
    answer: Handoff,
    *,
    waits: Name = "",
    otherwise: Name = "",
) -> tuple[Signal, ...]:
    """Return the signals with this answer to each, such as `answered(looping(), Handoff("desk", at="NORMAL"))`.

    waits, otherwise: see `Signal`.
    """
    states: dict[str, Any] = {"waits": name_of(waits), "otherwise": name_of(otherwise)}
    return tuple(replace(signal, answer=answer, **states) for signal in _listed(signals))


Said: TypeAlias = Mapping[EventName, str]
"""The events that carry messages of users, each with the payload field that holds the text."""


@dataclass(frozen=True, init=False)
class Signals:
    """The signals of a graph, and the settings of the trail that they read.

    Signals of an entry point replace the signals of its graph.
    """

    signals: tuple[Signal, ...]
    ignore: tuple[str, ...]  # fields of payloads and arguments to leave out of comparisons, such as times and ids
    said: Said | None  # by default `text`, `message` or `content` of any event from outside
    task: str  # field of the context with the id of the task at hand; empty if there is none
    measure: str  # field of the context with a number that grows with progress; empty if there is none
    states: int  # moves that the trail keeps
    calls: int  # calls that the trail keeps
    window: int  # number of moves and calls searched for repeats
    most_bytes: int  # size of the whole trail

    def __init__(
        self,
        signals: Iterable[Signal | Symptom] | Signal | Symptom,
        *,
        ignore: Iterable[str] | str = (),
        said: Said | None = None,
        task: str = "",
        measure: str = "",
        states: int = 50,
        calls: int = 100,
        window: int = 20,
        most_bytes: int = 16_384,
    ) -> None:
        fields: dict[str, Any] = {
            "signals": _listed(signals),
            "ignore": names_of(ignore),
            "said": said,
            "task": task,
            "measure": measure,
            "states": states,
            "calls": calls,
            "window": window,
            "most_bytes": most_bytes,
        }
        fill(self, **fields)

    def __bool__(self) -> bool:
        """Return whether there are any signals."""
        return bool(self.signals)


def _listed(signals: Iterable[Signal | Symptom] | Signal | Symptom) -> tuple[Signal, ...]:
    return tuple(signal if isinstance(signal, Signal) else Signal(signal) for signal in one_or_more(signals))


Given: TypeAlias = Signals | Iterable[Signal | Symptom] | Signal | Symptom
"""Signals as a graph or an entry point accepts them: with settings of the trail, or alone."""


def signals_in(signals: Given | None) -> Signals | None:
    """Convert the signals of a graph or an entry point; None stays None."""
    return signals if signals is None or isinstance(signals, Signals) else Signals(signals)

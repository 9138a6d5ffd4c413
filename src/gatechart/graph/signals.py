"""Signals as a graph declares them: what is noticed, under which name, and what answers it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from re import sub
from typing import Any, Final, TypeAlias

from gatechart.graph.handoff import Handoff
from gatechart.graph.names import names_of, one_or_more
from gatechart.values import Detector, EventName, Name, Reason, StateName, Symptom, name_of
from gatechart.values.detectors import require_symptoms
from gatechart.values.frozen import fill

SIGNAL: Final = "signal."
"""Prefix of the event of a signal; its name follows."""


@dataclass(frozen=True, init=False)
class Signal:
    """Something that an agent's turns notice about the agent itself. It becomes the event `signal.<name>` once.

    It fires when its symptom comes to hold, and again only after it has ceased to.
    """

    name: str
    when: Symptom
    reason: Reason  # of a handoff that answers it
    answer: Handoff | None  # offered where no other transition of the chart takes the event
    waits: StateName  # state in which the agent waits meanwhile; by default one named `ASKING_<graph>`, which is added
    otherwise: StateName  # state that follows the added one if nobody takes the work

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
            raise TypeError(f"{answer!r} is no answer; use a handoff, such as Handoff('human_desk', at='NORMAL')")
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
        """Event that it becomes."""
        return f"{SIGNAL}{self.name}"

    @property
    def waiting_state(self) -> StateName:
        """State to which its answer leads; empty if it has none."""
        return "" if self.answer is None else self.waits or f"ASKING_{self.answer.target}"


def _require_hashable(detectors: Iterable[Detector]) -> None:
    """Refuse a detector that cannot be told from others. Raises TypeError, which says how one is written."""
    for each in detectors:
        try:
            hash(each)
        except TypeError as error:
            remedy = "make its class a @dataclass(frozen=True), with tuples in place of lists"
            raise TypeError(f"{type(each).__name__} has no hash ({error}); {remedy}") from None


def usual_name(kind: type) -> str:
    """Return the name of a class, as charts write it: `tool_failures` for the detector ToolFailures."""
    return sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind.__name__).lower()


def name_after(detector: Detector) -> str:
    """Return the name of a signal that has none of its own and whose first detector this is."""
    kind = usual_name(type(detector))
    return f"{kind}_{detector.variant}" if detector.variant else kind


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
    return tuple(replace(each, answer=answer, **states) for each in _listed(signals))


Said: TypeAlias = Mapping[EventName, str]
"""The events by which somebody says something, each with the field of its payload that holds the text."""


@dataclass(frozen=True, init=False)
class Signals:
    """The signals of a graph, and how the trail is kept that they look at.

    An entry point with signals of its own has those in place of its graph's.
    """

    signals: tuple[Signal, ...]
    ignore: tuple[str, ...]  # fields of payloads and arguments that make no difference, such as times and ids
    said: Said | None  # by default `text`, `message` or `content` of any event from outside
    task: str  # field of the context with the id of the task at hand; empty if there is none
    measure: str  # field of the context with a number that grows as work goes forward; empty if there is none
    states: int  # moves that the trail keeps
    calls: int  # calls that the trail keeps
    window: int  # moves and calls in which repeats are looked for
    most_bytes: int  # of the whole trail

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
        """Tell whether there are any."""
        return bool(self.signals)


def _listed(signals: Iterable[Signal | Symptom] | Signal | Symptom) -> tuple[Signal, ...]:
    return tuple(each if isinstance(each, Signal) else Signal(each) for each in one_or_more(signals))


Given: TypeAlias = Signals | Iterable[Signal | Symptom] | Signal | Symptom
"""Signals as a graph or an entry point takes them: with how their trail is kept, or alone."""


def signals_in(given: Given | None) -> Signals | None:
    """Return the signals that were given; None for None, which says nothing."""
    return given if given is None or isinstance(given, Signals) else Signals(given)

"""Signals of a chart file: from nodes to signals, and from signals back to keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any, Final, TypeAlias

from gatechart.chartfiles.faults import Fields, Spot, kind_of, text_of
from gatechart.chartfiles.model import HandoffForm, Reference
from gatechart.chartfiles.parts import HandoffParser
from gatechart.chartfiles.selections import read_rules, written_rule
from gatechart.graph.handoff import Handoff
from gatechart.graph.signals import Signal, Signals, answered, name_after, usual_name
from gatechart.signals.chart_keys import (
    ANSWER,
    BOUNDS,
    CHOICES,
    DETECTORS,
    JOINED,
    NAMED,
    OFF,
    PRESETS,
    SIGNAL_KEYS,
    SYMPTOM,
)
from gatechart.signals.presets import Preset
from gatechart.signals.said import Keywords, UserAsked
from gatechart.values.detectors import AnyOf, Detector, Inverted, Symptom
from gatechart.values.handoffs import Reason

_FORM: Final = "write a preset, a detector, or `any:`, `all:`, `not:` or `any_of:` with detectors"
_REASONS: Final = tuple(reason.value for reason in Reason)


@dataclass(frozen=True, slots=True)
class Named:
    """Lookups for the names in a chart."""

    state: Callable[[Spot], str]
    function: Callable[[Reference], Callable[..., Any] | None]
    handoff: Callable[[HandoffForm], Handoff]


class SignalReader:
    """The reader of the signals of a chart, or of an entry point. Every fault is added at its position."""

    def __init__(self, parts: HandoffParser, named: Named) -> None:
        """Bind to the parser of the inner parts, and to the lookups of their names."""
        self.parts = parts
        self.faults = parts.faults
        self.named = named

    def signals(self, spot: Spot) -> Signals:
        """Return the signals; empty if they are switched off; faulty ones are left out."""
        if spot.value == OFF:
            return Signals(())
        is_plain = spot.is_mapping and spot.get("notice") is None
        if not spot.is_mapping or (is_plain and any(key in SIGNAL_KEYS["signal"] for key, _ in spot.items())):
            return Signals(tuple(self.listed(spot)))
        fields = Fields(spot, self.faults, SIGNAL_KEYS["signals"])
        notice = fields.needs("notice", "write `notice:` with presets or detectors")
        bounds = {key: self.whole(spot.get(key)) for key in BOUNDS if spot.get(key) is not None}
        said = spot.get("said")
        if said is not None:
            Fields(said, self.faults)
        return Signals(
            tuple(self.listed(notice)) if notice is not None else (),
            ignore=fields.texts("ignore"),
            said=None if said is None else {event: text_of(each, self.faults) for event, each in said.items()},
            task=fields.text("task"),
            measure=fields.text("measure"),
            **{key: number for key, number in bounds.items() if number is not None},
        )

    def listed(self, spot: Spot) -> Iterator[Signal]:
        """Yield the signals of a list."""
        for element in spot.elements():
            yield from self.one(element)

    def one(self, spot: Spot) -> Iterator[Signal]:
        """Yield the signals of a preset, or the signal of a detector or of several joined."""
        if not spot.is_mapping:
            name = text_of(spot, self.faults)
            if name in PRESETS:
                yield from PRESETS[name]()
            else:
                yield from self.alone(spot)
            return
        fields = Fields(spot, self.faults, SIGNAL_KEYS["signal"])
        preset = next((name for name in PRESETS if spot.get(name) is not None), None)
        signals = self.of_preset(spot, preset) if preset else tuple(self.alone(spot))
        answer = spot.get("answer")
        if answer is None:
            yield from signals
            return
        handoff = self.named.handoff(self.parts.handoff(answer))
        waits, otherwise = self.state(fields.spot.get("waits")), self.state(fields.spot.get("otherwise"))
        yield from answered(signals, handoff, waits=waits, otherwise=otherwise)

    def of_preset(self, spot: Spot, name: str) -> Preset:
        """Return the signals of a preset with its parameters."""
        others = [key for key, _ in spot.items() if key != name and key not in ANSWER]
        for key in others:
            self.faults.add(spot.key(key), f"{key!r} is not for a preset", "list other detectors beside it")
        body = spot.get(name)
        constructed = None if body is None else self.constructed(PRESETS[name], body, SIGNAL_KEYS[f"preset.{name}"])
        return constructed or ()

    def alone(self, spot: Spot) -> Iterator[Signal]:
        """Yield the signal of a symptom, unless it has faults."""
        symptom = self.symptom(spot)
        if symptom is None:
            return
        fields = Fields(spot, self.faults) if spot.is_mapping else None
        name = "" if fields is None else fields.text("name")
        reason = None
        if fields is not None and spot.get("reason") is not None:
            reason = fields.choice("reason", _REASONS, _REASONS[-1])
        yield Signal(symptom, name, reason=reason)

    def symptom(self, spot: Spot) -> Symptom | None:
        """Return a detector, or several joined; None after a fault."""
        if not spot.is_mapping:
            return self.detector(text_of(spot, self.faults), spot, None)
        named = [key for key, _ in spot.items() if key in SYMPTOM]
        if len(named) != 1:
            problem = f"it names {' and '.join(map(repr, named))}" if named else "it names no detector"
            self.faults.add(spot, problem, _FORM)
            return None
        body = Spot(spot.value[named[0]], (*spot.path, named[0]))
        return self.joined(named[0], body, spot) if named[0] in JOINED else self.detector(named[0], spot, body)

    def joined(self, word: str, body: Spot, spot: Spot) -> Symptom | None:
        """Return several symptoms joined, or one inverted."""
        if word == "not":
            part = self.symptom(body)
            return None if part is None else Inverted(part)
        listed = spot.get("of") if word == "any_of" else body
        parts = [] if listed is None else [self.symptom(element) for element in listed.elements()]
        least = self.whole(body) if word == "any_of" else 1 if word == "any" else len(parts)
        sound = [each for each in parts if each is not None]
        if least is None or len(sound) < len(parts):
            return None
        if not 1 <= least <= len(sound):
            self.faults.add(body, f"{least} of {len(sound)} cannot hold", "list as many symptoms as it takes")
            return None
        return AnyOf(least, *sound)

    def detector(self, name: str, spot: Spot, body: Spot | None) -> Symptom | None:
        """Return a detector with its parameters; None after a fault."""
        kind = NAMED.get(name)
        if kind is None:
            if name:
                self.faults.add(spot, f"{name!r} is not a preset or a detector", _FORM)
            return None
        where = spot if body is None else body
        constructed: Symptom | None = self.constructed(
            kind, where, DETECTORS[kind], is_empty=body is None or body.value is None
        )
        return constructed

    def constructed(
        self, kind: Callable[..., Any], spot: Spot, keys: Mapping[str, str], *, is_empty: bool = False
    ) -> Any:
        """Construct a detector or a preset from its parameters; None after a fault."""
        before = len(self.faults.found)
        if not is_empty and spot.value is not None:
            Fields(spot, self.faults, keys)
        given = {} if is_empty else {key: self.value(keys[key], value) for key, value in spot.items() if key in keys}
        for key in (
            key for key, parameter in signature(kind).parameters.items() if parameter.default is parameter.empty
        ):
            if key not in given:
                self.faults.add(spot, f"{key!r} is missing", f"write `{key}:`")
        if len(self.faults.found) > before:
            return None
        try:
            return kind(**given)
        except (TypeError, ValueError) as error:
            problem, _, remedy = str(error).partition("; ")
            self.faults.add(spot, problem, remedy or "see the reference of signals")
            return None

    def value(self, kind: str, spot: Spot) -> Any:
        """Return a parameter of this kind; None for an allowed null, and after a fault."""
        if kind.startswith("none_or_") and spot.value is None:
            return None
        readers: dict[str, Callable[[Spot], Any]] = {
            "count": self.whole,
            "none_or_count": self.whole,
            "whole": self.whole,
            "text": partial(text_of, faults=self.faults),
            "texts": lambda each: tuple(text_of(one, self.faults) for one in each.elements()),
            "phrases": self.phrases,
            "function": lambda each: self.named.function(self.parts.reference(each)),
            "user_asked": partial(self.phrased, UserAsked),
            "words": partial(self.phrased, Keywords),
            "need_rules": lambda each: tuple(read_rules(each, self.faults)),
            "lacking": partial(self.choice, "lacking"),
            "shared": partial(self.choice, "shared"),
            "per": partial(self.choice, "per"),
        }
        return readers.get(kind, self.number)(spot)

    def phrased(self, kind: type[Detector], spot: Spot) -> Any:
        """Return a detector of phrases in a preset; null switches it off."""
        return None if spot.value is None else self.constructed(kind, spot, DETECTORS[kind])

    def phrases(self, spot: Spot) -> dict[str, tuple[str, ...]]:
        """Return phrases by language."""
        Fields(spot, self.faults)
        return {key: tuple(text_of(one, self.faults) for one in value.elements()) for key, value in spot.items()}

    def choice(self, kind: str, spot: Spot) -> str:
        """Return one of the choices of a kind."""
        text = text_of(spot, self.faults)
        if text and text not in CHOICES[kind]:
            self.faults.add(spot, f"unknown value {text!r}", f"write {', '.join(CHOICES[kind])}")
        return text

    def whole(self, spot: Spot | None) -> int | None:
        """Return a whole number; None if there is none, or after a fault."""
        if spot is None:
            return None
        if isinstance(spot.value, int) and not isinstance(spot.value, bool):
            number: int = spot.value
            return number
        self.faults.add(spot, f"expected a whole number, found {kind_of(spot)}", "write a whole number")
        return None

    def number(self, spot: Spot) -> float | None:
        """Return a number; None after a fault."""
        if isinstance(spot.value, int | float) and not isinstance(spot.value, bool):
            return spot.value
        self.faults.add(spot, f"expected a number, found {kind_of(spot)}", "write a number")
        return None

    def state(self, spot: Spot | None) -> str:
        """Return the name of a referenced state; empty without one."""
        return "" if spot is None else self.named.state(spot)


Written: TypeAlias = Callable[[Any], Any]


def written_signals(signals: Signals, handoff: Written, function: Written) -> Any:
    """Return signals as data. handoff, function: convert those parts. Raises ValueError for a custom detector."""
    if not signals.signals:
        return OFF
    notice = [_written_signal(signal, handoff, function) for signal in signals.signals]
    usual = Signals(signals.signals)
    names = ("ignore", "said", "task", "measure", *BOUNDS)
    more = {name: getattr(signals, name) for name in names if getattr(signals, name) != getattr(usual, name)}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in more.items()}
    return {"notice": notice, **plain} if more else notice


def _written_signal(signal: Signal, handoff: Written, function: Written) -> dict[str, Any]:
    first = signal.when.detectors[0]
    data = _written(signal.when, function)
    if signal.name != name_after(first):
        data["name"] = signal.name
    if signal.reason is not first.reason:
        data["reason"] = signal.reason.value
    if signal.answer is not None:
        states = {"waits": signal.waits, "otherwise": signal.otherwise}
        data |= {"answer": handoff(signal.answer), **{key: name for key, name in states.items() if name}}
    return data


def _written(symptom: Symptom, function: Written) -> dict[str, Any]:
    match symptom:
        case AnyOf(least, parts) if least == 1:
            return {"any": [_written(each, function) for each in parts]}
        case AnyOf(least, parts) if least == len(parts):
            return {"all": [_written(each, function) for each in parts]}
        case AnyOf(least, parts):
            return {"any_of": least, "of": [_written(each, function) for each in parts]}
        case Inverted(part):
            return {"not": _written(part, function)}
        case Detector() if type(symptom) in DETECTORS:
            return {usual_name(type(symptom)): _parameters(symptom, function) or None}
        case _:
            raise ValueError(f"{type(symptom).__name__} is a custom detector, which no chart can hold")


def _parameters(detector: Detector, function: Written) -> dict[str, Any]:
    """Return the parameters of a detector that differ from the defaults of its class."""
    kind = type(detector)
    usual = {name: parameter.default for name, parameter in signature(kind).parameters.items()}
    changed: dict[str, Any] = {}
    for key, value_kind in DETECTORS[kind].items():
        value = getattr(detector, key, None)
        if value_kind == "phrases":
            if value and value != getattr(kind(), key):
                changed[key] = {name: list(each) for name, each in value}
        elif value_kind == "need_rules":
            changed |= {key: [written_rule(each) for each in value]} if value else {}
        elif value_kind == "function":
            changed[key] = function(value)
        elif value != usual[key] and value is not None:
            changed[key] = list(value) if isinstance(value, tuple) else value
    return changed

"""Escape plans of a chart file: from nodes to plans, and from plans back to keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, Final, cast

from gatechart.chartfiles.faults import Fields, Spot, kind_of, text_of
from gatechart.chartfiles.handing_on import HandingOn
from gatechart.chartfiles.model import BestForm, InvokeForm
from gatechart.chartfiles.parts import HandoffParser
from gatechart.chartfiles.writing import Writer
from gatechart.errors.root import suggestion
from gatechart.escape.chart_keys import BACK_TO, ESCAPE_KEYS, GETTING_OUT, STRATEGIES, STRATEGY_NAMES
from gatechart.escape.presets import getting_out
from gatechart.graph.definition import Invoke
from gatechart.graph.escape import GAVE_UP, EscapePlan, GiveUp, HandOn, Strategy, Tactics, ToHuman
from gatechart.graph.handoff import Handoff
from gatechart.graph.signals import usual_name
from gatechart.values.delays import seconds_of
from gatechart.values.handoffs import Reason
from gatechart.values.names import Name

_REASONS: Final = tuple(reason.value for reason in Reason)
_USUAL: Final = EscapePlan({})
_OF_STATES: Final = ("onDone", "onError")


@dataclass(frozen=True, slots=True)
class StandIn(Strategy):
    """A stand-in for a custom strategy that is not bound."""

    known_as: str

    @property
    def name(self) -> str:
        """Its name in the chart."""
        return self.known_as


class EscapeReader:
    """The reader of the escape plans of a chart. Every fault is added at its position."""

    def __init__(self, parts: HandoffParser, chart: HandingOn) -> None:
        """Bind to the parser of the inner parts, and to the builder that looks up their names."""
        self.parts = parts
        self.faults = parts.faults
        self.chart = chart

    def plan(self, spot: Spot, place: str) -> EscapePlan:
        """Return a plan without its faulty parts. place: the plan's place in the graph's faults."""
        self.chart.places[place] = spot
        if spot.value == GETTING_OUT:
            return getting_out()
        fields = Fields(spot, self.faults, ESCAPE_KEYS["escape"])
        usual = spot.get(GETTING_OUT)
        if usual is not None:
            return self.usual(spot, usual)
        given, tools = spot.get("strategies"), spot.get("tools")
        if given is None and tools is None and spot.is_mapping:
            self.faults.add(spot, "it has no strategies", "write `strategies:` with a list for each signal")
        last = spot.get("last")
        self.chart.places[f"{place}, last"] = last or spot
        strategies = {} if given is None else self.tactics(given, place)
        by_tool = {} if tools is None else {name: self.tactics(each, place) for name, each in tools.items()}
        if tools is not None:
            Fields(tools, self.faults)
        return EscapePlan(
            strategies,
            tools=by_tool,
            last=GiveUp() if last is None else self.strategy(last, place) or GiveUp(),
            shared=fields.flag("shared"),
            **self.bounds(fields),
        )

    def usual(self, spot: Spot, body: Spot) -> EscapePlan:
        """Return the default plan with its parameters."""
        for key in (key for key, _ in spot.items() if key != GETTING_OUT):
            self.faults.add(spot.key(key), f"{key!r} is not for the default plan", "write it inside, or `strategies:`")
        if body.value is None:
            return getting_out()
        fields = Fields(body, self.faults, ESCAPE_KEYS[GETTING_OUT])
        human, at, restart = (fields.text(key) for key in ("human", "at", "restart"))
        return getting_out(human or None, at=at, restart=restart or None, **self.bounds(fields))

    def bounds(self, fields: Fields) -> dict[str, Any]:
        """Return the bounds that the plan sets."""
        spot = fields.spot
        bounds: dict[str, Any] = {}
        cooldown = self.parts.delay(spot.get("cooldown"))
        if cooldown is not None:
            bounds["cooldown"] = cooldown
        for key in ("most_a_day", "turns"):
            each = spot.get(key)
            if each is not None:
                bounds[key] = each.value
                self.whole(each)
        return bounds if spot.get("learns") is None else {**bounds, "learns": fields.flag("learns")}

    def whole(self, spot: Spot) -> None:
        """Add a fault unless it is a whole number; the graph checks its range."""
        if not isinstance(spot.value, int) or isinstance(spot.value, bool):
            self.faults.add(spot, f"expected a whole number, found {kind_of(spot)}", "write a whole number")

    def tactics(self, spot: Spot, place: str) -> Tactics:
        """Return strategies by signal."""
        Fields(spot, self.faults)
        by_signal: dict[Name, tuple[Strategy, ...]] = {}
        for signal, some in spot.items():
            self.chart.places.setdefault(f"{place}, {signal}", spot.key(signal))
            by_signal[signal] = tuple(
                each for one in some.elements() if (each := self.strategy(one, place)) is not None
            )
            if not by_signal[signal] and not self.faults.touches(some):
                self.faults.add(some, "it lists no strategy", "list a strategy, or drop the signal")
        return by_signal

    def strategy(self, spot: Spot, place: str) -> Strategy | None:
        """Return a strategy and record its position; None after a fault."""
        constructed = self.mapped(spot) if spot.is_mapping else self.alone(spot)
        if constructed is not None:
            self.chart.places.setdefault(f"{place}, {constructed.name}", spot)
        return constructed

    def alone(self, spot: Spot) -> Strategy | None:
        """Return a strategy by its name alone: a built-in one with defaults, or a custom one bound to the name."""
        name = text_of(spot, self.faults)
        if name in STRATEGY_NAMES:
            return self.constructed(name, spot, None)
        bindings = self.chart.bindings
        bound = bindings.value(name) if name else None
        if isinstance(bound, Handoff):
            return HandOn(bound)
        if isinstance(bound, Strategy):
            if bound.name == name:
                return bound
            problem = f"{name!r} is bound to the strategy {bound.name!r}"
            self.faults.add(spot, problem, f"name it {bound.name!r}, here and where it is bound")
        elif bindings.unbound is not None and name:
            return StandIn(name)
        elif name:
            remedy = f"{suggestion(name, tuple(STRATEGY_NAMES))}; or bind a custom strategy to it"
            self.faults.add(spot, f"no strategy is called {name!r}", remedy)
        return None

    def mapped(self, spot: Spot) -> Strategy | None:
        """Return a strategy with its parameters, or a handoff."""
        Fields(spot, self.faults, ESCAPE_KEYS["strategy"])
        named = [key for key, _ in spot.items() if key in STRATEGY_NAMES or key == "handoff"]
        if len(named) != 1:
            if named or not self.faults.touches(spot):
                problem = f"it names {' and '.join(map(repr, named))}" if named else "it names no strategy"
                self.faults.add(spot, problem, "write one strategy, such as `reroute:`")
            return None
        body, otherwise = Spot(spot.value[named[0]], (*spot.path, named[0])), spot.get("otherwise")
        if named[0] == "handoff":
            return HandOn(self.chart.handoff(self.parts.handoff(body)), self.state(otherwise) or GAVE_UP)
        if otherwise is not None:
            self.faults.add(spot.key("otherwise"), "'otherwise' is for a handoff", "write it inside, or drop it")
        return self.constructed(named[0], spot, None if body.value is None else body)

    def constructed(self, name: str, spot: Spot, body: Spot | None) -> Strategy | None:
        """Return a built-in strategy; None after a fault."""
        kind = STRATEGY_NAMES[name]
        before = len(self.faults.found)
        keys = STRATEGIES[kind]
        if body is not None:
            Fields(body, self.faults, keys)
        where = spot if body is None else body
        if kind is ToHuman:
            return self.to_human(body)
        given = {} if body is None else {key: self.value(keys[key], each) for key, each in body.items() if key in keys}
        for key in (
            key for key, parameter in signature(kind).parameters.items() if parameter.default is parameter.empty
        ):
            if key not in given:
                self.faults.add(where, f"{key!r} is missing", f"write `{key}:`")
        return None if len(self.faults.found) > before else kind(**given)

    def to_human(self, body: Spot | None) -> ToHuman:
        """Return the handoff to a person."""
        if body is None:
            return ToHuman()
        fields = Fields(body, self.faults)
        best = self.parts.best(fields, "to", "at")
        return ToHuman(
            self.chart.best(best) if isinstance(best, BestForm) else fields.text("to", "human_desk"),
            at="" if best else fields.text("at"),
            reason=fields.choice("reason", _REASONS, _REASONS[-1]) if body.get("reason") is not None else None,
            fallbacks=self.chart.fallbacks(self.parts.fallbacks(body.get("fallbacks"))),
            otherwise=self.state(body.get("otherwise")) or GAVE_UP,
        )

    def value(self, kind: str, spot: Spot) -> Any:
        """Return a parameter of this kind."""
        readers: dict[str, Callable[[Spot], Any]] = {
            "texts": lambda each: tuple(text_of(one, self.faults) for one in each.elements()),
            "function": lambda each: self.chart.optional_function(self.parts.reference(each)),
            "state": self.state,
            "flow": self.flow,
            "back_to": self.back_to,
            "delay": self.parts.delay,
        }
        return readers[kind](spot) if kind in readers else text_of(spot, self.faults)

    def back_to(self, spot: Spot) -> str:
        """Return the target of a rollback."""
        text = text_of(spot, self.faults)
        if text and text not in BACK_TO:
            self.faults.add(spot, f"unknown value {text!r}", suggestion(text, BACK_TO))
        return text

    def flow(self, spot: Spot) -> Invoke:
        """Return the invoke that repairs the cause."""
        for key in (key for key in _OF_STATES if spot.get(key) is not None):
            self.faults.add(spot.key(key), f"{key!r} is for what a state invokes", "write `then:` and `otherwise:`")
        form: InvokeForm = self.parts.invoke(spot)
        return self.chart.invoke(form, form.own_id)

    def state(self, spot: Spot | None) -> str:
        """Return the name of a referenced state, or of the state where a plan gives up; empty without one."""
        if spot is None or (spot.value == GAVE_UP and GAVE_UP not in self.chart.names.named):
            return "" if spot is None else GAVE_UP
        return self.chart.names.target(spot, self.chart.chart.root)


def written_escape(plan: EscapePlan, writer: Writer) -> dict[str, Any]:
    """Return a plan as data, without defaults. Raises ValueError for a strategy that no chart can name."""

    def tactics(some: tuple[tuple[str, tuple[Strategy, ...]], ...]) -> dict[str, Any]:
        return {signal: [_written(strategy, writer) for strategy in strategies] for signal, strategies in some}

    bounds = {key: getattr(plan, key) for key in ("most_a_day", "turns", "learns", "shared")}
    return {
        **({"strategies": tactics(plan.strategies)} if plan.strategies or not plan.tools else {}),
        **({"tools": {name: tactics(each) for name, each in plan.tools}} if plan.tools else {}),
        **({} if plan.cooldown_s == _USUAL.cooldown_s else {"cooldown": plan.cooldown_s}),
        **{key: value for key, value in bounds.items() if value != getattr(_USUAL, key)},
        **({} if plan.last == GiveUp() else {"last": _written(plan.last, writer)}),
    }


def _written(strategy: Strategy, writer: Writer) -> Any:
    kind = type(strategy)
    if isinstance(strategy, HandOn):
        return {"handoff": writer.handoff(strategy.handoff), **_otherwise(strategy.otherwise)}
    if kind not in STRATEGIES:
        if strategy.name in STRATEGY_NAMES:
            raise ValueError(f"{strategy.name!r} is the name of a built-in strategy and of a custom one")
        return writer.name(strategy.name, strategy)
    if isinstance(strategy, ToHuman):
        data = _written_human(strategy, writer)
    else:
        data = {key: each for key, each in _parameters(strategy, writer) if each is not None}
    return {usual_name(kind): data} if data else usual_name(kind)


def _written_human(strategy: ToHuman, writer: Writer) -> dict[str, Any]:
    data = writer.handoff(strategy.handoff)
    if data.get("to") == ToHuman().handoff.to:
        del data["to"]
    if not data.get("at"):
        data.pop("at", None)
    return {**data, **_otherwise(strategy.otherwise)}


def _otherwise(state: str) -> Mapping[str, str]:
    return {} if state == GAVE_UP else {"otherwise": state}


def _parameters(strategy: Strategy, writer: Writer) -> Iterator[tuple[str, Any]]:
    """Yield the parameters of a strategy that differ from the defaults of its class."""
    kind = type(strategy)
    usual = {name: parameter.default for name, parameter in signature(kind).parameters.items()}
    for key, value_kind in STRATEGIES[kind].items():
        if value_kind == "delay":  # stored in seconds
            value = getattr(strategy, f"{key}_s")
            if value != seconds_of(usual[key]):
                yield key, value
            continue
        value = getattr(strategy, key)
        if value == usual[key]:
            continue
        if value_kind == "function":
            yield key, None if value is None else writer.function(value)
        elif value_kind == "flow":
            yield key, writer.invoke(cast("Invoke", value))
        else:
            yield key, list(value) if isinstance(value, tuple) else value

"""Faults in the escape plans that a graph and its states declare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gatechart.errors import Fault, suggestion
from gatechart.graph.definition import State
from gatechart.graph.escape import EVERY_SIGNAL, EscapePlan, Strategy
from gatechart.graph.escape_edges import plans_in
from gatechart.graph.function_faults import handoff_faults
from gatechart.graph.signals import Signal
from gatechart.values import DELAY_REMEDY, StateName


def escape_faults(
    plan: Any, states: Sequence[State[Any]], known: Sequence[StateName], signals: Sequence[Signal]
) -> Iterator[Fault]:
    """Yield the faults of all plans. known: states that no plan adds. signals: that the graph and its doors declare."""
    declared = (("escape", plan), *((f"state {state.name!r}, escape", state.escape) for state in states))
    names = tuple(dict.fromkeys(signal.name for signal in signals))
    for place, each in declared:
        if each is not None and not isinstance(each, EscapePlan):
            yield Fault(place, f"{each!r} is not a plan", "write EscapePlan({signal: strategies})")
        elif each is not None:
            yield from _faults_of(place, each, names, known)
    yield from _clashes(plans_in(plan, states))


def _faults_of(place: str, plan: EscapePlan, signals: Sequence[str], known: Sequence[StateName]) -> Iterator[Fault]:
    yield from _bound_faults(place, plan)
    groups = (plan.strategies, *(each for _, each in plan.tools))
    for signal in dict.fromkeys(name for group in groups for name, _ in group):
        if signal not in (*signals, EVERY_SIGNAL):
            yield Fault(f"{place}, {signal}", f"no signal has the name {signal!r}", suggestion(signal, signals))
    for strategy in plan.every:
        if isinstance(strategy, Strategy):
            yield from _strategy_faults(f"{place}, {strategy.name}", strategy, known)
        else:
            remedy = "use one of gatechart.escape, such as Reroute(), or a subclass of Strategy"
            yield Fault(place, f"{strategy!r} is nothing to try", remedy)
    if not isinstance(plan.last, Strategy) or plan.last.adds is None:
        yield Fault(f"{place}, last", f"{plan.last!r} may lead nowhere", "use ToHuman(...), GiveUp() or a Handoff")


def _bound_faults(place: str, plan: EscapePlan) -> Iterator[Fault]:
    if plan.cooldown_s is None:
        yield Fault(place, "its cooldown is not a duration", DELAY_REMEDY)
    for what in ("most_a_day", "turns"):
        number = getattr(plan, what)
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            yield Fault(place, f"{what}={number!r} is not a bound", "pass a whole number of 1 or more")


def _strategy_faults(place: str, strategy: Strategy, known: Sequence[StateName]) -> Iterator[Fault]:
    adds = strategy.adds
    if adds is None:
        return
    if adds.handoff is not None:
        yield from handoff_faults(place, adds.handoff)
    if adds.flow is not None and adds.then not in known:
        yield Fault(f"{place}, then", f"unknown state {adds.then!r}", suggestion(adds.then, known))


def _clashes(plans: Sequence[EscapePlan]) -> Iterator[Fault]:
    """Yield a fault for each name that stands for strategies that add different things to the chart."""
    found: dict[str, Strategy] = {}
    for each in (each for plan in plans for each in plan.every if isinstance(each, Strategy)):
        other = found.setdefault(each.name, each)
        if other.adds != each.adds:
            yield Fault(f"escape, {each.name}", "two strategies of this name differ", "let one of them be a subclass")

"""Faults in the escape plans that a graph and its states declare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from pydantic import BaseModel

from gatechart.context import has_any_field
from gatechart.errors.definition import Fault
from gatechart.errors.root import suggestion
from gatechart.graph.definition import EntryPoint, Invoke, State
from gatechart.graph.escape import (
    EVERY_SIGNAL,
    REFUSED_TOOL,
    UNDO,
    UNDO_FAILED,
    UNDOING,
    EscapePlan,
    GiveUp,
    Nameable,
    Strategy,
    each_once,
    unknown_names,
)
from gatechart.graph.escape_edges import goes_back, plans_in, state_names
from gatechart.graph.function_faults import handoff_faults
from gatechart.graph.names import texts
from gatechart.graph.signals import Signal
from gatechart.values.delays import DELAY_REMEDY

_USUAL_LAST: Final = GiveUp()
_ANYTHING: Final = Nameable((), None, None)  # the names of an unknown graph


def escape_faults(
    plan: Any,
    states: Sequence[State[Any]],
    entry_points: Sequence[EntryPoint],
    context: Any,
    signals: Sequence[Signal],
) -> Iterator[Fault]:
    """Yield the faults of all plans.

    states: of the graph, including states that plans add. signals: of the graph and its entry points.
    """
    known = Nameable(state_names(states), texts(door.name for door in entry_points), _fields(context))
    declared = (("escape", plan), *((f"state {state.name!r}, escape", state.escape) for state in states))
    names = tuple(dict.fromkeys(signal.name for signal in signals))
    for place, declared_plan in declared:
        if declared_plan is not None and not isinstance(declared_plan, EscapePlan):
            yield Fault(place, f"{declared_plan!r} is not a plan", "write EscapePlan({signal: strategies})")
        elif declared_plan is not None:
            yield from _faults_of(place, declared_plan, names, known)
    plans = plans_in(plan, states)
    if plans and UNDO_FAILED in names:
        problem = f"{UNDO_FAILED!r} is the signal of a call that could not be taken back"
        yield Fault(f"signals, {UNDO_FAILED}", problem, "give the signal another name")
    if goes_back(plans) and not any(state.name == UNDOING and _takes_back(state) for state in states):
        problem = "in that state calls are taken back, and it is not the graph's own"
        yield Fault(f"state {UNDOING!r}", problem, "give the state another name; transitions out of it begin at ANY")
    yield from _clashes(plans)


def tool_plan_faults(place: str, tool: str, plan: Any) -> Iterator[Fault]:
    """Yield the faults of a tool's own plan. It cannot add to graphs, because they do not know it."""
    remedy = f"write it in the plan of a graph or a state: EscapePlan(tools={{{tool!r}: {{signal: strategies}}}})"
    if not isinstance(plan, EscapePlan):
        yield Fault(f"{place}, escape", f"{plan!r} is not a plan", "write EscapePlan({signal: strategies})")
        return
    yield from _bound_faults(f"{place}, escape", plan)
    if plan.tools:
        yield Fault(f"{place}, escape, tools", "the plan of a tool is for that tool alone", remedy)
    if plan.last != _USUAL_LAST:
        problem = "what a tool's plan leads to in the end is the last resort of the graph's plan"
        yield Fault(f"{place}, escape, last", problem, "write last= in the plan of a graph or a state")
    yield from _same_names(f"{place}, escape", plan)
    for strategy in each_once(strategy for _, some in plan.strategies for strategy in some):
        where = f"{place}, escape, {getattr(strategy, 'name', '')}"
        if not isinstance(strategy, Strategy):
            yield from _nothing_to_try(f"{place}, escape", strategy)
        elif strategy.adds is not None or strategy.looks_back:
            adds = strategy.adds
            needs = f"adds the state {adds.state!r} to the chart" if adds else "looks back at an agent's past"
            yield Fault(where, f"it {needs}, which only the plan of its graph can say", remedy)
        else:
            yield from strategy.faults(where, _ANYTHING)


def _nothing_to_try(place: str, strategy: Any) -> Iterator[Fault]:
    remedy = "use one of gatechart.escape, such as Reroute(), or a subclass of Strategy"
    yield Fault(place, f"{strategy!r} is nothing to try", remedy)


def _takes_back(state: State[Any]) -> bool:
    return any(invoke.id == UNDO for invoke in state.invoke if isinstance(invoke, Invoke))


def _fields(context: Any) -> tuple[str, ...] | None:
    """Return the fields of a context type; None if it accepts any field."""
    is_known = isinstance(context, type) and issubclass(context, BaseModel) and not has_any_field(context)
    return tuple(context.model_fields) if is_known else None


def _faults_of(place: str, plan: EscapePlan, signals: Sequence[str], known: Nameable) -> Iterator[Fault]:
    yield from _bound_faults(place, plan)
    for signal in plan.signals:
        if signal not in (*signals, EVERY_SIGNAL, REFUSED_TOOL, UNDO_FAILED) and not plan.shared:
            yield Fault(f"{place}, {signal}", f"no signal has the name {signal!r}", suggestion(signal, signals))
    yield from _same_names(place, plan)
    for strategy in plan.every:
        if isinstance(strategy, Strategy):
            yield from _strategy_faults(f"{place}, {strategy.name}", strategy, known)
        else:
            yield from _nothing_to_try(place, strategy)
    if not isinstance(plan.last, Strategy) or plan.last.adds is None:
        yield Fault(f"{place}, last", f"{plan.last!r} may lead nowhere", "use ToHuman(...), GiveUp() or a Handoff")


def _same_names(place: str, plan: EscapePlan) -> Iterator[Fault]:
    """Yield a fault for each duplicate name in a list: a name is tried once, so the second would never be tried."""
    for signal, strategies in plan.lists:
        names = [strategy.name for strategy in strategies if isinstance(strategy, Strategy)]
        for name in dict.fromkeys(name for name in names if names.count(name) > 1):
            problem = f"{name!r} is there {names.count(name)} times, and a strategy is tried once for a finding"
            yield Fault(
                f"{place}, {signal}", problem, "keep one of them, or let the other be a subclass with its own name"
            )


def _bound_faults(place: str, plan: EscapePlan) -> Iterator[Fault]:
    if plan.cooldown_s is None:
        yield Fault(place, "its cooldown is not a duration", DELAY_REMEDY)
    for what in ("most_a_day", "turns"):
        number = getattr(plan, what)
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            yield Fault(place, f"{what}={number!r} is not a bound", "pass a whole number of 1 or more")


def _strategy_faults(place: str, strategy: Strategy, known: Nameable) -> Iterator[Fault]:
    yield from strategy.faults(place, known)
    adds = strategy.adds
    if adds is None:
        return
    if adds.handoff is not None:
        yield from handoff_faults(place, adds.handoff)
    if adds.flow is not None:
        yield from unknown_names(f"{place}, then", "state", [adds.then], known.states)
    if adds.handoff is not None or adds.flow is not None:
        yield from unknown_names(f"{place}, otherwise", "state", [adds.otherwise], known.states)


def _clashes(plans: Sequence[EscapePlan]) -> Iterator[Fault]:
    """Yield a fault for each name shared by strategies with different additions to the chart."""
    by_name: dict[str, Strategy] = {}
    for strategy in (strategy for plan in plans for strategy in plan.every if isinstance(strategy, Strategy)):
        other = by_name.setdefault(strategy.name, strategy)
        if other.adds != strategy.adds:
            yield Fault(
                f"escape, {strategy.name}", "two strategies of this name differ", "let one of them be a subclass"
            )

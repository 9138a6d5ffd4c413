"""Faults in the functions of a definition: guards, actions, invokes, and the functions of handoffs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from gatechart.errors.definition import Fault
from gatechart.graph.callables import callable_name, fits, is_async, yields
from gatechart.graph.definition import Invoke
from gatechart.graph.handoff import Accepts, Fallbacks, Handoff
from gatechart.graph.selection import Best
from gatechart.graph.selection_faults import best_faults
from gatechart.values.delays import DELAY_REMEDY, seconds_of
from gatechart.values.framework import (
    is_framework_graph,
)
from gatechart.values.names import FRAMEWORK

_FALLBACKS: Final = "write Fallbacks(SameTarget(), OtherGraph(graph, at=entry_point), Human(graph, at=entry_point))"


def guard_faults(place: str, guard: Callable[..., Any]) -> Iterator[Fault]:
    """Yield the fault of a guard that cannot be evaluated."""
    if not callable(guard):
        yield Fault(place, f"guard {guard!r} cannot be called", "pass a function of (context, event)")
    elif is_async(guard):
        yield Fault(place, f"guard {callable_name(guard)} is async", "ask at once: a guard is a fast, plain function")
    elif not fits(guard, 2, 3):
        yield Fault(place, f"guard {callable_name(guard)} does not take (context, event)", "give it two parameters")


def action_faults(place: str, actions: Sequence[Callable[..., Any]]) -> Iterator[Fault]:
    """Yield the faults of actions, handoffs among them, that cannot be called."""
    for action in actions:
        if isinstance(action, Handoff):
            yield from handoff_faults(place, action)
        elif not callable(action):
            yield Fault(place, f"action {action!r} cannot be called", "pass a function of (context, event)")
        elif not fits(action, 2, 3):
            problem = f"action {callable_name(action)} takes neither (context, event) nor (context, event, turn)"
            yield Fault(place, problem, "give it two or three parameters")
        elif yields(action):
            problem = f"action {callable_name(action)} yields, so it would never run"
            yield Fault(place, problem, "let it return, or await with async def")


def invoke_faults(place: str, invoke: Invoke) -> Iterator[Fault]:
    """Yield the faults of an invoke of a function."""
    for what in ("at", "packet", "fallbacks"):
        if getattr(invoke, what):
            problem = f"it has {what}=, but no agent"
            yield Fault(f"{place}, invoke {invoke.id}", problem, f"give it agent=, or no {what}=")
    if invoke.function is None:
        yield Fault(place, "an invoke has neither a function nor an agent", "give it a function, or agent= and at=")
    elif not callable(invoke.function) or not fits(invoke.function, 2):
        yield Fault(place, f"invoke {invoke.id} does not take (context, work)", "give it two parameters")


def agent_faults(place: str, invoke: Invoke) -> Iterator[Fault]:
    """Yield the faults of an invoke of an agent."""
    here = f"{place}, invoke {invoke.id}"
    if invoke.function is not None:
        yield Fault(here, "it has both a function and an agent", "give it one of them")
    yield from _target_faults(here, invoke.agent, invoke.at)
    if invoke.timeout_s is not None and seconds_of(invoke.timeout_s) is None:
        yield Fault(here, f"its timeout_s {invoke.timeout_s!r} is not a duration", "write a number of seconds")
    if invoke.retry is not None:
        yield Fault(here, "an agent is not retried", "give it fallbacks=Fallbacks(SameTarget(...))")
    yield from _told_faults(here, "packet", invoke.packet)
    yield from _fallback_faults(here, invoke.fallbacks)


def handoff_faults(place: str, handoff: Handoff) -> Iterator[Fault]:
    """Yield the faults of a handoff: in its names, its deadline, its functions, its fallbacks."""
    here = f"{place}, handoff"
    yield from _target_faults(here, handoff.to, handoff.at)
    if handoff.best is not None and handoff.agent is not None:
        yield Fault(here, "it has agent=, and its target is chosen", "drop agent=, or name the graph")
    if handoff.deadline is not None and seconds_of(handoff.deadline) is None:
        yield Fault(here, f"its deadline {handoff.deadline!r} is not a duration", DELAY_REMEDY)
    for what in ("packet", "agent", "achieved"):
        yield from _told_faults(here, what, getattr(handoff, what))
    yield from _fallback_faults(here, handoff.fallbacks)


def acceptance_faults(accepts: Any) -> Iterator[Fault]:
    """Yield the faults in the limits on accepted handoffs."""
    if not isinstance(accepts, Accepts):
        yield Fault("accepts", f"{accepts!r} is not an Accepts", "write Accepts(capacity=..., policy=...)")
    elif accepts.policy is not None:
        yield from call_faults("accepts", f"policy {callable_name(accepts.policy)}", accepts.policy, "(packet)", 1)


def framework_faults(place: str, owner: str, graph: object) -> Iterator[Fault]:
    """Yield the fault of a graph name that is reserved for the framework. owner: describes whose name it is."""
    if isinstance(graph, str) and is_framework_graph(graph):
        problem = f"{owner} is {graph!r}, and such names belong to gatechart itself"
        yield Fault(place, problem, f"use a name that does not begin with {FRAMEWORK!r}")


def _target_faults(here: str, target: object, at: object) -> Iterator[Fault]:
    if not isinstance(target, Best):
        yield from _name_faults(here, "its graph", target, "name the graph that takes the work")
        yield from framework_faults(here, "its graph", target)
        yield from _name_faults(here, "its entry point", at, "name it with at=")
        return
    yield from _name_faults(here, "the name of its selection", target.name, "give Best a name= that is not empty")
    if at:
        yield Fault(here, f"it has at={at!r}, and its target is chosen", "drop at=, or name the graph")
    yield from best_faults(here, target)


def _name_faults(here: str, what: str, name: object, remedy: str) -> Iterator[Fault]:
    if not isinstance(name, str) or not name:
        yield Fault(here, f"{what} is {name!r}", remedy)


def _told_faults(here: str, what: str, function: Any) -> Iterator[Fault]:
    if function is not None:
        yield from call_faults(here, f"{what}={callable_name(function)}", function, "(context, event)", 2)


def call_faults(here: str, what: str, function: Any, parameters: str, count: int) -> Iterator[Fault]:
    """Yield the fault of a function that is not synchronous or does not take `count` arguments. what: describes it."""
    if not callable(function):
        yield Fault(here, f"{what} cannot be called", f"pass a function of {parameters}")
    elif is_async(function):
        yield Fault(here, f"{what} is async", "answer at once: pass a fast, plain function")
    elif not fits(function, count):
        yield Fault(here, f"{what} does not take {parameters}", f"pass a function of {parameters}")


def _fallback_faults(here: str, fallbacks: Any) -> Iterator[Fault]:
    if fallbacks is None:
        return
    if not isinstance(fallbacks, Fallbacks):
        yield Fault(here, f"fallbacks={fallbacks!r} are not Fallbacks", _FALLBACKS)
        return
    for step in fallbacks.targets:
        yield from framework_faults(f"{here}, fallbacks", "a graph", step.graph)
        yield from _name_faults(f"{here}, fallbacks", f"the entry point of {step.graph!r}", step.at, "name it with at=")
    for best in fallbacks.selections:
        yield from best_faults(f"{here}, fallbacks", best)

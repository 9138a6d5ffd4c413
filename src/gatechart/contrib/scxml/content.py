"""Executable content as actions of a graph.

An error in an element raises the event `error.execution` and skips the rest of its block; nothing is undone. This is
SCXML's rule, https://www.w3.org/TR/scxml/#EvaluationofExecutableContent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, Final, TypeAlias

from gatechart.contrib.scxml.expressions import Value
from gatechart.contrib.scxml.faults import FaultCollector
from gatechart.contrib.scxml.scope import (
    ENVELOPE,
    EVENT_STEPS,
    EvaluationError,
    LimitError,
    Scope,
    is_true,
    scope_in,
    text_of,
)
from gatechart.contrib.scxml.sending import constant_of, sending, text_value
from gatechart.contrib.scxml.xml import Element
from gatechart.graph.definition import Action
from gatechart.turn.turn_context import ERROR_EXECUTION, Turn
from gatechart.values.agents import Event
from gatechart.values.names import EventName

logger = logging.getLogger(__name__)

Step: TypeAlias = Callable[[Scope, Turn], None]  # raises EvaluationError


def action_of(element: Element, faults: FaultCollector, chart: str) -> Action[Any] | None:
    """Return one action for all content of the element; None if it is empty."""
    steps = _steps(element.children, faults)
    if not steps:
        return None

    def act(context: Any, event: Event, turn: Turn) -> None:
        try:
            with scope_in(turn, context, event, chart) as scope:
                _execute(steps, scope, turn)
        except EvaluationError as error:
            raise_error(turn, error)

    act.__name__ = ", ".join(_label_of(child) for child in element.children)
    act.raises = _raised(element)  # type: ignore[attr-defined]  # for gatechart.checks.RaisesEvents
    return act


def _raised(element: Element) -> tuple[EventName, ...]:
    """Return the literal names of the events that the element raises or sends."""
    sources = (source for source in element.walk() if source.name in ("raise", "send"))
    return tuple(source.attributes["event"] for source in sources if "event" in source.attributes)


def raising(message: str) -> Action[Any]:
    """Return an action that raises an error event with this message."""

    def act(_: Any, __: Event, turn: Turn) -> None:
        raise_error(turn, EvaluationError(message))

    act.__name__ = f"raise {ERROR_EXECUTION}"
    return act


def _label_of(element: Element) -> str:
    """Return the label of an element for drawings and refusals."""
    texts = (element.attributes.get(name) for name in ("event", "location", "label", "cond", "sendid"))
    return " ".join([element.name, *(text for text in texts if text)])


def _execute(steps: Sequence[Step], scope: Scope, turn: Turn) -> None:
    for step in steps:
        step(scope, turn)


def raise_error(turn: Turn, error: EvaluationError) -> None:
    """Raise the event of the error."""
    payload = {"message": str(error)}
    turn.raise_event(error.event, {**payload, ENVELOPE: {"sendid": error.sent_id}} if error.sent_id else payload)


def _steps(elements: Sequence[Element], faults: FaultCollector) -> tuple[Step, ...]:
    return tuple(
        partial(_execute_counted, element, _STEPS[element.name](element, faults))
        for element in elements
        if element.name in _STEPS
    )


def _execute_counted(element: Element, step: Step, scope: Scope, turn: Turn) -> None:
    """Execute an element within the budget. A limit is reported with the innermost element that exceeds it."""
    try:
        scope.budget.spend(1)
        step(scope, turn)
    except LimitError as error:
        raise error if error.is_placed else LimitError(f"{element}: {error}", is_placed=True) from error


def _raise(element: Element, faults: FaultCollector) -> Step:
    event = element.attributes["event"]
    payload = {ENVELOPE: {"type": "internal"}} if faults.wants_envelope else None

    def raise_event(scope: Scope, turn: Turn) -> None:
        scope.budget.spend(EVENT_STEPS)
        turn.raise_event(event, payload)

    return raise_event


def _log(element: Element, faults: FaultCollector) -> Step:
    label, value = element.attributes.get("label", ""), faults.expression(element, "expr")

    def log(scope: Scope, turn: Turn) -> None:
        logged = value(scope) if value else None
        logger.info("a chart logged", extra={"agent_id": turn.agent_id, "label": label, "value": logged})

    return log


def _assign(element: Element, faults: FaultCollector) -> Step:
    place, value = faults.location(element, "location"), faults.expression(element, "expr")
    constant = constant_of(element, faults)

    def assign(scope: Scope, _: Turn) -> None:
        place(scope, deepcopy(scope.budget.checked(value(scope)) if value else constant))

    return assign


def _if(element: Element, faults: FaultCollector) -> Step:
    branches = [
        (faults.expression(head, "cond"), _steps(body, faults)) for head, body in _branches(element)
    ]  # the condition of <else> is None

    def choose(scope: Scope, turn: Turn) -> None:
        for condition, steps in branches:
            if condition is None or _holds(condition, scope, turn):
                _execute(steps, scope, turn)
                return

    return choose


def _branches(element: Element) -> Iterator[tuple[Element, list[Element]]]:
    head, body = element, list[Element]()
    for child in element.children:
        if child.name in ("elseif", "else"):
            yield head, body
            head, body = child, []
        else:
            body.append(child)
    yield head, body


def _holds(condition: Value, scope: Scope, turn: Turn) -> bool:
    """Return whether a condition holds. A failing condition is false and raises an event; a limit ends the block."""
    try:
        return is_true(condition(scope))
    except LimitError:
        raise
    except EvaluationError as error:
        raise_error(turn, error)
        return False


def _foreach(element: Element, faults: FaultCollector) -> Step:
    array, item = faults.expression(element, "array"), faults.location(element, "item")
    index = faults.location(element, "index") if "index" in element.attributes else None
    steps = _steps(element.children, faults)

    def repeat(scope: Scope, turn: Turn) -> None:
        items = array(scope) if array else None
        if not isinstance(items, list):
            raise EvaluationError(f"{text_of(items)} is not an array")
        scope.budget.checked(items)
        for number, value in enumerate(tuple(items)):
            item(scope, deepcopy(scope.budget.checked(value)))
            scope.budget.spend(1)
            if index:
                index(scope, number)
            _execute(steps, scope, turn)

    return repeat


def _cancel(element: Element, faults: FaultCollector) -> Step:
    sent_id = text_value(element, "sendid", faults)
    return lambda scope, turn: turn.cancel(text_of(sent_id(scope)))


_STEPS: Final[dict[str, Callable[[Element, FaultCollector], Step]]] = {
    "raise": _raise,
    "log": _log,
    "assign": _assign,
    "if": _if,
    "foreach": _foreach,
    "send": sending,
    "cancel": _cancel,
}

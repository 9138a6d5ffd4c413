"""Executable content as actions of a graph.

An error in one element is the event `error.execution`, the rest of its block is skipped, and nothing is undone: that
is SCXML's rule, https://www.w3.org/TR/scxml/#EvaluationofExecutableContent.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, Final, TypeAlias

from gatechart.contrib.scxml.expressions import Value
from gatechart.contrib.scxml.faults import Faults
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

Deed: TypeAlias = Callable[[Scope, Turn], None]  # raises EvaluationError


def action_of(element: Element, faults: Faults, chart: str) -> Action[Any] | None:
    """Return one action for everything in the element; None if it is empty."""
    deeds = _deeds(element.children, faults)
    if not deeds:
        return None

    def act(context: Any, event: Event, turn: Turn) -> None:
        try:
            with scope_in(turn, context, event, chart) as scope:
                _do(deeds, scope, turn)
        except EvaluationError as error:
            raise_error(turn, error)

    act.__name__ = ", ".join(_label_of(child) for child in element.children)
    act.raises = _raised(element)  # type: ignore[attr-defined]  # for gatechart.checks.RaisesEvents
    return act


def _raised(element: Element) -> tuple[EventName, ...]:
    """Return the events that the element raises or sends, as far as it names them."""
    sources = (each for each in element.walk() if each.name in ("raise", "send"))
    return tuple(each.attributes["event"] for each in sources if "event" in each.attributes)


def raising(message: str) -> Action[Any]:
    """Return an action that raises the event of an error."""

    def act(_: Any, __: Event, turn: Turn) -> None:
        raise_error(turn, EvaluationError(message))

    act.__name__ = f"raise {ERROR_EXECUTION}"
    return act


def _label_of(element: Element) -> str:
    """Return an element as drawings and refusals name it."""
    given = (element.attributes.get(name) for name in ("event", "location", "label", "cond", "sendid"))
    return " ".join([element.name, *(text for text in given if text)])


def _do(deeds: Sequence[Deed], scope: Scope, turn: Turn) -> None:
    for deed in deeds:
        deed(scope, turn)


def raise_error(turn: Turn, error: EvaluationError) -> None:
    """Raise the event of the error."""
    told = {"message": str(error)}
    turn.raise_event(error.event, {**told, ENVELOPE: {"sendid": error.sent_id}} if error.sent_id else told)


def _deeds(elements: Sequence[Element], faults: Faults) -> tuple[Deed, ...]:
    return tuple(
        partial(_placed, element, _DEEDS[element.name](element, faults))
        for element in elements
        if element.name in _DEEDS
    )


def _placed(element: Element, deed: Deed, scope: Scope, turn: Turn) -> None:
    """Execute the element; a limit is reported with the innermost element that met it."""
    try:
        scope.budget.spend(1)
        deed(scope, turn)
    except LimitError as error:
        raise error if error.is_placed else LimitError(f"{element}: {error}", is_placed=True) from error


def _raise(element: Element, faults: Faults) -> Deed:
    event = element.attributes["event"]
    payload = {ENVELOPE: {"type": "internal"}} if faults.wants_envelope else None

    def tell(scope: Scope, turn: Turn) -> None:
        scope.budget.spend(EVENT_STEPS)
        turn.raise_event(event, payload)

    return tell


def _log(element: Element, faults: Faults) -> Deed:
    label, value = element.attributes.get("label", ""), faults.expression(element, "expr")

    def log(scope: Scope, turn: Turn) -> None:
        told = value(scope) if value else None
        logger.info("a chart logged", extra={"agent_id": turn.agent_id, "label": label, "value": told})

    return log


def _assign(element: Element, faults: Faults) -> Deed:
    place, value = faults.location(element, "location"), faults.expression(element, "expr")
    constant = constant_of(element, faults)

    def assign(scope: Scope, _: Turn) -> None:
        place(scope, deepcopy(scope.budget.checked(value(scope)) if value else constant))

    return assign


def _if(element: Element, faults: Faults) -> Deed:
    branches = [
        (faults.expression(head, "cond"), _deeds(body, faults)) for head, body in _branches(element)
    ]  # the condition of <else> is None

    def choose(scope: Scope, turn: Turn) -> None:
        for condition, deeds in branches:
            if condition is None or _holds(condition, scope, turn):
                _do(deeds, scope, turn)
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
    """Return whether a condition holds; one that fails is false and raises an event. A limit ends the block."""
    try:
        return is_true(condition(scope))
    except LimitError:
        raise
    except EvaluationError as error:
        raise_error(turn, error)
        return False


def _foreach(element: Element, faults: Faults) -> Deed:
    array, item = faults.expression(element, "array"), faults.location(element, "item")
    index = faults.location(element, "index") if "index" in element.attributes else None
    deeds = _deeds(element.children, faults)

    def repeat(scope: Scope, turn: Turn) -> None:
        items = array(scope) if array else None
        if not isinstance(items, list):
            raise EvaluationError(f"{text_of(items)} is not an array")
        scope.budget.checked(items)
        for number, each in enumerate(tuple(items)):
            item(scope, deepcopy(scope.budget.checked(each)))
            scope.budget.spend(1)
            if index:
                index(scope, number)
            _do(deeds, scope, turn)

    return repeat


def _cancel(element: Element, faults: Faults) -> Deed:
    sent_id = text_value(element, "sendid", faults)
    return lambda scope, turn: turn.cancel(text_of(sent_id(scope)))


_DEEDS: Final[dict[str, Callable[[Element, Faults], Deed]]] = {
    "raise": _raise,
    "log": _log,
    "assign": _assign,
    "if": _if,
    "foreach": _foreach,
    "send": sending,
    "cancel": _cancel,
}

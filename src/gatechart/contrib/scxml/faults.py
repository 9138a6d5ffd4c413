"""Collection of the faults of a document."""

from __future__ import annotations

from gatechart.contrib.scxml.expressions import ExpressionError, Place, Value, expression, location
from gatechart.contrib.scxml.scope import EvaluationError, asks_for_envelope, shortened
from gatechart.contrib.scxml.xml import Element
from gatechart.errors.definition import Fault

_SUBSET = "see gatechart.contrib.scxml.expressions for the syntax"


class FaultCollector:
    """Collects faults. Reading continues after a fault, so that all faults are reported together."""

    def __init__(self, root: Element) -> None:
        self.found: list[Fault] = []
        self.wants_envelope = asks_for_envelope(root)

    def add(self, element: Element, problem: str, remedy: str) -> None:
        """Add a fault."""
        self.found.append(Fault(str(element), problem, remedy))

    def expression(self, element: Element, attribute: str) -> Value | None:
        """Compile the attribute as an expression; None if it is missing."""
        text = element.attributes.get(attribute)
        if text is None:
            return None
        try:
            return expression(text)
        except ExpressionError as error:
            self.add(element, f"{attribute}={shortened(text)!r}: {error}", _SUBSET)
            return _fail

    def location(self, element: Element, attribute: str) -> Place:
        """Compile the attribute as a location."""
        text = element.attributes[attribute]
        try:
            return location(text)
        except ExpressionError as error:
            self.add(element, f"{attribute}={shortened(text)!r}: {error}", _SUBSET)
            return _fail


def _fail(*_: object) -> None:
    raise EvaluationError("it could not be read")

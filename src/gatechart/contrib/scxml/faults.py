"""The faults of a document, while they are being gathered."""

from __future__ import annotations

from gatechart.contrib.scxml.expressions import ExpressionError, Place, Value, expression, location
from gatechart.contrib.scxml.scope import EvaluationError, asks_for_envelope, shortened
from gatechart.contrib.scxml.xml import Element
from gatechart.errors import Fault

_SUBSET = "see gatechart.contrib.scxml.expressions for what there is"


class Faults:
    """What is wrong so far. Reading goes on behind a fault, so that all are told at once."""

    def __init__(self, root: Element) -> None:
        self.found: list[Fault] = []
        self.wants_envelope = asks_for_envelope(root)

    def add(self, element: Element, problem: str, remedy: str) -> None:
        """Notes one more."""
        self.found.append(Fault(str(element), problem, remedy))

    def expression(self, element: Element, attribute: str) -> Value | None:
        """The attribute as an expression; None where it is left out or wrong."""
        text = element.attributes.get(attribute)
        if text is None:
            return None
        try:
            return expression(text)
        except ExpressionError as error:
            self.add(element, f"{attribute}={shortened(text)!r}: {error}", _SUBSET)
            return _nothing

    def location(self, element: Element, attribute: str) -> Place:
        """The attribute as the place of a value."""
        text = element.attributes[attribute]
        try:
            return location(text)
        except ExpressionError as error:
            self.add(element, f"{attribute}={shortened(text)!r}: {error}", _SUBSET)
            return _nothing


def _nothing(*_: object) -> None:
    raise EvaluationError("it could not be read")

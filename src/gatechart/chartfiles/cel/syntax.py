"""Syntax trees of CEL, the Common Expression Language.

Source: https://github.com/google/cel-spec/blob/master/doc/langdef.md. Each node keeps its span in the expression, so
that an error can quote the part that is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, Final

MACROS: Final = ("all", "exists", "exists_one", "map", "filter")


@dataclass(frozen=True, slots=True)
class ExpressionPart:
    """A part of an expression."""

    start: int  # offset of its first character
    end: int  # offset after its last character


@dataclass(frozen=True, slots=True)
class Literal(ExpressionPart):
    """A literal value; see `values` for its type."""

    value: Any


@dataclass(frozen=True, slots=True)
class Name(ExpressionPart):
    """A variable or the name of a type."""

    name: str


@dataclass(frozen=True, slots=True)
class Select(ExpressionPart):
    """`operand.field`."""

    operand: ExpressionPart
    field: str


@dataclass(frozen=True, slots=True)
class Has(ExpressionPart):
    """`has(operand.field)`."""

    operand: ExpressionPart
    field: str


@dataclass(frozen=True, slots=True)
class Index(ExpressionPart):
    """`operand[index]`."""

    operand: ExpressionPart
    index: ExpressionPart


@dataclass(frozen=True, slots=True)
class Call(ExpressionPart):
    """`function(arguments)`, or `target.function(arguments)`."""

    function: str
    target: ExpressionPart | None
    arguments: tuple[ExpressionPart, ...]

    @property
    def inputs(self) -> tuple[ExpressionPart, ...]:
        """The target, if there is one, followed by the arguments."""
        return self.arguments if self.target is None else (self.target, *self.arguments)


@dataclass(frozen=True, slots=True)
class Comprehension(ExpressionPart):
    """`range.macro(variable, body)`. `map` has a filter before its body if it has two bodies."""

    macro: str
    range: ExpressionPart
    variable: str
    bodies: tuple[ExpressionPart, ...]


@dataclass(frozen=True, slots=True)
class ListOf(ExpressionPart):
    """`[items]`."""

    items: tuple[ExpressionPart, ...]


@dataclass(frozen=True, slots=True)
class MapOf(ExpressionPart):
    """`{key: value}`."""

    keys: tuple[ExpressionPart, ...]
    values: tuple[ExpressionPart, ...]


@dataclass(frozen=True, slots=True)
class Operation(ExpressionPart):
    """An operator with its operands: one for `!` and the negation `-`, three for `?`, several for `&&` and `||`."""

    operator: str
    operands: tuple[ExpressionPart, ...]


def children(node: ExpressionPart) -> Iterator[ExpressionPart]:
    """Yield the nodes directly below a node, in the order of the expression."""
    for field in fields(node):
        content = getattr(node, field.name)
        if isinstance(content, ExpressionPart):
            yield content
        elif isinstance(content, tuple):
            yield from (part for part in content if isinstance(part, ExpressionPart))


def walk(node: ExpressionPart) -> Iterator[ExpressionPart]:
    """Yield a node and all nodes below it. It does not recurse, so any depth works."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(tuple(children(node))))


def depth(node: ExpressionPart) -> int:
    """Return the number of nodes on the longest path down."""
    deepest, waiting = 0, [(node, 1)]
    while waiting:
        node, level = waiting.pop()
        deepest = max(deepest, level)
        waiting.extend((child, level + 1) for child in children(node))
    return deepest

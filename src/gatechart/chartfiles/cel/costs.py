"""Upper bounds for the cost of evaluating CEL expressions.

An evaluation cannot be interrupted, so its cost is bounded beforehand, by the expression and by the sizes of the data.
The bound depends on nothing else, so evaluating a guard again gives the same answer. A step is about 0.1 µs, as
measured.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import Any, ClassVar, Final, NamedTuple

from gatechart.chartfiles.cel.syntax import (
    Call,
    Comprehension,
    ExpressionPart,
    Has,
    Index,
    ListOf,
    Literal,
    MapOf,
    Name,
    Operation,
    Select,
    walk,
)

_EQUAL_STEPS: Final = 2  # for each pair of values or characters that are compared
_SMALL: Final = 64  # values or characters
_COPIED: Final = 10  # values or characters in one step
_MATCHED: Final = 300  # steps of a short regular expression, which is compiled at each evaluation
_WIDE_STEPS: Final = 1_800  # for each character class, which has hundreds of characters
_REPEATED: Final = re.compile(r"\{\s*(\d+)\s*(?:,\s*(\d*)\s*)?\}")
_WIDE: Final = re.compile(r"\\[wWdDsSpPbB]|\(\?\w*i")
_COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})


class Bound(NamedTuple):
    """Upper bounds for the size of a value."""

    longest: int  # length of the longest list or map in it, itself included
    size: int  # values and characters in it, itself included


_SCALAR: Final = Bound(1, 1)


class Extent:
    """The estimate of a value: the steps to evaluate it, and its bound.

    data: the JSON value itself, where it is known.
    """

    def __init__(
        self, steps: int, bound: Bound | Callable[[], Bound] = _SCALAR, data: Any = None, length: int | None = None
    ) -> None:
        """Store the bound, or a function that measures it, because most values are never measured."""
        self.steps = steps
        self.data = data
        self._bound = bound
        self._length = len(data) if isinstance(data, dict | list | tuple) else length

    @property
    def length(self) -> int:
        """The maximum number of items that it can have, if it is a list or a map."""
        return self.bound.longest if self._length is None else self._length

    @property
    def bound(self) -> Bound:
        """Bound of the value, measured when it is first read."""
        if callable(self._bound):
            self._bound = self._bound()
        return self._bound

    @property
    def is_small(self) -> bool:
        """Whether the value is known to be small, without measuring it."""
        return not callable(self._bound) and self._bound.size <= _SMALL


Scope = Mapping[str, Extent]


def has_cost(node: ExpressionPart) -> bool:
    """Return whether an expression has loops or joins, whose cost depends on the data."""
    return any(
        isinstance(part, Comprehension) or (isinstance(part, Operation) and part.operator == "+") for part in walk(node)
    )


def steps_of(node: ExpressionPart, data: Mapping[str, Any]) -> int:
    """Return the most steps of an evaluation over JSON values."""
    return _Estimate(data).extent(node, {}).steps


def measured(data: Any) -> tuple[int, int]:
    """Return the length of the longest list or object in JSON values, and their total size, texts by characters.

    >>> measured([{"a": [1, 2, 3]}, "twelve chars"])
    (3, 20)
    """
    longest, size, left = 1, 0, [data]
    while left:
        value = left.pop()
        size += 1
        if isinstance(value, str):
            size += len(value)
        elif isinstance(value, dict | list | tuple):
            longest = max(longest, len(value))
            left.extend(value.values() if isinstance(value, dict) else value)
            size += sum(map(len, value)) if isinstance(value, dict) else 0
    return longest, size


def repeated(pattern: str) -> int:
    """Return the greatest length of a regular expression with its repetitions written out.

    >>> repeated("[a-z]{1,64}@[a-z]{1,64}"), repeated("(a{50}){50}")
    (151, 27500)
    """
    counts = [max(int(match[1]), int(match[2] or 0), 1) for match in _REPEATED.finditer(pattern)]
    return len(pattern) * prod(counts) if "){" in pattern else len(pattern) + sum(counts)


def _pattern_steps(pattern: str) -> int:
    return _MATCHED + repeated(pattern) * (_WIDE_STEPS if _WIDE.search(pattern) else 9)


class _Estimate:
    """Evaluates an expression with bounds in place of values."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self._measured: dict[int, Bound] = {}  # by identity of the JSON value

    def extent(self, node: ExpressionPart, scope: Scope) -> Extent:
        """Return the extent of a node. scope: extents of the variables that comprehensions bind."""
        return self._EXTENTS[node.__class__](self, node, scope)

    def _literal(self, node: Literal, _scope: Scope) -> Extent:
        return Extent(1, Bound(1, 1 + (len(node.value) if isinstance(node.value, str | bytes) else 0)))

    def _name(self, node: Name, scope: Scope) -> Extent:
        return scope[node.name] if node.name in scope else self._known(self._data.get(node.name), 1)

    def _select(self, node: Select, scope: Scope) -> Extent:
        return self._field(self.extent(node.operand, scope), node.field)

    def _has(self, node: Has, scope: Scope) -> Extent:
        return Extent(self.extent(node.operand, scope).steps + 1)

    def _index(self, node: Index, scope: Scope) -> Extent:
        whole = self.extent(node.operand, scope)
        if isinstance(node.index, Literal) and isinstance(node.index.value, str):
            return self._field(whole, node.index.value)
        return Extent(whole.steps + self.extent(node.index, scope).steps + 1, lambda: whole.bound)

    def _call(self, node: Call, scope: Scope) -> Extent:
        return _call(node, self._all(node.inputs, scope))

    def _list(self, node: ListOf, scope: Scope) -> Extent:
        return _collection(self._all(node.items, scope), len(node.items))

    def _map(self, node: MapOf, scope: Scope) -> Extent:
        return _collection(self._all((*node.keys, *node.values), scope), len(node.keys))

    def _operation(self, node: Operation, scope: Scope) -> Extent:
        return _operation(node.operator, self._all(node.operands, scope))

    def _all(self, nodes: Iterable[ExpressionPart], scope: Scope) -> list[Extent]:
        return [self.extent(node, scope) for node in nodes]

    def _known(self, value: Any, steps: int) -> Extent:
        if isinstance(value, str):
            return Extent(steps, Bound(1, 1 + len(value)), value)
        if not isinstance(value, dict | list | tuple):
            return Extent(steps)
        return Extent(steps, lambda: self._bound(value), value)

    def _bound(self, value: Any) -> Bound:
        if id(value) not in self._measured:
            self._measured[id(value)] = Bound(*measured(value))
        return self._measured[id(value)]

    def _field(self, whole: Extent, field: str) -> Extent:
        if isinstance(whole.data, dict):
            return self._known(whole.data.get(field), whole.steps + 1)
        return Extent(whole.steps + 1, lambda: whole.bound)

    def _comprehension(self, node: Comprehension, scope: Scope) -> Extent:
        whole = self.extent(node.range, scope)
        rounds = whole.length
        is_known = isinstance(whole.data, dict | list | tuple)
        item = Extent(1, (lambda: _largest(whole.data)) if is_known else (lambda: whole.bound))
        bodies = [self.extent(body, {**scope, node.variable: item}) for body in node.bodies]
        steps = whole.steps + rounds * (2 + sum(body.steps for body in bodies)) + 1
        match node.macro:
            case "filter":
                return Extent(steps, lambda: whole.bound, length=rounds)
            case "map":
                return Extent(steps, lambda: _repeated(bodies[-1].bound, rounds), length=rounds)
        return Extent(steps)

    _EXTENTS: ClassVar[dict[type[ExpressionPart], Callable[..., Extent]]] = {
        Literal: _literal,
        Name: _name,
        Select: _select,
        Has: _has,
        Index: _index,
        Call: _call,
        Comprehension: _comprehension,
        ListOf: _list,
        MapOf: _map,
        Operation: _operation,
    }


def _largest(items: Iterable[Any]) -> Bound:
    """Return the bound of each item of a list, or of each key of a map."""
    bounds = [measured(item) for item in items]
    return Bound(max((bound[0] for bound in bounds), default=1), max((bound[1] for bound in bounds), default=1))


def _repeated(bound: Bound, rounds: int) -> Bound:
    return Bound(max(rounds, bound.longest), rounds * bound.size + 1)


def _collection(parts: list[Extent], count: int) -> Extent:
    def bound() -> Bound:
        longest = max((count, 1, *(part.bound.longest for part in parts)))
        return Bound(longest, sum(part.bound.size for part in parts) + 1)

    return Extent(sum(part.steps for part in parts) + 1, bound, length=count)


def _call(node: Call, inputs: list[Extent]) -> Extent:
    steps = sum(part.steps for part in inputs) + 2
    if node.function == "size":
        return Extent(steps)
    size = sum(part.bound.size for part in inputs)
    if node.function == "matches":
        pattern = node.arguments[-1] if node.arguments else None
        steps += _pattern_steps(
            pattern.value if isinstance(pattern, Literal) and isinstance(pattern.value, str) else ""
        )
    longest = max((part.bound.longest for part in inputs), default=1)
    return Extent(steps + size // _COPIED, Bound(longest, size + 1))


def _operation(operator: str, operands: list[Extent]) -> Extent:
    steps = sum(operand.steps for operand in operands) + 1
    if operator == "in":
        return Extent(steps + operands[1].bound.size * _EQUAL_STEPS)
    if operator in _COMPARISONS:  # one ends with the smaller value
        small = [operand.bound.size for operand in operands if operand.is_small]
        return Extent(steps + min(small or [operand.bound.size for operand in operands]) * _EQUAL_STEPS)
    if operator == "+":
        longest, size = map(sum, zip(*(operand.bound for operand in operands), strict=True))
        return Extent(steps + size // _COPIED, Bound(longest, size))
    return Extent(steps, lambda: Bound(*map(max, zip(*(operand.bound for operand in operands), strict=True))))

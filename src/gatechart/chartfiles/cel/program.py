"""From the syntax tree of a CEL expression to functions that evaluate it.

An environment is a list: the variables by name first, then a slot for each variable of a comprehension.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, ClassVar, Final

from gatechart.chartfiles.cel.arithmetic import negate, operate
from gatechart.chartfiles.cel.functions import FUNCTIONS
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
from gatechart.chartfiles.cel.values import (
    NUMBERS,
    TYPE_NAMES,
    Type,
    compared,
    described,
    equal,
    exported,
    imported,
    key_of,
    key_value,
    kind,
)

Environment = list[Any]
Evaluate = Callable[[Environment], Any]
Scope = Mapping[str, int]  # slots of variables of comprehensions

ERRORS: Final = (LookupError, TypeError, ValueError, ArithmeticError)
"""Errors that an evaluation raises. Logical operators ignore them if another operand decides."""

_PLAIN: Final = frozenset({str, int, float})  # equal values of one of these types are equal in CEL
_ORDERINGS: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_QUALIFIED_TYPES: Final = {name.rpartition(".")[2]: name for name in TYPE_NAMES if "." in name}


class Program:
    """An expression that can be evaluated many times, by several threads at once."""

    def __init__(self, node: ExpressionPart) -> None:
        self._slots = 1 + sum(isinstance(part, Comprehension) for part in walk(node))
        self._evaluate = _Builder().build(node, {})

    def execute(self, variables: Mapping[str, Any]) -> Any:
        """Return the value in Python's types; see `values.exported`.

        Raises LookupError for a missing key, item, variable or function, TypeError for operands or
        arguments of the wrong type, ArithmeticError for a number or time out of range, and ValueError for a text that
        cannot be converted.
        """
        value = self._evaluate([variables] + [None] * (self._slots - 1))
        return value if value.__class__ is bool else exported(value)


class _Builder:
    def __init__(self) -> None:
        self._used = 1  # slots of the environment

    def build(self, node: ExpressionPart, scope: Scope) -> Evaluate:
        """Return the function that evaluates a node."""
        return self._BUILDERS[node.__class__](self, node, scope)

    def _literal(self, node: Literal, _scope: Scope) -> Evaluate:
        return _constant(node.value)

    def _name(self, node: Name, scope: Scope) -> Evaluate:
        return _variable(node.name, scope)

    def _select(self, node: Select, scope: Scope) -> Evaluate:
        qualified = _qualified_type(node)
        return _constant(qualified) if qualified else _selection(self.build(node.operand, scope), node.field)

    def _has(self, node: Has, scope: Scope) -> Evaluate:
        return _presence(self.build(node.operand, scope), node.field)

    def _index(self, node: Index, scope: Scope) -> Evaluate:
        return _item(self.build(node.operand, scope), self.build(node.index, scope))

    def _list(self, node: ListOf, scope: Scope) -> Evaluate:
        parts = self._all(node.items, scope)
        return lambda env: [part(env) for part in parts]

    def _map(self, node: MapOf, scope: Scope) -> Evaluate:
        return _mapping(self._all(node.keys, scope), self._all(node.values, scope))

    def _operation(self, node: Operation, scope: Scope) -> Evaluate:
        return _operation(node.operator, self._all(node.operands, scope))

    def _all(self, nodes: Iterable[ExpressionPart], scope: Scope) -> tuple[Evaluate, ...]:
        return tuple(self.build(node, scope) for node in nodes)

    def _call(self, node: Call, scope: Scope) -> Evaluate:
        function = FUNCTIONS.get(node.function)
        if function is None:
            return _failure(LookupError, f"unknown function {node.function!r}")
        inputs = self._all(node.inputs, scope)
        if function.form(is_method=node.target is not None, count=len(inputs)) is None:
            return _failure(TypeError, f"{node.function}() is called as in `{function.usage}`")
        call = function.evaluate
        if len(inputs) == 1:
            (only,) = inputs
            return lambda env: call(only(env))
        first, second = inputs
        return lambda env: call(first(env), second(env))

    def _comprehension(self, node: Comprehension, scope: Scope) -> Evaluate:
        slot, self._used = self._used, self._used + 1
        bodies = self._all(node.bodies, {**scope, node.variable: slot})
        return _MACROS[node.macro](_items(self.build(node.range, scope)), slot, *bodies)

    _BUILDERS: ClassVar[dict[type[ExpressionPart], Callable[..., Evaluate]]] = {
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


def _failure(error: type[Exception], problem: str) -> Evaluate:
    def evaluate(_env: Environment) -> Any:
        raise error(problem)

    return evaluate


def _constant(value: Any) -> Evaluate:
    return lambda _env: value


def _variable(name: str, scope: Scope) -> Evaluate:
    slot = scope.get(name)
    if slot is not None:
        return operator.itemgetter(slot)

    def evaluate(env: Environment) -> Any:
        variables = env[0]
        if name in variables:
            return imported(variables[name])
        if name in TYPE_NAMES:
            return Type(name)
        raise LookupError(f"unknown variable {name!r}")

    return evaluate


def _qualified_type(node: ExpressionPart) -> Type | None:
    """Return the type of a name such as `google.protobuf.Timestamp`."""
    match node:
        case Select(operand=Select(operand=Name(name="google"), field="protobuf"), field=field) if (
            field in _QUALIFIED_TYPES
        ):
            return Type(_QUALIFIED_TYPES[field])
    return None


def _selection(operand: Evaluate, field: str) -> Evaluate:
    def evaluate(env: Environment) -> Any:
        value = operand(env)
        if value.__class__ is dict or kind(value) == "map":
            content = value[field]
            return imported(content) if content.__class__ is datetime else content
        raise TypeError(f"{described(value)} has no field {field!r}")

    return evaluate


def _presence(operand: Evaluate, field: str) -> Evaluate:
    def evaluate(env: Environment) -> bool:
        value = operand(env)
        if kind(value) != "map":
            raise TypeError(f"{described(value)} has no fields")
        return field in value

    return evaluate


def _item(operand: Evaluate, index: Evaluate) -> Evaluate:
    def evaluate(env: Environment) -> Any:
        value, key = operand(env), index(env)
        name = kind(value)
        if name == "map":
            return value[key_of(key)]
        if name != "list" or kind(key) not in NUMBERS:
            raise TypeError(f"{described(value)} has no index {key!r:.60}")
        if key != key or key % 1 or not 0 <= key < len(value):  # noqa: PLR0124  NaN
            raise IndexError(f"index {key} is out of the range of a list of {len(value)}")
        return value[int(key)]

    return evaluate


def _mapping(keys: tuple[Evaluate, ...], values: tuple[Evaluate, ...]) -> Evaluate:
    def evaluate(env: Environment) -> dict[Any, Any]:
        mapping: dict[Any, Any] = {}
        for key, value in zip(keys, values, strict=True):
            name = key_of(key(env))
            if isinstance(name, float):
                raise TypeError("a double cannot be the key of a map")
            if name in mapping:
                raise ValueError(f"a map has the key {key_value(name)!r:.60} twice")
            mapping[name] = value(env)
        return mapping

    return evaluate


def _operation(name: str, operands: tuple[Evaluate, ...]) -> Evaluate:
    match name:
        case "&&" | "||":
            return _logic(operands, decides=name == "||")
        case "?":
            return _condition(*operands)
        case "!":
            return _not(*operands)
        case "negate":
            (operand,) = operands
            return lambda env: negate(operand(env))
        case "==" | "!=":
            return _equality(*operands, is_negated=name == "!=")
        case "in":
            return _membership(*operands)
    one, other = operands
    if name in _ORDERINGS:
        return _ordering(one, other, _ORDERINGS[name])
    return lambda env: operate(name, one(env), other(env))


def _logic(operands: tuple[Evaluate, ...], *, decides: bool) -> Evaluate:
    """Evaluate operands until one decides. An error counts only if none decides."""

    def evaluate(env: Environment) -> bool:
        failure: Exception | None = None
        for operand in operands:
            try:
                answer = _truth(operand(env))
            except ERRORS as error:
                failure = failure or error
            else:
                if answer is decides:
                    return decides
        if failure is not None:
            raise failure
        return not decides

    return evaluate


def _truth(value: Any) -> bool:
    if value.__class__ is not bool:
        raise TypeError(f"{described(value)} is neither true nor false")
    return bool(value)


def _condition(asked: Evaluate, then: Evaluate, otherwise: Evaluate) -> Evaluate:
    return lambda env: then(env) if _truth(asked(env)) else otherwise(env)


def _not(operand: Evaluate) -> Evaluate:
    return lambda env: not _truth(operand(env))


def _equality(one: Evaluate, other: Evaluate, *, is_negated: bool) -> Evaluate:
    def evaluate(env: Environment) -> bool:
        left, right = one(env), other(env)
        if left.__class__ is right.__class__ and left.__class__ in _PLAIN:
            return bool((left == right) is not is_negated)
        return equal(left, right) is not is_negated

    return evaluate


def _ordering(one: Evaluate, other: Evaluate, is_in_order: Callable[[Any, Any], bool]) -> Evaluate:
    def evaluate(env: Environment) -> bool:
        left, right = one(env), other(env)
        if left.__class__ is right.__class__ and left.__class__ in _PLAIN:
            return is_in_order(left, right)
        return compared(left, right, is_in_order)

    return evaluate


def _membership(one: Evaluate, other: Evaluate) -> Evaluate:
    def evaluate(env: Environment) -> bool:
        value, container = one(env), other(env)
        match kind(container):
            case "map":
                return kind(value) in {*NUMBERS, "string", "bool"} and key_of(value) in container
            case "list" if value.__class__ is str:
                return value in container  # no other value equals a text for Python either
            case "list":
                return any(equal(value, item) for item in container)
        raise TypeError(f"`in` takes a list or a map, not {described(container)}")

    return evaluate


def _items(operand: Evaluate) -> Callable[[Environment], Iterable[Any]]:
    """Return the items that a comprehension iterates over: the items of a list, or the keys of a map."""

    def evaluate(env: Environment) -> Iterable[Any]:
        value = operand(env)
        match kind(value):
            case "list":
                items: Iterable[Any] = value
                return items
            case "map":
                return map(key_value, value)
        raise TypeError(f"{described(value)} is neither a list nor a map")

    return evaluate


def _quantifier(items: Evaluate, slot: int, body: Evaluate, *, decides: bool) -> Evaluate:
    """Evaluate the body for the items until one decides. An error counts only if none decides, as with `&&`."""

    def evaluate(env: Environment) -> bool:
        failure: Exception | None = None
        for env[slot] in items(env):  # noqa: B020  a slot of it
            try:
                answer = _truth(body(env))
            except ERRORS as error:
                failure = failure or error
            else:
                if answer is decides:
                    return decides
        if failure is not None:
            raise failure
        return not decides

    return evaluate


def _all(items: Evaluate, slot: int, body: Evaluate) -> Evaluate:
    return _quantifier(items, slot, body, decides=False)


def _exists(items: Evaluate, slot: int, body: Evaluate) -> Evaluate:
    return _quantifier(items, slot, body, decides=True)


def _exists_one(items: Evaluate, slot: int, body: Evaluate) -> Evaluate:
    def evaluate(env: Environment) -> bool:
        count = 0
        for env[slot] in items(env):  # noqa: B020  a slot of it
            count += _truth(body(env))
        return count == 1

    return evaluate


def _filter(items: Evaluate, slot: int, body: Evaluate) -> Evaluate:
    def evaluate(env: Environment) -> list[Any]:
        kept = []
        for item in items(env):
            env[slot] = item
            if _truth(body(env)):
                kept.append(item)
        return kept

    return evaluate


def _map(items: Evaluate, slot: int, *bodies: Evaluate) -> Evaluate:
    *filters, body = bodies

    def evaluate(env: Environment) -> list[Any]:
        values = []
        for env[slot] in items(env):  # noqa: B020  a slot of it
            if not filters or _truth(filters[0](env)):
                values.append(body(env))
        return values

    return evaluate


_MACROS: Final[dict[str, Callable[..., Evaluate]]] = {
    "all": _all,
    "exists": _exists,
    "exists_one": _exists_one,
    "filter": _filter,
    "map": _map,
}

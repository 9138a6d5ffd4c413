"""Errors of CEL expressions that are found before evaluation.

The language checks types only where they are declared. Here, the types of `event` and of results of functions are
known, and data is JSON, so it holds no timestamps, durations, bytes or unsigned numbers. An operator or function
that takes no value an operand can have always fails, and a guard with it would never be true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, Final

from gatechart.chartfiles.cel.arithmetic import NEGATED, RESULTS
from gatechart.chartfiles.cel.functions import ANY, FUNCTIONS, Form, Function, Kinds, matches
from gatechart.chartfiles.cel.program import ERRORS, Program
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
from gatechart.chartfiles.cel.times import zone_of
from gatechart.chartfiles.cel.values import DURATION, NUMBERS, ORDERED, TIMESTAMP, TYPE_NAMES, kind, shown_kind

JSON: Final[Kinds] = frozenset({"null_type", "bool", "int", "double", "string", "list", "map"})
EVENT: Final[dict[str, Kinds]] = {
    "name": frozenset({"string"}),
    "payload": frozenset({"map"}),
    "id": frozenset({"string", "null_type"}),
    "sender": frozenset({"string", "null_type"}),
    "time": frozenset({TIMESTAMP}),
}
VARIABLES: Final = ("context", "event")

_BOOL: Final[Kinds] = frozenset({"bool"})
_LIST: Final[Kinds] = frozenset({"list"})
_MAP: Final[Kinds] = frozenset({"map"})
_COMPARISONS: Final = frozenset({"<", "<=", ">", ">="})


@dataclass(frozen=True, slots=True)
class Known:
    """Facts about all values that a node can have."""

    kinds: Kinds  # types that they can have
    is_data: bool = False  # their items are JSON too
    least: float = -inf
    most: float = inf


_UNKNOWN: Final = Known(ANY)
_DATA: Final = Known(JSON, is_data=True)


@dataclass(frozen=True, slots=True)
class Problem:
    """A part of an expression that always fails, or a comparison that always has the same result."""

    problem: str
    remedy: str


def result_kinds(node: ExpressionPart) -> Kinds:
    """Return the types that the expression's value can have."""
    return _Checker("").known(node, {}).kinds


def problems(expression: str, node: ExpressionPart) -> Iterator[Problem]:
    """Yield the errors that an expression has for every event.

    An expression without variables is evaluated: it is wrong only if it fails. Comprehensions are not evaluated.
    """
    checker = _Checker(expression)
    if _is_constant(node, {}):
        yield from checker.constant(node)
        return
    checker.known(node, {})
    yield from dict.fromkeys(checker.problems)


Scope = Mapping[str, Known]


class _Checker:
    """Infers types from the leaves to the root, and collects problems."""

    def __init__(self, expression: str) -> None:
        self.expression = expression
        self.problems: list[Problem] = []

    def known(self, node: ExpressionPart, scope: Scope) -> Known:
        """Return the facts about a node. scope: facts about the variables that comprehensions bind."""
        if not isinstance(node, Literal) and _is_constant(node, scope):
            failures = list(self.constant(node))
            if failures:
                self.problems += failures
                return _UNKNOWN
        return self._KNOWN[node.__class__](self, node, scope)

    def constant(self, node: ExpressionPart) -> Iterator[Problem]:
        """Yield the error of a constant."""
        try:
            Program(node).execute({})
        except ERRORS as error:
            yield Problem(f"`{self._text(node)}` always fails: {_reason(error)}", "correct the expression")

    def _text(self, node: ExpressionPart) -> str:
        text = " ".join(self.expression[node.start : node.end].split())
        return text if len(text) <= 60 else f"{text[:59]}…"

    def _add(self, node: ExpressionPart, problem: str, remedy: str) -> None:
        self.problems.append(Problem(f"`{self._text(node)}` {problem}", remedy))

    def _demand(self, node: ExpressionPart, given: Known, wanted: Kinds, problem: str) -> None:
        if not given.kinds & wanted:
            self._add(node, f"always fails: {problem}, not {shown_kinds(given.kinds)}", "correct the expression")

    def _are_data(self, nodes: Iterable[ExpressionPart], scope: Scope) -> bool:
        """Return whether all values are JSON in all their parts."""
        given = [self.known(node, scope) for node in nodes]
        return all(part.kinds <= JSON and (part.is_data or not part.kinds & {"list", "map"}) for part in given)

    def _literal(self, node: Literal, _scope: Scope) -> Known:
        kinds = frozenset({kind(node.value)})
        return Known(kinds, least=node.value, most=node.value) if kinds <= NUMBERS else Known(kinds)

    def _name(self, node: Name, scope: Scope) -> Known:
        if node.name in scope:
            return scope[node.name]
        if node.name in VARIABLES:
            return Known(_MAP, is_data=node.name == "context")
        return Known(frozenset({"type"})) if node.name in TYPE_NAMES else _UNKNOWN

    def _list(self, node: ListOf, scope: Scope) -> Known:
        return Known(_LIST, is_data=self._are_data(node.items, scope))

    def _map(self, node: MapOf, scope: Scope) -> Known:
        keys = {frozenset({"string"}), *(self.known(key, scope).kinds for key in node.keys)}
        return Known(_MAP, is_data=self._are_data(node.values, scope) and len(keys) == 1)  # as JSON has them

    def _has(self, node: Has, scope: Scope) -> Known:
        self.known(Select(node.start, node.end, node.operand, node.field), scope)
        return Known(_BOOL)

    def _select(self, node: Select, scope: Scope) -> Known:
        match node.operand:
            case Name(name="event") if "event" not in scope:
                if node.field not in EVENT:
                    self._add(node, "always fails: an event has no such part", f"write {_alternatives(EVENT)}")
                    return _UNKNOWN
                return Known(EVENT[node.field], is_data=True)
            case Name(name="google") | Select(operand=Name(name="google")):
                return Known(frozenset({"type"}))
        given = self.known(node.operand, scope)
        self._demand(node, given, _MAP, f"only a map has a field {node.field!r}")
        return _DATA if given.is_data else _UNKNOWN

    def _index(self, node: Index, scope: Scope) -> Known:
        given, index = self.known(node.operand, scope), self.known(node.index, scope)
        self._demand(node, given, _LIST | _MAP, "only lists and maps have an index")
        self._demand(node, index, _keys(given), "the index must be a position in a list, or a key of a map")
        return _DATA if given.is_data else _UNKNOWN

    def _call(self, node: Call, scope: Scope) -> Known:
        given = [self.known(part, scope) for part in node.inputs]
        function = FUNCTIONS.get(node.function)
        if function is None:  # reported as an unknown function
            return _UNKNOWN
        form = function.form(is_method=node.target is not None, count=len(given))
        if form is None:
            self._add(node, f"does not call {node.function}() as it is", f"write `{function.usage}`")
            return _UNKNOWN
        self._arguments(node, function, form, given)
        if form.result == "dyn":
            return _UNKNOWN
        if function.least is None or DURATION in given[0].kinds:
            return Known(frozenset({form.result}))
        return Known(frozenset({form.result}), least=function.least, most=function.most)

    def _arguments(self, node: Call, function: Function, form: Form, given: list[Known]) -> None:
        for part, takes, argument in zip(node.inputs, form.takes, given, strict=True):
            if argument.kinds & takes:
                continue
            problem = f"always fails: {node.function}() takes {shown_kinds(takes)}, not {shown_kinds(argument.kinds)}"
            is_time = takes <= {TIMESTAMP, DURATION} and argument.kinds & {"string"}
            remedy = f"write timestamp({self._text(part)})" if is_time else f"call it as in `{function.usage}`"
            self._add(node, problem, remedy)
        literal = node.arguments[-1] if node.arguments else None
        if not isinstance(literal, Literal) or not isinstance(literal.value, str):
            return
        if node.function == "matches":
            self._try(node, matches, "", literal.value)
        elif node.function.startswith("get"):
            self._try(node, zone_of, literal.value)

    def _try(self, node: ExpressionPart, function: Any, *arguments: Any) -> None:
        """Add the problem of a call that fails whatever its other arguments."""
        try:
            function(*arguments)
        except ERRORS as error:
            self._add(node, f"always fails: {_reason(error)}", "correct the expression")

    def _comprehension(self, node: Comprehension, scope: Scope) -> Known:
        given = self.known(node.range, scope)
        self._demand(node, given, _LIST | _MAP, f"{node.macro}() iterates over a list or the keys of a map")
        inner = {**scope, node.variable: _DATA if given.is_data else _UNKNOWN}
        bodies = [self.known(body, inner) for body in node.bodies]
        asked = len(bodies) - (node.macro == "map")  # the last body of `map` may have any type
        for body, answer in zip(node.bodies[:asked], bodies, strict=False):
            self._truth(body, answer)
        if node.macro == "filter":
            return Known(_LIST, is_data=given.is_data)
        if node.macro == "map":
            return Known(_LIST, is_data=bodies[-1].is_data)
        return Known(_BOOL)

    def _truth(self, node: ExpressionPart, given: Known) -> None:
        self._demand(node, given, _BOOL, "here it must be true or false")

    def _operation(self, node: Operation, scope: Scope) -> Known:
        given = [self.known(operand, scope) for operand in node.operands]
        match node.operator:
            case "&&" | "||" | "!":
                for operand, answer in zip(node.operands, given, strict=True):
                    self._truth(operand, answer)
                return Known(_BOOL)
            case "?":
                self._truth(node.operands[0], given[0])
                then, otherwise = given[1:]
                return Known(then.kinds | otherwise.kinds, is_data=then.is_data and otherwise.is_data)
            case "negate":
                self._demand(node, given[0], frozenset(NEGATED), "only an int or double has a negative")
                return Known(given[0].kinds & frozenset(NEGATED) or frozenset(NEGATED))
            case "in":
                self._demand(node, given[1], _LIST | _MAP, "`in` takes a list or a map")
                self._membership(node, given[0], scope)
                return Known(_BOOL)
            case "==" | "!=":
                self._equality(node, *given)
                return Known(_BOOL)
            case operator if operator in _COMPARISONS:
                self._ordering(node, *given)
                return Known(_BOOL)
        return self._arithmetic(node, *given)

    def _equality(self, node: Operation, one: Known, other: Known) -> None:
        self._match(node, one, other, "is always false" if node.operator == "==" else "is always true")

    def _membership(self, node: Operation, one: Known, scope: Scope) -> None:
        match node.operands:
            case (operand, ListOf(items=items)) if not isinstance(operand, Literal):
                for item in items:
                    equality = Operation(node.start, node.end, "==", (operand, item))
                    self._match(equality, one, self.known(item, scope), "has an item that never matches")

    def _match(self, node: Operation, one: Known, other: Known, effect: str) -> None:
        """Add the problem of two operands that are never equal. effect: on the expression."""
        if not _can_be_equal(one.kinds, other.kinds):
            problem = f"{effect}: it compares {shown_kinds(one.kinds)} with {shown_kinds(other.kinds)}"
            self._add(node, problem, self._conversion(node, one, other))
        elif one.most < other.least or other.most < one.least:
            self._out_of_range(node, one, other, effect)

    def _ordering(self, node: Operation, one: Known, other: Known) -> None:
        in_both = one.kinds & other.kinds & ORDERED
        if not in_both and not (one.kinds & NUMBERS and other.kinds & NUMBERS):
            problem = f"always fails: {shown_kinds(one.kinds)} and {shown_kinds(other.kinds)} cannot be put in order"
            self._add(node, problem, self._conversion(node, one, other))
        small, large = (one, other) if node.operator in {"<", "<="} else (other, one)
        if small.least > large.most or (small.least == large.most and node.operator in {"<", ">"}):
            self._out_of_range(node, one, other, "is always false")

    def _arithmetic(self, node: Operation, one: Known, other: Known) -> Known:
        results = RESULTS[node.operator].items()
        possible = {result for (left, right), result in results if left in one.kinds and right in other.kinds}
        match node.operands[1]:
            case Literal(value=int(value)) if value == 0 and node.operator in "/%":
                self._add(node, "always fails: it divides by zero", "correct the expression")
        if not possible:
            shown = f"{shown_kinds(one.kinds)} {node.operator} {shown_kinds(other.kinds)}"
            self._add(node, f"always fails: there is no {shown}", self._conversion(node, one, other))
            return _UNKNOWN
        return Known(frozenset(possible), is_data=one.is_data and other.is_data)

    def _out_of_range(self, node: Operation, one: Known, other: Known, effect: str) -> None:
        """Add the problem of a comparison with a number that an operand never has."""
        for operand, given in zip(node.operands, (one, other), strict=True):
            if isinstance(operand, Call) and operand.function in FUNCTIONS:
                numbers = (
                    f"{given.least:.0f} or more" if given.most == inf else f"{given.least:.0f} to {given.most:.0f}"
                )
                problem = f"{effect}: {operand.function}() returns {numbers}"
                hint = FUNCTIONS[operand.function].hint
                self._add(node, problem, f"compare it with such a number{f' ({hint})' if hint else ''}")
                return

    def _conversion(self, node: Operation, one: Known, other: Known) -> str:
        """Return the remedy for two operands of different types."""
        texts = [
            operand for operand in node.operands if isinstance(operand, Literal) and isinstance(operand.value, str)
        ]
        if texts and one.kinds ^ other.kinds <= {"string", *NUMBERS}:
            return "compare it with a number, without quotes"
        if texts and one.kinds ^ other.kinds == {"string", "type"}:
            return f"write the type without quotes: {', '.join(TYPE_NAMES[:7])}, …"
        if node.operator in "+-" and TIMESTAMP in one.kinds ^ other.kinds:
            return "combine a timestamp with a duration, as in `event.time + duration('1h')`"
        for given, operand, wanted in ((one, node.operands[0], other), (other, node.operands[1], one)):
            function = FUNCTIONS.get(shown_kind(*wanted.kinds)) if len(wanted.kinds) == 1 else None
            if function is not None and any(given.kinds & JSON & form.takes[0] for form in function.forms):
                return f"write {shown_kind(*wanted.kinds)}({self._text(operand)})"
        return "compare or combine values of one type"

    _KNOWN: ClassVar[dict[type[ExpressionPart], Callable[..., Known]]] = {
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


def _can_be_equal(one: Kinds, other: Kinds) -> bool:
    return bool(one & other or (one & NUMBERS and other & NUMBERS))


def _keys(container: Known) -> Kinds:
    """Return the types of an index. The keys of JSON objects are texts."""
    keys = frozenset({"string"}) if container.is_data else frozenset({*NUMBERS, "string", "bool"})
    return (keys if "map" in container.kinds else frozenset()) | (NUMBERS if "list" in container.kinds else frozenset())


def _is_constant(node: ExpressionPart, scope: Scope) -> bool:
    """Return whether a node has neither variables nor comprehensions, which could take long."""
    return not any(
        isinstance(part, Comprehension)
        or (isinstance(part, Name) and (part.name in scope or part.name not in TYPE_NAMES))
        or (isinstance(part, Call) and part.function not in FUNCTIONS)
        for part in walk(node)
    )


def shown_kinds(kinds: Kinds) -> str:
    """Return types as text for a message."""
    if kinds >= JSON:
        return "JSON values" if kinds == JSON else "any value"
    return _alternatives(sorted(shown_kind(name) for name in kinds))


def _alternatives(names: Any) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else str(last)


def _reason(error: Exception) -> str:
    return f"there is no {error.args[0]!r}" if type(error) is KeyError else str(error)

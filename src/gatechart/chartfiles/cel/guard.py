"""Guards and values that are expressions in CEL over `context` and `event`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gatechart.chartfiles.cel.costs import has_cost, repeated, steps_of
from gatechart.chartfiles.cel.functions import FUNCTIONS
from gatechart.chartfiles.cel.parser import parsed
from gatechart.chartfiles.cel.program import Program
from gatechart.chartfiles.cel.syntax import (
    Call,
    Comprehension,
    ExpressionPart,
    Has,
    Index,
    Literal,
    Name,
    Select,
    children,
    walk,
)
from gatechart.chartfiles.cel.types import VARIABLES, problems, result_kinds, shown_kinds
from gatechart.chartfiles.cel.values import DURATION, TIMESTAMP, TYPE_NAMES
from gatechart.context import AgentContext
from gatechart.errors.definition import Fault
from gatechart.errors.operation import GuardBudgetError
from gatechart.errors.root import suggestion
from gatechart.values.agents import Event

MAX_LENGTH: Final = 1_000  # characters of an expression
MAX_ROUNDS: Final = 3  # of `all`, `exists` and such; if nested, their costs multiply
MAX_STEPS: Final = 10_000_000  # of an evaluation: at most one to three seconds
MAX_PATTERN: Final = 1_000  # characters of a regular expression, with its repetitions written out
_NOT_PAYLOAD: Final = frozenset({"name", "id", "sender", "time"})
_NOT_JSON: Final = frozenset({"bytes", "type", TIMESTAMP, DURATION})


class Cel:
    """A guard that is a compiled expression; its name is the expression.

    `context` holds the context's fields as JSON values, `event` has name, payload, id, sender and time. A call raises
    the errors of the evaluation (`program.ERRORS`), and TypeError for a result that is neither true nor false.

    >>> is_patient = Cel("context.retries < 3")
    >>> is_patient.__name__, is_patient.context_fields
    ('context.retries < 3', ('retries',))
    """

    def __init__(self, expression: str) -> None:
        """Compile the expression. Raises ValueError if it is not CEL."""
        self.__name__ = expression
        self.expression = expression
        self.syntax = parsed(expression)
        self._program = Program(self.syntax)
        self._has_cost = has_cost(self.syntax)
        nodes = tuple(walk(self.syntax))
        self._reads_context = any(isinstance(node, Name) and node.name == "context" for node in nodes)
        self._reads_payload = _reads_payload(nodes)
        self.context_fields = tuple(dict.fromkeys(_context_fields(nodes)))

    def __call__(self, context: AgentContext, event: Event) -> bool:
        """Evaluate the expression. Raises GuardBudgetError if it could take more than MAX_STEPS over this data."""
        data = seen(context, event, reads_context=self._reads_context, reads_payload=self._reads_payload)
        if self._has_cost and (steps := self.steps(data)) > MAX_STEPS:
            raise GuardBudgetError(self.expression, steps, MAX_STEPS)
        answer = self._program.execute(data)
        if not isinstance(answer, bool):
            raise TypeError(f"{self.expression!r} returned {answer!r}, which is neither true nor false")
        return answer

    def steps(self, data: Mapping[str, Any]) -> int:
        """Return the most steps of an evaluation over this data; 0 if it has no loops. data: see `seen`."""
        return steps_of(self.syntax, data) if self._has_cost else 0

    def result(self, data: Mapping[str, Any]) -> Any:
        """Evaluate the expression without a limit. Times become datetimes and timedeltas. data: see `seen`."""
        return self._program.execute(data)

    def value(self, data: Mapping[str, Any]) -> Any:
        """Evaluate the expression without a limit. Raises TypeError if JSON lacks its value."""
        value = self.result(data)
        try:
            return _json(value)
        except TypeError as error:
            raise TypeError(f"{self.expression!r} returned {error}, which JSON does not have; use string()") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cel) and other.expression == self.expression

    def __hash__(self) -> int:
        return hash(self.expression)

    def __repr__(self) -> str:
        return f"Cel({self.expression!r})"


def compiled(expression: str, *, is_guard: bool = True) -> tuple[Cel | None, tuple[Fault, ...]]:
    """Compile an expression; return it, or None if that fails, and all its faults.

    is_guard: it must come to true or false, not to any JSON value.
    """
    if len(expression) > MAX_LENGTH:
        return None, (Fault("", f"it has more than {MAX_LENGTH} characters", "write a function, and name it"),)
    try:
        guard = Cel(expression)
    except ValueError as error:
        return None, (Fault("", f"invalid CEL: {error}", "correct the expression"),)
    return guard, tuple(_faults(guard, is_guard=is_guard))


def seen(
    context: AgentContext, event: Event, *, reads_context: bool = True, reads_payload: bool = True
) -> dict[str, Any]:
    """Return the variables of an expression: the context's fields as JSON values, and the event.

    reads_context, reads_payload: False leaves the context or payload empty, for expressions that do not read it.
    """
    fields = context.model_dump(mode="json", warnings=False) if reads_context else {}
    payload = dict(event.payload) if reads_payload else {}
    parts = {
        "name": event.name,
        "payload": payload,
        "id": event.id,
        "sender": event.sender,
        "time": event.time,
    }
    return {"context": fields, "event": parts}


def _faults(guard: Cel, *, is_guard: bool) -> Iterator[Fault]:
    nodes = tuple(walk(guard.syntax))
    loops = sum(isinstance(node, Comprehension) for node in nodes)
    if loops > MAX_ROUNDS:
        problem = f"it iterates over lists {loops} times, more than {MAX_ROUNDS}"
        yield Fault("", problem, "write a function, and name it")
    for name in dict.fromkeys(_free_names(guard.syntax, frozenset())):
        if name not in VARIABLES and name not in TYPE_NAMES:
            yield Fault("", f"unknown variable {name!r}", suggestion(name, VARIABLES))
    for name in dict.fromkeys(node.function for node in nodes if isinstance(node, Call)):
        if name not in FUNCTIONS:
            yield Fault("", f"unknown function {name!r}", suggestion(name, tuple(FUNCTIONS)))
    yield from _pattern_faults(guard.expression, nodes)
    for part in problems(guard.expression, guard.syntax):
        yield Fault("", part.problem, part.remedy)
    yield from _result_faults(guard.syntax, is_guard=is_guard)


def _pattern_faults(expression: str, nodes: tuple[ExpressionPart, ...]) -> Iterator[Fault]:
    """Yield the faults of patterns. Their cost depends on their text, so the chart must write it."""
    for node in nodes:
        if not (isinstance(node, Call) and node.function == "matches" and node.arguments):
            continue
        pattern = node.arguments[-1]
        text = expression[pattern.start : pattern.end]
        if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
            remedy = "write it as a text, as in `event.name.matches('^A-[0-9]+$')`"
            yield Fault("", "the pattern of `matches` is not a literal text", remedy)
        elif repeated(pattern.value) > MAX_PATTERN:
            problem = f"the pattern {text} is longer than {MAX_PATTERN} characters, with what it repeats"
            yield Fault("", problem, "write a function, and name it")


def _result_faults(node: ExpressionPart, *, is_guard: bool) -> Iterator[Fault]:
    kinds = result_kinds(node)
    shown = f"its value is of type {shown_kinds(kinds)}"
    if is_guard and "bool" not in kinds:
        yield Fault("", f"{shown}, which is neither true nor false", "compare it with something")
    if not is_guard and kinds <= _NOT_JSON:
        yield Fault("", f"{shown}, which JSON does not have", "use string()")


def _free_names(node: ExpressionPart, bound: frozenset[str]) -> Iterator[str]:
    """Yield the names of variables that the expression does not bind itself."""
    match node:
        case Name(name=name):
            if name not in bound:
                yield name
        case Select(operand=Select(operand=Name(name="google"), field="protobuf")):
            return
        case Comprehension():
            yield from _free_names(node.range, bound)
            for body in node.bodies:
                yield from _free_names(body, bound | {node.variable})
        case _:
            for child in children(node):
                yield from _free_names(child, bound)


def _context_fields(nodes: tuple[ExpressionPart, ...]) -> Iterator[str]:
    for node in nodes:
        match node:
            case (
                Select(operand=Name(name="context"), field=field)
                | Has(operand=Name(name="context"), field=field)
                | Index(operand=Name(name="context"), index=Literal(value=str(field)))
            ):
                yield field


def _reads_payload(nodes: tuple[ExpressionPart, ...]) -> bool:
    """Return whether an expression reads more of the event than its name, id, sender and time."""
    uses = sum(isinstance(node, Name) and node.name == "event" for node in nodes)
    others = 0
    for node in nodes:
        match node:
            case Select(operand=Name(name="event"), field=field) if field in _NOT_PAYLOAD:
                others += 1
    return uses > others


def _json(value: Any) -> Any:
    """Return the JSON value, with the keys of its mappings in alphabetical order. Raises TypeError for other values."""
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _json(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_json(item) for item in value]
    if isinstance(value, str | int | float | None):
        return value
    raise TypeError(f"{value!r:.80}")

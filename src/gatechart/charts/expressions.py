"""Guards that are expressions of the Common Expression Language, CEL, over `context` and `event`.

Source: https://github.com/google/cel-spec. The language has neither loops nor assignments, and calls nothing of Python.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import cel

from gatechart.charts.costs import LOOP, TEXT, costs_of, plain, repeated
from gatechart.context import AgentContext
from gatechart.errors import Fault, GuardBudgetError, suggestion
from gatechart.values import Event

MAX_LENGTH: Final = 1_000  # characters of an expression
MAX_ROUNDS: Final = 3  # of `all`, `exists` and such; within each other they multiply
VARIABLES: Final = ("context", "event")
FUNCTIONS: Final = [
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "int",
    "uint",
    "double",
    "string",
    "bool",
    "bytes",
    "type",
    "timestamp",
    "duration",
    "dyn",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getFullYear",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getSeconds",
]
MAX_STEPS: Final = 10_000_000  # of an evaluation, at the most: one to three seconds
MAX_PATTERN: Final = 1_000  # characters of a regular expression, and of what it repeats
_FIELD: Final = re.compile(r"(?<![\w.])context\s*\.\s*([A-Za-z_]\w*)")
_MATCHES: Final = re.compile(rf"\bmatches\s*\(\s*(?:((?>{TEXT.pattern}))\s*\))?")
_HIDDEN_BRACE: Final = re.compile(r"\\(?:[xX]|u00|U000000)7[bB]|\\173")  # of what a pattern repeats


class Cel:
    """A guard that is an expression, compiled; its name is the expression.

    `context` holds the context's fields as JSON values, `event` has name, payload, id, sender and time. Asking raises
    what the evaluation raises, and TypeError where it comes to something that is neither true nor false.

    >>> is_patient = Cel("context.retries < 3")
    >>> is_patient.__name__, is_patient.context_fields
    ('context.retries < 3', ('retries',))
    """

    def __init__(self, expression: str) -> None:
        """Compiles. Raises ValueError where it is no CEL."""
        self.__name__ = expression
        self.expression = expression
        self._program = cel.compile(expression)
        self._costs = costs_of(expression)

    def __call__(self, context: AgentContext, event: Event) -> bool:
        """The answer of the expression. Raises GuardBudgetError where it could take too long over so much data."""
        asked = {"context": context.model_dump(mode="json", warnings=False), "event": _of(event)}
        steps = self._costs.of(asked)
        if steps > MAX_STEPS:
            raise GuardBudgetError(self.expression, steps, MAX_STEPS)
        answer = self._program.execute(asked)
        if not isinstance(answer, bool):
            raise TypeError(f"{self.expression!r} came to {answer!r}, which is neither true nor false")
        return answer

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cel) and other.expression == self.expression

    def __hash__(self) -> int:
        return hash(self.expression)

    def __repr__(self) -> str:
        return f"Cel({self.expression!r})"

    @property
    def context_fields(self) -> tuple[str, ...]:
        """The fields of the context that the expression names."""
        return tuple(dict.fromkeys(_FIELD.findall(plain(self.expression))))

    @property
    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The variables and the functions that it names, those aside that it binds itself and all operators."""
        bound = [found[2] for found in LOOP.finditer(plain(self.expression))]
        variables = (name for name in self._program.variables() if name not in bound)
        functions = (name for name in self._program.functions() if name.isidentifier() and not name.startswith("_"))
        return tuple(variables), tuple(functions)


def compiled(expression: str) -> tuple[Cel | None, tuple[Fault, ...]]:
    """The guard of an expression, None where it cannot be compiled, and all that is wrong with it."""
    if len(expression) > MAX_LENGTH:
        return None, (Fault("", f"it has more than {MAX_LENGTH} characters", "write a function, and name it"),)
    rounds = len(LOOP.findall(plain(expression)))
    if rounds > MAX_ROUNDS:
        problem = f"it goes through lists {rounds} times, and {MAX_ROUNDS} times is the most"
        return None, (Fault("", problem, "write a function, and name it"),)
    try:
        guard = Cel(expression)
    except ValueError as error:
        problem = next((line for line in str(error).splitlines() if "ERROR:" in line), str(error))
        return None, (Fault("", f"this is no CEL: {problem.rpartition('ERROR: ')[2]}", "mend the expression"),)
    return guard, tuple(_faults(guard))


def _faults(guard: Cel) -> Iterator[Fault]:
    variables, functions = guard.names
    for name in variables:
        if name not in VARIABLES:
            yield Fault("", f"CEL knows no variable {name!r} here", suggestion(name, VARIABLES))
    for name in functions:
        if name not in FUNCTIONS:
            yield Fault("", f"CEL has no function {name!r}", suggestion(name, tuple(FUNCTIONS)))
    yield from _pattern_faults(guard.expression)


def _pattern_faults(expression: str) -> Iterator[Fault]:
    """Patterns take time by what they say, so that is for the chart to say, rather than for what is sent to it."""
    inside = [range(found.start(), found.end()) for found in TEXT.finditer(expression)]
    for found in _MATCHES.finditer(expression):
        if any(found.start() in text for text in inside):
            continue
        if found[1] is None or found[1].startswith("//"):
            remedy = "write it as a text, as in `event.name.matches('^A-[0-9]+$')`"
            yield Fault("", "the pattern of `matches` is no text of the chart", remedy)
        elif _HIDDEN_BRACE.search(found[1]):
            yield Fault("", f"the pattern {found[1]} has a brace by its number", "write the brace itself")
        elif repeated(found[1]) > MAX_PATTERN:
            problem = f"the pattern {found[1]} is longer than {MAX_PATTERN} characters, with what it repeats"
            yield Fault("", problem, "write a function, and name it")


def _of(event: Event) -> dict[str, Any]:
    payload = dict(event.payload)
    return {"name": event.name, "payload": payload, "id": event.id, "sender": event.sender, "time": event.time}

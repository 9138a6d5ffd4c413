"""Expressions in CEL, the Common Expression Language, over `context` and `event`, and what they may cost.

Source: https://github.com/google/cel-spec. The language has no assignments, no loops but over lists, and calls
nothing of Python. The library can neither interrupt nor count an evaluation, so its cost is bounded beforehand: by
the expression's loops, and by how much data there is. The estimate depends on the data alone, so that a guard that
is asked again answers the same. A step is about 0.3 µs, as measured: each `.` copies the value behind it, `map` and
`filter` copy what they have so far in each round, `+` copies what it joins, a comparison ends at the first
difference, and a regular expression is compiled anew each time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from gatechart.context import AgentContext
from gatechart.errors import Fault, GuardBudgetError, suggestion
from gatechart.values import Event

LOOP: Final = re.compile(r"\.\s*(all|exists|exists_one|map|filter)\s*\(\s*(\w+)\s*,")
TEXT: Final = re.compile(  # in the first four a backslash is one
    r'''[bB]?[rR][bB]?(?:"""[\s\S]*?"""|"[^"]*")|[bB]?[rR][bB]?(?:\'{3}[\s\S]*?\'{3}|\'[^\']*\')'''
    r'''|"""(?:[^\\]|\\[\s\S])*?"""|\'{3}(?:[^\\]|\\[\s\S])*?\'{3}'''
    r"""|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|//[^\r\n]*"""
)
"""Texts as the language has them, and comments: what stands in them is not of the expression."""

_TOKEN: Final = re.compile(r"\w+|[^\w\s]")
_PATH: Final = r"([A-Za-z_]\w*)(?:\s*\.\s*\w+|\[[^\[\]]*\])*"
_LITERAL: Final = r'(?:""|\d[\w.]*|true|false|null)'
_OPERATOR: Final = re.compile(rf"(?:({_LITERAL})|{_PATH})?\s*(==|!=|<=|>=|<|>|\+|\bin\b)\s*(?:-?({_LITERAL})|{_PATH})?")
_CALL: Final = re.compile(rf"(?:{_PATH}\s*\.\s*|\b)(?:contains|startsWith|endsWith|matches|size|string|bytes)\s*\(")
_MATCHES: Final = re.compile(r"\bmatches\s*\(")
_FROM_DATA: Final = re.compile(r"(?<![\w.])(context|event)((?:\s*\.\s*\w+)*)")
_REPEATED: Final = re.compile(r"\{\s*(\d+)\s*(?:,\s*(\d*)\s*)?\}")
_WIDE: Final = re.compile(r"\\[wWdDsSpPbB]|\(\?\w*i")  # what stands for hundreds of characters
_MADE: Final = re.compile(r"(?:^|[^\w\s\])\"])\s*\[|\{|\.\s*map\s*\(")  # lists and maps that come of no data
_NAMED: Final = re.compile(r"\b(?:context|event)\b|[\[{]|\.\s*(?:all|exists|exists_one|map|filter)\s*\(")

_COMPARED: Final = 48  # values or characters, in one step
_JOINED: Final = 3
_KEPT: Final = 6  # values that `map` and `filter` copy, in one step
_READ: Final = 6  # values that `.` copies, in one step
_MATCHED: Final = 100  # steps of a short regular expression
_WIDE_STEPS: Final = 600  # of each of its characters that stands for hundreds


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of an expression (`all`, `map` and such): what a round costs beside the loops inside it."""

    depth: int  # of loops, this one with those around it
    copies: bool  # what it has so far, in each round
    copies_data: bool  # that may be more than the list it goes through
    steps: int
    compares: int  # operations that may go through all data in each round
    joins: int
    parts: int  # that are read of what it goes through
    paths: tuple[tuple[str, ...], ...]  # from `context` and `event`, read in each round

    def cost(self, longest: int, size: int, data: Mapping[str, Any]) -> int:
        """Return the number of steps at most."""
        read = sum(_size_along(data, path) for path in self.paths) // _READ
        each = self.steps + read + size * self.compares // _COMPARED + size * self.joins // _JOINED
        rounds: int = longest**self.depth
        cost = rounds * each + size + rounds // longest * size * self.parts // _READ
        if self.copies:
            kept = size * longest if self.copies_data else size + longest
            cost += rounds * kept // _KEPT
        return cost


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of an expression's loops."""

    loops: tuple[Loop, ...]
    growth: int  # of lists and texts by `+`, at the most
    joins: int = 0  # by `+`, wherever they stand
    written: int = 1  # entries of a list that stands in the expression, at the most

    def of(self, data: Mapping[str, Any]) -> int:
        """Return the number of steps over these JSON values at most; 0 if it neither loops nor joins."""
        if not self.loops and not self.joins:
            return 0
        longest, size = measured(data)
        longest, size = max(longest, self.written), size + self.written
        joined = self.joins * (self.joins + 1) // 2 * size // _JOINED  # each copies what those before have made
        return joined + sum(loop.cost(longest * self.growth, size * self.growth, data) for loop in self.loops)


def costs_of(expression: str) -> Costs:
    """Estimate the cost of an expression."""
    text = plain(expression)
    patterns = max((_pattern_steps(found[0]) for found in TEXT.finditer(expression)), default=0)
    found = list(LOOP.finditer(text))
    spans = [(each, _end(text, each.start(1))) for each in found]
    names = frozenset() if _MADE.search(text) else frozenset(each[2] for each in found)
    joins = sum(operator == "+" and is_costly for operator, is_costly in _operators(text, names))
    loops = tuple(_loop(text, spans, names, patterns, each) for each, end in spans)
    return Costs(loops, (joins + 1) ** (len(loops) + 1), joins, text.count(",") + 1)


def plain(expression: str) -> str:
    """Return the expression with empty texts, and without comments.

    >>> plain("a == 'x.map(y, y)' // or not")
    'a == ""  '
    """
    return TEXT.sub(lambda found: " " if found[0].startswith("//") else '""', expression)


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
    """Return how long a regular expression is at most, with its repetitions written out.

    >>> repeated("[a-z]{1,64}@[a-z]{1,64}"), repeated("(a{50}){50}")
    (151, 27500)
    """
    counts = [max(int(found[1]), int(found[2] or 0), 1) for found in _REPEATED.finditer(pattern)]
    return len(pattern) * prod(counts) if "){" in pattern else len(pattern) + sum(counts)


def _pattern_steps(pattern: str) -> int:
    return _MATCHED + repeated(pattern) * (_WIDE_STEPS if _WIDE.search(pattern) else 3)


def _size_along(data: Any, path: tuple[str, ...]) -> int:
    """Return how much is copied on the way to a value."""
    size, value = 0, data[path[0]]
    for name in path[1:]:
        value = value.get(name) if isinstance(value, dict) else None
        size += measured(value)[1]
    return size


def _loop(
    text: str,
    spans: list[tuple[re.Match[str], int]],
    names: frozenset[str],
    patterns: int,
    found: re.Match[str],
) -> Loop:
    end = next(until for other, until in spans if other is found)
    body = text[found.end() : end]
    depth = sum(other.start() < found.start() < until for other, until in spans) + 1
    paths = tuple((each[1], *re.findall(r"\w+", each[2])) for each in _FROM_DATA.finditer(body))
    costly = [operator for operator, is_costly in _operators(body, names) if is_costly]
    calls = sum(call[1] not in names for call in _CALL.finditer(body))
    steps = len(_TOKEN.findall(body)) + patterns * len(_MATCHES.findall(body))
    joins = costly.count("+")
    copies = found[1] in {"map", "filter"}
    return Loop(
        depth, copies, bool(_NAMED.search(body)), steps, len(costly) - joins + calls, joins, body.count("."), paths
    )


def _operators(text: str, names: frozenset[str]) -> Iterator[tuple[str, bool]]:
    """Yield each operator that may go through data, and whether it may go through all of them.

    What goes through parts of a loop's list goes through all data once, whatever the number of rounds.
    """
    for found in _OPERATOR.finditer(text):
        literal, left, operator, other, right = found.groups()
        is_literal = bool(literal or other)
        match operator:
            case "in":
                costly = right not in names
            case "+":
                costly = not (is_literal or (left in names and right in names))
            case _:
                costly = not (is_literal or left in names or right in names)
        yield operator, costly


def _end(text: str, start: int) -> int:
    """Return where the arguments behind the next parenthesis end."""
    depth = 0
    for place in range(start, len(text)):
        if text[place] in "([{":
            depth += 1
        elif text[place] in ")]}":
            depth -= 1
            if depth == 0:
                return place
    return len(text)


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
_PATTERN: Final = re.compile(rf"\bmatches\s*\(\s*(?:((?>{TEXT.pattern}))\s*\))?")
_HIDDEN_BRACE: Final = re.compile(r"\\(?:[xX]|u00|U000000)7[bB]|\\173")  # of what a pattern repeats


_READS_PAYLOAD: Final = re.compile(r"\bevent\b(?!\s*\.\s*(?:name|id|sender|time)\b)")


class Cel:
    """A guard that is a compiled expression; its name is the expression.

    `context` holds the context's fields as JSON values, `event` has name, payload, id, sender and time. Asking raises
    what the evaluation raises, and TypeError where it comes to something that is neither true nor false.

    >>> is_patient = Cel("context.retries < 3")
    >>> is_patient.__name__, is_patient.context_fields
    ('context.retries < 3', ('retries',))
    """

    def __init__(self, expression: str) -> None:
        """Compile the expression. Raises ValueError if it is not CEL."""
        self.__name__ = expression
        self.expression = expression
        import cel  # noqa: PLC0415  it brings a command line and a prompt, and takes longer than reading a chart

        self._program = cel.compile(expression)
        self._costs = costs_of(expression)
        self._reads_payload = _READS_PAYLOAD.search(plain(expression)) is not None

    def __call__(self, context: AgentContext, event: Event) -> bool:
        """Evaluate the expression. Raises GuardBudgetError if it could take too long over so much data."""
        asked = seen(context, event, reads_payload=self._reads_payload)
        steps = self.steps(asked)
        if steps > MAX_STEPS:
            raise GuardBudgetError(self.expression, steps, MAX_STEPS)
        answer = self._program.execute(asked)
        if not isinstance(answer, bool):
            raise TypeError(f"{self.expression!r} came to {answer!r}, which is neither true nor false")
        return answer

    def steps(self, data: Mapping[str, Any]) -> int:
        """Return how many steps an evaluation over this data takes at most. data: see `seen`."""
        return self._costs.of(data)

    def value(self, data: Mapping[str, Any]) -> Any:
        """Evaluate the expression, whatever it costs. Raises TypeError if it comes to something that JSON lacks."""
        value = self._program.execute(dict(data))
        try:
            return _plain(value)
        except TypeError as error:
            raise TypeError(f"{self.expression!r} came to {error}, which JSON does not have; use string()") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cel) and other.expression == self.expression

    def __hash__(self) -> int:
        return hash(self.expression)

    def __repr__(self) -> str:
        return f"Cel({self.expression!r})"

    @property
    def context_fields(self) -> tuple[str, ...]:
        """The fields of the context that the expression uses."""
        return tuple(dict.fromkeys(_FIELD.findall(plain(self.expression))))

    @property
    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The variables and the functions that it uses, without operators and the variables that it binds itself."""
        bound = [found[2] for found in LOOP.finditer(plain(self.expression))]
        variables = (name for name in self._program.variables() if name not in bound)
        functions = (name for name in self._program.functions() if name.isidentifier() and not name.startswith("_"))
        return tuple(variables), tuple(functions)


def compiled(expression: str) -> tuple[Cel | None, tuple[Fault, ...]]:
    """Compile an expression into a guard, None if that fails, and everything that is wrong with it."""
    if len(expression) > MAX_LENGTH:
        return None, (Fault("", f"it has more than {MAX_LENGTH} characters", "write a function, and name it"),)
    rounds = len(LOOP.findall(plain(expression)))
    if rounds > MAX_ROUNDS:
        problem = f"it goes through lists {rounds} times, more than {MAX_ROUNDS}"
        return None, (Fault("", problem, "write a function, and name it"),)
    try:
        guard = Cel(expression)
    except ValueError as error:
        problem = next((line for line in str(error).splitlines() if "ERROR:" in line), str(error))
        return None, (Fault("", f"invalid CEL: {problem.rpartition('ERROR: ')[2]}", "correct the expression"),)
    return guard, tuple(_faults(guard))


def _faults(guard: Cel) -> Iterator[Fault]:
    variables, functions = guard.names
    for name in variables:
        if name not in VARIABLES:
            yield Fault("", f"unknown variable {name!r}", suggestion(name, VARIABLES))
    for name in functions:
        if name not in FUNCTIONS:
            yield Fault("", f"unknown function {name!r}", suggestion(name, tuple(FUNCTIONS)))
    yield from _pattern_faults(guard.expression)


def _pattern_faults(expression: str) -> Iterator[Fault]:
    """Yield what is wrong with patterns. Their cost depends on their text, so the chart must write it."""
    inside = [range(found.start(), found.end()) for found in TEXT.finditer(expression)]
    for found in _PATTERN.finditer(expression):
        if any(found.start() in text for text in inside):
            continue
        if found[1] is None or found[1].startswith("//"):
            remedy = "write it as a text, as in `event.name.matches('^A-[0-9]+$')`"
            yield Fault("", "the pattern of `matches` is not a literal text", remedy)
        elif _HIDDEN_BRACE.search(found[1]):
            yield Fault("", f"the pattern {found[1]} has a brace by its number", "write the brace itself")
        elif repeated(found[1]) > MAX_PATTERN:
            problem = f"the pattern {found[1]} is longer than {MAX_PATTERN} characters, with what it repeats"
            yield Fault("", problem, "write a function, and name it")


def seen(context: AgentContext, event: Event, *, reads_payload: bool = True) -> dict[str, Any]:
    """Return what an expression sees: the context's fields as JSON values, and the event."""
    payload = dict(event.payload) if reads_payload else {}
    told = {"name": event.name, "payload": payload, "id": event.id, "sender": event.sender, "time": event.time}
    return {"context": context.model_dump(mode="json", warnings=False), "event": told}


def _plain(value: Any) -> Any:
    """Return the JSON value; the library's mappings have their keys in another order each time, so sort them.

    Raises TypeError if JSON does not have the value.
    """
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, str | int | float | None):
        return value
    raise TypeError(f"{value!r:.80}")

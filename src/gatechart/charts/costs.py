"""What an expression may cost at the most, told before it is evaluated: by its loops, and by how much data there is.

The evaluation itself can be neither interrupted nor counted, and an estimate depends on the data alone, so that a guard
which is asked again answers the same. A step is about 0.3 µs, by measurement of the library: each `.` copies the value
behind it, `map` and `filter` copy what they have so far in each round, `+` what it joins; comparisons end at the first
difference, and regular expressions are compiled anew each time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Final

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
    """One `all`, `map` or such: what a round costs beside the loops inside it."""

    depth: int  # of loops, this one with those around it
    copies: bool  # what it has so far, in each round
    copies_data: bool  # that may be more than the list it goes through
    steps: int
    compares: int  # operations that may go through all data in each round
    joins: int
    parts: int  # that are read of what it goes through
    paths: tuple[tuple[str, ...], ...]  # from `context` and `event`, read in each round

    def cost(self, longest: int, size: int, data: Mapping[str, Any]) -> int:
        """Steps at the most."""
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
    """What the loops of an expression cost."""

    loops: tuple[Loop, ...]
    growth: int  # of lists and texts by `+`, at the most
    joins: int = 0  # by `+`, wherever they stand
    written: int = 1  # entries of a list that stands in the expression, at the most

    def of(self, data: Mapping[str, Any]) -> int:
        """The steps that it takes over these JSON values, at the most; 0 where it neither loops nor joins."""
        if not self.loops and not self.joins:
            return 0
        longest, size = measured(data)
        longest, size = max(longest, self.written), size + self.written
        joined = self.joins * (self.joins + 1) // 2 * size // _JOINED  # each copies what those before have made
        return joined + sum(loop.cost(longest * self.growth, size * self.growth, data) for loop in self.loops)


def costs_of(expression: str) -> Costs:
    """What the expression costs."""
    text = plain(expression)
    patterns = max((_pattern_steps(found[0]) for found in TEXT.finditer(expression)), default=0)
    found = list(LOOP.finditer(text))
    spans = [(each, _end(text, each.start(1))) for each in found]
    names = frozenset() if _MADE.search(text) else frozenset(each[2] for each in found)
    joins = sum(operator == "+" and is_costly for operator, is_costly in _operators(text, names))
    loops = tuple(_loop(text, spans, names, patterns, each) for each, end in spans)
    return Costs(loops, (joins + 1) ** (len(loops) + 1), joins, text.count(",") + 1)


def plain(expression: str) -> str:
    """The expression with empty texts, and without comments.

    >>> plain("a == 'x.map(y, y)' // or not")
    'a == ""  '
    """
    return TEXT.sub(lambda found: " " if found[0].startswith("//") else '""', expression)


def measured(data: Any) -> tuple[int, int]:
    """The length of the longest list or object in JSON values, and how many there are, texts by their characters.

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
    """How long a regular expression is with what it counts written out, at the most.

    >>> repeated("[a-z]{1,64}@[a-z]{1,64}"), repeated("(a{50}){50}")
    (151, 27500)
    """
    counts = [max(int(found[1]), int(found[2] or 0), 1) for found in _REPEATED.finditer(pattern)]
    return len(pattern) * prod(counts) if "){" in pattern else len(pattern) + sum(counts)


def _pattern_steps(pattern: str) -> int:
    return _MATCHED + repeated(pattern) * (_WIDE_STEPS if _WIDE.search(pattern) else 3)


def _size_along(data: Any, path: tuple[str, ...]) -> int:
    """How much is copied on the way to a value."""
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
    """Each operator that may go through data, and whether it may go through all of them.

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
    """Where the arguments end that begin behind the next parenthesis."""
    depth = 0
    for place in range(start, len(text)):
        if text[place] in "([{":
            depth += 1
        elif text[place] in ")]}":
            depth -= 1
            if depth == 0:
                return place
    return len(text)

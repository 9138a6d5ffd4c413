"""JSON as nodes with places. Source: RFC 8259."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from gatechart.charts.places import MAX_DEPTH, MAX_NODES, Faults, Node, Scalar, Spot

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,300})(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,4})?")
_WORD: Final = re.compile(r"true|false|null")
_DECODER: Final = json.JSONDecoder()
_WORDS: Final[dict[str, Scalar]] = {"true": True, "false": False, "null": None}


def parse_json(text: str, faults: Faults) -> Node:
    """The value of the text. Keys that occur twice are noted; the first one counts. Raises InvalidChartError."""
    return _Parser(text, faults).document()


class _Parser:
    """A text and how far it has been read."""

    def __init__(self, text: str, faults: Faults) -> None:
        self.text = text
        self.faults = faults
        self.at = 0
        self.size = 0
        self.path: list[str | int] = []
        self.lines = [0, *(found.end() for found in re.finditer("\n", text))]  # where each begins

    def document(self) -> Node:
        """The value, which must be the only one."""
        top = self._value(0)
        if self._peek():
            raise self._stop("something follows the end", "put one chart into one file")
        return top

    def _value(self, depth: int) -> Node:
        self.size += 1
        opening = self._peek()
        line, column = self._place(self.at)
        if depth > MAX_DEPTH:
            raise self._stop(f"it is nested more than {MAX_DEPTH} deep", "flatten the chart")
        if self.size > MAX_NODES:
            raise self._stop(f"it has more than {MAX_NODES} values", "split the chart into several graphs")
        if opening == "{":
            keys: dict[str, tuple[int, int]] = {}
            return Node(dict(self._items(depth, keys)), line, column, keys=keys)
        if opening == "[":
            return Node(tuple(self._elements(depth)), line, column)
        value, text = self._scalar(opening)
        return Node(value, line, column, text)

    def _elements(self, depth: int) -> Iterator[Node]:
        for index, _ in enumerate(self._rounds("]")):
            self.path.append(index)
            yield self._value(depth + 1)
            self.path.pop()

    def _items(self, depth: int, keys: dict[str, tuple[int, int]]) -> Iterator[tuple[str, Node]]:
        for _ in self._rounds("}"):
            if self._peek() != '"':
                raise self._stop("this is no JSON: a key in quotes is missing", "mend the text at this place")
            place = self._place(self.at)
            key = self._string()
            self._expect(":")
            self.path.append(key)
            value = self._value(depth + 1)
            if key in keys:
                self.faults.note_double(Spot(Node(key, *place), tuple(self.path)), keys[key])
            else:
                keys[key] = place
                yield key, value
            self.path.pop()

    def _rounds(self, closing: str) -> Iterator[None]:
        """One round for each part between the brackets, with the commas between them."""
        self.at += 1
        if self._peek() == closing:
            self.at += 1
            return
        while True:
            yield
            if self._peek() == closing:
                self.at += 1
                return
            self._expect(",")

    def _scalar(self, opening: str) -> tuple[Scalar, str]:
        if opening == '"':
            text = self._string()
            return text, text
        if found := _WORD.match(self.text, self.at):
            self.at = found.end()
            return _WORDS[found[0]], found[0]
        if found := _NUMBER.match(self.text, self.at):
            self.at = found.end()
            return json.loads(found[0]), found[0]
        raise self._stop("this is no JSON: a value is missing", "mend the text at this place")

    def _string(self) -> str:
        try:
            text, self.at = _DECODER.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            self.at = error.pos
            raise self._stop(f"this is no JSON: {error.msg}", "mend the text at this place") from error
        return str(text)

    def _peek(self) -> str:
        """The next character that is no space, empty at the end."""
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
        return self.text[self.at : self.at + 1]

    def _expect(self, mark: str) -> None:
        if self._peek() != mark:
            raise self._stop(f"this is no JSON: {mark!r} is missing", "mend the text at this place")
        self.at += 1

    def _place(self, at: int) -> tuple[int, int]:
        line = bisect_right(self.lines, at)
        return line, at - self.lines[line - 1] + 1

    def _stop(self, problem: str, remedy: str) -> Exception:
        return self.faults.stop(*self._place(self.at), problem, remedy, tuple(self.path))

"""Parse a file or a text into nodes with their positions. Hostile input is refused here, before it costs much.

JSON as in RFC 8259; YAML by the core schema of YAML 1.2 (https://yaml.org/spec/1.2.2/#103-core-schema): `on` is a
text, and no text is a date. Features that a chart does not need are refused: other tags, several documents, keys that
are not scalars, and more depth or values than `faults` allows, aliases followed.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from ruamel.yaml.reader import ReaderError

from gatechart.chartfiles.faults import MAX_DEPTH, MAX_NODES, Faults, FileNode, Scalar, Spot

_SPACE: Final = re.compile(r"[ \t\n\r]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,300})(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,4})?")
_JSON_WORD: Final = re.compile(r"true|false|null")
_DECODER: Final = json.JSONDecoder()
_JSON_WORDS: Final[dict[str, Scalar]] = {"true": True, "false": False, "null": None}


def parse_json(text: str, faults: Faults) -> FileNode:
    """Parse JSON. A key that occurs twice is a fault, and the first one counts. Raises InvalidChartError."""
    return _JsonParser(text, faults).document()


class _JsonParser:
    """A JSON text and the position of the parser."""

    def __init__(self, text: str, faults: Faults) -> None:
        self.text = text
        self.faults = faults
        self.at = 0
        self.size = 0
        self.path: list[str | int] = []
        self.lines = [0, *(found.end() for found in re.finditer("\n", text))]  # offset of each line

    def document(self) -> FileNode:
        """Return the value, which must be the only one in the text."""
        top = self._value(0)
        if self._peek():
            raise self._stop("unexpected text after the end", "put one chart into one file")
        return top

    def _value(self, depth: int) -> FileNode:
        self.size += 1
        opening = self._peek()
        line, column = self._position(self.at)
        if depth > MAX_DEPTH:
            raise self._stop(f"it is nested more than {MAX_DEPTH} deep", "flatten the chart")
        if self.size > MAX_NODES:
            raise self._stop(f"it has more than {MAX_NODES} values", "split the chart into several graphs")
        if opening == "{":
            keys: dict[str, tuple[int, int]] = {}
            return FileNode(dict(self._items(depth, keys)), line, column, keys=keys)
        if opening == "[":
            return FileNode(tuple(self._elements(depth)), line, column)
        value, text = self._scalar(opening)
        return FileNode(value, line, column, text)

    def _elements(self, depth: int) -> Iterator[FileNode]:
        for index, _ in enumerate(self._parts("]")):
            self.path.append(index)
            yield self._value(depth + 1)
            self.path.pop()

    def _items(self, depth: int, keys: dict[str, tuple[int, int]]) -> Iterator[tuple[str, FileNode]]:
        for _ in self._parts("}"):
            if self._peek() != '"':
                raise self._stop("invalid JSON: expected a key in quotes", "correct the text here")
            place = self._position(self.at)
            key = self._string()
            self._expect(":")
            self.path.append(key)
            value = self._value(depth + 1)
            if key in keys:
                self.faults.note_double(Spot(FileNode(key, *place), tuple(self.path)), keys[key])
            else:
                keys[key] = place
                yield key, value
            self.path.pop()

    def _parts(self, closing: str) -> Iterator[None]:
        """Yield once for each part between the brackets, and consume the commas between them."""
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
        if match := _JSON_WORD.match(self.text, self.at):
            self.at = match.end()
            return _JSON_WORDS[match[0]], match[0]
        if match := _NUMBER.match(self.text, self.at):
            self.at = match.end()
            return json.loads(match[0]), match[0]
        raise self._stop("invalid JSON: expected a value", "correct the text here")

    def _string(self) -> str:
        try:
            text, self.at = _DECODER.raw_decode(self.text, self.at)
        except json.JSONDecodeError as error:
            self.at = error.pos
            raise self._stop(f"invalid JSON: {error.msg}", "correct the text here") from error
        return str(text)

    def _peek(self) -> str:
        """Return the next character that is not white space, empty at the end."""
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
        return self.text[self.at : self.at + 1]

    def _expect(self, mark: str) -> None:
        if self._peek() != mark:
            raise self._stop(f"invalid JSON: expected {mark!r}", "correct the text here")
        self.at += 1

    def _position(self, at: int) -> tuple[int, int]:
        line = bisect_right(self.lines, at)
        return line, at - self.lines[line - 1] + 1

    def _stop(self, problem: str, remedy: str) -> Exception:
        return self.faults.stop(*self._position(self.at), problem, remedy, tuple(self.path))


_TAGS: Final = (None, "!", *(f"tag:yaml.org,2002:{kind}" for kind in ("str", "map", "seq")))
_MOST_LINES: Final = 50_000
_LONGEST_LINE: Final = 65_536  # characters
_MOST_WORDS: Final = 200_000  # separated by white space
_MOST_ANCHORS: Final = 1_000
_INTEGER: Final = re.compile(r"[-+]?[0-9]+")
_OTHER_BASE: Final = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def parse_yaml(text: str, faults: Faults) -> FileNode:
    """Parse the one document of a YAML text."""
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        raise faults.stop(
            _MOST_LINES, 1, f"it has more than {_MOST_LINES} lines", "leave out what is not part of the chart"
        )
    too_long = next((number for number, line in enumerate(lines, 1) if len(line) > _LONGEST_LINE), None)
    if too_long is not None:
        raise faults.stop(too_long, 1, f"the line has more than {_LONGEST_LINE} characters", "break it")
    if len(text.split()) > _MOST_WORDS:
        raise faults.stop(1, 1, f"it has more than {_MOST_WORDS} words", "leave out what is not part of the chart")
    try:
        return _Composer(text, faults).document()
    except (YAMLError, ReaderError) as error:
        raise _syntax_fault(error, text, faults) from error
    except (ValueError, OverflowError) as error:  # for a `\\U` escape beyond Unicode
        raise faults.stop(1, 1, f"invalid YAML: {error}", "correct the escapes in quoted texts") from error


def scalar_of(text: str) -> Scalar:
    """Return the value of a plain scalar.

    >>> [scalar_of(text) for text in ("on", "yes", "true", "~", "017", "0o17", "1e3", "2020-01-01")]
    ['on', 'yes', True, None, 17, 15, 1000.0, '2020-01-01']
    """
    if text in _WORDS:
        return _WORDS[text]
    if _OTHER_BASE.fullmatch(text) and len(text) < 18:
        return int(text, 0)
    if _INTEGER.fullmatch(text) and len(text) < 20:
        return int(text)
    return float(text.replace(".inf", "inf").replace(".nan", "nan").lower()) if _FLOAT.fullmatch(text) else text


class _Composer:
    """The composer that turns the events of a YAML text into nodes."""

    def __init__(self, text: str, faults: Faults) -> None:
        self.events: Iterator[Any] = iter(YAML(typ="safe", pure=True).parse(text))
        self.faults = faults
        self.anchors: dict[str, tuple[FileNode, int] | None] = {}  # with the size; None while it is open
        self.size = 0
        self.path: list[str | int] = []

    def document(self) -> FileNode:
        """Return the node of the first document, which must be the only one."""
        top = None
        for event in self.events:
            if isinstance(event, DocumentStartEvent):
                if top is not None:
                    raise self._stop(event, "a second document begins here", "put one chart into one file")
                top = self._node(next(self.events), 0)
            elif not isinstance(event, DocumentEndEvent | StreamEndEvent):
                continue
        return top or FileNode(None, 1, 1)

    def _node(self, event: Any, depth: int) -> FileNode:
        if isinstance(event, AliasEvent):
            return self._alias(event)
        before, anchor = self.size, event.anchor
        self._grow(event, 1)
        if anchor:
            self.anchors[anchor] = None
        if len(self.anchors) > _MOST_ANCHORS:
            raise self._stop(event, f"it has more than {_MOST_ANCHORS} anchors", "write out values that occur once")
        if str(event.tag) not in map(str, _TAGS):
            raise self._stop(event, f"unsupported tag {event.tag}", "write plain values without tags")
        if depth > MAX_DEPTH:
            raise self._stop(event, f"it is nested more than {MAX_DEPTH} deep", "flatten the chart")
        node = self._content(event, depth)
        if anchor:
            self.anchors[anchor] = (node, self.size - before)
        return node

    def _content(self, event: Any, depth: int) -> FileNode:
        line, column = _position(event)
        if isinstance(event, ScalarEvent):
            plain = event.implicit[0] and event.tag is None
            return FileNode(scalar_of(event.value) if plain else event.value, line, column, event.value)
        if isinstance(event, SequenceStartEvent):
            return FileNode(tuple(self._elements(depth)), line, column)
        keys: dict[str, tuple[int, int]] = {}
        return FileNode(dict(self._items(depth, keys)), line, column, keys=keys)

    def _elements(self, depth: int) -> Iterator[FileNode]:
        index = 0
        while not isinstance(event := next(self.events), SequenceEndEvent):
            self.path.append(index)
            yield self._node(event, depth + 1)
            self.path.pop()
            index += 1

    def _items(self, depth: int, keys: dict[str, tuple[int, int]]) -> Iterator[tuple[str, FileNode]]:
        while not isinstance(event := next(self.events), MappingEndEvent):
            key = self._node(event, depth + 1)
            if isinstance(event, MappingStartEvent | SequenceStartEvent) or isinstance(key.value, tuple | dict):
                raise self._stop(event, "a key must be a text", "write it in quotes")
            self.path.append(key.text)
            value = self._node(next(self.events), depth + 1)
            if key.text in keys:
                spot = Spot(FileNode(key.text, *_position(event)), tuple(self.path))
                self.faults.note_double(spot, keys[key.text])
            else:
                keys[key.text] = (key.line, key.column)
                yield key.text, value
            self.path.pop()

    def _alias(self, event: Any) -> FileNode:
        if event.anchor not in self.anchors:
            raise self._stop(event, f"unknown anchor {event.anchor!r}", f"define it first with &{event.anchor}")
        anchored = self.anchors[event.anchor]
        if anchored is None:
            raise self._stop(event, f"the alias {event.anchor!r} contains itself", "write the values out")
        node, size = anchored
        self._grow(event, size)
        return node

    def _grow(self, event: Any, size: int) -> None:
        self.size += size
        if self.size > MAX_NODES:
            problem = f"it has more than {MAX_NODES} values, aliases followed"
            raise self._stop(event, problem, "split the chart into several graphs")

    def _stop(self, event: Any, problem: str, remedy: str) -> Exception:
        return self.faults.stop(*_position(event), problem, remedy, tuple(self.path))


def _position(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _syntax_fault(error: Exception, text: str, faults: Faults) -> Exception:
    line, column, problem = 1, 1, str(error).splitlines()[0]
    if isinstance(error, MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        problem = error.problem or error.context or problem
    elif isinstance(error, ReaderError):
        before = text[: error.position]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        problem = f"unexpected character {error.character!r}"
    return faults.stop(line, column, f"invalid YAML: {problem}", "correct the text here")


Source: TypeAlias = str | bytes | os.PathLike[str]

MAX_BYTES: Final = 1 << 20
_JSON: Final = ".json"


def read(source: Source) -> tuple[FileNode, Faults]:
    """Read the top node of a chart, and the collection for its faults.

    source: a path, or the chart itself: bytes, or a text with a line break or a brace at its beginning.
    Raises InvalidChartError if nothing can be understood.
    """
    if isinstance(source, bytes):
        return _parse(source, Faults("<text>"), suffix="")
    if isinstance(source, str) and (source.lstrip().startswith("{") or "\n" in source):
        return _parse(source.encode("utf-8", "surrogatepass"), Faults("<text>"), suffix="")
    path = Path(source)
    return _parse(_bytes_of(path), Faults(str(path)), suffix=path.suffix.lower())


def _bytes_of(path: Path) -> bytes:
    """Read at most one byte more than the limit, which is enough to refuse the file."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        problem = f"it cannot be read ({getattr(error, 'strerror', None) or error})"
        raise Faults(str(path)).stop(1, 1, problem, "name a file that exists and is readable") from error


def _parse(content: bytes, faults: Faults, suffix: str) -> tuple[FileNode, Faults]:
    text = _text_of(content, faults)
    if suffix == _JSON or (not suffix and text.lstrip().startswith("{") and _looks_like_json(text)):
        return parse_json(text, faults), faults
    return parse_yaml(text, faults), faults


def _looks_like_json(text: str) -> bool:
    """Return whether the first key is quoted, as JSON requires; keys in YAML's braces mostly are not."""
    return text.lstrip()[1:].lstrip()[:1] in ('"', "}", "")


def _text_of(content: bytes, faults: Faults) -> str:
    if len(content) > MAX_BYTES:
        raise faults.stop(
            1, 1, f"it has more than {MAX_BYTES} bytes", "split the chart, or leave out what is not part of it"
        )
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise faults.stop(line, column, "the text is not UTF-8", "save it as UTF-8") from error
    return text.removeprefix("\ufeff")

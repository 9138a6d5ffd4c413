"""XML as a tree of elements with their lines. No document can make this read, fetch or expand anything.

Source: W3C XML 1.0 and Namespaces in XML 1.0, by the standard library's expat. A document type declaration is refused,
and with it all entities; the package defusedxml uses the same defense against every known attack.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from xml.parsers import expat

from gatechart.contrib.errors import NotCarriedError
from gatechart.errors.definition import Fault

NAMESPACE: Final = "http://www.w3.org/2005/07/scxml"
MOST_BYTES: Final = 1 << 20
MOST_LEVELS: Final = 100
MOST_ELEMENTS: Final = 20_000


@dataclass(slots=True, eq=False)
class Element:
    """An XML element. Names of namespaces other than SCXML have the prefix `{namespace}`."""

    name: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""  # all text directly inside

    def __str__(self) -> str:
        return f"<{self.name}> in line {self.line}"

    def named(self, *names: str) -> tuple[Element, ...]:
        """Return the children with these names."""
        return tuple(child for child in self.children if child.name in names)

    def walk(self) -> Iterator[Element]:
        """Yield the element and its descendants, in document order."""
        yield self
        for child in self.children:
            yield from child.walk()


def parse(document: str | bytes | Path) -> Element:
    """Parse a document, or the file at a path, and return its root element. Raises NotCarriedError."""
    content = _bytes_of(document) if isinstance(document, Path) else document
    if len(content) > MOST_BYTES:
        _refuse("document", f"it is {len(content)} long", f"keep it under {MOST_BYTES} bytes")
    building = _TreeBuilder()
    try:
        building.parser.Parse(content, True)
    except expat.ExpatError as error:
        _refuse(f"line {error.lineno}", expat.ErrorString(error.code), "fix the XML")
    except (ValueError, LookupError, TypeError) as error:  # of Python's codec for the declared encoding, or of the text
        _refuse(f"line {building.parser.CurrentLineNumber}", f"its text cannot be decoded: {error}", "save it as UTF-8")
    return building.root


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        fault = Fault(str(path), f"it cannot be read ({error.strerror})", "name a readable file")
        raise NotCarriedError("the document", (fault,)) from error


class _TreeBuilder:
    """Builds the tree during parsing."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._doctype
        self._open: list[Element] = []
        self._count = 0

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        line = self.parser.CurrentLineNumber
        if len(self._open) >= MOST_LEVELS:
            _refuse(f"line {line}", f"elements are nested deeper than {MOST_LEVELS}", "flatten it")
        self._count += 1
        if self._count > MOST_ELEMENTS:
            _refuse(f"line {line}", f"there are more than {MOST_ELEMENTS:,} elements", "divide the document")
        plain = {_plain(key): value for key, value in attributes.items()}
        element = Element(_plain(name), plain, line)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, _: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        self._open[-1].text += text

    def _doctype(self, *_: object) -> None:
        place = f"line {self.parser.CurrentLineNumber}"
        _refuse(place, "a document type declaration can hide entities", "drop <!DOCTYPE ...>")


def _plain(name: str) -> str:
    namespace, _, local = name.rpartition(" ")
    return local if namespace in ("", NAMESPACE) else f"{{{namespace}}}{local}"


def _refuse(place: str, problem: str, remedy: str) -> None:
    raise NotCarriedError("the document", (Fault(place, problem, remedy),))

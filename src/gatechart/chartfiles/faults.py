"""Values of a file with their positions, typed access to them, and the faults that this finds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar

from gatechart.chartfiles import former_keys
from gatechart.chartfiles.words import in_keys
from gatechart.errors.definition import FileFault, InvalidChartError
from gatechart.errors.root import suggestion
from gatechart.values.delays import Retry
from gatechart.values.names import is_number

Scalar: TypeAlias = str | int | float | bool | None
Path: TypeAlias = tuple[str | int, ...]

MAX_DEPTH: Final = 128  # mappings and lists within each other
MAX_FAULTS: Final = 500  # of a file; more would not help its author
MAX_NODES: Final = 20_000  # values of a file, keys of YAML among them, aliases followed


_TEXT: Final = "write a text"
_RETRY: Final = "write `{attempts: 3, first_s: 1, factor: 2, most_s: 60}`"

RetryT = TypeVar("RetryT", bound=Retry)


@dataclass(frozen=True, slots=True)
class FileNode:
    """A value of a file: a scalar, a list, or a mapping with text keys."""

    value: Scalar | tuple[FileNode, ...] | Mapping[str, FileNode]
    line: int  # from 1
    column: int  # from 1
    text: str = ""  # a scalar as it was written
    keys: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # line and column of a mapping's keys


@dataclass(frozen=True, slots=True)
class Spot:
    """A node together with the path of keys that leads to it."""

    node: FileNode
    path: Path = ()

    @property
    def value(self) -> Any:
        """The node's value, its parts as nodes."""
        return self.node.value

    @property
    def is_mapping(self) -> bool:
        """Whether it holds values under keys."""
        return isinstance(self.node.value, Mapping)

    @property
    def is_list(self) -> bool:
        """Whether it holds values in a row."""
        return isinstance(self.node.value, tuple)

    def items(self) -> Iterator[tuple[str, Spot]]:
        """Yield the keys of a mapping with their values, in the order of the file; nothing if it is not a mapping."""
        if isinstance(self.node.value, Mapping):
            for key, node in self.node.value.items():
                yield key, Spot(node, (*self.path, key))

    def elements(self) -> Iterator[Spot]:
        """Yield the values of a list; if it is not a list, the value itself."""
        if isinstance(self.node.value, tuple):
            for index, node in enumerate(self.node.value):
                yield Spot(node, (*self.path, index))
        else:
            yield self

    def get(self, key: str) -> Spot | None:
        """Return the value under a key of a mapping."""
        return next((spot for name, spot in self.items() if name == key), None)

    def key(self, key: str) -> Spot:
        """Return the position of a key of a mapping rather than of its value."""
        line, column = self.node.keys.get(key, (self.node.line, self.node.column))
        return Spot(FileNode(key, line, column, key), (*self.path, key))

    def texts(self) -> Iterator[Spot]:
        """Yield all texts inside, or the value itself if it is one."""
        if self.is_mapping or self.is_list:
            parts = (spot for _, spot in self.items()) if self.is_mapping else self.elements()
            for part in parts:
                yield from part.texts()
        elif isinstance(self.value, str):
            yield self

    def plain(self) -> Any:
        """Return the value with all its parts as JSON values."""
        return _plain(self.node)


def _plain(node: FileNode) -> Any:
    if isinstance(node.value, Mapping):
        return {key: _plain(each) for key, each in node.value.items()}
    if isinstance(node.value, tuple):
        return [_plain(each) for each in node.value]
    return node.value


class Faults:
    """The faults of one file, while they are collected."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[FileFault] = []

    def add(self, spot: Spot, problem: str, remedy: str) -> None:
        """Add a fault at a position. Raises InvalidChartError if there are too many to continue."""
        self.found.append(FileFault(spot.node.line, spot.node.column, spot.path, problem, remedy))
        if len(self.found) == MAX_FAULTS:
            raise self.error()

    def touches(self, spot: Spot) -> bool:
        """Return whether a fault was found at the position or inside it."""
        return any(fault.path[: len(spot.path)] == spot.path for fault in self.found)

    def check(self) -> None:
        """Raise InvalidChartError if there are any."""
        if self.found:
            raise self.error()

    def error(self) -> InvalidChartError:
        """Return the error with all faults, in the order of the file."""
        ordered = sorted(dict.fromkeys(self.found), key=lambda fault: (fault.line, fault.column))
        return InvalidChartError(self.file, tuple(ordered))

    def note_double(self, key: Spot, first: tuple[int, int]) -> None:
        """Add the fault of a key that occurs twice in a mapping. first: line and column of the key that counts."""
        self.add(key, f"the key {key.value!r} occurs twice", f"keep one of them; the first is in line {first[0]}")

    def stop(self, line: int, column: int, problem: str, remedy: str, path: Path = ()) -> InvalidChartError:
        """Return the error that stops the parser, because nothing after this position can be parsed."""
        return InvalidChartError(self.file, (*self.found, FileFault(line, column, path, problem, remedy)))


Keys: TypeAlias = Mapping[str, Mapping[str, str]]
"""The keys of each part of a chart, with the kinds of their values."""


class Fields:
    """The values under a mapping's keys."""

    def __init__(self, spot: Spot, faults: Faults, known: Mapping[str, str] | None = None) -> None:
        """Add a fault if the spot is not a mapping, and one for each unknown key.

        known: the keys, each with a kind from `schema`; None allows any key.
        """
        self.spot = spot
        self.faults = faults
        if not spot.is_mapping:
            faults.add(spot, f"expected keys with values, found {kind_of(spot)}", "write `key: value`")
        for key in (key for key, _ in spot.items() if known is not None and key not in known):
            names = tuple(known or ())
            faults.add(spot.key(key), f"unknown key {key!r}", former_keys.remedy(key, names) or suggestion(key, names))

    def text(self, key: str, default: str = "") -> str:
        """Return a text; a number counts as it was written."""
        spot = self.spot.get(key)
        return default if spot is None else text_of(spot, self.faults, may_be_empty=True)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return one text or a list of them."""
        spot = self.spot.get(key)
        return () if spot is None else tuple(text_of(element, self.faults) for element in spot.elements())

    def flag(self, key: str) -> bool:
        """Return true or false; false if it is missing."""
        spot = self.spot.get(key)
        if spot is not None and not isinstance(spot.value, bool):
            self.faults.add(spot, f"expected true or false, found {kind_of(spot)}", "write true or false")
        return spot is not None and spot.value is True

    def number(self, key: str) -> float | None:
        """Return a number as it was written; None if it is missing."""
        spot = self.spot.get(key)
        if spot is None:
            return None
        value = spot.value
        if not is_number(value) or value < 0:
            self.faults.add(spot, f"expected a number, found {kind_of(spot)}", "write a number, 0 or more")
            return None
        return value

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        """Return one of the choices."""
        text = self.text(key, default)
        if text not in choices:
            spot = self.spot.get(key) or self.spot
            self.faults.add(spot, f"unknown value {text!r}", suggestion(text, choices))
            return default
        return text

    def values(self, key: str) -> Iterator[Spot]:
        """Return the values of a list, or the one value in its place; nothing if it is missing."""
        spot = self.spot.get(key)
        return iter(()) if spot is None else spot.elements()

    def needs(self, key: str, remedy: str) -> Spot | None:
        """Return the value of a required key; None after a fault, which is added."""
        value = self.spot.get(key)
        if value is None and self.spot.is_mapping:
            self.faults.add(self.spot, f"{key!r} is missing", remedy)
        return value


def text_of(spot: Spot, faults: Faults, *, may_be_empty: bool = False) -> str:
    """Return a text; a number counts as it was written. Without one the result is empty, and a fault is added."""
    if spot.value == "" and not may_be_empty:
        faults.add(spot, "the text is empty", _TEXT)
    if spot.is_mapping or spot.is_list or isinstance(spot.value, bool | None):
        faults.add(spot, f"expected a text, found {kind_of(spot)}", _TEXT)
        return ""
    return spot.node.text


def kind_of(spot: Spot) -> str:
    """Describe the value at the position, for the text of a fault."""
    if spot.is_mapping:
        return "a mapping"
    if spot.is_list:
        return "a list"
    return "nothing" if spot.value is None else repr(spot.value)[:80]


def retry_of(kind: type[RetryT], spot: Spot, faults: Faults, known: Mapping[str, str]) -> RetryT | None:
    """Return a retry, with defaults for missing keys; None after a fault, which is added.

    known: its allowed keys, see `Fields`.
    """
    if spot.value is None:
        return kind()
    fields = Fields(spot, faults, known)
    given: dict[str, Any] = {key: fields.number(key) for key in known if spot.get(key) is not None}
    if None in given.values():
        return None
    try:
        retry = kind(**given)
    except ValueError as error:
        faults.add(spot, in_keys(str(error)), _RETRY)
        return None
    if isinstance(retry.attempts, int):
        return retry
    faults.add(spot, f"{retry.attempts} is not a number of attempts", _RETRY)
    return None

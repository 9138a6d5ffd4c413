"""What was read from a file, each value with the place where it stands, and the faults found on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from gatechart.errors import FileFault, InvalidChartError

Scalar: TypeAlias = str | int | float | bool | None
Path: TypeAlias = tuple[str | int, ...]

MAX_DEPTH: Final = 128  # mappings and lists within each other
MAX_FAULTS: Final = 500  # of a file; whoever mends that many reads it again anyway
MAX_NODES: Final = 20_000  # values of a file, keys of YAML among them, aliases followed


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a file: a scalar, a list, or a mapping with text keys."""

    value: Scalar | tuple[Node, ...] | Mapping[str, Node]
    line: int  # from 1
    column: int  # from 1
    text: str = ""  # a scalar as it was written
    keys: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # line and column of a mapping's keys


@dataclass(frozen=True, slots=True)
class Spot:
    """A node together with the path of keys that leads to it."""

    node: Node
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
        return Spot(Node(key, line, column, key), (*self.path, key))

    def plain(self) -> Any:
        """Return the value with all its parts as JSON values."""
        return _plain(self.node)


def _plain(node: Node) -> Any:
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
        """Add a fault at a position. Raises InvalidChartError if there are too many to go on."""
        self.found.append(FileFault(spot.node.line, spot.node.column, spot.path, problem, remedy))
        if len(self.found) == MAX_FAULTS:
            raise self.error()

    def touches(self, spot: Spot) -> bool:
        """Whether a fault was found at the position or inside it."""
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
        """Add the fault of a key that occurs twice in a mapping. first: line and column of the one that counts."""
        self.add(key, f"the key {key.value!r} occurs twice", f"keep one of them; the first is in line {first[0]}")

    def stop(self, line: int, column: int, problem: str, remedy: str, path: Path = ()) -> InvalidChartError:
        """Return the error that ends the reading, because nothing after this position can be understood."""
        return InvalidChartError(self.file, (*self.found, FileFault(line, column, path, problem, remedy)))

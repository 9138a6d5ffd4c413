"""Sample values for the fields of errors, and all classes of errors without subclasses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gatechart import errors
from gatechart.errors import Fault, FileFault, GatechartError
from tests.support import NOW

SAMPLES: dict[str, Any] = {
    "str": "a text",
    "str | None": "a text or nothing",
    "bool": False,
    "bool | None": None,
    "int": 7,
    "int | None": 7,
    "float": 2.5,
    "tuple[str, ...]": ("one", "two"),
    "tuple[Fault, ...]": (Fault("state 'A'", "it is odd", "even it out"),),
    "tuple[FileFault, ...]": (FileFault(1, 2, ("states", "A"), "it is odd", "even it out"),),
    "datetime | None": NOW,
}


def subclasses(kind: type) -> Iterator[type]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


LEAVES = [
    each
    for each in dict.fromkeys(subclasses(GatechartError))
    if each.__module__.startswith(errors.__name__) and not each.__subclasses__()
]

"""The depth of JSON values, measured without recursion: its limit differs between versions of Python."""

from __future__ import annotations

from collections.abc import Iterable


def depth_exceeds(value: object, most: int, most_values: int | None = None) -> bool:
    """Return whether objects and arrays in a JSON value are nested deeper than `most`.

    most_values: how many values it may have in all, if that counts, too.

    >>> depth_exceeds([[1]], 1), depth_exceeds([[1]], 2)
    (True, False)
    """
    level: list[object] = [value]
    number = 0
    for _ in range(most):
        inner: list[object] = []
        for container in level:
            inner.extend(_contents(container))
            if most_values is not None and number + len(inner) > most_values:
                return True
        number += len(inner)
        level = inner
        if not level:
            return False
    return any(isinstance(each, dict | list) for each in level)


def _contents(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()

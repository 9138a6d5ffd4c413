"""Numbers as JSON Schema has them: 5.0 is an integer there, and for pydantic it is none where it is strict."""

from __future__ import annotations

from typing import Any


def whole_numbers(value: Any) -> Any:
    """The JSON value, with integers in place of the numbers that are ones.

    >>> whole_numbers({"a": [5.0, 5.5, True, "5.0", 1e400]})
    {'a': [5, 5.5, True, '5.0', inf]}
    """
    match value:
        case dict():
            return {name: whole_numbers(each) for name, each in value.items()}
        case list():
            return [whole_numbers(each) for each in value]
        case float() if value.is_integer():
            return int(value)
    return value

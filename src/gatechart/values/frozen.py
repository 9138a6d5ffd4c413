"""Frozen values with a fast constructor: each turn makes a handful, which would cost more than its transitions."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from types import FunctionType
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(kind: type[T]) -> type[T]:
    """Make the class a frozen dataclass with slots that is built in less than half the usual time.

    Dataclasses call `object.__setattr__` with a name for each field; this calls the setter of the slot directly.
    Defaults must be plain values: no factories, and every field is an argument.
    """
    made = dataclass(frozen=True, slots=True)(kind)
    setattr(made, "__init__", _initializer(made))  # noqa: B010  a plain assignment fails type checking
    return made


def _initializer(kind: type[Any]) -> FunctionType:
    names = [each.name for each in fields(kind)]
    setters: dict[str, Any] = {f"_set_{name}": getattr(kind, name).__set__ for name in names}
    defaults = tuple(each.default for each in fields(kind) if each.default is not MISSING)
    body = "".join(f"\n    _set_{name}(self, {name})" for name in names)
    exec(f"def __init__(self, {', '.join(names)}):{body}", setters)  # as dataclasses do
    initializer: FunctionType = setters["__init__"]
    initializer.__defaults__ = defaults
    initializer.__annotations__ = kind.__init__.__annotations__
    initializer.__qualname__ = f"{kind.__qualname__}.__init__"
    initializer.__module__ = kind.__module__
    return initializer

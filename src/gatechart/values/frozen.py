"""Frozen values, fast to build and to change: each turn makes a handful, which would cost more than its transitions."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from types import FunctionType
from typing import Any, Final, TypeVar, dataclass_transform

T = TypeVar("T")

_SAME: Final = object()  # in place of a field that keeps its content


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(kind: type[T]) -> type[T]:
    """Make the class a frozen dataclass with slots that is built in less than half the usual time.

    Dataclasses call `object.__setattr__` with a name for each field; this calls the setter of the slot directly.
    Defaults must be plain values: no factories, and every field is an argument.
    """
    made = dataclass(init=False, frozen=True, slots=True)(kind)
    for method in _methods(made):
        setattr(made, method.__name__, method)
    return made


def replaced(original: T, **changes: Any) -> T:
    """Return the value with other contents of some fields, as `dataclasses.replace` does, in a third of the time.

    original: an instance of a class that `value` made.
    """
    changed: T = type(original).__replace__(original, **changes)  # type: ignore[attr-defined]
    return changed


def _methods(kind: type[Any]) -> tuple[FunctionType, FunctionType]:
    """Compile `__init__` and `__replace__` from their source, as dataclasses do, but both at once: that takes half."""
    names = [each.name for each in fields(kind)]
    setting = "".join(f"    _set_{name}(self, {name})\n" for name in names)
    given = ", ".join(f"{name}=_SAME" for name in names)
    contents = ", ".join(f"self.{name} if {name} is _SAME else {name}" for name in names)
    source = (
        f"def __init__(self, {', '.join(names)}):\n{setting}"
        f"def __replace__(self, *, {given}):\n    return _kind({contents})\n"
    )
    known: dict[str, Any] = {f"_set_{name}": getattr(kind, name).__set__ for name in names}
    known |= {"_kind": kind, "_SAME": _SAME}
    exec(source, known)
    initializer: FunctionType = known["__init__"]
    initializer.__defaults__ = tuple(each.default for each in fields(kind) if each.default is not MISSING)
    initializer.__annotations__ = {each.name: each.type for each in fields(kind)} | {"return": None}
    methods = initializer, known["__replace__"]
    for method in methods:
        method.__qualname__ = f"{kind.__qualname__}.{method.__name__}"
        method.__module__ = kind.__module__
    return methods

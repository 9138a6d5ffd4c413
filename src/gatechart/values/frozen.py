"""Frozen values, fast to build and to change: each turn makes a handful, which would cost more than its transitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from types import FunctionType
from typing import Any, Final, TypeVar, dataclass_transform

T = TypeVar("T")

_SAME: Final = object()  # in place of a field that keeps its content

_MANY: Final = 8  # fields from which on it is quicker to fill a value while it is open


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(kind: type[T]) -> type[T]:
    """Make the class a frozen dataclass with slots that is built in less than half the usual time.

    Dataclasses call `object.__setattr__` with a name for each field; this calls the setter of the slot directly. They
    compile each method by itself, which is most of what an import takes; this compiles all of them at once.
    Defaults must be plain values: no factories, and every field is an argument. A `__repr__` of the class's own stays.
    """
    made = dataclass(init=False, repr=False, eq=False, slots=True)(kind)
    for method in _compiled(made):
        setattr(made, method.__name__, method)
    for name in _COMMON.keys() - vars(kind).keys():
        setattr(made, name, _COMMON[name])
    return made


def replaced(original: T, **changes: Any) -> T:
    """Return the value with other contents of some fields, as `dataclasses.replace` does, in a third of the time.

    original: an instance of a class that `value` made.
    """
    changed: T = type(original).__replace__(original, **changes)  # type: ignore[attr-defined]
    return changed


def fill(built: object, **contents: object) -> None:
    """Set fields of a frozen value in its own `__init__` or `__post_init__`, which alone may do so."""
    for name, content in contents.items():
        object.__setattr__(built, name, content)


class Sparse:
    """Has pydantic write a field that is a dataclass without what equals its defaults: `Annotated[Trail, Sparse()]`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return the schema of the dataclass with this difference. As data, because pydantic is not imported here."""
        defaults = {each.name: each.default for each in fields(source)}

        def written(held: Any) -> dict[str, Any]:
            told = {name: getattr(held, name) for name in defaults}
            return {name: content for name, content in told.items() if content != defaults[name]}

        writer = {"type": "function-plain", "function": written, "return_schema": {"type": "dict"}}
        return handler(source) | {"serialization": writer}


def _compiled(kind: type[Any]) -> tuple[FunctionType, ...]:
    """Compile the methods that name the fields from their source, as dataclasses do, but all at once."""
    names = [each.name for each in fields(kind)]
    compared = [each.name for each in fields(kind) if each.compare]
    # A class that inherits slots would inherit from its base that it is frozen, too.
    opens = len(names) >= _MANY and kind.__bases__ == (object,)
    setting = _setting_as_open(names) if opens else _setting(names)
    given = ", ".join(f"{name}=_SAME" for name in names)
    contents = ", ".join(f"self.{name} if {name} is _SAME else {name}" for name in names)
    own, others = (f"({''.join(f'{whose}.{name}, ' for name in compared)})" for whose in ("self", "other"))
    source = (
        f"def __init__(self, {', '.join(names)}):\n{setting}"
        f"def __replace__(self, *, {given}):\n    return _kind({contents})\n"
        f"def __eq__(self, other):\n"
        f"    return {own} == {others} if other.__class__ is self.__class__ else NotImplemented\n"
        f"def __hash__(self):\n    return hash({own})\n"
    )
    known: dict[str, Any] = {f"_set_{name}": getattr(kind, name).__set__ for name in names}
    known |= {"_kind": kind, "_SAME": _SAME, "_set": object.__setattr__}
    if opens:
        known["_open"] = type(kind.__name__, (), {"__slots__": names})
    exec(source, known)
    initializer: FunctionType = known["__init__"]
    initializer.__defaults__ = tuple(each.default for each in fields(kind) if each.default is not MISSING)
    initializer.__annotations__ = {each.name: each.type for each in fields(kind)} | {"return": None}
    methods = initializer, known["__replace__"], known["__eq__"], known["__hash__"]
    for method in methods:
        method.__qualname__ = f"{kind.__qualname__}.{method.__name__}"
        method.__module__ = kind.__module__
    return methods


def _setting(names: Sequence[str]) -> str:
    return "".join(f"    _set_{name}(self, {name})\n" for name in names)


def _setting_as_open(names: Sequence[str]) -> str:
    """Return lines that fill the slots while the value is of another class with the same slots, which is not frozen.

    With many fields that takes half the time: a plain assignment to a slot costs nearly nothing.
    """
    filled = "".join(f"    self.{name} = {name}\n" for name in names)
    return f"    _own = self.__class__\n    _set(self, '__class__', _open)\n{filled}    self.__class__ = _own\n"


def _shown(self: Any) -> str:
    contents = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({contents})"


def _refuse(self: Any, name: str, *_content: Any) -> None:
    raise FrozenInstanceError(f"{type(self).__qualname__} is frozen: {name!r} can be neither set nor deleted")


def _contents(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__match_args__]


def _restore(self: Any, contents: list[Any]) -> None:
    self.__init__(*contents)


_COMMON: Final = {
    "__repr__": _shown,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__getstate__": _contents,
    "__setstate__": _restore,
}
"""Methods that look up the fields by themselves."""

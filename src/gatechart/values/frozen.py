"""Frozen values, fast to build and to change: each turn makes a handful, which would cost more than its transitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from types import FunctionType
from typing import Any, Final, ParamSpec, TypeVar, cast, dataclass_transform

T = TypeVar("T")
P = ParamSpec("P")

_SAME: Final = object()  # in place of a field that keeps its content

_PLAIN: Final = ("__init__", "__new__", "__setattr__", "__delattr__")
_OPEN: Final[dict[str, Any]] = {"__slots__": (), **{name: vars(object)[name] for name in _PLAIN}}

_MANY: Final = 8  # fields from which on a value is filled while it is open; classes below it must add no slots


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(kind: type[T]) -> type[T]:
    """Make the class a frozen dataclass with slots that is built in less than half the usual time.

    Dataclasses call `object.__setattr__` with a name for each field; this calls the setter of the slot directly. They
    compile every method, which is most of what an import takes; this compiles only the initializer.
    Defaults must be plain values: no factories, and every field is an argument. A `__repr__` of the class's own stays.
    """
    made = dataclass(init=False, repr=False, eq=False, slots=True)(kind)
    for method in (_initializer(made), *_comparisons(made)):
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


def maker(kind: Callable[P, T]) -> Callable[P, T]:
    """Return a function that builds what the class does, in two thirds of the time: for values that every turn makes.

    kind: a class that `value` made. A plain function is called without the detour of a class's call. This one fills an
    object of a class below, which is not frozen, and gives it its own class at the end.
    """
    made_of = cast("type[Any]", kind)
    names = [each.name for each in fields(made_of)]
    filling = "".join(f"    _made.{name} = {name}\n" for name in names)
    source = (
        f"def make({', '.join(names)}):\n    _made = _open()\n{filling}    _made.__class__ = _kind\n    return _made"
    )
    make = _compiled(made_of, source, {"_open": _opened(made_of), "_kind": kind})
    make.__defaults__ = _defaults(made_of)
    return cast("Callable[P, T]", make)


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


def _initializer(kind: type[Any]) -> FunctionType:
    names = [each.name for each in fields(kind)]
    opens = len(names) >= _MANY and kind.__bases__ == (object,)
    setting = _setting_as_open(names) if opens else _setting(names)
    known: dict[str, Any] = {f"_set_{name}": getattr(kind, name).__set__ for name in names}
    if opens:
        known |= {"_open": _opened(kind), "_set_class": object.__dict__["__class__"].__set__}
    made = _compiled(kind, f"def __init__(self, {', '.join(names)}):\n{setting}", known)
    made.__defaults__ = _defaults(kind)
    made.__annotations__ = {each.name: each.type for each in fields(kind)} | {"return": None}
    return made


def _opened(kind: type[Any]) -> type[Any]:
    """Return a class below the value's whose objects are not frozen, and are made without being filled."""
    return type(kind.__name__, (kind,), _OPEN)


def _defaults(kind: type[Any]) -> tuple[Any, ...]:
    return tuple(each.default for each in fields(kind) if each.default is not MISSING)


def _replacer(kind: type[Any]) -> FunctionType:
    names = [each.name for each in fields(kind)]
    given = "".join(f", {name}=_SAME" for name in names)
    contents = ", ".join(f"self.{name} if {name} is _SAME else {name}" for name in names)
    source = f"def __replace__(self, *{given}):\n    return _make({contents})\n"
    return _compiled(kind, source, {"_make": maker(kind), "_SAME": _SAME})


def _comparisons(kind: type[Any]) -> tuple[FunctionType, FunctionType]:
    compared = [each.name for each in fields(kind) if each.compare]
    contents: Callable[[Any], Any] = attrgetter(*compared) if compared else lambda _self: ()

    def __eq__(self: Any, other: Any) -> bool:  # noqa: N807
        return contents(self) == contents(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(contents(self))

    return _named(kind, __eq__), _named(kind, __hash__)


def _compiled(kind: type[Any], source: str, known: dict[str, Any]) -> FunctionType:
    """Compile a method that names the fields from its source, as dataclasses do."""
    made: dict[str, Any] = {}
    exec(source, known, made)
    (method,) = made.values()
    return _named(kind, method)


def _named(kind: type[Any], method: Any) -> FunctionType:
    method.__qualname__ = f"{kind.__qualname__}.{method.__name__}"
    method.__module__ = kind.__module__
    named: FunctionType = method
    return named


def _setting(names: Sequence[str]) -> str:
    return "".join(f"    _set_{name}(self, {name})\n" for name in names)


def _setting_as_open(names: Sequence[str]) -> str:
    """Return lines that fill the slots while the value is of a class below its own, which is not frozen.

    With eight fields that takes half the time: a plain assignment to a slot costs nearly nothing.
    """
    filled = "".join(f"    self.{name} = {name}\n" for name in names)
    return f"    _own = self.__class__\n    _set_class(self, _open)\n{filled}    self.__class__ = _own\n"


def _shown(self: Any) -> str:
    contents = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({contents})"


def _replace_first(self: Any, **changes: Any) -> Any:
    """Compile the method when it is first used, which most kinds of values never do."""
    type(self).__replace__ = method = _replacer(type(self))
    return method(self, **changes)


def _refuse(self: Any, name: str, *_content: Any) -> None:
    raise FrozenInstanceError(f"{type(self).__qualname__} is frozen: {name!r} can be neither set nor deleted")


def _contents(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__match_args__]


def _restore(self: Any, contents: list[Any]) -> None:
    self.__init__(*contents)


_COMMON: Final = {
    "__repr__": _shown,
    "__replace__": _replace_first,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__getstate__": _contents,
    "__setstate__": _restore,
}
"""Methods that look up the fields by themselves."""

"""Frozen values that are fast to build and to change.

Each turn builds a handful; as plain dataclasses, they would cost more than its transitions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from types import FunctionType
from typing import Any, Final, ParamSpec, TypeVar, cast, dataclass_transform

T = TypeVar("T")
P = ParamSpec("P")

_SAME: Final = object()  # marks a field that keeps its content

_PLAIN: Final = ("__init__", "__new__", "__setattr__", "__delattr__")
_OPEN: Final[dict[str, Any]] = {"__slots__": (), **{name: vars(object)[name] for name in _PLAIN}}

_MANY: Final = 8  # from this many fields on, values are filled before they are frozen; their subclasses add no slots


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: type[T]) -> type[T]:
    """Turn the class into a frozen dataclass with slots whose instances are built in less than half the usual time.

    Dataclasses call `object.__setattr__` with a name for each field; this calls the setter of the slot directly. They
    compile every method, the largest part of an import; this compiles only the initializer. Defaults must be plain
    values: no factories, and every field is an argument. A `__repr__` defined in the class is kept.
    """
    frozen = dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    for method in (_initializer(frozen), *_comparisons(frozen)):
        setattr(frozen, method.__name__, method)
    for name in _COMMON.keys() - vars(cls).keys():
        setattr(frozen, name, _COMMON[name])
    return frozen


def replaced(original: T, **changes: Any) -> T:
    """Return the value with some fields replaced, as `dataclasses.replace` does, in a third of the time.

    original: an instance of a class decorated with `value`.
    """
    changed: T = type(original).__replace__(original, **changes)  # type: ignore[attr-defined]
    return changed


def maker(cls: Callable[P, T]) -> Callable[P, T]:
    """Return a function that builds instances in two thirds of the time, for values that every turn builds.

    cls: a class decorated with `value`. A plain function avoids the overhead of calling a class. It fills an object of
    an unfrozen subclass, and then sets the object's class to the original.
    """
    value_class = cast("type[Any]", cls)
    names = [item.name for item in fields(value_class)]
    filling = "".join(f"    _made.{name} = {name}\n" for name in names)
    source = (
        f"def make({', '.join(names)}):\n    _made = _open()\n{filling}    _made.__class__ = _kind\n    return _made"
    )
    make = _compiled(value_class, source, {"_open": _opened(value_class), "_kind": cls})
    make.__defaults__ = _defaults(value_class)
    return cast("Callable[P, T]", make)


def fill(built: object, **contents: object) -> None:
    """Set fields of a frozen value. Call it only in the value's `__init__` or `__post_init__`."""
    for name, content in contents.items():
        object.__setattr__(built, name, content)


class Sparse:
    """Makes pydantic omit defaults when it writes a field that is a dataclass: `Annotated[Trail, Sparse()]`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return the dataclass's schema with this serializer. As data, because pydantic is not imported here."""
        defaults = {item.name: item.default for item in fields(source)}

        def written(instance: Any) -> dict[str, Any]:
            contents = {name: getattr(instance, name) for name in defaults}
            return {name: content for name, content in contents.items() if content != defaults[name]}

        writer = {"type": "function-plain", "function": written, "return_schema": {"type": "dict"}}
        return handler(source) | {"serialization": writer}


def _initializer(cls: type[Any]) -> FunctionType:
    names = [item.name for item in fields(cls)]
    opens = len(names) >= _MANY and cls.__bases__ == (object,)
    setting = _setting_as_open(names) if opens else _setting(names)
    known: dict[str, Any] = {f"_set_{name}": getattr(cls, name).__set__ for name in names}
    if opens:
        known |= {"_open": _opened(cls), "_set_class": object.__dict__["__class__"].__set__}
    initializer = _compiled(cls, f"def __init__(self, {', '.join(names)}):\n{setting}", known)
    initializer.__defaults__ = _defaults(cls)
    initializer.__annotations__ = {item.name: item.type for item in fields(cls)} | {"return": None}
    return initializer


def _opened(cls: type[Any]) -> type[Any]:
    """Return a subclass of the value's class whose objects are not frozen and are created without contents."""
    return type(cls.__name__, (cls,), _OPEN)


def _defaults(cls: type[Any]) -> tuple[Any, ...]:
    return tuple(item.default for item in fields(cls) if item.default is not MISSING)


def _replacer(cls: type[Any]) -> FunctionType:
    names = [item.name for item in fields(cls)]
    parameters = "".join(f", {name}=_SAME" for name in names)
    contents = ", ".join(f"self.{name} if {name} is _SAME else {name}" for name in names)
    source = f"def __replace__(self, *{parameters}):\n    return _make({contents})\n"
    return _compiled(cls, source, {"_make": maker(cls), "_SAME": _SAME})


def _comparisons(cls: type[Any]) -> tuple[FunctionType, FunctionType]:
    compared = [item.name for item in fields(cls) if item.compare]
    contents: Callable[[Any], Any] = attrgetter(*compared) if compared else lambda _self: ()

    def __eq__(self: Any, other: Any) -> bool:  # noqa: N807
        return contents(self) == contents(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(contents(self))

    return _named(cls, __eq__), _named(cls, __hash__)


def _compiled(cls: type[Any], source: str, known: dict[str, Any]) -> FunctionType:
    """Compile a method from source that names the fields, as dataclasses do."""
    namespace: dict[str, Any] = {}
    exec(source, known, namespace)
    (method,) = namespace.values()
    return _named(cls, method)


def _named(cls: type[Any], method: Any) -> FunctionType:
    method.__qualname__ = f"{cls.__qualname__}.{method.__name__}"
    method.__module__ = cls.__module__
    named: FunctionType = method
    return named


def _setting(names: Sequence[str]) -> str:
    return "".join(f"    _set_{name}(self, {name})\n" for name in names)


def _setting_as_open(names: Sequence[str]) -> str:
    """Return lines that fill the slots while the value is an instance of an unfrozen subclass.

    With eight fields this takes half the time: a plain assignment to a slot costs nearly nothing.
    """
    filled = "".join(f"    self.{name} = {name}\n" for name in names)
    return f"    _own = self.__class__\n    _set_class(self, _open)\n{filled}    self.__class__ = _own\n"


def _shown(self: Any) -> str:
    contents = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({contents})"


def _replace_first(self: Any, **changes: Any) -> Any:
    """Compile the method on first use, because most classes of values never need it."""
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
"""Methods that look up the fields themselves, so that all classes share them."""

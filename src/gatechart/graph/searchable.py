"""Fields of the context that a graph declares as searchable, and their faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel, Secret, SecretBytes, SecretStr

from gatechart.context import has_any_field
from gatechart.errors import Fault, suggestion
from gatechart.values import LONGEST_NAME

_SECRET: Final = (SecretStr, SecretBytes, Secret)
_NESTED: Final = (list, tuple, set, frozenset)


def searchable_faults(fields: Sequence[Any], context: Any) -> Iterator[Fault]:
    """Yield a fault for each searchable field that the context does not have, or whose values cannot be searched."""
    for field in fields:
        if not isinstance(field, str) or not field or len(field) > LONGEST_NAME:
            yield Fault(f"searchable {field!r}", "this names no field", 'write a path such as "customer.name"')
        elif _is_model(context) and (problem := _problem(field, context)):
            yield Fault(f"searchable {field!r}", *problem)
    for field in sorted({field for field in fields if isinstance(field, str) and fields.count(field) > 1}):
        yield Fault(f"searchable {field!r}", "it is listed more than once", "list it once")


def _problem(field: str, context: Any) -> tuple[str, str] | None:
    kind: Any = context
    for part in field.split("."):
        if not _is_model(kind):
            return (f"there is no {part!r} in a value of this type", "name a field") if _is_plain(kind) else None
        if part not in kind.model_fields:
            if has_any_field(kind):
                return None
            return f"{kind.__name__} has no field {part!r}", suggestion(part, tuple(kind.model_fields))
        kind = _without_none(kind.model_fields[part].annotation)
    if (get_origin(kind) or kind) in _SECRET:
        return "its values are secrets, which nobody may search for", "name a field that has no secrets"
    if _is_model(kind) or (get_origin(kind) or kind) in (*_NESTED, dict):
        return "its values are no texts, numbers or booleans", "name a field inside, or one that has such values"
    return None


def _without_none(kind: Any) -> Any:
    """Return what a type is besides None and annotations."""
    if get_origin(kind) is Annotated:
        return _without_none(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        others = [each for each in get_args(kind) if each is not NoneType]
        return _without_none(others[0]) if len(others) == 1 else Any
    return kind


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _is_plain(kind: Any) -> bool:
    """Whether values of the type have nothing inside that has a name."""
    return kind in (str, int, float, bool) or (get_origin(kind) or kind) in _NESTED

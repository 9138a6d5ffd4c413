"""Validation of the context fields that a graph declares as searchable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

from pydantic import BaseModel, Secret, SecretBytes, SecretStr

from gatechart.context import has_any_field
from gatechart.errors.definition import Fault
from gatechart.errors.root import suggestion
from gatechart.values.names import LONGEST_NAME

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
    annotation: Any = context
    for part in field.split("."):
        if not _is_model(annotation):
            return (f"there is no {part!r} in a value of this type", "name a field") if _is_plain(annotation) else None
        if part not in annotation.model_fields:
            if has_any_field(annotation):
                return None
            return f"{annotation.__name__} has no field {part!r}", suggestion(part, tuple(annotation.model_fields))
        annotation = _without_none(annotation.model_fields[part].annotation)
    if (get_origin(annotation) or annotation) in _SECRET:
        return "its values are secrets, which nobody may search for", "name a field that has no secrets"
    if _is_model(annotation) or (get_origin(annotation) or annotation) in (*_NESTED, dict):
        return "its values are no texts, numbers or booleans", "name a field inside, or one that has such values"
    return None


def _without_none(annotation: Any) -> Any:
    """Return a type without None and annotations."""
    if get_origin(annotation) is Annotated:
        return _without_none(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        others = [argument for argument in get_args(annotation) if argument is not NoneType]
        return _without_none(others[0]) if len(others) == 1 else Any
    return annotation


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _is_plain(annotation: Any) -> bool:
    """Return whether values of the type have no named parts."""
    return annotation in (str, int, float, bool) or (get_origin(annotation) or annotation) in _NESTED

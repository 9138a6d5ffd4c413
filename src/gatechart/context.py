"""An agent's data: a pydantic model that survives a round trip through JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json


class AgentContext(BaseModel):
    """The base of all contexts: unknown fields are refused, every value comes back from JSON as it was.

    Only what is declared as a field is kept; private attributes and excluded fields do not outlive a turn.
    """

    model_config = ConfigDict(
        extra="forbid", ser_json_inf_nan="strings", ser_json_bytes="base64", val_json_bytes="base64"
    )


ContextT = TypeVar("ContextT", bound=AgentContext)


def read_context(kind: type[ContextT], text: str) -> ContextT:
    """The context that the JSON text describes. Raises pydantic's ValidationError."""
    return cast("ContextT", kind.__pydantic_validator__.validate_json(text, by_alias=False, by_name=True))


def write_context(context: AgentContext) -> str:
    """The context as JSON text, by field names. Raises PydanticSerializationError.

    A value of the wrong type is written as it is; reading the text back tells.
    """
    serializer = type(context).__pydantic_serializer__
    return serializer.to_json(context, round_trip=True, by_alias=False, warnings=False).decode()


def changed_fields(before: str | None, after: str) -> dict[str, Any]:
    """The top-level fields, with their new values, in which two JSON texts of a context differ.

    before: None where there was no context yet; then every field counts as changed. A field that is gone is now None.
    >>> changed_fields('{"a": 1, "b": [2]}', '{"a": 1, "b": [2, 3]}')
    {'b': [2, 3]}
    """
    if before == after:
        return {}
    new: dict[str, Any] = from_json(after)
    if before is None:
        return new
    old: dict[str, Any] = from_json(before)
    changed = {name: value for name, value in new.items() if name not in old or _differ(old[name], value)}
    return changed | {name: None for name in old if name not in new}


def _differ(one: Any, other: Any) -> bool:
    """Whether JSON tells the two apart, for which 1, 1.0 and true are three values."""
    return one != other or to_json(one) != to_json(other)


def changed_by_writing(context: AgentContext, restored: AgentContext) -> tuple[str, ...]:
    """One line for each field that was deleted or does not come back from JSON as it was; none where all do."""
    if restored.__dict__ == context.__dict__:
        return ()
    before, after = _kept(context), _kept(restored)
    return (
        *(f"{name}: it was deleted; set it instead" for name in after if name not in before),
        *(
            f"{name}: {value!r} would come back as {after.get(name)!r}"
            for name, value in before.items()
            if not _is_same(value, after.get(name))
        ),
    )


def values_of(model: BaseModel) -> dict[str, Any]:
    """What a model holds by the names of its fields, however it would be written."""
    held = vars(model)
    return {name: held[name] for name in type(model).model_fields if name in held} | (model.model_extra or {})


def _kept(model: BaseModel) -> dict[str, Any]:
    excluded = {name for name, info in type(model).model_fields.items() if info.exclude}
    return {name: value for name, value in values_of(model).items() if name not in excluded}


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal, or would be but for a NaN and what no JSON keeps of models inside them."""
    if one == other:
        return True
    if type(one) is not type(other):
        return False
    parts, others = _parts(one), _parts(other)
    if parts is not None and others is not None:
        return parts.keys() == others.keys() and all(_is_same(part, others[key]) for key, part in parts.items())
    return bool(one != one and other != other)  # noqa: PLR0124  (a NaN is not equal to itself)


def _parts(value: Any) -> Mapping[Any, Any] | None:
    if isinstance(value, BaseModel):
        return _kept(value)
    if is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    if isinstance(value, list | tuple):
        return dict(enumerate(value))
    return value if isinstance(value, dict) else None


def problems_of(error: ValidationError | PydanticSerializationError) -> tuple[str, ...]:
    """One line for each thing wrong: the path of the field, what was found, what would have been right."""
    if isinstance(error, PydanticSerializationError):
        return (str(error),)
    return tuple(
        f"{'.'.join(map(str, fault['loc'])) or 'the whole'}: {fault['msg']}"
        for fault in error.errors(include_url=False, include_context=False, include_input=False)
    )


def describe_fields(kind: type[BaseModel]) -> str:
    """The fields of a model in one line, as they are declared; an optional one with its question mark.

    >>> class CaseFile(BaseModel):
    ...     customer: str
    ...     urgent: bool = False
    >>> describe_fields(CaseFile)
    'customer: str, urgent?: bool'
    """
    return ", ".join(
        f"{name}{'' if info.is_required() else '?'}: {_type_name(info.annotation)}"
        for name, info in kind.model_fields.items()
    )


def _type_name(annotation: Any) -> str:
    plain = isinstance(annotation, type) and not hasattr(annotation, "__args__")
    return annotation.__name__ if plain else str(annotation).replace("typing.", "")


def canonical_json(payload: Mapping[str, Any]) -> str:
    """JSON text that is the same for the same content, whatever the order of its keys."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

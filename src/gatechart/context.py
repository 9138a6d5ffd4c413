"""An agent's data: a pydantic model that survives a round trip through JSON."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, Final, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

LISTED: Final = 10
"""How many of the things wrong with a value are told one by one."""

_LONGEST_PATH: Final = 200  # characters; a key that somebody else wrote may be as long as a body
_LONGEST_PROBLEM: Final = 500
_MOST_KEPT: Final = 128  # contexts of one graph; reading a small one costs less than fetching it from cold memory
_READ_FIRST: Final = 4_096  # characters of what pydantic tells of the faults


class AgentContext(BaseModel):
    """The base of all contexts: unknown fields are refused, every value comes back from JSON as it was.

    Only what is declared as a field is kept; private attributes and excluded fields do not outlive a turn.
    """

    model_config = ConfigDict(
        extra="forbid", ser_json_inf_nan="strings", ser_json_bytes="base64", val_json_bytes="base64"
    )


ContextT = TypeVar("ContextT", bound=AgentContext)


def new_context(kind: type[ContextT], fields: Mapping[str, Any]) -> ContextT:
    """A context with these fields, by their names, and defaults for the others. Raises pydantic's ValidationError."""
    return cast("ContextT", kind.__pydantic_validator__.validate_python(fields, by_alias=False, by_name=True))


def read_context(kind: type[ContextT], text: str) -> ContextT:
    """The context that the JSON text describes. Raises pydantic's ValidationError."""
    return cast("ContextT", kind.__pydantic_validator__.validate_json(text, by_alias=False, by_name=True))


def read_only_context(kind: type[ContextT], text: str) -> ContextT:
    """The context that the JSON text describes, whose fields cannot be set. Raises pydantic's ValidationError."""
    context = read_context(kind, text)
    object.__setattr__(context, "__class__", _frozen(kind))  # not before: its validators may set fields
    return context


@cache
def _frozen(kind: type[AgentContext]) -> type[AgentContext]:
    namespace = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "model_config": {"frozen": True}}
    return type(kind.__name__, (kind,), namespace)


class ContextPool(Generic[ContextT]):
    """Contexts that were read from the texts of committed snapshots and that nobody has used since.

    A turn reads its new text back before the commit, to see that nothing is lost. What it read there is what the next
    turn would read again, so it is kept for that one: a context is read once for each event.
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[str, ContextT]] = OrderedDict()  # by agent, kept last last

    def take(self, agent_id: str, text: str) -> ContextT | None:
        """Return the context of the agent that was read from just this text, and forget it; None if there is none.

        A turn changes what it takes. So a turn that fails leaves nothing behind, and the next one reads the text anew.
        """
        found = self._kept.pop(agent_id, None)
        # The same id may by now stand for another agent, or for one that another runtime has driven on.
        return found[1] if found is not None and found[0] == text else None

    def keep(self, agent_id: str, text: str, context: ContextT) -> None:
        """Keep a context for the agent's next turn, until 128 other agents have had theirs kept."""
        self._kept[agent_id] = text, context
        if len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)


def write_context(context: AgentContext) -> str:
    """The context as JSON text, by field names. Raises PydanticSerializationError.

    A value of the wrong type is written as it is; reading the text back tells.
    """
    serializer = type(context).__pydantic_serializer__
    return serializer.to_json(context, round_trip=True, by_alias=False, warnings=False).decode()


@dataclass(frozen=True, slots=True)
class Difference:
    """The top-level fields in which two JSON texts of a context differ, with JSON values."""

    changed: Mapping[str, Any]  # to these; None for a field that is gone
    appended: Mapping[str, tuple[Any, ...]]  # lists that only grew, by these items
    is_enough: bool  # whether the one text with this makes the other: both have the same fields in the same order


_NONE: Final = Difference({}, {}, is_enough=True)
_ABSENT: Final = object()


def difference(before: str | None, after: str) -> Difference:
    """What changed from one JSON text of a context to another.

    before: None where there was no context yet; then every field counts as changed.
    >>> difference('{"a": 1, "b": [2], "c": [3]}', '{"a": 1, "b": [2, 3], "c": [4]}')
    Difference(changed={'c': [4]}, appended={'b': (3,)}, is_enough=True)
    """
    if before == after:
        return _NONE
    new: dict[str, Any] = from_json(after)
    if before is None:
        return Difference(new, {}, is_enough=False)
    old: dict[str, Any] = from_json(before)
    changed: dict[str, Any] = {}
    appended: dict[str, tuple[Any, ...]] = {}
    for name, value in new.items():
        was = old.get(name, _ABSENT)
        if value is was or _is_same_json(was, value):
            continue
        if _has_grown(was, value):
            appended[name] = tuple(value[len(was) :])
        else:
            changed[name] = value
    if list(old) == list(new):
        return Difference(changed, appended, is_enough=True)
    return Difference(changed | {name: None for name in old if name not in new}, appended, is_enough=False)


def patched(text: str, patches: Iterable[tuple[str | None, str | None]]) -> str:
    """The JSON text of a context after differences: for each what changed and what was appended, as JSON text.

    >>> patched('{"a":1,"b":[2]}', [('{"a":7}', None), (None, '{"b":[3,4]}')])
    '{"a":7,"b":[2,3,4]}'
    """
    some = [patch for patch in patches if patch != (None, None)]
    if not some:
        return text
    values: dict[str, Any] = from_json(text)
    for changed, appended in some:
        values.update(from_json(changed or "{}"))
        for name, items in from_json(appended or "{}").items():
            values[name] += items
    return to_json(values).decode()


def _is_same_json(one: Any, other: Any) -> bool:
    """Whether JSON does not tell the two apart, for which 1, 1.0 and true are three values."""
    return bool(one == other) and (type(other) is str or to_json(one) == to_json(other))


def _has_grown(one: Any, other: Any) -> bool:
    """Whether the other is a list that begins with all items of the one, a shorter list."""
    if not (isinstance(one, list) and isinstance(other, list) and len(one) < len(other)):
        return False
    return _is_same_json(one, other[: len(one)])


def changed_by_writing(context: AgentContext, restored: AgentContext) -> tuple[str, ...]:
    """One line for each field that was deleted or does not come back from JSON as it was; none where all do."""
    if restored.__dict__ == context.__dict__:
        return ()
    before, after = _kept(context), _kept(restored)
    return (
        *(f"{name}: it was deleted; set it instead" for name in after if name not in before),
        *(
            f"{name}: {_shortened(repr(value), _LONGEST_PROBLEM)} would come back as "
            f"{_shortened(repr(after.get(name)), _LONGEST_PROBLEM)}"
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
    """One line for each of the first ten things wrong, then how many more there are.

    A line has the path of the field, what was found, what would have been right.
    """
    if isinstance(error, PydanticSerializationError):
        return (_shortened(str(error), _LONGEST_PROBLEM),)
    lines = tuple(
        f"{_shortened('.'.join(map(str, fault['loc'])), _LONGEST_PATH) or 'the whole'}: "
        f"{_shortened(fault['msg'], _LONGEST_PROBLEM)}"
        for fault in _first_faults(error)
    )
    more = error.error_count() - len(lines)
    return (*lines, f"and {more:,} more") if more else lines


def _first_faults(error: ValidationError) -> list[dict[str, Any]]:
    """The faults to list. All of them as Python values would take seconds and a gigabyte where a body has a million."""
    text = error.json(include_url=False, include_context=False, include_input=False)
    size = _READ_FIRST
    while True:
        faults: list[dict[str, Any]] = from_json(text[:size], allow_partial=True)  # the last one may be cut off
        if len(faults) > LISTED or size >= len(text):
            return faults[:LISTED]
        size *= 4


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}..."


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

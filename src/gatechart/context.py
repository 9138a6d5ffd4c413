"""An agent's data: a pydantic model that survives a round trip through JSON."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Final, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict, ValidationError, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import PydanticCustomError, PydanticSerializationError, from_json, to_json

from gatechart.errors.event import ContextInvalidError, ReadOnlyContextError
from gatechart.secrets import has_secrets, marked
from gatechart.values.frozen import value
from gatechart.values.secrets import revealed_text

LISTED: Final = 10
"""How many problems of a value are listed one by one."""

_LONGEST_PATH: Final = 200  # characters; a key from outside may be as long as a request body
_LONGEST_PROBLEM: Final = 500
_MOST_KEPT: Final = 128  # contexts of one graph; reading a small one costs less than fetching it from cold memory
_LONG: Final = 4_096  # characters of a context, from this length on, a search for the common beginning pays off
_FIRST_LIST: Final = re.compile(r'\{(?:"\w+":(?:"(?:[^"\\]|\\.)*"|[^"\[\]{},]+),)*"\w+":\[(?=\{)')
_READ_FIRST: Final = 4_096  # characters of pydantic's JSON report


class AgentContext(BaseModel):
    """The base class of all contexts. Unknown fields are refused, and every value comes back from JSON unchanged.

    Only declared fields are kept. Private attributes and excluded fields do not outlive a turn. Secrets, such as
    pydantic's `SecretStr`, are kept, but masked wherever people or other programs read them.
    """

    model_config = ConfigDict(
        extra="forbid",
        ser_json_inf_nan="strings",
        ser_json_bytes="base64",
        val_json_bytes="base64",
        hide_input_in_errors=True,  # the input may be secret
    )


ContextT = TypeVar("ContextT", bound=AgentContext)


def has_any_field(kind: type[BaseModel]) -> bool:
    """Return whether values of a model may have fields that it does not declare."""
    return kind.model_config.get("extra") == "allow"


def new_context(kind: type[ContextT], fields: Mapping[str, Any]) -> ContextT:
    """Build a context from fields by name, with defaults for the others. Raises pydantic's ValidationError."""
    context: ContextT = kind.__pydantic_validator__.validate_python(fields, by_alias=False, by_name=True)
    return context


def read_context(kind: type[ContextT], text: str) -> ContextT:
    """Read a context from JSON text. Raises pydantic's ValidationError."""
    if has_secrets(kind):
        text = revealed_text(text)
    context: ContextT = kind.__pydantic_validator__.validate_json(text, by_alias=False, by_name=True)
    return context


def read_only_context(kind: type[ContextT], text: str) -> ContextT:
    """Read a context from JSON text; setting its fields raises ReadOnlyContextError. Raises pydantic's ValidationError.

    It equals a context of the kind with the same values, and its copies can be changed.
    """
    context = read_context(kind, text)
    object.__setattr__(context, "__class__", _read_only(kind))  # only after validation: validators may set fields
    return context


@cache
def _read_only(kind: type[AgentContext]) -> type[AgentContext]:
    def plain(context: AgentContext) -> AgentContext:
        object.__setattr__(context, "__class__", kind)
        return context

    def refuse(self: AgentContext, name: str, *value: Any) -> None:
        if not name.startswith("_"):  # private attributes are not kept anyway
            raise ReadOnlyContextError(kind.__name__, name)
        (kind.__setattr__ if value else kind.__delattr__)(self, name, *value)

    def equals(self: AgentContext, other: object) -> bool:
        return copy(self) == (copy(other) if type(other) is type(self) else other)

    namespace = {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__setattr__": refuse,
        "__delattr__": refuse,
        "__eq__": equals,
        "__hash__": kind.__hash__,
        "__copy__": lambda self: plain(kind.__copy__(self)),
        "__deepcopy__": lambda self, memo=None: plain(kind.__deepcopy__(self, memo)),
        "__reduce_ex__": lambda self, _: (copy, (copy(self),)),
    }
    read_only_type: type[AgentContext] = cast("Any", type(kind))(kind.__name__, (kind,), namespace)
    return read_only_type


class ContextPool(Generic[ContextT]):
    """Contexts that were read from the texts of committed snapshots and have not been used since.

    A turn reads its new text back before the commit, to check that nothing is lost. The next turn would read the same
    text again, so the context is kept for it: each event reads a context once, the first one of an agent twice.
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[str, ContextT]] = OrderedDict()  # by agent, newest last

    def take(self, agent_id: str, text: str) -> ContextT | None:
        """Return the agent's context that was read from exactly this text, and forget it. None if there is none.

        A turn changes the context that it takes. A turn that fails leaves nothing in the pool, and the next one reads
        the text again.
        """
        entry = self._kept.pop(agent_id, None)
        # By now the id may belong to a new agent, or another runtime may have advanced the agent.
        return entry[1] if entry is not None and entry[0] == text else None

    def keep(self, agent_id: str, text: str, context: ContextT) -> None:
        """Keep a context for the agent's next turn. The oldest is dropped once more than 128 agents have one."""
        self._kept[agent_id] = text, context
        if len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)


def write_context(context: AgentContext) -> str:
    """Return the context as JSON text, by field name, with its secrets marked. Raises PydanticSerializationError.

    A value of the wrong type is written unchanged. Reading the text back reports it.
    """
    kind = type(context)
    text = kind.__pydantic_serializer__.to_json(context, round_trip=True, by_alias=False, warnings=False)
    if has_secrets(kind):
        text = to_json(marked(context, from_json(text)), inf_nan_mode="constants")
    return text.decode()


def rewritten(context: ContextT, before: str | None, agent_id: str, event: str) -> tuple[str, ContextT | None]:
    """Return the context's JSON text, and the context read back from it; None if the text equals `before`.

    agent_id, event: the agent and the event that changed it, for the error. Raises ContextInvalidError if the context
    changes on its way through JSON.
    """
    kind = type(context)
    try:
        text = write_context(context)
        if text == before:
            return text, None
        restored = read_context(kind, text)
        problems = changed_by_writing(context, restored)
    except (ValidationError, PydanticSerializationError) as error:
        raise ContextInvalidError(agent_id, event, kind.__name__, problems_of(error)) from error
    if problems:
        raise ContextInvalidError(agent_id, event, kind.__name__, problems)
    return text, restored


@value
class ContextDifference:
    """The top-level fields that differ between two JSON texts of a context, as JSON values."""

    changed: Mapping[str, Any]  # the new values; None for a field that is gone
    appended: Mapping[str, tuple[Any, ...]]  # the new items of lists that only grew
    is_enough: bool  # whether it suffices to rebuild the new text: both have the same fields in the same order

    def texts(self) -> tuple[str | None, str | None]:
        """Return changed fields and appended items as JSON text, for `patched`; None where there are none."""
        return _text_or_none(self.changed), _text_or_none(self.appended)


_NONE: Final = ContextDifference({}, {}, is_enough=True)
_ABSENT: Final = object()


def difference(before: str | None, after: str) -> ContextDifference:
    """Return the changes between two JSON texts of a context.

    before: None if there was no context yet; then every field counts as changed.
    >>> difference('{"a": 1, "b": [2], "c": [3]}', '{"a": 1, "b": [2, 3], "c": [4]}')
    ContextDifference(changed={'c': [4]}, appended={'b': (3,)}, is_enough=True)
    """
    if before == after:
        return _NONE
    if before is None:
        return ContextDifference(from_json(after), {}, is_enough=False)
    old, new = _without_same_items(before, after) or (from_json(before), from_json(after))
    changed: dict[str, Any] = {}
    appended: dict[str, tuple[Any, ...]] = {}
    for name, content in new.items():
        previous = old.get(name, _ABSENT)
        if content is previous or _is_same_json(previous, content):
            continue
        if _has_grown(previous, content):
            appended[name] = tuple(content[len(previous) :])
        else:
            changed[name] = content
    if list(old) == list(new):
        return ContextDifference(changed, appended, is_enough=True)
    return ContextDifference(changed | {name: None for name in old if name not in new}, appended, is_enough=False)


def _without_same_items(before: str, after: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return two long contexts as JSON values, without the common items at the start of their first list of objects.

    None unless the texts first differ where that list has grown.
    """
    beginning = _FIRST_LIST.match(before) if len(before) >= _LONG else None
    same = 0 if beginning is None else _same_characters(before, after)
    if beginning is None or same <= beginning.end() or before[same : same + 1] != "]" or after[same : same + 1] != ",":
        return None
    start = beginning.end()
    try:  # the items are complete if the rest is valid JSON: otherwise it has more closing brackets than opening ones
        return from_json(before[:start] + before[same:]), from_json(after[:start] + after[same + 1 :])
    except ValueError:
        return None


def _same_characters(one: str, other: str) -> int:
    """Return how many characters two texts have in common at the beginning."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def _text_or_none(fields: Mapping[str, Any]) -> str | None:
    return to_json(fields).decode() if fields else None


def patched(text: str, patches: Iterable[tuple[str | None, str | None]]) -> str:
    """Return the JSON text of a context after a series of differences.

    patches: for each difference, the changed fields and the appended items, as JSON text.
    >>> patched('{"a":1,"b":[2]}', [('{"a":7}', None), (None, '{"b":[3,4]}')])
    '{"a":7,"b":[2,3,4]}'
    """
    changes = [patch for patch in patches if patch != (None, None)]
    if not changes:
        return text
    values: dict[str, Any] = from_json(text)
    for changed, appended in changes:
        values.update(from_json(changed or "{}"))
        for name, items in from_json(appended or "{}").items():
            values[name] += items
    return to_json(values).decode()


def _is_same_json(one: Any, other: Any) -> bool:
    """Return whether two values are the same in JSON, where 1, 1.0 and true differ."""
    return bool(one == other) and (type(other) is str or to_json(one) == to_json(other))


def _has_grown(one: Any, other: Any) -> bool:
    """Return whether `other` is a longer list that starts with all items of the list `one`."""
    if not (isinstance(one, list) and isinstance(other, list) and len(one) < len(other)):
        return False
    return _is_same_json(one, other[: len(one)])


def changed_by_writing(context: AgentContext, restored: AgentContext) -> tuple[str, ...]:
    """Return one line for each field that was deleted or changes on its way through JSON."""
    if restored.__dict__ == context.__dict__:
        return ()
    before, after = _kept(context), _kept(restored)
    return (
        *(f"{name}: was deleted; assign a value instead" for name in after if name not in before),
        *(
            f"{name}: {_shortened(repr(value), _LONGEST_PROBLEM)} would come back as "
            f"{_shortened(repr(after.get(name)), _LONGEST_PROBLEM)}"
            for name, value in before.items()
            if not _is_same(value, after.get(name))
        ),
    )


def values_of(model: BaseModel) -> dict[str, Any]:
    """Return a model's values by field name, regardless of the model's own serializers."""
    held = vars(model)
    return {name: held[name] for name in type(model).model_fields if name in held} | (model.model_extra or {})


def _kept(model: BaseModel) -> dict[str, Any]:
    excluded = {name for name, info in type(model).model_fields.items() if info.exclude}
    return {name: value for name, value in values_of(model).items() if name not in excluded}


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two values are equal, except for NaN and for the parts of nested models that JSON never keeps."""
    if one == other:
        return True
    if type(one) is not type(other):
        return False
    parts, other_parts = _parts(one), _parts(other)
    if parts is not None and other_parts is not None:
        return parts.keys() == other_parts.keys() and all(
            _is_same(part, other_parts[key]) for key, part in parts.items()
        )
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
    """Return one line for each of the first ten problems, then the number of further ones.

    A line has the path of the field and pydantic's message.
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


def told_as(expected: str) -> WrapValidator:
    """Replace a field's error by a description of valid input, where pydantic names a pattern or each union member.

    The field is validated as a Python value even in JSON: a strict datetime field then refuses a text.

    >>> from typing import Annotated
    >>> from pydantic import Field, TypeAdapter
    >>> size = TypeAdapter(Annotated[str, Field(pattern="^[SML]$"), told_as("'S', 'M' or 'L'")])
    >>> try:
    ...     size.validate_python("XL")
    ... except ValidationError as error:
    ...     problems_of(error)
    ("the whole: Input should be 'S', 'M' or 'L'",)
    """

    def validate(value: Any, inner: ValidatorFunctionWrapHandler) -> Any:
        try:
            return inner(value)
        except ValidationError:
            raise PydanticCustomError("told", "Input should be {expected}", {"expected": expected}) from None

    return WrapValidator(validate)


def _first_faults(error: ValidationError) -> list[dict[str, Any]]:
    """Return the faults to list, and parse no others.

    As Python values, a million faults in one body would take seconds and a gigabyte.
    """
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
    """Describe a model's fields in one line, as declared. An optional field has a question mark.

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
    """Return JSON text that is the same for the same content, in any order of keys."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def compact_json(payload: Mapping[str, Any]) -> str:
    """Return JSON text without spaces, with the keys in their given order."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"))

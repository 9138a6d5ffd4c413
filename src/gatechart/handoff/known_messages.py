"""The messages of long conversations, each read once: the JSON text of a context is read from where it is new.

The text alone decides which messages are known, so that no change of a message in memory can hide. Messages are frozen,
and contexts share them. Where a part of a message can be changed all the same, each context has a copy of its own.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from gatechart.handoff.packet import Message, Part, ToolCall

T = TypeVar("T")
PartT = TypeVar("PartT", bound=Part)

_SHORTEST: Final = 4_096  # characters of a context; a shorter one is read as fast without this
_MOST_KEPT: Final = 128  # conversations
_MESSAGES: Final = TypeAdapter(list[Message])
_BEGINNING: Final = re.compile(r'\{(?:"(?!messages")\w+":"(?:[^"\\]|\\.)*",)*"messages":\[')  # only texts come before
_HOLDERS: Final = frozenset({dict, list})
_new, _set = object.__new__, object.__setattr__


@dataclass(frozen=True, slots=True)
class _Known:
    """The messages of a context that was read last. No context has those that can be changed."""

    text: str  # of the context
    start: int  # of the messages in the text
    end: int
    messages: tuple[Message, ...]

    def end_in(self, text: str, start: int) -> int | None:
        """Return where these messages end in another text, whose messages start there; None if it has others."""
        end = start + self.end - self.start
        is_known = text.startswith(self.text[self.start : self.end], start) and text[end : end + 1] in {",", "]"}
        return end if is_known else None


class _Reading:
    """One context that is being read from a text without the known messages."""

    def __init__(self, known: Sequence[Message]) -> None:
        self.known = known
        self.new: list[Message] | None = None  # after validation

    def completed(self, new: list[Message]) -> list[Message]:
        """Return the known messages and the new ones."""
        self.new = [own_copy(message) for message in new]
        return [*map(own_copy, self.known), *new]


_latest: Final[OrderedDict[str, _Known]] = OrderedDict()  # by agent, newest last
_reading: Final[ContextVar[_Reading | None]] = ContextVar("_reading", default=None)


def with_known(messages: list[Message]) -> list[Message]:
    """Return the validated messages of a context, after the known ones if `read_with_known` is reading it."""
    reading = _reading.get()
    return messages if reading is None else reading.completed(messages)


def read_with_known(text: str, agent_id: str, read: Callable[[str], T]) -> T:
    """Read a context of an agent from JSON text. The messages known from its last text are not read again.

    read: validates a text, and calls `with_known` once, for the messages; see `has_plain_messages`. Raises as it does.
    """
    beginning = _BEGINNING.match(text) if len(text) >= _SHORTEST else None
    if beginning is None:
        return read(text)
    start, known = beginning.end(), _latest.get(agent_id)
    end = None if known is None else known.end_in(text, start)
    reading = _Reading(()) if known is None or end is None else _Reading(known.messages)
    new = start if end is None else end + (text[end] == ",")
    token = _reading.set(reading)
    try:
        context = read(text[:start] + text[new:])
    except ValidationError:
        _reading.set(None)
        return read(text)  # which names the positions of all messages
    finally:
        _reading.reset(token)
    _keep(agent_id, text, start, new, reading)
    return context


def _keep(agent_id: str, text: str, start: int, new: int, reading: _Reading) -> None:
    if not reading.new:
        return
    written = _MESSAGES.dump_json(reading.new)[1:-1].decode()
    end = new + len(written)
    if not text.startswith(written, new) or text[end : end + 1] != "]":  # not written by `write_context`
        return
    _latest[agent_id] = _Known(text, start, end, (*reading.known, *reading.new))
    _latest.move_to_end(agent_id)
    if len(_latest) > _MOST_KEPT:
        _latest.popitem(last=False)


def has_plain_messages(kind: type[BaseModel], base: type[BaseModel]) -> bool:
    """Return whether a subclass of a conversation reads messages as its base does, and looks at them only afterwards.

    Validators that run before the messages are validated would see no more than the new ones.
    """
    decorators = kind.__pydantic_decorators__
    names = list(base.model_fields)
    first = names[: names.index("messages") + 1]
    kept = all(_declaration(kind, name) == _declaration(base, name) for name in first)
    early = {
        name
        for validator in decorators.field_validators.values()
        if validator.info.mode != "after" or "messages" not in validator.info.fields
        for name in validator.info.fields
    }
    return (
        kept
        and not early & {"*", *first}
        and all(validator.info.mode == "after" for validator in decorators.model_validators.values())
        and not decorators.validators
        and not decorators.root_validators
        and not kind.__pydantic_custom_init__
        and _schema_function(kind) is _schema_function(BaseModel)
    )


def _declaration(kind: type[BaseModel], name: str) -> tuple[Any, list[Any]]:
    info = kind.model_fields[name]
    return info.annotation, info.metadata


def _schema_function(kind: type[BaseModel]) -> Any:
    return kind.__get_pydantic_core_schema__.__func__  # type: ignore[attr-defined]


def own_copy(message: Message) -> Message:
    """Return the message itself if nothing in it can be changed, else a copy that shares nothing that can."""
    if message.verbatim is not None or message.__pydantic_extra__ or (message.parts and _has_extra(message.parts)):
        return message.model_copy(deep=True)
    if not message.tool_calls:
        return message
    return _with(message, {"tool_calls": tuple([_own_call(call) for call in message.tool_calls])})


def _own_call(call: ToolCall) -> ToolCall:
    if call.__pydantic_extra__ or (call.parts and _has_extra(call.parts)):
        return call.model_copy(deep=True)
    return _with(call, {"arguments": _own_value(call.arguments), "output": _own_value(call.output)})


def _with(part: PartT, changes: dict[str, Any]) -> PartT:
    """Return a part without unknown fields with other values of some fields, in half the time of pydantic's copy."""
    copied = _new(type(part))
    _set(copied, "__dict__", {**part.__dict__, **changes})
    _set(copied, "__pydantic_extra__", {})
    _set(copied, "__pydantic_fields_set__", part.__pydantic_fields_set__)
    _set(copied, "__pydantic_private__", None)
    return copied


def _has_extra(parts: Iterable[BaseModel]) -> bool:
    return any(part.__pydantic_extra__ for part in parts)


def _own_value(value: Any) -> Any:
    """Return a JSON value that shares no list and no object with the value."""
    if isinstance(value, dict):
        return {name: _own_value(part) if type(part) in _HOLDERS else part for name, part in value.items()}
    return [_own_value(part) for part in value] if isinstance(value, list) else value

"""The contents of messages: digests of them, arguments of their calls, and ids of these."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from hashlib import blake2b
from typing import Final
from uuid import uuid4

from pydantic import JsonValue

from gatechart.handoff.media import without_bytes
from gatechart.handoff.packet import Message, ToolCall
from gatechart.hosting.tool_records import LONGEST_CALL_ID
from gatechart.models.dialects import with_call_arguments
from gatechart.models.model import is_by_model
from gatechart.secrets import hidden
from gatechart.values.names import unkept


def with_arguments(message: Message, changed: Callable[[str, dict[str, JsonValue]], dict[str, JsonValue]]) -> Message:
    """Return a message with other arguments of its calls, in its verbatim form, too.

    changed: makes them of the tool's name and the arguments.
    """
    if not message.tool_calls:
        return message
    new = [changed(each.name, each.arguments) for each in message.tool_calls]
    changes = {
        place: arguments
        for place, (call, arguments) in enumerate(zip(message.tool_calls, new, strict=True))
        if arguments != call.arguments
    }
    if not changes:
        return message
    calls = tuple(
        call.model_copy(update={"arguments": changes[place]}) if place in changes else call
        for place, call in enumerate(message.tool_calls)
    )
    form = None if message.verbatim is None else with_call_arguments(message.verbatim, changes)
    return message.model_copy(update={"tool_calls": calls, "verbatim": form})


def without_secrets(message: Message) -> Message:
    """Return a message as others may see it: with a mask in place of each secret that the model gave to a tool."""
    return with_arguments(message, lambda _, arguments: hidden(arguments))


REMOVED: Final = Message(role="")
"""What stands in place of a message that is removed."""

_CONTENTS: Final = {"role", "content", "tool_calls", "parts"}


def digest_of(message: Message) -> str:
    """Return 16 hexadecimal digits that other messages do not have, whatever their ids.

    Secrets count as their masks, bytes as digests.
    """
    return _digest(without_secrets(without_bytes(message)).model_dump_json(exclude={"verbatim", "id"}))


def contents_digest(message: Message) -> str:
    """Return 16 hexadecimal digits that messages with other contents do not have. Times are no contents."""
    return _digest(without_secrets(without_bytes(message)).model_dump_json(include=_CONTENTS))


def digest_of_calls(message: Message) -> str:
    """Return the digest of a message without the results of its calls."""
    calls = tuple(call.model_copy(update={"output": None, "error": "", "parts": ()}) for call in message.tool_calls)
    return digest_of(message.model_copy(update={"tool_calls": calls}) if calls else message)


def identity(message: Message) -> str:
    """Return what only versions of the same message have; "" for a message without an id.

    A model's message never has the identity of a user's message, so a user who sends an id edits no turn of the model.
    """
    return f"{'model' if is_by_model(message) else 'other'}/{message.id}" if message.id else ""


def newest_versions(messages: Iterable[Message]) -> list[Message]:
    """Return messages with the last version of each, in the position of the first."""
    versions: dict[str, Message] = {}
    for number, message in enumerate(messages):
        versions[identity(message) or f"{number}"] = message
    return list(versions.values())


def _digest(text: str) -> str:
    return blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()


def with_own_ids(message: Message, taken: Container[str]) -> Message:
    """Return a message of a model with an id for each call that no other call has, and that every store can keep.

    Calls of one message with the same id, name and arguments are one call, so they keep one id.
    """
    calls: list[ToolCall] = []
    for position, call in enumerate(message.tool_calls):
        earlier = message.tool_calls[:position]
        same = next((at for at, each in enumerate(earlier) if call.id and each == call), None)
        is_used = call.id in taken or any(call.id == each.id for each in calls)
        is_fresh = call.id and not is_used and not unkept(call.id, LONGEST_CALL_ID)
        new_id = calls[same].id if same is not None else call.id if is_fresh else f"call_{uuid4().hex}"
        calls.append(call if call.id == new_id else call.model_copy(update={"id": new_id}))
    return message.model_copy(update={"tool_calls": tuple(calls)})

"""Conversations on their way to any provider: distinct, valid ids, and no messages without contents."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from gatechart.handoff.packet import MediaPart, Message, ProviderMessage, TextPart, ToolCall
from gatechart.models.dialects import calls_in
from gatechart.models.finish import has_content
from gatechart.models.model import said
from gatechart.tools.naming import MODEL_NAME, model_name

ANY_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,40}")
"""Ids of calls that OpenAI takes."""

SHORT_ID: Final = re.compile(r"[a-zA-Z0-9]{9}")
"""The only ids of calls that Mistral takes."""

NAMED_ID: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Ids of calls that Anthropic takes."""

BEGINNING: Final = "[The conversation begins.]"
"""First message if the model spoke first, or if the conversation has no messages."""

AnyPart = TextPart | MediaPart


def prepared(messages: Iterable[Message], dialect: str, host: str, ids: re.Pattern[str]) -> list[Message]:
    """Return the messages that a provider is sent.

    Each call has a distinct id that is valid for the provider. A message keeps its verbatim form only if this provider
    wrote it. Messages that say nothing are left out: providers refuse them.
    """
    seen: set[str] = set()
    sent: list[Message] = []
    for position, message in enumerate(messages):
        if not message.tool_calls and not has_content(message) and not _has_blocks(message, dialect, host):
            continue
        is_own = is_verbatim(message, dialect, host)
        pattern = None if is_own else ids
        calls = tuple(_with_id(call, f"{position}_{at}", seen, pattern) for at, call in enumerate(message.tool_calls))
        changes = {"tool_calls": calls, **({} if is_own else {"verbatim": None})}
        sent.append(message.model_copy(update=changes))
    return sent


def is_verbatim(message: Message, dialect: str, host: str) -> bool:
    """Return whether a message can go back to this provider in its verbatim form."""
    form = message.verbatim
    if form is None or form.dialect != dialect or (form.host and host and form.host != host):
        return False
    return len(calls_in(form)) == len(message.tool_calls)


def _has_blocks(message: Message, dialect: str, host: str) -> bool:
    """Return whether a message without words has something else for its own provider, such as a search's results."""
    form = message.verbatim
    return is_verbatim(message, dialect, host) and form is not None and _says_more(form)


def _says_more(form: ProviderMessage) -> bool:
    blocks = form.message if isinstance(form.message, list) else ()
    kinds = {each.get("type") for each in blocks if isinstance(each, dict)}
    return bool(kinds - {"text", "thinking", "redacted_thinking"})


def _with_id(call: ToolCall, place: str, seen: set[str], pattern: re.Pattern[str] | None) -> ToolCall:
    """Return a call with an id that no other one has. pattern: of valid ids; None if any is."""
    call_id = call.id or f"call_{place}"
    if pattern is not None and not pattern.fullmatch(call_id):
        call_id = _digest_id(call_id, pattern)
    if call_id in seen:
        call_id = _digest_id(f"{call_id} {place}", pattern or ANY_ID)
    seen.add(call_id)
    return call if call_id == call.id else call.model_copy(update={"id": call_id})


def _digest_id(text: str, pattern: re.Pattern[str]) -> str:
    digest = blake2b(text.encode(errors="surrogatepass"), digest_size=12).hexdigest()
    return digest[:9] if pattern is SHORT_ID else f"call_{digest}"


def valid_name(name: str) -> str:
    """Return a valid name of a tool for a model, also if no tool has the name."""
    return name if MODEL_NAME.fullmatch(name) else model_name(name)


def parts_of(message: Message) -> list[AnyPart]:
    """Return the parts of a message; its text is one."""
    text = said(message)
    if not any(isinstance(each, MediaPart) for each in message.parts):
        return [TextPart(text=text)] if text.strip() else []
    note = text.removesuffix(message.content) if message.content else ""
    parts = [each for each in message.parts if isinstance(each, MediaPart) or each.text.strip()]
    return [TextPart(text=note.rstrip()), *parts] if note.strip() else parts

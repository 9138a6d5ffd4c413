"""The bytes of images, audio and files. An agent's journal stores them once, under their digest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from gatechart.handoff.media import AnyPart, apart, parts_in
from gatechart.handoff.packet import MediaPart, Message, ToolCall
from gatechart.hosting.invoke_journal import InvokeJournal, mark
from gatechart.values.names import AgentId

MEDIA: Final = mark("media")
"""The prefix of the names of these entries."""


class JournalOfAgent(Protocol):
    """A journal of an agent, which can read the journals of other agents."""

    def recorded(self, name: str) -> str | None:
        """Return the text recorded under this name; None without one."""
        ...

    async def record(self, name: str, text: str) -> str:
        """Record a text durably and return the recorded one."""
        ...

    async def other(self, agent_id: AgentId, name: str) -> Mapping[str, str]:
        """Return the entries of a journal of another agent."""
        ...


def media_name(digest: str) -> str:
    """Return the name of the entry that holds the bytes."""
    return f"{MEDIA}.{digest}"


async def stored_apart(journal: InvokeJournal, parts: Iterable[AnyPart]) -> tuple[AnyPart, ...]:
    """Store the bytes of parts in the journal, and return the parts without them. Raises InvocationOverError."""
    return tuple([await _stored(journal, part) for part in parts])


async def _stored(journal: InvokeJournal, part: AnyPart) -> AnyPart:
    kept = apart(part)
    if isinstance(part, MediaPart) and isinstance(kept, MediaPart) and kept is not part:
        name = media_name(kept.digest)
        if journal.recorded(name) is None:
            await journal.record(name, json.dumps(part.data))
    return kept


async def value_apart(journal: InvokeJournal, value: Any) -> Any:
    """Return a tool's value with the bytes of its media stored separately; any other value unchanged."""
    parts = parts_in(value)
    if not parts:
        return value
    agent_id, name = journal.invocation.agent_id, journal.name
    stored = tuple(_located(part, agent_id, name) for part in await stored_apart(journal, parts))
    return stored[0] if isinstance(value, MediaPart) else type(value)(stored)


def _located(part: AnyPart, agent_id: AgentId, journal: str) -> AnyPart:
    """Return a part with the location of its bytes, an agent and its journal. Other agents need it."""
    if not isinstance(part, MediaPart) or not part.digest or part.agent:
        return part
    return part.model_copy(update={"agent": agent_id, "journal": journal})


def held_by(agent_id: AgentId, journal: str, message: Message) -> Message:
    """Return a message whose media name the journal that holds their bytes. Media that already name one keep it."""

    def located(parts: Iterable[AnyPart]) -> tuple[AnyPart, ...]:
        return tuple(_located(part, agent_id, journal) for part in parts)

    calls = tuple(
        call.model_copy(update={"parts": located(call.parts)}) if call.parts else call for call in message.tool_calls
    )
    return message.model_copy(update={"parts": located(message.parts), "tool_calls": calls})


async def fetch_missing(journal: JournalOfAgent, messages: Iterable[Message]) -> None:
    """Copy the bytes of media from the journals of the agents that handed them on. Missing bytes are skipped."""
    parts = [part for message in messages for call in message.tool_calls for part in call.parts]
    parts += [part for message in messages for part in message.parts]
    missing = {
        part.digest: part
        for part in parts
        if isinstance(part, MediaPart) and part.agent and journal.recorded(media_name(part.digest)) is None
    }
    for agent, name in {(part.agent, part.journal) for part in missing.values()}:
        entries = await journal.other(agent, name)
        for digest in (part.digest for part in missing.values() if (part.agent, part.journal) == (agent, name)):
            text = entries.get(media_name(digest))
            if text is not None:
                await journal.record(media_name(digest), text)


async def message_apart(journal: InvokeJournal, message: Message) -> Message:
    """Return a message with the bytes of its media stored separately, including media in results of its calls."""
    calls = [await _call_apart(journal, call) for call in message.tool_calls]
    changes: dict[str, Any] = {}
    if message.parts:
        changes["parts"] = await stored_apart(journal, message.parts)
    if any(call.parts for call in message.tool_calls):
        changes["tool_calls"] = tuple(calls)
    return message.model_copy(update=changes) if changes else message


async def _call_apart(journal: InvokeJournal, call: ToolCall) -> ToolCall:
    return call.model_copy(update={"parts": await stored_apart(journal, call.parts)}) if call.parts else call


def with_bytes(journal: InvokeJournal, message: Message) -> Message:
    """Return a message with the bytes of its media. Parts whose bytes the journal lacks keep their digests."""
    if not message.parts and not any(call.parts for call in message.tool_calls):
        return message
    calls = tuple(
        call.model_copy(update={"parts": _loaded(journal, call.parts)}) if call.parts else call
        for call in message.tool_calls
    )
    return message.model_copy(update={"parts": _loaded(journal, message.parts), "tool_calls": calls})


def _loaded(journal: InvokeJournal, parts: Iterable[AnyPart]) -> tuple[AnyPart, ...]:
    return tuple(_load(journal, part) for part in parts)


def _load(journal: InvokeJournal, part: AnyPart) -> AnyPart:
    text = journal.recorded(media_name(part.digest)) if isinstance(part, MediaPart) and part.digest else None
    return part if text is None else part.model_copy(update={"data": json.loads(text), "digest": ""})


def without_referrers(entries: Mapping[str, str]) -> list[str]:
    """Return the names of the byte entries that no other entry refers to."""
    others = [text for name, text in entries.items() if not name.startswith(MEDIA)]
    names = [name for name in entries if name.startswith(MEDIA)]
    return [name for name in names if not any(name.rpartition(".")[2] in text for text in others)]

"""Entries of a transcript, as they are stored in an agent's journal."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Final, TypeAlias

from pydantic import Field, JsonValue, TypeAdapter

from gatechart.handoff.packet import MediaPart, Message, TextPart
from gatechart.models.dialects import StoredMessage
from gatechart.models.model import Finish, Usage

_UNLESS_EMPTY: Final = Field(exclude_if=operator.not_)  # a turn is stored often, so empty fields are left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """Messages from outside the loop, as the loop received them."""

    messages: tuple[Message, ...]
    source: Annotated[str, _UNLESS_EMPTY] = ""  # of the messages; "" for the agent's context
    seen: Annotated[Mapping[str, str], _UNLESS_EMPTY] = field(default_factory=dict)
    """Identities of other messages here that the source sent, each with the key of a message that has no id itself."""
    kept: Annotated[tuple[str, ...], _UNLESS_EMPTY] = ()
    """Identities of turns of the model that a rollback removed from the context, and that stay here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTurn:
    """An answer of the model. The calls of its message have no results: results are separate entries."""

    number: int  # from 1, over the whole transcript
    by: str  # the entry of a state and the invoke that sent the request
    state: str
    message: StoredMessage
    finish: Finish
    usage: Usage
    transfers: Annotated[tuple[str, ...], _UNLESS_EMPTY] = ()  # tools of the transfers that it was offered
    reason: Annotated[str, _UNLESS_EMPTY] = ""  # the provider's own word for why the answer ended
    form: Annotated[int, _UNLESS_EMPTY] = 0  # of the earlier messages that its provider accepted: see `in_form`
    limit: Annotated[int, _UNLESS_EMPTY] = 0  # of the tokens of these messages, as sent: see `fitted`
    is_edited: Annotated[bool, _UNLESS_EMPTY] = False  # then the calls of its message have their results


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """The result of a call."""

    turn: int
    place: int  # of the call in its turn, from 0
    output: JsonValue = None
    error: str = ""
    parts: Annotated[tuple[TextPart | MediaPart, ...], _UNLESS_EMPTY] = ()  # the output, where it has media


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """The loop's message to the model about an answer that does not fit."""

    turn: int
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Nudged:
    """A message of an escape plan to the model."""

    number: int  # of the attempt; each attempt sends one message
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """Replaces entries that are no longer sent to the model."""

    turns: int  # turns of the model so far
    summary: Message | None
    by: str  # as of a turn
    usage: Usage  # of that entry and invoke so far, the summary included
    known: Mapping[str, int] = field(default_factory=dict)  # digests of replaced messages that a source may still send
    nudged: int = 0  # number of the newest nudge so far
    call_ids: Annotated[str, _UNLESS_EMPTY] = ""  # of the calls that were replaced: see KnownIds
    ids: Annotated[Mapping[str, str], _UNLESS_EMPTY] = field(default_factory=dict)
    """Identities of replaced messages that a source may still send, each with the digest of its contents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(Replacement):
    """A summary in place of the older entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut(Replacement):
    """Replaces the newest turns, after an escape plan removed them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutAsked:
    """An operator's entry: the loop leaves out the newest turns when it next starts."""

    since: int  # number of the first of these turns
    reason: str = ""


Entry: TypeAlias = Heard | ModelTurn | CallResult | Feedback | Nudged | Compaction | Cut | CutAsked


@dataclass(frozen=True, slots=True)
class Slot:
    """A message in a transcript, and the entry that has it."""

    name: str  # of the entry
    position: int  # among the messages of the entry, from 0
    message: Message
    entry: Entry
    is_open: bool  # whether a call of the message has no result
    key: str  # the name and the position, which no other message of the transcript has
    identity: str  # of the message


ENTRY_KINDS: Final[Mapping[str, TypeAdapter[Entry]]] = {
    "heard": TypeAdapter(Heard),
    "turn": TypeAdapter(ModelTurn),
    "result": TypeAdapter(CallResult),
    "feedback": TypeAdapter(Feedback),
    "nudge": TypeAdapter(Nudged),
    "compaction": TypeAdapter(Compaction),
    "cut": TypeAdapter(Cut),
    "cutting": TypeAdapter(CutAsked),
}


@lru_cache(maxsize=8192)  # entries are frozen, and each invocation reads them all
def entry_of(kind: str, text: str) -> Entry:
    """Return an entry from its JSON text. Raises pydantic's ValidationError."""
    return ENTRY_KINDS[kind].validate_json(text)


def text_of(name: str, entry: Entry) -> str:
    """Return an entry as JSON text. name: its key in the journal, which starts with the kind of entry."""
    return ENTRY_KINDS[name.partition(".")[0]].dump_json(entry).decode()


def messages_of(entry: Entry) -> tuple[Message, ...]:
    """Return the messages of a stored entry, where the calls of a turn have no results."""
    match entry:
        case Heard(messages=messages):
            return messages
        case ModelTurn(message=message) | Feedback(message=message) | Nudged(message=message):
            return (message,)
        case Replacement(summary=summary) if summary is not None:
            return (summary,)
        case _:
            return ()

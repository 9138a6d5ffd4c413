"""Compare the messages that a loop gets with its transcript: new, edited and removed messages.

Ids decide which messages are the same. Where one of two messages has no id, their contents decide; where all calls of a
message are in the transcript, these calls do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gatechart.handoff.packet import Message, ToolCall
from gatechart.models.contents import REMOVED, contents_digest, digest_of, identity, newest_versions
from gatechart.models.entries import Entry, Feedback, Heard, ModelTurn, Nudged, Replacement, Slot
from gatechart.models.transcript import Transcript
from gatechart.secrets import hidden


@dataclass(frozen=True, slots=True)
class SourceMessages:
    """The messages that a loop gets when it starts."""

    source: str  # of the messages; "" for the agent's context
    messages: Sequence[Message]
    listed: Sequence[Message] | None = None  # messages of the agent's context; None if it has no conversation
    is_after_rollback: bool = False  # then the model's turns stay, because its calls were made

    def identities_by_source(self) -> Mapping[str, set[str]]:
        """Return the identities of the messages that each known source has now."""
        told = {self.source: set(map(identity, self.messages))}
        return told if self.listed is None or not self.source else {"": set(map(identity, self.listed)), **told}


@dataclass(frozen=True, slots=True)
class Hearing:
    """What changes in a transcript."""

    new: tuple[Message, ...]
    seen: Mapping[str, str]  # see `Heard.seen`
    rewritten: Mapping[str, Entry]  # by name; entries with edited or removed messages
    summarized: tuple[str, ...]  # ids of edited messages that a summary has replaced
    missing_turns: tuple[str, ...] = ()  # identities of the model's turns that the source no longer has


def compared(transcript: Transcript, told: SourceMessages) -> Hearing:
    """Compare a transcript with the messages that its loop gets now. Of messages with one id, only the last counts.

    A message that a source told earlier, and does not tell now, is removed; after a rollback only if the model did not
    write it. A turn with open calls stays as it is: what a person is asked to approve does not change.
    """
    comparison = _Comparison(transcript)
    new = comparison.match(newest_versions(told.messages))
    return Hearing(
        tuple(new),
        comparison.seen_now(told.source),
        comparison.changes(told),
        tuple(comparison.edited_summaries),
        comparison.missing_turns(told),
    )


class _Comparison:
    """The messages of a transcript, matched with the equal messages that the loop gets now."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._seen = transcript.seen
        self._slots = {slot.key: slot for slot in transcript.slots()}
        aliases = {key: each for each, key in transcript.aliases.items()}
        named = ((slot.identity or aliases.get(key, ""), slot) for key, slot in self._slots.items())
        self._named = {name: slot for name, slot in named if name}
        self._matched: dict[str, Message] = {}  # received now, by key of the slot
        self.edited_summaries: list[str] = []

    def match(self, said: Iterable[Message]) -> list[Message]:
        """Match messages with the transcript. Return the new ones."""
        rest = [message for message in said if not self._is_known_by_id(message)]
        rest = self._unmatched_by_contents(rest) if rest else rest
        return [message for message in rest if not self._is_known_by_calls(message)]

    def _is_known_by_id(self, message: Message) -> bool:
        name = identity(message)
        slot = self._named.get(name)
        if slot is not None:
            self._matched[slot.key] = message
            return True
        digest = self._transcript.summarized.get(name)
        if digest is not None and digest != contents_digest(message):
            self.edited_summaries.append(message.id)
        return digest is not None

    def _unmatched_by_contents(self, said: list[Message]) -> list[Message]:
        """Match messages by their contents, and return the others. Of two messages with ids, these decide."""
        are_all_named = all(message.id for message in said)
        places: dict[tuple[str, bool], list[str]] = {}
        for key, slot in self._slots.items():
            if key not in self._matched and not (slot.message.id and are_all_named):
                places.setdefault((digest_of(slot.message), bool(slot.message.id)), []).append(key)
        summarized = Counter(self._transcript.summarized_digests)
        rest: list[Message] = []
        for message in said:
            digest = digest_of(message)
            keys = places.get((digest, False)) or ([] if message.id else places.get((digest, True), []))
            if keys:
                self._matched[keys.pop(0)] = message
            elif summarized[digest]:
                summarized[digest] -= 1
            else:
                rest.append(message)
        return rest

    def _is_known_by_calls(self, message: Message) -> bool:
        """Return whether all calls of a message belong to one message in the transcript, which it then edits."""
        ids = {call.id for call in message.tool_calls}
        if not ids or "" in ids:
            return False
        slot = next(
            (each for each in self._slots.values() if ids <= {call.id for call in each.message.tool_calls}), None
        )
        if slot is not None:
            self._matched.setdefault(slot.key, message)
        return slot is not None

    def seen_now(self, source: str) -> dict[str, str]:
        """Return the known messages that a source has for the first time. See `Heard.seen`."""
        known = self._seen.get(source, set())
        pairs = [(identity(message), self._slots[key]) for key, message in self._matched.items()]
        return {
            name: "" if slot.message.id else slot.key
            for name, slot in pairs
            if name and (name not in known or name not in self._named)
        }

    def changes(self, told: SourceMessages) -> dict[str, Entry]:
        """Return the entries with edited and removed messages, by name."""
        changed: dict[str, Entry] = {}
        removed = self._removed(told)
        gone = {each.key for each in removed if not (told.is_after_rollback and isinstance(each.entry, ModelTurn))}
        for key, slot in self._slots.items():
            if slot.is_open:
                continue
            message = REMOVED if key in gone else self._edited(slot)
            if message is not None:
                entry = changed.get(slot.name, slot.entry)
                changed[slot.name] = _with_message(entry, slot.position, message)
        return changed

    def missing_turns(self, told: SourceMessages) -> tuple[str, ...]:
        """Return the identities of the model's turns that a source told earlier, and does not tell now."""
        return tuple(identity(each.message) for each in self._removed(told) if isinstance(each.entry, ModelTurn))

    def _edited(self, slot: Slot) -> Message | None:
        """Return the replacement of a message in the transcript; None if it does not change."""
        own, message = slot.message, self._matched.get(slot.key)
        if message is None:
            return None
        message_id = message.id or own.id
        if not is_same(own, message):
            calls = tuple(_with_secrets(call, own) for call in message.tool_calls)
            return message.model_copy(update={"id": message_id, "verbatim": None, "tool_calls": calls})
        return own.model_copy(update={"id": message_id}) if own.id and own.id != message_id else None

    def _removed(self, told: SourceMessages) -> list[Slot]:
        seen, now, matched = self._seen, told.identities_by_source(), self._matched
        return [
            slot
            for name, slot in self._named.items()
            if slot.key not in matched
            and any(name in seen.get(source, ()) and name not in names for source, names in now.items())
        ]


def is_same(one: Message, other: Message) -> bool:
    """Return whether two messages have the same contents: role, text, calls with their results, and files."""
    if one.role != other.role or one.content != other.content:
        return False
    if not (one.parts or other.parts) and one.tool_calls == other.tool_calls:
        return True
    return contents_digest(one) == contents_digest(other)


def _with_secrets(call: ToolCall, own: Message) -> ToolCall:
    """Return a call with the arguments that the transcript has, if these differ only by masks of secrets."""
    same = next((each for each in own.tool_calls if each.id == call.id and each.name == call.name), None)
    if same is None or same.arguments == call.arguments or hidden(same.arguments) != call.arguments:
        return call
    return call.model_copy(update={"arguments": same.arguments})


def _with_message(entry: Entry, position: int, message: Message) -> Entry:
    """Return an entry with another message at a position."""
    match entry:
        case Heard(messages=messages):
            return replace(entry, messages=(*messages[:position], message, *messages[position + 1 :]))
        case ModelTurn():
            return replace(entry, message=message, is_edited=True)
        case Feedback() | Nudged():
            return replace(entry, message=message)
        case Replacement():
            return replace(entry, summary=message)
        case _:
            return entry

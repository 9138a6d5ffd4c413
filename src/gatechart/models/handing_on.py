"""The conversation in a packet: the context's messages, with the messages of a model loop between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gatechart.handoff.conversation import SUMMARY
from gatechart.handoff.packet import Message, TextPart, ToolCall
from gatechart.models.contents import digest_of, digest_of_calls
from gatechart.models.model import result_text
from gatechart.models.transcript import Transcript

SHORT: Final = 1_000
"""Characters that stay of a long text or result where the messages are too large."""


@dataclass(slots=True)
class _Line:
    """A message of the packet's conversation."""

    message: Message
    is_added: bool  # by the loop; otherwise it was in the packet


def handed_on(transcript: Transcript, conversation: Sequence[Message], most_bytes: int) -> tuple[Message, ...]:
    """Return the conversation of a packet with the messages of a loop, each in its place, and none of them twice.

    Messages of users are only added to a packet without a conversation. If the packet starts later than the
    transcript, earlier messages of the loop stay out, too.

    most_bytes: of the added messages, as JSON. If they have more, the oldest are shortened, then left out.
    """
    return tuple(line.message for line in _fitting(_merged(transcript, conversation), most_bytes))


def _merged(transcript: Transcript, conversation: Sequence[Message]) -> list[_Line]:
    queue = _Queue(conversation)
    lines = list(queue.through_last_of(transcript.replaced()))
    is_cut = False  # whether the transcript began before the packet's conversation
    for message, is_own in transcript.handed_on():
        place = queue.place_of(message, is_own=is_own)
        if place is not None:
            if is_cut and not queue.passed:
                lines.clear()
            lines += queue.through(place)
        elif is_own:
            lines += [*queue.before(message), _Line(message, is_added=True)]
        elif conversation:
            is_cut = True
        else:
            lines.append(_Line(message, is_added=True))
    return [*lines, *queue.through(len(conversation) - 1)]


class _Queue:
    """The messages of a packet, taken from the front."""

    def __init__(self, conversation: Sequence[Message]) -> None:
        self._conversation = conversation
        self.passed = 0  # messages taken
        self._places: defaultdict[str, list[int]] = defaultdict(list)
        for place, message in enumerate(conversation):
            self._places[_key(message, is_own=bool(message.tool_calls))].append(place)

    def place_of(self, message: Message, *, is_own: bool) -> int | None:
        """Return where a message of the transcript is in the packet, each place once; None if it is not there."""
        places = self._places[_key(message, is_own=is_own)]
        return places.pop(0) if places else None

    def through(self, place: int) -> Iterator[_Line]:
        """Take the messages up to a place."""
        while self.passed <= place:
            yield self._next()

    def through_last_of(self, digests: frozenset[str]) -> Iterator[_Line]:
        """Take the messages up to the last one with one of the digests."""
        known = (place for place, each in enumerate(self._conversation) if digests and digest_of(each) in digests)
        yield from self.through(max(known, default=-1))

    def before(self, message: Message) -> Iterator[_Line]:
        """Take the messages that are older than a message, by their times."""
        while self.passed < len(self._conversation) and message.time is not None:
            time = self._conversation[self.passed].time
            if time is None or time >= message.time:
                return
            yield self._next()

    def _next(self) -> _Line:
        self.passed += 1
        return _Line(self._conversation[self.passed - 1], is_added=False)


def _key(message: Message, *, is_own: bool) -> str:
    """Return the key of a message: its id or its digest. Results of calls are left out, as they may be newer."""
    return message.id or (digest_of_calls(message) if is_own else digest_of(message))


def _fitting(lines: list[_Line], most_bytes: int) -> list[_Line]:
    """Return the lines with added messages of at most `most_bytes`, and a note about the messages left out."""
    size = sum(_size(each.message) for each in lines if each.is_added)
    for line in _oldest_first(lines):
        if size <= most_bytes:
            return lines
        size -= _size(line.message)
        line.message = _shortened(line.message)
        size += _size(line.message)
    out: list[_Line] = []
    for line in _oldest_first(lines):
        if size <= most_bytes:
            break
        size -= _size(line.message)
        out.append(line)
    if not out:
        return lines
    first = next(place for place, line in enumerate(lines) if any(line is each for each in out))
    told = f"{len(out)} messages of the model were left out here: a handoff keeps at most {most_bytes:,} bytes of them."
    note = _Line(Message(role=SUMMARY, content=told, time=lines[first].message.time), is_added=True)
    kept = [line for line in lines[first:] if all(line is not each for each in out)]
    return [*lines[:first], note, *kept]


def _oldest_first(lines: Iterable[_Line]) -> Iterator[_Line]:
    """Yield the added messages, oldest first. Summaries come last, because they replace even older messages."""
    added = [each for each in lines if each.is_added]
    yield from sorted(added, key=lambda each: each.message.role == SUMMARY)


def _size(message: Message) -> int:
    return len(message.model_dump_json())


def _shortened(message: Message) -> Message:
    """Return a message with the beginnings of its texts and results; media stay."""
    return message.model_copy(
        update={
            "content": _beginning(message.content),
            "parts": tuple(_short_part(each) for each in message.parts),
            "tool_calls": tuple(map(_short_call, message.tool_calls)),
        }
    )


def _short_call(call: ToolCall) -> ToolCall:
    if call.error or call.parts:
        parts = tuple(_short_part(each) for each in call.parts)
        return call.model_copy(update={"error": _beginning(call.error), "output": None, "parts": parts})
    text = result_text(call)
    short = _beginning(text)
    return call if short == text else call.model_copy(update={"output": short})


def _short_part(part: object) -> object:
    return part.model_copy(update={"text": _beginning(part.text)}) if isinstance(part, TextPart) else part


def _beginning(text: str) -> str:
    return text if len(text) <= SHORT else f"{text[:SHORT]}\n[Shortened for the handoff: {len(text):,} characters.]"

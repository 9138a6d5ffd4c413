"""The transcript of a model loop: what was heard, each turn of the model, and the results of its calls.

It is read from the entries of an agent's journal, in the order written. A turn and the results of its calls are entries
of their own, and together one message.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Annotated, Final, TypeAlias, TypeVar
from uuid import uuid4

from pydantic import Field, JsonValue, TypeAdapter

from gatechart.handoff import MediaPart, Message, TextPart, ToolCall
from gatechart.handoff.media import without_bytes
from gatechart.hosting.tool_records import LONGEST_CALL_ID
from gatechart.models.dialects import StoredMessage, with_call_arguments
from gatechart.models.known_ids import KnownIds
from gatechart.models.model import NO_USAGE, Finish, Usage
from gatechart.secrets import hidden
from gatechart.values import CutTalk, unkept

FOLLOWED: Final = "The work was handed on. The next agent continues from here."
"""Result of a transfer to another graph, for the agent that gets the work."""

UNFINISHED: Final = "no result: the work was handed on before this call was made, or before it ended"
"""Error of a call that had no result when the work was handed on."""

_UNLESS_EMPTY: Final = Field(exclude_if=operator.not_)  # a turn is stored often, so without what says nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """Messages that others said, as they came to the loop."""

    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTurn:
    """An answer of the model. The calls of its message have no results: these are entries of their own."""

    number: int  # from 1, over the whole transcript
    by: str  # the entry of a state and the invoke that asked
    state: str
    message: StoredMessage
    finish: Finish
    usage: Usage
    transfers: Annotated[tuple[str, ...], _UNLESS_EMPTY] = ()  # tools of the transfers that it was offered
    reason: Annotated[str, _UNLESS_EMPTY] = ""  # the provider's own word for why the answer ended
    form: Annotated[int, _UNLESS_EMPTY] = 0  # in which its provider took the messages before it: see `in_form`
    limit: Annotated[int, _UNLESS_EMPTY] = 0  # of the tokens of these messages, as sent: see `fitted`


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
    """What the loop told the model about an answer that does not fit."""

    turn: int
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Nudged:
    """What a way out told the model."""

    number: int  # of the attempt, by which it is told once
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """What stands in place of entries that are no longer told."""

    turns: int  # turns of the model so far
    summary: Message | None
    by: str  # as of a turn
    usage: Usage  # of that entry and invoke so far, the summary included
    known: Mapping[str, int] = field(default_factory=dict)  # digests of replaced messages that others may still say
    nudged: int = 0  # number of the newest nudge so far
    ids: Annotated[str, _UNLESS_EMPTY] = ""  # of the calls that were replaced: see KnownIds


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction(Replacement):
    """A summary in place of the older entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut(Replacement):
    """What stands in place of the newest turns, which a way out has left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutAsked:
    """An operator's entry: the loop leaves out the newest turns when it next starts."""

    since: int  # number of the first of these turns
    reason: str = ""


E = TypeVar("E")
Entry: TypeAlias = Heard | ModelTurn | CallResult | Feedback | Nudged | Compaction | Cut | CutAsked

_KINDS: Final[Mapping[str, TypeAdapter[Entry]]] = {
    "heard": TypeAdapter(Heard),
    "turn": TypeAdapter(ModelTurn),
    "result": TypeAdapter(CallResult),
    "feedback": TypeAdapter(Feedback),
    "nudge": TypeAdapter(Nudged),
    "compaction": TypeAdapter(Compaction),
    "cut": TypeAdapter(Cut),
    "cutting": TypeAdapter(CutAsked),
}


def text_of(name: str, entry: Entry) -> str:
    """Return an entry as JSON text. name: under which it is written; it begins with the kind of entry."""
    return _KINDS[name.partition(".")[0]].dump_json(entry).decode()


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


def digest_of(message: Message) -> str:
    """Return 16 hexadecimal digits that other messages do not have. Secrets count as their masks, bytes as digests."""
    text = without_secrets(without_bytes(message)).model_dump_json(exclude={"verbatim"})
    return blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()


def digest_of_calls(message: Message) -> str:
    """Return the digest of a message without the results of its calls."""
    calls = tuple(call.model_copy(update={"output": None, "error": "", "parts": ()}) for call in message.tool_calls)
    return digest_of(message.model_copy(update={"tool_calls": calls}) if calls else message)


class Transcript:
    """What a loop and its model said to each other, and to others."""

    def __init__(self, entries: Mapping[str, str] | None = None) -> None:
        """Read the entries of a journal. Entries of other names are not the loop's, and left alone."""
        self._entries: dict[str, Entry] = {}
        self._results: dict[tuple[int, int], CallResult] = {}
        for name, text in (entries or {}).items():
            self.add(name, text)

    def add(self, name: str, text: str) -> None:
        """Add an entry that was written last. Raises pydantic's ValidationError for one that cannot be read."""
        kind = _KINDS.get(name.partition(".")[0])
        if kind is None:
            return
        self._put(name, kind.validate_json(text))

    def _put(self, name: str, entry: Entry) -> None:
        self._entries[name] = entry
        if isinstance(entry, CallResult):
            self._results[entry.turn, entry.place] = entry

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, oldest first, each turn with the results of its calls."""
        return tuple(message for _, messages in self._entries_with_messages() for message in messages)

    @property
    def forms(self) -> tuple[int, ...]:
        """The form of each message that a provider accepted; 0 where none is known."""
        form, forms = 0, []
        for entry, messages in reversed(list(self._entries_with_messages())):
            forms += [form] * len(messages)
            form = max(form, entry.form if isinstance(entry, ModelTurn) else 0)
        return tuple(reversed(forms))

    @property
    def turns(self) -> int:
        """How many turns the model took, replaced ones among them."""
        replaced = max((each.turns for each in self._of(Replacement)), default=0)
        return max(replaced, 0 if self.last is None else self.last.number)

    @property
    def last(self) -> ModelTurn | None:
        """The newest turn of the model; None if there is none."""
        return next((each for each in reversed(self._entries.values()) if isinstance(each, ModelTurn)), None)

    @property
    def nudged(self) -> int:
        """Number of the newest nudge that the model was told; 0 for none."""
        replaced = (each.nudged for each in self._of(Replacement))
        return max((*replaced, *(each.number for each in self._of(Nudged))), default=0)

    @property
    def is_answered(self) -> bool:
        """Whether the model had the last word: nobody said anything since its newest turn."""
        had = False
        for entry in self._entries.values():
            if not isinstance(entry, CallResult | Replacement | CutAsked):
                had = isinstance(entry, ModelTurn)
        return had

    @property
    def size(self) -> int:
        """Tokens of the newest turn and of all that the model was told for it, as its provider counted them."""
        return 0 if self.last is None else self.last.usage.tokens

    def unheard(self, said: Iterable[Message]) -> tuple[Message, ...]:
        """Return the messages that the transcript lacks, each as often as it is missing.

        A turn that comes back from another agent is known by its calls: their results may differ.
        """
        known = self._known()
        new: list[Message] = []
        for message in said:
            digest = digest_of(message)
            if known[digest]:
                known[digest] -= 1
            else:
                new.append(message)
        return self._without_own(new) if any(each.tool_calls for each in new) else tuple(new)

    def _without_own(self, said: Iterable[Message]) -> tuple[Message, ...]:
        """Return the messages without the turns of this model that another agent gives back with other results."""
        own = {digest_of_calls(each.message) for each in self._of(ModelTurn) if each.message.tool_calls}
        return tuple(each for each in said if not each.tool_calls or digest_of_calls(each) not in own)

    def untold(self, said: Iterable[Message]) -> tuple[Message, ...]:
        """Return the messages of this side, the model's and the loop's, that are not among those said.

        A turn whose calls have no results yet is left out: it is no whole message.
        """
        there = Counter(map(digest_of, said))
        new: list[Message] = []
        for message in (each for entry, told in self._entries_with_messages() if self._is_own(entry) for each in told):
            digest = digest_of(message)
            if there[digest]:
                there[digest] -= 1
            else:
                new.append(message)
        return tuple(new)

    def handed_on(self) -> Iterator[tuple[Message, bool]]:
        """Yield each message for another agent, and whether the loop or its model wrote it.

        Secrets are masked, the provider's own form is left out, and each call has a result or says why it has none.
        """
        for entry, messages in self._entries_with_messages():
            for message in messages:
                shown = self._closed(entry) if isinstance(entry, ModelTurn) else message
                yield without_secrets(shown.model_copy(update={"verbatim": None})), not isinstance(entry, Heard)

    def _closed(self, turn: ModelTurn) -> Message:
        """Return a turn with the reason in each call without a result: a followed transfer, or an interruption."""
        message = self._with_results(turn)
        calls = tuple(
            call
            if call.error or self.result(turn, place) is not None
            else call.model_copy(update={"output": FOLLOWED} if call.name in turn.transfers else {"error": UNFINISHED})
            for place, call in enumerate(message.tool_calls)
        )
        return message.model_copy(update={"tool_calls": calls})

    def replaced(self) -> frozenset[str]:
        """Return the digests of summarized messages that the context may still have."""
        return frozenset(digest for each in self._of(Compaction) for digest in each.known)

    def open_calls(self) -> list[tuple[int, ToolCall]]:
        """Return the calls of the newest turn that have no result, each with its place."""
        last = self.last
        calls = () if last is None else enumerate(last.message.tool_calls)
        return [(place, call) for place, call in calls if last and (last.number, place) not in self._results]

    def result(self, turn: ModelTurn, place: int) -> CallResult | None:
        """Return the result of a call."""
        return self._results.get((turn.number, place))

    @property
    def usage(self) -> Usage:
        """What the turns and summaries that it has took."""
        turns, summaries = self._of(ModelTurn), self._of(Replacement)
        return sum((*(each.usage for each in turns), *(each.usage for each in summaries)), NO_USAGE)

    def usage_of(self, by: str) -> Usage:
        """Return what the turns, and the summaries, of one entry of a state and invoke took."""
        turns = (each.usage for each in self.turns_of(by))
        summaries = (each.usage for each in self._of(Replacement) if each.by == by)
        return sum((*turns, *summaries), NO_USAGE)

    def turns_of(self, by: str) -> list[ModelTurn]:
        """Return the turns that one entry of a state and invoke asked for, oldest first."""
        return [each for each in self._of(ModelTurn) if each.by == by]

    def call_ids(self) -> KnownIds:
        """Return the ids of all calls, also of replaced entries."""
        ids = (call.id for each in self._of(ModelTurn) for call in each.message.tool_calls)
        return KnownIds.of(ids, *(each.ids for each in self._of(Replacement)))

    def added(self) -> tuple[Message, ...] | None:
        """Return the newest turn with the results of its calls, and the messages after it.

        None if there is no turn, or if entries have been replaced since: what its provider counted is outdated.
        """
        entries = list(self._entries.values())
        turns = [place for place, each in enumerate(entries) if isinstance(each, ModelTurn)]
        newer = entries[turns[-1] :] if turns else []
        if not newer or any(isinstance(each, Replacement) for each in newer):
            return None
        return tuple(message for each in newer for message in self._messages(each))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the entries, in the order written."""
        return tuple(self._entries)

    def groups(self) -> Iterator[tuple[tuple[str, ...], tuple[Message, ...]]]:
        """Yield the names of entries that belong together, a turn and its results, with their messages, in order."""
        results: dict[int, list[str]] = {}
        for name, entry in self._entries.items():
            if isinstance(entry, CallResult):
                results.setdefault(entry.turn, []).append(name)
        for name, entry in self._in_order():
            if not isinstance(entry, CallResult):
                more = results.get(entry.number, ()) if isinstance(entry, ModelTurn) else ()
                yield (name, *more), self._messages(entry)

    def split(self, keep: int) -> tuple[Transcript, Transcript]:
        """Return the older part, and the newest messages, so many, each turn with the results of its calls."""
        told = [name for name, entry in self._in_order() if not isinstance(entry, CallResult)]
        newest = set(told[max(len(told) - keep, 0) :])
        numbers = {
            entry.number for name, entry in self._entries.items() if name in newest and isinstance(entry, ModelTurn)
        }
        old, new = Transcript(), Transcript()
        for name, entry in self._entries.items():
            is_new = entry.turn in numbers if isinstance(entry, CallResult) else name in newest
            (new if is_new else old)._put(name, entry)
        return old, new

    def part(self, names: Collection[str]) -> tuple[Transcript, Transcript]:
        """Return the entries of these names, and the rest."""
        old, left = Transcript(), Transcript()
        for name, entry in self._entries.items():
            (old if name in names else left)._put(name, entry)
        return old, left

    def asked_cut(self) -> tuple[str, Transcript, Transcript] | None:
        """Return a name for the cut that operators asked for, the part that is left out, and the rest; else None."""
        asked = {name: each.since for name, each in self._entries.items() if isinstance(each, CutAsked)}
        if not asked:
            return None
        since = min(asked.values())
        return next(iter(asked)), *self._split(lambda each: isinstance(each, CutAsked) or _number(each) >= since)

    def without(self, part: CutTalk, is_first: Callable[[ToolCall], bool]) -> tuple[Transcript, Transcript]:
        """Return the turns of a part with what belongs to them, and the rest. What others said is left there.

        is_first: tells the call with whose turn the part begins, if it names one.
        """
        meant = [each for each in self._of(ModelTurn) if part.since < _epoch(each) <= part.until]
        firsts = (n for n, each in enumerate(meant) if not part.call or any(map(is_first, each.message.tool_calls)))
        first = next(firsts, len(meant))
        numbers = {each.number for each in meant[first:]}
        old, left = Transcript(), Transcript()
        for name, entry in self._entries.items():
            is_old = _number(entry) in numbers or (isinstance(entry, Nudged) and bool(old.names))
            (old if is_old else left)._put(name, entry)
        return old, left

    def _split(self, is_old: Callable[[Entry], bool]) -> tuple[Transcript, Transcript]:
        old, left = Transcript(), Transcript()
        for name, entry in self._entries.items():
            (old if is_old(entry) else left)._put(name, entry)
        return old, left

    def known_of(self, said: Iterable[Message]) -> dict[str, int]:
        """Return the digests of the messages here that others still say, each with their number."""
        there = Counter(map(digest_of, said))
        return dict(self._known() & there)

    def _known(self) -> Counter[str]:
        known = Counter(map(digest_of, self.messages))
        for each in self._of(Replacement):
            known.update(each.known)
        return known

    def _entries_with_messages(self) -> Iterator[tuple[Entry, tuple[Message, ...]]]:
        for _, entry in self._in_order():
            yield entry, self._messages(entry)

    def _in_order(self) -> list[tuple[str, Entry]]:
        """Return the entries by name; a summary comes first, although it was written after those that it left."""
        return sorted(self._entries.items(), key=lambda each: not isinstance(each[1], Compaction))

    def _is_own(self, entry: Entry) -> bool:
        is_open = isinstance(entry, ModelTurn) and any(
            self.result(entry, place) is None for place in range(len(entry.message.tool_calls))
        )
        return not isinstance(entry, Heard) and not is_open

    def _messages(self, entry: Entry) -> tuple[Message, ...]:
        match entry:
            case Heard(messages=messages):
                return messages
            case ModelTurn():
                return (self._with_results(entry),)
            case Feedback(message=message) | Nudged(message=message):
                return (message,)
            case Replacement(summary=summary) if summary is not None:
                return (summary,)
            case _:
                return ()

    def _with_results(self, turn: ModelTurn) -> Message:
        calls = tuple(
            call if (result := self.result(turn, place)) is None else _answered(call, result)
            for place, call in enumerate(turn.message.tool_calls)
        )
        return turn.message.model_copy(update={"tool_calls": calls}) if calls else turn.message

    def _of(self, kind: type[E]) -> list[E]:
        return [each for each in self._entries.values() if isinstance(each, kind)]


def _number(entry: Entry) -> int:
    """Return the number of the turn that an entry is, or is about; 0 if it is about none."""
    if isinstance(entry, ModelTurn):
        return entry.number
    return entry.turn if isinstance(entry, CallResult | Feedback) else 0


def _epoch(turn: ModelTurn) -> int:
    return int(turn.by.partition(".")[0])


def _answered(call: ToolCall, result: CallResult) -> ToolCall:
    return call.model_copy(update={"output": result.output, "error": result.error, "parts": result.parts})


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

"""The transcript of a model loop: messages received, turns of the model, and the results of its calls.

It is read from the entries of an agent's journal, in the order written. A turn and the results of its calls are
separate entries, and together one message.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeVar

from gatechart.handoff.packet import Message, ToolCall
from gatechart.models.contents import contents_digest, digest_of, identity, with_arguments, without_secrets
from gatechart.models.entries import (
    ENTRY_KINDS,
    CallResult,
    Compaction,
    CutAsked,
    Entry,
    Feedback,
    Heard,
    ModelTurn,
    Nudged,
    Replacement,
    Slot,
    entry_of,
    messages_of,
)
from gatechart.models.known_ids import KnownIds
from gatechart.models.model import NO_USAGE, Usage
from gatechart.secrets import revealed
from gatechart.values.escapes import CutTalk

FOLLOWED: Final = "The work was handed on. The next agent continues from here."
"""Result of a transfer to another graph, for the agent that gets the work."""

UNFINISHED: Final = "no result: the work was handed on before this call was made, or before it ended"
"""Error of a call that had no result when the work was handed on."""

_MOST_KEPT: Final = 128  # transcripts

E = TypeVar("E")


class Transcript:
    """The messages between a loop, its model and other senders."""

    def __init__(self, entries: Mapping[str, str] | None = None) -> None:
        """Read the entries of a journal. Entries of other names are not the loop's, and left alone."""
        self._entries: dict[str, Entry] = {}
        self._results: dict[tuple[int, int], CallResult] = {}
        self._texts: dict[str, str] = {}  # of the entries
        self._turn_names: dict[int, str] = {}  # of the entries of turns, by number
        self._told: dict[str, tuple[Message, ...]] = {}  # messages of entries by name; a cache
        self._slots: dict[str, tuple[Slot, ...]] = {}  # of entries by name; a cache
        self._kinds: dict[type[Any], list[Any]] = {}  # entries by kind; a cache
        for name, text in (entries or {}).items():
            self.add(name, text)

    def add(self, name: str, text: str) -> None:
        """Add an entry that was written last. Raises pydantic's ValidationError for one that cannot be read."""
        kind = name.partition(".")[0]
        if kind in ENTRY_KINDS:
            self._put(name, entry_of(kind, text), text)

    def continued(self, entries: Mapping[str, str]) -> Transcript:
        """Return the transcript of a journal. Entries that this transcript has, in its order, are not read again."""
        own = [(name, text) for name, text in entries.items() if name.partition(".")[0] in ENTRY_KINDS]
        if own[: len(self._texts)] != list(self._texts.items()):
            return Transcript(entries)
        transcript = self._copy()
        for name, text in own[len(self._texts) :]:
            transcript.add(name, text)
        return transcript

    def _copy(self) -> Transcript:
        copied = Transcript()
        copied._entries, copied._texts = dict(self._entries), dict(self._texts)
        copied._results, copied._turn_names = dict(self._results), dict(self._turn_names)
        copied._told, copied._slots = dict(self._told), dict(self._slots)
        copied._kinds = {kind: list(entries) for kind, entries in self._kinds.items()}
        return copied

    def rewrite(self, name: str, text: str, gone: Iterable[str] = ()) -> None:
        """Replace an entry in its position. gone: names of entries that are forgotten."""
        for each in gone:
            self._entries.pop(each, None)
            self._texts.pop(each, None)
        self._entries[name], self._texts[name] = entry_of(name.partition(".")[0], text), text
        self._forget(name)
        self._kinds.clear()

    def _put(self, name: str, entry: Entry, text: str) -> None:
        if name in self._entries:
            self._kinds.clear()
        self._entries[name], self._texts[name] = entry, text
        self._forget(name)
        for kind, entries in self._kinds.items():
            if isinstance(entry, kind):
                entries.append(entry)
        if isinstance(entry, ModelTurn):
            self._turn_names[entry.number] = name
        elif isinstance(entry, CallResult):
            self._results[entry.turn, entry.place] = entry
            self._forget(self._turn_names.get(entry.turn, ""))

    def _forget(self, name: str) -> None:
        """Forget what follows from an entry, which has changed."""
        self._told.pop(name, None)
        self._slots.pop(name, None)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, oldest first, each turn with the results of its calls."""
        return tuple(message for _, messages in self._entries_with_messages() for message in messages)

    @property
    def forms(self) -> tuple[int, ...]:
        """The form of each message that a provider accepted; 0 where none is known."""
        if not any(turn.form for turn in self._of(ModelTurn)):
            return (0,) * len(self.messages)
        form, forms = 0, []
        for entry, messages in reversed(list(self._entries_with_messages())):
            forms += [form] * len(messages)
            form = max(form, entry.form if isinstance(entry, ModelTurn) else 0)
        return tuple(reversed(forms))

    @property
    def turns(self) -> int:
        """How many turns the model took, replaced ones among them."""
        replaced = (each.turns for each in self._of(Replacement))
        return max((*replaced, *(each.number for each in self._of(ModelTurn))), default=0)

    @property
    def last(self) -> ModelTurn | None:
        """The newest turn of the model that was not removed; None if there is none."""
        turns = (each for each in reversed(self._entries.values()) if isinstance(each, ModelTurn))
        return next((each for each in turns if each.message.role), None)

    @property
    def nudged(self) -> int:
        """Number of the newest nudge sent to the model; 0 for none."""
        replaced = (each.nudged for each in self._of(Replacement))
        return max((*replaced, *(each.number for each in self._of(Nudged))), default=0)

    @property
    def is_answered(self) -> bool:
        """Whether no message came after the model's newest turn."""
        entries = (each for each in reversed(self._entries.items()) if not isinstance(each[1], Replacement))
        return isinstance(next((each for each in entries if self._messages(*each)), ("", None))[1], ModelTurn)

    @property
    def size(self) -> int:
        """Tokens of the newest turn and its request, as its provider counted them."""
        return 0 if self.last is None else self.last.usage.tokens

    def slots(self) -> list[Slot]:
        """Return all messages with the entries that have them, oldest first."""
        return [slot for name, entry in self._in_order() for slot in self._slots_of(name, entry)]

    def _slots_of(self, name: str, entry: Entry) -> tuple[Slot, ...]:
        slots = self._slots.get(name)
        if slots is None:
            slots = self._slots[name] = tuple(self._new_slots(name, entry))
        return slots

    def _new_slots(self, name: str, entry: Entry) -> Iterator[Slot]:
        messages = (
            entry.messages if isinstance(entry, Heard) else self._messages(name, entry)
        )  # removed messages keep their positions
        for position, message in enumerate(messages):
            if message.role:
                key = f"{name}/{position}"
                yield Slot(name, position, message, entry, self._is_open(entry), key, identity(message))

    @property
    def seen(self) -> Mapping[str, set[str]]:
        """Identities of the messages from each source."""
        seen: dict[str, set[str]] = {}
        for each in self._of(Heard):
            for identities in seen.values():
                identities.difference_update(each.kept)
            seen.setdefault(each.source, set()).update(each.seen, filter(None, map(identity, each.messages)))
        return seen

    @property
    def aliases(self) -> Mapping[str, str]:
        """Identities of messages that have no id in the transcript, each with the key of the message."""
        return {message_id: key for each in self._of(Heard) for message_id, key in each.seen.items() if key}

    @property
    def summarized(self) -> Mapping[str, str]:
        """Identities of replaced messages that a source may still send, each with the digest of its contents."""
        return {message_id: digest for each in self._of(Replacement) for message_id, digest in each.ids.items()}

    @property
    def summarized_digests(self) -> Counter[str]:
        """Digests of replaced messages that a source may still send, each with the number of its messages."""
        digests: Counter[str] = Counter()
        for each in self._of(Replacement):
            digests.update(each.known)
        return digests

    def untold(self, said: Iterable[Message]) -> tuple[Message, ...]:
        """Return the messages of the model and the loop that are not in `said`.

        A turn whose calls have no results yet is left out, because it is not a whole message.
        """
        listed = tuple(said)
        ids = set(map(identity, listed)) - {""}
        own = (slot for slot in self.slots() if not isinstance(slot.entry, Heard) and not slot.is_open)
        rest = [slot.message for slot in own if slot.identity not in ids]
        if all(message.id for message in (*rest, *listed)):  # then these decide
            return tuple(rest)
        there = Counter(digest_of(message) for message in listed)
        new: list[Message] = []
        for message in rest:
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
        if turn.is_edited:
            return message
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
        calls = () if last is None or last.is_edited else enumerate(last.message.tool_calls)
        return [(place, call) for place, call in calls if last and (last.number, place) not in self._results]

    def result(self, turn: ModelTurn, place: int) -> CallResult | None:
        """Return the result of a call."""
        if turn.is_edited:
            call = turn.message.tool_calls[place]
            return CallResult(turn=turn.number, place=place, output=call.output, error=call.error, parts=call.parts)
        return self._results.get((turn.number, place))

    @property
    def usage(self) -> Usage:
        """Usage of the turns and summaries in the transcript."""
        turns, summaries = self._of(ModelTurn), self._of(Replacement)
        return sum((*(each.usage for each in turns), *(each.usage for each in summaries)), NO_USAGE)

    def usage_of(self, by: str) -> Usage:
        """Return the usage of the turns and summaries of one entry of a state and invoke."""
        turns = (each.usage for each in self.turns_of(by))
        summaries = (each.usage for each in self._of(Replacement) if each.by == by)
        return sum((*turns, *summaries), NO_USAGE)

    def entry(self, name: str) -> Entry:
        """Return the entry of a name that the transcript has."""
        return self._entries[name]

    def results_of(self, number: int) -> tuple[str, ...]:
        """Return the names of the results of a turn's calls."""
        results = ((name, each) for name, each in self._entries.items() if isinstance(each, CallResult))
        return tuple(name for name, each in results if each.turn == number)

    def turns_of(self, by: str) -> list[ModelTurn]:
        """Return the turns that one entry of a state and invoke asked for, oldest first."""
        return [each for each in self._of(ModelTurn) if each.by == by]

    def call_ids(self) -> KnownIds:
        """Return the ids of all calls, also of replaced entries."""
        ids = (call.id for each in self._of(ModelTurn) for call in each.message.tool_calls)
        return KnownIds.of(ids, *(each.call_ids for each in self._of(Replacement)))

    def added(self) -> tuple[Message, ...] | None:
        """Return the newest turn with the results of its calls, and the messages after it.

        None if there is no turn, or if entries have been replaced since: what its provider counted is outdated.
        """
        newer: list[tuple[str, Entry]] = []
        for name, entry in reversed(self._entries.items()):
            newer.append((name, entry))
            if isinstance(entry, Replacement):
                return None
            if isinstance(entry, ModelTurn):
                return tuple(message for each in reversed(newer) for message in self._messages(*each))
        return None

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
                yield (name, *more), self._messages(name, entry)

    def split(self, keep: int) -> tuple[Transcript, Transcript]:
        """Return the older part, and the `keep` newest messages, each turn with the results of its calls."""
        told = [name for name, entry in self._in_order() if not isinstance(entry, CallResult)]
        newest = set(told[max(len(told) - keep, 0) :])
        numbers = {
            entry.number for name, entry in self._entries.items() if name in newest and isinstance(entry, ModelTurn)
        }
        old, new = Transcript(), Transcript()
        for name, entry in self._entries.items():
            is_new = entry.turn in numbers if isinstance(entry, CallResult) else name in newest
            (new if is_new else old)._put(name, entry, self._texts[name])
        return old, new

    def part(self, names: Collection[str]) -> tuple[Transcript, Transcript]:
        """Return the entries of these names, and the rest."""
        old, left = Transcript(), Transcript()
        for name, entry in self._entries.items():
            (old if name in names else left)._put(name, entry, self._texts[name])
        return old, left

    def asked_cut(self) -> tuple[str, Transcript, Transcript] | None:
        """Return a name for the cut that operators requested, the part to leave out, and the rest; None without one."""
        asked = {name: each.since for name, each in self._entries.items() if isinstance(each, CutAsked)}
        if not asked:
            return None
        since = min(asked.values())
        return next(iter(asked)), *self._split(lambda each: isinstance(each, CutAsked) or _number(each) >= since)

    def without(self, part: CutTalk, is_first: Callable[[ToolCall], bool]) -> tuple[Transcript, Transcript]:
        """Return the turns of a part with their results and nudges, and the rest, which has other senders' messages.

        is_first: whether a call is the first of the part, if the part names one.
        """
        meant = [each for each in self._of(ModelTurn) if part.since < _epoch(each) <= part.until]
        firsts = (n for n, each in enumerate(meant) if not part.call or any(map(is_first, each.message.tool_calls)))
        first = next(firsts, len(meant))
        numbers = {each.number for each in meant[first:]}
        old, left = Transcript(), Transcript()
        for name, entry in self._entries.items():
            is_old = _number(entry) in numbers or (isinstance(entry, Nudged) and bool(old.names))
            (old if is_old else left)._put(name, entry, self._texts[name])
        return old, left

    def _split(self, is_old: Callable[[Entry], bool]) -> tuple[Transcript, Transcript]:
        old, left = Transcript(), Transcript()
        for name, entry in self._entries.items():
            (old if is_old(entry) else left)._put(name, entry, self._texts[name])
        return old, left

    def known_of(self, said: Iterable[Message]) -> dict[str, int]:
        """Return the digests of the messages here that a source still sends, each with the number of its messages."""
        listed = tuple(said)
        ids = self.ids_of(listed)
        there = Counter(digest_of(message) for message in listed if identity(message) not in ids)
        return dict((Counter(map(digest_of, self.messages)) + self.summarized_digests) & there)

    def ids_of(self, said: Iterable[Message]) -> dict[str, str]:
        """Return the identities of messages here that a source still sends, each with the digest of its contents."""
        known = {*self.summarized, *self.aliases, *map(identity, self.messages)} - {""}
        return {identity(each): contents_digest(each) for each in said if identity(each) in known}

    def _entries_with_messages(self) -> Iterator[tuple[Entry, tuple[Message, ...]]]:
        for name, entry in self._in_order():
            yield entry, self._messages(name, entry)

    def _in_order(self) -> list[tuple[str, Entry]]:
        """Return the entries by name; a summary comes first, although it was written after the entries that it kept."""
        entries = list(self._entries.items())
        if not self._of(Compaction):
            return entries
        return sorted(entries, key=lambda each: not isinstance(each[1], Compaction))

    def _is_open(self, entry: Entry) -> bool:
        return isinstance(entry, ModelTurn) and any(
            self.result(entry, place) is None for place in range(len(entry.message.tool_calls))
        )

    def _messages(self, name: str, entry: Entry) -> tuple[Message, ...]:
        told = self._told.get(name)
        if told is None:
            messages = (self._with_results(entry),) if isinstance(entry, ModelTurn) else messages_of(entry)
            told = self._told[name] = tuple(each for each in messages if each.role)
        return told

    def _with_results(self, turn: ModelTurn) -> Message:
        calls = turn.message.tool_calls
        if turn.is_edited or not calls:
            return turn.message
        results = [self.result(turn, place) for place in range(len(calls))]
        return _answered_message(_Same(turn.message), *map(_Same, results))

    def _of(self, kind: type[E]) -> Sequence[E]:
        entries = self._kinds.get(kind)
        if entries is None:
            entries = self._kinds[kind] = [each for each in self._entries.values() if isinstance(each, kind)]
        return entries


class KeptTranscripts:
    """The transcripts of the latest loops, so that the next loop of an agent reads only new entries."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], Transcript] = OrderedDict()  # by agent and journal, newest last

    def continued(self, key: tuple[str, str], entries: Mapping[str, str]) -> Transcript:
        """Return the transcript of a journal, and keep it. An earlier one is reused if the entries extend it."""
        earlier = self._kept.get(key)
        return self.keep(key, Transcript(entries) if earlier is None else earlier.continued(entries))

    def keep(self, key: tuple[str, str], transcript: Transcript) -> Transcript:
        """Keep the transcript of a journal, and return it. The oldest is dropped once there are more than 128."""
        self._kept[key] = transcript
        self._kept.move_to_end(key)
        if len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return transcript


def _number(entry: Entry) -> int:
    """Return the number of the turn that an entry is, or is about; 0 if it is about none."""
    if isinstance(entry, ModelTurn):
        return entry.number
    return entry.turn if isinstance(entry, CallResult | Feedback) else 0


def _epoch(turn: ModelTurn) -> int:
    return int(turn.by.partition(".")[0])


class _Same:
    """A value as a key of a cache, equal only to itself: to hash or compare its contents would take longer."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value


@lru_cache(maxsize=4096)
def _answered_message(message: _Same, *results: _Same) -> Message:
    """Return a model's message with the results of its calls; None for a call that has none."""
    pairs = zip(message.value.tool_calls, results, strict=True)
    calls = tuple(call if result.value is None else _answered(call, result.value) for call, result in pairs)
    answered: Message = message.value.model_copy(update={"tool_calls": calls})
    return answered


@lru_cache(maxsize=4096)
def _with_revealed(message: _Same) -> Message:
    return with_arguments(message.value, lambda _, arguments: revealed(arguments))


def with_secrets(message: Message) -> Message:
    """Return a message of a transcript with the secrets among the arguments of its calls, as the model wrote them."""
    return _with_revealed(_Same(message)) if message.tool_calls else message


def _answered(call: ToolCall, result: CallResult) -> ToolCall:
    return call.model_copy(update={"output": result.output, "error": result.error, "parts": result.parts})

"""Journals of an agent, shared by its invocations: later invocations read the entries of earlier ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, MutableMapping, Sequence
from datetime import datetime
from itertools import count
from random import Random
from typing import ClassVar, Protocol
from uuid import uuid5

from gatechart.api.history import CutCommand, JournalCommand
from gatechart.hosting.invoke_journal import KEYS, RESERVED, InvokeJournal, mark
from gatechart.hosting.media_entries import MEDIA, without_referrers
from gatechart.values.commits import JournalEntry, JournalRecord, TranscriptCut
from gatechart.values.frozen import replaced as value_replaced
from gatechart.values.mail import Invocation, Mail
from gatechart.values.names import AgentId

_RUN = mark("run")
_TURN_PREFIXES = frozenset({"turn", "result", "feedback"})


class JournalHost(Protocol):
    """The storage of agents' journals."""

    async def journal(self, invocation: Invocation, name: str) -> Mapping[str, str]:
        """Return the entries of one of the agent's journals as JSON texts by name, in the order written."""
        ...

    async def enter(self, record: JournalRecord) -> str:
        """Write an entry of one of the agent's journals, and return the entry that the journal now has under its name.

        An earlier attempt may have written it. Raises InvocationOverError if the state has been left.
        """
        ...

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...


def journal_page(entries: Mapping[str, str], command: JournalCommand) -> tuple[JournalEntry, ...]:
    """Return the requested page of a journal, without the framework's own marks."""
    names = [name for name in entries if not name.startswith(RESERVED)]
    start = names.index(command.after) + 1 if command.after in names else 0
    return tuple(JournalEntry(name, json.loads(entries[name])) for name in names[start : start + command.limit])


def journal_cut(
    entries: Mapping[str, str], command: CutCommand, key: str
) -> tuple[JournalRecord | None, TranscriptCut]:
    """Return the entry that cuts a transcript for an operator, and the names of the entries left out.

    The entry is None if the transcript has no turns, or has this cut already. Entries about a turn have its number in
    their names: `turn.3`, `result.3.0`. Their contents are not read, so that any turn can be cut. key: unique among the
    cuts of the journal.
    """
    name = f"cutting.{key}"
    turns = sorted(number for prefix, number in map(_prefix_and_turn, entries) if prefix == "turn")[-command.turns :]
    if not turns or name in entries:
        return None, TranscriptCut(left_out=())
    text = json.dumps({"since": turns[0], "reason": command.reason})
    left_out = tuple(entry for entry in entries if _is_since(turns[0], entry))
    record = JournalRecord.by_operator(command.agent_id, command.journal, name, text)
    return record, TranscriptCut(left_out=left_out)


def _prefix_and_turn(entry: str) -> tuple[str, int]:
    """Split the name of an entry into its prefix and the number of its turn; 0 if it is not about a turn."""
    prefix, number, *_ = (*entry.split("."), "")
    return prefix, int(number) if number.isdecimal() else 0


def _is_since(turn: int, entry: str) -> bool:
    prefix, number = _prefix_and_turn(entry)
    return prefix in _TURN_PREFIXES and number >= turn


class AgentJournal(InvokeJournal):
    """One of an agent's journals, as one attempt at a function reads and writes it.

    Its runs are the attempts of all invocations that wrote it, and `attempt` counts them. Records that belong to one
    attempt are therefore not read by the attempts of a later invocation.
    """

    is_of_agent: ClassVar[bool] = True

    def __init__(
        self, recorder: _Recorder, invocation: Invocation, entries: MutableMapping[str, str], attempt: int
    ) -> None:
        super().__init__(recorder, invocation, entries, attempt)
        self._entries = entries
        self._agent_recorder = recorder
        self.name = recorder.journal

    @classmethod
    async def opened(cls, host: JournalHost, invocation: Invocation, name: str, attempt: int) -> AgentJournal:
        """Read a journal, and record this run in it. attempt: number of the attempt at the function in this invocation.

        Raises InvocationOverError if the state has been left.
        """
        entries = dict(await host.journal(invocation, name))
        recorder, run = _Recorder(host, name), _run_name(invocation, attempt)
        if run not in entries:
            newest = next((text for entry, text in reversed(entries.items()) if entry.startswith(_RUN)), None)
            number = 0 if newest is None else json.loads(newest)["number"] + 1
            record = {"number": number, "began": host.now().isoformat()}
            entries[run] = await recorder.record(invocation, run, json.dumps(record))
        return cls(recorder, invocation, entries, json.loads(entries[run])["number"])

    @property
    def began(self) -> datetime:
        """The time when this invocation first opened the journal, in any process and attempt."""
        runs = (self._entries.get(_run_name(self.invocation, attempt)) for attempt in count())
        return datetime.fromisoformat(json.loads(next(filter(None, runs)))["began"])

    @property
    def earlier_epoch(self) -> int:
        """Epoch of the newest earlier entry of a state whose invocation opened the journal; 0 if there is none."""
        runs = (name.removeprefix(f"{_RUN}.").split(".") for name in self._entries if name.startswith(f"{_RUN}."))
        epochs = {int(epoch) for epoch, *_ in runs} - {self.invocation.epoch}
        return max(epochs, default=0)

    @property
    def entries(self) -> Mapping[str, str]:
        """The entries of the journal, in the order written, without the framework's own marks."""
        return {name: text for name, text in self._entries.items() if not name.startswith(RESERVED)}

    async def other(self, agent_id: AgentId, name: str) -> Mapping[str, str]:
        """Return the entries of a journal of another agent; none if the agent or the journal does not exist."""
        return await self._agent_recorder.host.journal(value_replaced(self.invocation, agent_id=agent_id), name)

    async def replace(self, name: str, text: str, replaces: Sequence[str]) -> str:
        """Replace entries by one entry, and return the entry that the journal now has under its name.

        All marks are deleted too, except marks of runs and of media. The bytes of images and files are deleted with the
        last entry that refers to them. Raises InvocationOverError if the state has been left.
        """
        marks = [entry for entry in self._entries if entry.startswith(RESERVED) and not entry.startswith((_RUN, MEDIA))]
        deleted = self._with_media((*replaces, *marks), name, text)
        kept = await self._agent_recorder.record(self.invocation, name, text, deleted)
        for entry in deleted:
            self._entries.pop(entry, None)
        self._entries[name] = kept
        return kept

    async def rewrite(self, name: str, text: str, gone: Sequence[str] = ()) -> None:
        """Overwrite an entry in its position. gone: names of other entries, which are deleted with the write.

        The bytes of images and files are deleted with the last entry that refers to them. Raises InvocationOverError
        if the state has been left.
        """
        deleted = self._with_media(gone, name, text)
        await self._agent_recorder.record(self.invocation, name, text, (name, *deleted))
        for entry in deleted:
            self._entries.pop(entry, None)
        self._entries[name] = text

    def _with_media(self, deleted: Sequence[str], name: str, text: str) -> Sequence[str]:
        """Add the media entries that lose their last reference when entries are deleted and one is written."""
        excluded = set(deleted)
        rest = {entry: content for entry, content in self._entries.items() if entry not in excluded}
        return (*deleted, *without_referrers({**rest, name: text}))

    def is_of_earlier_entry(self, attempt: int) -> bool:
        """Return whether an attempt, as this journal counts them, belongs to an earlier entry of a state."""
        runs = (entry for entry in self._entries if entry.startswith(_RUN))
        run = next((entry for entry in runs if json.loads(self._entries[entry])["number"] == attempt), None)
        return run is not None and not run.startswith(f"{_RUN}.{self.invocation.epoch}.")

    def draw(self, name: str) -> float:
        """Return a random number from 0 to 1 for a name: a repeat of the run draws the same number."""
        return Random("\0".join((self.invocation.agent_id, str(self.attempt), name))).random()

    def key(self, name: str) -> str:
        """Return the idempotency key of a name in this journal, the same for every invocation."""
        return str(uuid5(KEYS, "\0".join((self.invocation.agent_id, self._agent_recorder.journal, name))))


def _run_name(invocation: Invocation, attempt: int) -> str:
    """Return the name of the mark that records the run of an attempt."""
    return f"{_RUN}.{invocation.epoch}.{attempt}.{invocation.invoke}"


class _Recorder:
    """Writes records as entries of an agent's journal."""

    def __init__(self, host: JournalHost, journal: str) -> None:
        self.host = host
        self.journal = journal

    async def record(
        self, invocation: Invocation, name: str, text: str, replaces: Sequence[str] = (), tells: Mail | None = None
    ) -> str:
        """See Recorder. replaces: names of entries that are deleted with the write."""
        return await self.host.enter(JournalRecord(invocation, self.journal, name, text, tuple(replaces), tells))

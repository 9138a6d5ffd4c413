"""Records that belong to an agent: an invocation writes them, and later invocations of the agent find them."""

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
_OF_TURNS = frozenset({"turn", "result", "feedback"})


class JournalHost(Protocol):
    """Where journals of agents are kept."""

    async def journal(self, invocation: Invocation, name: str) -> Mapping[str, str]:
        """Return the entries of one of the agent's journals as JSON texts by name, in the order written."""
        ...

    async def enter(self, record: JournalRecord) -> str:
        """Write an entry of one of the agent's journals and return the entry that the journal has under its name.

        That may be the one of an earlier attempt. Raises InvocationOverError if the state has been left.
        """
        ...

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...


def journal_page(entries: Mapping[str, str], command: JournalCommand) -> tuple[JournalEntry, ...]:
    """Return the part of a journal that a command asks for, without the framework's own marks."""
    names = [name for name in entries if not name.startswith(RESERVED)]
    start = names.index(command.after) + 1 if command.after in names else 0
    return tuple(JournalEntry(name, json.loads(entries[name])) for name in names[start : start + command.limit])


def journal_cut(
    entries: Mapping[str, str], command: CutCommand, key: str
) -> tuple[JournalRecord | None, TranscriptCut]:
    """Return the entry by which an operator cuts a transcript, None if it has no turns, and what is left out.

    Entries about a turn have its number in their names: `turn.3`, `result.3.0`. Their contents are not read, so that
    any turn can be cut. key: that no other cut of the journal has.
    """
    name = f"cutting.{key}"
    turns = sorted(number for kind, number in map(_numbered, entries) if kind == "turn")[-command.turns :]
    if not turns or name in entries:
        return None, TranscriptCut(left_out=())
    told = json.dumps({"since": turns[0], "reason": command.reason})
    gone = [each for each in entries if _numbered(each)[0] in _OF_TURNS and _numbered(each)[1] >= turns[0]]
    record = JournalRecord.by_operator(command.agent_id, command.journal, name, told)
    return record, TranscriptCut(left_out=tuple(gone))


def _numbered(name: str) -> tuple[str, int]:
    """Return the kind of an entry, and the number of the turn that it is about; 0 if it is about none."""
    kind, number, *_ = (*name.split("."), "")
    return kind, int(number) if number.isdecimal() else 0


class AgentJournal(InvokeJournal):
    """One of an agent's journals, as one attempt at a function reads and writes it.

    Its runs are the attempts of all invocations that wrote it, and `attempt` counts them: what counts for one attempt
    only is not found by those of a later invocation.
    """

    is_of_agent: ClassVar[bool] = True

    def __init__(
        self, recorder: _Recorder, invocation: Invocation, entries: MutableMapping[str, str], attempt: int
    ) -> None:
        super().__init__(recorder, invocation, entries, attempt)
        self._entries = entries
        self._of_agent = recorder
        self.name = recorder.journal

    @classmethod
    async def opened(cls, host: JournalHost, invocation: Invocation, name: str, attempt: int) -> AgentJournal:
        """Read a journal, and note this run in it. attempt: of the function, in this invocation.

        Raises InvocationOverError if the state has been left.
        """
        entries = dict(await host.journal(invocation, name))
        recorder, run = _Recorder(host, name), _run(invocation, attempt)
        if run not in entries:
            newest = next((text for each, text in reversed(entries.items()) if each.startswith(_RUN)), None)
            number = 0 if newest is None else json.loads(newest)["number"] + 1
            noted = {"number": number, "began": host.now().isoformat()}
            entries[run] = await recorder.record(invocation, run, json.dumps(noted))
        return cls(recorder, invocation, entries, json.loads(entries[run])["number"])

    @property
    def began(self) -> datetime:
        """When this invocation first opened the journal, in whichever process and attempt."""
        runs = (self._entries.get(_run(self.invocation, attempt)) for attempt in count())
        return datetime.fromisoformat(json.loads(next(filter(None, runs)))["began"])

    @property
    def earlier_epoch(self) -> int:
        """Epoch of the newest earlier entry of a state whose invocation opened the journal; 0 if there is none."""
        runs = (name.removeprefix(f"{_RUN}.").split(".") for name in self._entries if name.startswith(f"{_RUN}."))
        epochs = {int(epoch) for epoch, *_ in runs} - {self.invocation.epoch}
        return max(epochs, default=0)

    @property
    def entries(self) -> Mapping[str, str]:
        """What is in the journal, in the order written, without the framework's own marks."""
        return {name: text for name, text in self._entries.items() if not name.startswith(RESERVED)}

    async def other(self, agent_id: AgentId, name: str) -> Mapping[str, str]:
        """Return the entries of a journal of another agent; none if the agent or the journal does not exist."""
        return await self._of_agent.host.journal(value_replaced(self.invocation, agent_id=agent_id), name)

    async def replace(self, name: str, text: str, replaces: Sequence[str]) -> str:
        """Write an entry in place of others, and of all marks but those of runs. Return what the journal has now.

        The bytes of images and files are forgotten with the last entry that refers to them. Raises InvocationOverError
        if the state has been left.
        """
        marks = [each for each in self._entries if each.startswith(RESERVED) and not each.startswith((_RUN, MEDIA))]
        gone = (*replaces, *marks)
        left = {each: told for each, told in self._entries.items() if each not in set(gone)}
        gone = (*gone, *without_referrers({**left, name: text}))
        kept = await self._of_agent.record(self.invocation, name, text, gone)
        for each in gone:
            self._entries.pop(each, None)
        self._entries[name] = kept
        return kept

    async def rewrite(self, name: str, text: str, gone: Sequence[str] = ()) -> None:
        """Write an entry again, in its position. gone: names of other entries that are forgotten with the write.

        The bytes of images and files are forgotten with the last entry that refers to them. Raises InvocationOverError
        if the state has been left.
        """
        left = {each: told for each, told in self._entries.items() if each not in set(gone)}
        gone = (*gone, *without_referrers({**left, name: text}))
        await self._of_agent.record(self.invocation, name, text, (name, *gone))
        for each in gone:
            self._entries.pop(each, None)
        self._entries[name] = text

    def is_of_earlier_entry(self, attempt: int) -> bool:
        """Whether an attempt, as this journal counts them, belongs to an earlier entry of a state."""
        runs = (name for name in self._entries if name.startswith(_RUN))
        name = next((each for each in runs if json.loads(self._entries[each])["number"] == attempt), None)
        return name is not None and not name.startswith(f"{_RUN}.{self.invocation.epoch}.")

    def draw(self, name: str) -> float:
        """Return a random number from 0 to 1 that belongs to this name: a repeat of the run draws the same one."""
        return Random("\0".join((self.invocation.agent_id, str(self.attempt), name))).random()

    def key(self, name: str) -> str:
        """Return an idempotency key that belongs to this name in this journal: every invocation gets the same one."""
        return str(uuid5(KEYS, "\0".join((self.invocation.agent_id, self._of_agent.journal, name))))


def _run(invocation: Invocation, attempt: int) -> str:
    """Return the name under which one attempt's run is noted."""
    return f"{_RUN}.{invocation.epoch}.{attempt}.{invocation.invoke}"


class _Recorder:
    """Records as entries of an agent's journal."""

    def __init__(self, host: JournalHost, journal: str) -> None:
        self.host = host
        self.journal = journal

    async def record(
        self, invocation: Invocation, name: str, text: str, replaces: Sequence[str] = (), tells: Mail | None = None
    ) -> str:
        """See Recorder. replaces: names of entries that are forgotten with the write."""
        return await self.host.enter(JournalRecord(invocation, self.journal, name, text, tuple(replaces), tells))

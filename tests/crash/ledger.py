"""What must be true of a crew's database: right after a process died, and once another has gone on and settled."""

import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import uuid5

from sqlalchemy import text

from gatechart.hosting.invoke_journal import KEYS
from gatechart.stores import open_store
from gatechart.values.agents import Status
from gatechart.values.mail import MailStatus
from gatechart.values.queries import MailQuery, Query
from tests.crash.crew import Crew

STEPS = """
SELECT agents.id, epoch, state, invoke, name FROM steps
JOIN invokes ON invokes.key = steps.invocation JOIN agents ON agents.key = invokes.agent
"""


class Ledger:
    """All that a store holds, read at one moment when nobody works on it."""

    def __init__(self, snapshots, histories, mail, running, journal):
        self.snapshots = snapshots  # by agent
        self.histories = histories  # by agent
        self.mail = mail
        self.running = running
        self.journal = journal
        self.contexts = {agent_id: Crew.model_validate_json(each.context_text) for agent_id, each in snapshots.items()}
        self._mail_of, self._running_of = defaultdict(list), defaultdict(set)
        for each in mail:
            self._mail_of[each.recipient].append(each)
        for call in running:
            self._running_of[call.agent_id].add((call.state, call.epoch, call.invoke))
        self._untold = Counter(  # what one agent would have told another: refused, or dead
            (each.sender, each.recipient)
            for each in mail
            if each.event == "TOLD" and each.status is not MailStatus.WAITING
        )

    def check(self):
        """What must be true at every moment."""
        for agent_id, snapshot in self.snapshots.items():
            self._check_history(agent_id, snapshot)
            self._check_state(agent_id, snapshot)
            self._check_keyed_timers(agent_id)
            self._check_reports(agent_id)
        self._check_order()
        self._check_effects()
        self._check_steps()

    def check_settled(self):
        """And what must be true when nothing goes on any more: nobody waits for ever."""
        self.check()
        soon = datetime.now(UTC) + timedelta(seconds=60)
        waiting = [mail for mail in self._mail(MailStatus.WAITING) if mail.recipient in self.snapshots]
        assert [mail for mail in waiting if mail.due is None or mail.due < soon] == []
        assert self.running == []
        for snapshot in self.snapshots.values():
            assert snapshot.status is Status.DONE or snapshot.configuration == ("IDLE",), snapshot
        for sender, recipient, count in self._sent():
            if recipient in self.contexts:
                heard = self.contexts[recipient].told.get(sender, ())
                assert len(heard) + self._untold[sender, recipient] == count

    def _sent(self):
        """How much each agent told each other."""
        return [(sender, to, count) for sender, each in self.contexts.items() for to, count in each.sent.items()]

    def _check_history(self, agent_id, snapshot):
        history = self.histories[agent_id]
        assert [entry.version for entry in history] == list(range(1, snapshot.version + 1))
        assert history[-1].target == snapshot.configuration
        for before, after in pairwise(history):
            assert after.source == before.target
        ids = [entry.event.id for entry in history if entry.event.id]
        assert len(ids) == len(set(ids))
        noted = [entry.event.payload["mark"] for entry in history if "mark" in entry.event.payload]
        assert noted == [mark for mark in self.contexts[agent_id].seen if not mark.startswith("rang ")]

    def _check_state(self, agent_id, snapshot):
        """Each state has just its timers and its invokes: those that are not done."""
        running = self._running_of[agent_id]
        own = [each for each in self._mail_of[agent_id] if each.state]
        entered = set(snapshot.entered)
        waits = {(each.state, each.epoch, each.event) for each in own if each.status is MailStatus.WAITING}
        assert {state for state, _ in entered} == set(snapshot.configuration) & {"WORKING", "RESTING"}
        assert {(state, epoch) for state, epoch, _ in running} <= entered
        assert {(state, epoch) for state, epoch, _ in waits} <= entered
        for state, epoch in entered:
            if state == "RESTING":
                assert [each[2] for each in waits] == ["after.0.02s.RESTING"]
                assert running == {(state, epoch, "wait_on")}
                continue
            since = Counter(entry.event.name for entry in self.histories[agent_id] if entry.version > epoch)
            for kind, invoke in (("done", "labour"), ("done", "keep_watch"), ("error", "break_down")):
                event = f"{kind}.invoke.{invoke}"
                come_to = since[event] + ((state, epoch, event) in waits)
                assert ((state, epoch, invoke) in running) + come_to == 1, (agent_id, state, epoch, invoke)

    def _check_keyed_timers(self, agent_id):
        """A timer rings unless it was replaced or cancelled before, and once."""
        pending = {}
        for entry in self.histories[agent_id]:
            payload = entry.event.payload
            match entry.event.name:
                case "SET":
                    pending[payload["key"]] = payload["mark"]
                case "UNSET":
                    pending.pop(payload["key"], None)
                case "RANG":
                    assert pending.pop(payload["key"]) == payload["set_by"]
                case "ENDED":
                    pending = {}
        waits = [each for each in self._mail_of[agent_id] if each.event == "RANG"]
        assert all(each.status is MailStatus.WAITING for each in waits)
        assert Counter((each.key, each.payload["set_by"]) for each in waits) == Counter(pending.items())

    def _check_reports(self, agent_id):
        """What invocations told was counted once for each turn."""
        named = ("progress.invoke.labour", "done.invoke.keep_watch", "error.invoke.break_down")
        told = self.contexts[agent_id].reports
        assert told == sum(entry.event.name in named for entry in self.histories[agent_id])

    def _check_order(self):
        """What one agent tells another comes once, in order, or ends as refused or dead, and the rest waits in order.

        An agent that has ended refuses one by one what waits, so later mail may wait behind what is already refused.
        """
        waiting, untold = defaultdict(list), defaultdict(list)
        for each in self.mail:
            if each.event == "TOLD":
                kept = waiting if each.status is MailStatus.WAITING else untold
                kept[each.sender, each.recipient].append(each.payload["n"])
        for sender, recipient, count in self._sent():
            heard = self.contexts[recipient].told.get(sender, []) if recipient in self.contexts else []
            pair = sender, recipient
            came = heard + waiting[pair]
            assert came == sorted(came), (pair, heard, waiting[pair], untold[pair])
            assert sorted(came + untold[pair]) == list(range(1, count + 1)), (pair, heard, waiting[pair], untold[pair])

    def _check_effects(self):
        """What was acknowledged took effect once, or waits, or ended as refused or dead; what was not, at most once."""
        applied = Counter(
            entry.event.payload["mark"]
            for history in self.histories.values()
            for entry in history
            if "mark" in entry.event.payload
        )
        kept = Counter(each.payload["mark"] for each in self.mail if "mark" in each.payload)
        waiting = Counter(each.payload["mark"] for each in self._mail(MailStatus.WAITING) if "mark" in each.payload)
        tries = Counter(mark for word, mark in self.journal.lines() if word == "try")
        refused = self.journal.marks("no")
        for mark in applied.keys() | kept.keys():
            assert mark in tries, mark
            assert applied[mark] + waiting[mark] <= 1, mark
            assert applied[mark] + kept[mark] <= tries[mark], mark
        for mark in self.journal.marks("ack"):
            if mark in refused:
                assert kept[mark] + applied[mark] < tries[mark], mark
            else:
                assert applied[mark] + kept[mark] >= 1, mark

    def _check_steps(self):
        """A step that was recorded has not run again."""
        recorded = set()
        for word, key in self.journal.lines():
            if word == "recorded":
                recorded.add(key)
            elif word == "ran":
                assert key not in recorded, key

    def _mail(self, status):
        return [each for each in self.mail if each.status is status]


def check_sound(url):
    """What a file's own checks say; a server looks after its files itself."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite+aiosqlite:///"))) as raw:
            assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert raw.execute("PRAGMA foreign_key_check").fetchall() == []


async def opened_ledger(url, journal):
    """The ledger of a database that nobody has open, which is sound; steps that it records go into the journal."""
    async with open_store(url) as store:
        check_sound(url)
        recorded = await store.read(lambda connection: connection.execute(text(STEPS)).all())
        for agent_id, epoch, state, invoke, name in recorded:
            key = uuid5(KEYS, "\0".join((agent_id, str(epoch), state, invoke, name)))
            journal.write("recorded", str(key))
        return await read_ledger(store, journal)


async def read_ledger(store, journal):
    """The ledger of an open store."""
    snapshots, after = {}, None
    while True:
        page = await store.find(Query(after=after, limit=1000))
        snapshots |= {each.agent_id: each for each in page.agents}
        if page.next is None:
            break
        after = page.next
    histories = {agent_id: await store.history(agent_id) for agent_id in snapshots}
    mail = []
    while found := await store.mail(MailQuery(after=mail[-1].number if mail else 0, limit=1000)):
        mail += found
    running = [each.invocation for _, each in await store.running(after=0, limit=10**6)]
    return Ledger(snapshots, histories, mail, running, journal)

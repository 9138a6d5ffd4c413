"""Whatever is committed, memory and SQLite say the same of it, and hold the same afterwards."""

import itertools
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from gatechart.errors import UnknownAgentError
from gatechart.stores import MemoryStore, open_store
from gatechart.testing.errands import kept
from gatechart.testing.records import NOON, going_on, started
from gatechart.values.commits import InvokeReport, MailChange, MailEnd, Posting, StepRecord, TurnRecord
from gatechart.values.effects import Cancel, CancelAll, CancelTimer, Send, StartInvoke, Timer
from gatechart.values.mail import Invocation, Mail, MailStatus
from gatechart.values.queries import Query

AGENTS, STATES, INVOKES, IDS, KEYS = "abc", "AB", "fg", "123", "kl"


class Chance:
    """Makes units about a few agents, so that they meet: right ones, stale ones and repeated ones."""

    def __init__(self, seed, store):
        self.store = store
        self.random = Random(seed)
        self.turns = {}  # by agent, all that were made
        self.last_number = 0
        self.calls = [Invocation("a", "A", 1, "f")]

    @property
    def tables(self):
        """What the store in memory holds, which a maker of units reads without waiting."""
        return self.store._tables

    def group(self):
        units = [self.unit() for _ in range(self.random.randint(1, 6))]
        of_agents = {}
        for unit in units:
            if isinstance(unit, TurnRecord):
                of_agents.setdefault(unit.snapshot.agent_id, unit)
        return [unit for unit in units if not isinstance(unit, TurnRecord) or unit in of_agents.values()]

    def unit(self):
        makers = self.turn, self.turn, self.posting, self.change, self.end, self.step, self.report
        return self.random.choice(makers)()

    def turn(self):
        agent_id, choice = self.random.choice(AGENTS), self.random.choice
        made = self.turns.setdefault(agent_id, [])
        event_id = self.random.choice(
            [None, None, *(each for each in IDS if self.tables.applied_turn(agent_id, each) is None)]
        )
        if made and self.random.random() < 0.95:
            before = made[-1] if self.random.random() < 0.8 else choice(made)
            turn = going_on(before, choice("XY"), payload=self.payload(), event_id=event_id, target=choice(STATES))
        else:
            turn = started(agent_id, event_id=event_id)
        effects = tuple(self.effect() for _ in range(self.random.randint(0, 3)))
        own = [mail.number for mail in self.tables.all_mail() if mail.recipient == agent_id]
        consumes = self.random.choice([*own, self.last_number + 99]) if self.random.random() < 0.3 else None
        turn = replace(turn, effects=effects).numbered(self.new_number, consumes)
        self.calls += [
            Invocation(agent_id, effect.state, turn.snapshot.version, effect.invoke)
            for effect in effects
            if isinstance(effect, StartInvoke)
        ]
        return turn

    def effect(self):
        state, key, choice = self.random.choice(STATES), self.random.choice(KEYS), self.random.choice
        return choice(
            [
                Send(choice(AGENTS), choice("XY"), self.payload(), choice([None, *IDS]), choice([None, self.moment()])),
                Timer(choice("XY"), self.moment(), {}, state=state),
                Timer(choice("XY"), self.moment(), {}, key=key),
                CancelTimer(key),
                Cancel(state),
                CancelAll(),
                StartInvoke(state, f"{choice(INVOKES)}{self.random.random()}"),
            ]
        )

    def posting(self):
        return Posting(self.mail(self.new_number()))

    def change(self):
        mail = self.random.choice([*self.tables.all_mail(), self.mail(self.last_number + 99)])
        return MailChange(replace(mail, status=self.random.choice(list(MailStatus)), attempts=mail.attempts + 1))

    def end(self):
        return MailEnd(self.number())

    def step(self):
        return StepRecord(self.random.choice(self.calls), self.random.choice("st"), self.random.choice("12"))

    def report(self):
        mail = replace(self.mail(self.new_number()), id=None, state="A", epoch=1)
        return InvokeReport(self.random.choice(self.calls), mail, ends=self.random.random() < 0.5)

    def mail(self, number):
        choice = self.random.choice
        return Mail(
            number, choice(AGENTS), choice("XY"), self.payload(), NOON, choice([None, *IDS]), due=choice([None, NOON])
        )

    def payload(self):
        return self.random.choice([{}, {"n": 1}])

    def moment(self):
        return NOON + timedelta(minutes=self.random.randint(1, 3))

    def number(self):
        return self.random.randint(max(1, self.last_number - 9), self.last_number + 1)

    def new_number(self):
        self.last_number += 1
        return self.last_number


async def content(store):
    running = [each for _, each in await store.running(after=0, limit=1000)]
    calls = sorted((each.invocation for each in running), key=str)
    agents = (await store.find(Query(limit=1000))).agents
    return {
        "agents": agents,
        "histories": [await store.history(agent.agent_id) for agent in agents],
        "mail": list(await kept(store)),
        "waiting": list(await store.waiting(after=0, limit=1000)),
        "due": list(await store.due(after=(NOON, 0), limit=1000)),
        "running": sorted(running, key=str),
        "steps": [await store.steps(call) for call in calls],
        "applied": [await store.applied(*each) for each in itertools.product(AGENTS, IDS)],
    }


async def is_erased(store, agent_id):
    try:
        await store.erase(agent_id)
    except UnknownAgentError:
        return False
    return True


@pytest.mark.parametrize("seed", range(12))
async def test_memory_and_sqlite_never_part(sqlite_url, seed):
    memory = MemoryStore()
    chance = Chance(seed, memory)
    async with open_store(sqlite_url) as store:
        for _ in range(40):
            group = chance.group()
            said = await memory.commit(group)
            assert list(await store.commit(group)) == list(said), group
            for unit, verdict in zip(group, said, strict=True):
                if isinstance(unit, TurnRecord) and verdict == "committed":
                    chance.turns.setdefault(unit.snapshot.agent_id, []).append(unit)
            if chance.random.random() < 0.03:
                agent_id = chance.random.choice(AGENTS)
                assert await is_erased(memory, agent_id) == await is_erased(store, agent_id)
                chance.turns.pop(agent_id, None)
            assert await content(store) == await content(memory), group

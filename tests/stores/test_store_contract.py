"""The contract holds for the store in memory, and finds what a wrong store does."""

import asyncio
import json
from dataclasses import replace

import pytest

from gatechart.ports import Store
from gatechart.stores import MemoryStore
from gatechart.testing.contracts import StoreContract
from gatechart.values.commits import Verdict
from gatechart.values.queries import Page


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore()


class OverwritesStarts(MemoryStore):
    async def commit(self, turns):
        for turn in turns:
            if turn.previous is None:
                self._tables.turns.pop(turn.snapshot.agent_id, None)
                self._tables.versions.pop(turn.snapshot.agent_id, None)
        return await super().commit(turns)


class AppendsWhatIsStale(MemoryStore):
    async def commit(self, turns):
        verdicts = await super().commit(turns)
        for turn, verdict in zip(turns, verdicts, strict=True):
            if verdict is Verdict.STALE and turn.snapshot.agent_id in self._tables.turns:
                self._tables.turns[turn.snapshot.agent_id].insert(0, turn)
        return verdicts


class GivesVerdictsBackwards(MemoryStore):
    async def commit(self, turns):
        return list(reversed(await super().commit(turns)))


class SharesEventIds(MemoryStore):
    async def applied(self, agent_id, event_id):
        holders = [
            holder for holder, turns in self._tables.turns.items() if any(turn.event.id == event_id for turn in turns)
        ]
        return await super().applied(holders[0], event_id) if holders else None


class NeverEndsPaging(MemoryStore):
    async def find(self, query):
        page = await super().find(query)
        return Page(page.agents, page.agents[-1].agent_id) if len(page.agents) == query.limit else page


class FindsByFirstLeafOnly(MemoryStore):
    async def find(self, query):
        page = await super().find(replace(query, active=None))
        leaves = None if query.active is None else {leaf for wanted in query.active for leaf in wanted.leaves}
        return Page(tuple(a for a in page.agents if leaves is None or a.configuration[0] in leaves))


class KeepsEventIdsOfTheErased(MemoryStore):
    async def erase(self, agent_id):
        kept = dict(self._tables._applied)
        await super().erase(agent_id)
        self._tables._applied, self._tables.turns[agent_id] = kept, []


class CountsHistoryFromTheEnd(MemoryStore):
    async def history(self, agent_id, *, after=0, limit=None):
        entries = await super().history(agent_id, after=after)
        return entries if limit is None else entries[len(entries) - limit :]


class SuspendsAllTheSame(MemoryStore):
    async def load(self, agent_id):
        await asyncio.sleep(0)
        return await super().load(agent_id)


class AcceptsEveryPosting(MemoryStore):
    def __init__(self):
        super().__init__()
        self._tables.waiting = self._tables.applied = lambda recipient, mail_id: None


class ComparesPayloadsAsTheyAreWritten(MemoryStore):
    def __init__(self):
        super().__init__()
        self._tables.content = lambda event, payload: (event, json.dumps(payload))


class GivesTimedMailAsAccepted(MemoryStore):
    async def due(self, *, after, limit):
        return sorted(await super().due(after=after, limit=limit), key=lambda mail: mail.number)


class TakesUnitsAsTheyCome(MemoryStore):
    async def commit(self, units):
        return [(await super(TakesUnitsAsTheyCome, self).commit([unit]))[0] for unit in units]


class KeepsStepsOfTheErased(MemoryStore):
    async def erase(self, agent_id):
        steps = self._tables._pending[agent_id].steps
        await super().erase(agent_id)
        self._tables._pending[agent_id].steps = steps


class CountsNumbersOneByOne(MemoryStore):
    def numbers(self, count):
        return super().numbers(1)


@pytest.mark.parametrize(
    ("store", "law"),
    [
        (AcceptsEveryPosting(), StoreContract.test_mail_of_one_id_is_accepted_once),
        (ComparesPayloadsAsTheyAreWritten(), StoreContract.test_mail_of_one_id_is_accepted_once),
        (GivesTimedMailAsAccepted(), StoreContract.test_timed_mail_is_read_in_the_order_due),
        (TakesUnitsAsTheyCome(), StoreContract.test_what_a_turn_ends_in_a_commit_is_over_for_the_rest),
        (KeepsStepsOfTheErased(), StoreContract.test_an_erased_agent_has_nothing_under_way),
        (CountsNumbersOneByOne(), StoreContract.test_numbers_go_up),
        (OverwritesStarts(), StoreContract.test_a_start_under_an_id_that_exists_is_stale_and_writes_nothing),
        (AppendsWhatIsStale(), StoreContract.test_the_second_writer_is_stale_and_writes_nothing),
        (GivesVerdictsBackwards(), StoreContract.test_verdicts_come_in_the_order_of_the_turns),
        (SharesEventIds(), StoreContract.test_an_applied_id_leads_to_its_turn),
        (FindsByFirstLeafOnly(), StoreContract.test_an_agent_in_several_states_is_found_by_each),
        (SuspendsAllTheSame(), StoreContract.test_a_store_that_says_it_is_instant_never_suspends),
    ],
)
async def test_the_contract_finds_what_a_store_does_wrong(store, law):
    with pytest.raises(AssertionError):
        await law(StoreContract(), store)


async def test_the_contract_finds_pages_that_never_end():
    with pytest.raises(AssertionError):
        await StoreContract().test_pages_join_into_the_whole(NeverEndsPaging(), limit=3)


async def test_the_contract_finds_a_history_read_from_the_wrong_end():
    with pytest.raises(AssertionError):
        await StoreContract().test_history_is_read_in_parts(CountsHistoryFromTheEnd(), 0, 2, [1, 2])


async def test_the_contract_finds_an_erasure_that_leaves_something():
    with pytest.raises((AssertionError, IndexError)):
        await StoreContract().test_an_erased_agent_is_forgotten(KeepsEventIdsOfTheErased())

"""The history of the stores there are, and what of it is SQLite's own."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from gatechart.errors import OwnershipLostError
from gatechart.stores import MemoryStore, open_store
from gatechart.stores.sql import pruning
from gatechart.testing.contracts import HistoryContract
from gatechart.testing.records import COMMITTED, NOON, going_on, lives, started
from gatechart.values.homes import Role
from gatechart.values.queries import Pruning

ALL_IDS_OUT = Pruning(ids_since=NOON + timedelta(days=1))


class ForgetsTheWindow(MemoryStore):
    async def prune(self, pruning, **part):
        return await super().prune(replace(pruning, ids_since=ALL_IDS_OUT.ids_since), **part)


class DropsTheNewest(MemoryStore):
    async def prune(self, pruning, **part):
        pruned = await super().prune(pruning, **part)
        for turns in self._tables.turns.values():
            turns.pop()
        return pruned


class GivesTheVersionBefore(MemoryStore):
    async def snapshot_at(self, agent_id, version):
        return await super().snapshot_at(agent_id, max(version - 1, 1))


@pytest.mark.parametrize(
    ("store", "law", "values"),
    [
        (ForgetsTheWindow(), HistoryContract.test_ids_within_the_window_are_recognised_after_a_pruning, ()),
        (ForgetsTheWindow(), HistoryContract.test_an_ended_agent_stays_until_its_ids_are_out_of_the_window, ()),
        (DropsTheNewest(), HistoryContract.test_the_newest_turns_stay_and_can_be_rebuilt, (5, 1)),
        (GivesTheVersionBefore(), HistoryContract.test_every_snapshot_of_a_life_can_be_had_again, (1,)),
    ],
)
async def test_the_contract_finds_what_a_store_does_wrong(store, law, values):
    with pytest.raises(AssertionError):
        await law(HistoryContract(), store, *values)


def asked(path, question):
    with closing(sqlite3.connect(path)) as raw:
        return raw.execute(question).fetchone()


async def test_a_conversation_is_kept_in_proportion_to_what_was_said(sqlite_url, sqlite_path):
    turns = [started("a", context={"said": [], "count": 0})]
    said = []
    async with open_store(sqlite_url) as store:
        await store.commit(turns)
        for number in range(400):
            said.append({"role": "user", "text": "x" * 200})
            turns.append(going_on(turns[-1], "SAID", context={"said": said, "count": number}))
            assert await store.commit(turns[-1:]) == [COMMITTED]
        for turn in turns[::50]:
            assert await store.snapshot_at("a", turn.snapshot.version) == turn.snapshot
    sizes = "sum(coalesce(length(changed), 0) + coalesce(length(appended), 0) + coalesce(length(context), 0))"
    (kept,) = asked(sqlite_path, f"SELECT {sizes} FROM history")
    assert kept < 1.5 * len(turns[-1].snapshot.context_text)


async def test_an_event_takes_little_room_on_the_disk(sqlite_url, sqlite_path):
    """50 events of each of 100 agents with names and contexts of the usual length; the agents themselves included."""
    states = ("GREETING_CUSTOMER", "COLLECTING_REQUIREMENTS", "SEARCHING_KNOWLEDGE_BASE")
    context = {"customer_name": "Ada Lovelace", "query": "where is it", "solution": None}
    turns = [started(str(UUID(int=number << 90)), context={**context, "count": 0}) for number in range(100)]
    async with open_store(sqlite_url) as store:
        await store.commit(turns)
        for number in range(50):
            source, target = turns[0].snapshot.configuration[0], states[number % 3]
            later = [
                going_on(turn, "CUSTOMER_REPLIED", target=target, context={**context, "count": number})
                for turn in turns
            ]
            turns = [replace(turn, taken=(f"{source} --CUSTOMER_REPLIED--> {target}",)) for turn in later]
            await store.commit(turns)
    assert sqlite_path.stat().st_size / (100 * 50) < 170


async def test_a_part_of_a_pruning_forgets_only_so_many_turns(sqlite_url, monkeypatch):
    monkeypatch.setattr(pruning, "TURNS", 4)
    async with open_store(sqlite_url) as store:
        turns = await lives(store, "ab", turns=10)
        keep_three = replace(ALL_IDS_OUT, keep_turns=3)
        parts, after = [], 0
        while after is not None:
            part = await store.prune(keep_three, after=after, limit=10)
            parts.append(part.turns)
            after = part.next
        assert parts == [4, 4, 4, 2]
        for agent_id, life in zip("ab", turns, strict=True):
            assert [entry.version for entry in await store.history(agent_id)] == [8, 9, 10]
            assert await store.snapshot_at(agent_id, 8) == life[7].snapshot


async def test_a_pruning_that_erases_leaves_no_row_behind(sqlite_url, sqlite_path):
    async with open_store(sqlite_url) as store:
        await HistoryContract().test_agents_that_ended_long_ago_are_erased_whole(store)
    assert asked(sqlite_path, "SELECT count(*) FROM history WHERE agent NOT IN (SELECT key FROM agents)") == (0,)


async def test_only_the_owner_prunes(sqlite_url):
    async with open_store(sqlite_url) as store:
        await lives(store, "a", turns=3)
        async with open_store(sqlite_url, role=Role.READER) as reader:
            with pytest.raises(OwnershipLostError):
                await reader.prune(replace(ALL_IDS_OUT, keep_turns=1))
            assert len(await reader.history("a")) == 3
            assert (await reader.snapshot_at("a", 2)).version == 2

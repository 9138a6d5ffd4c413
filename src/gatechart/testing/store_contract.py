"""Tests of all promises of the Store port, one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from gatechart.errors.definition import UnknownEffectError
from gatechart.errors.event import UnknownAgentError
from gatechart.ports import Store
from gatechart.testing.breaker_contract import BreakerContract
from gatechart.testing.choice_contract import ChoiceContract
from gatechart.testing.handoff_contract import HandoffContract
from gatechart.testing.history_contract import HistoryContract
from gatechart.testing.host_contract import HostContract
from gatechart.testing.invocation_contract import InvocationContract
from gatechart.testing.mail_contract import MailContract
from gatechart.testing.records import (
    COMMITTED,
    NOON,
    STALE,
    assert_stale,
    assert_unknown,
    at_once,
    commit_each,
    found,
    going_on,
    lives,
    started,
    verdicts,
)
from gatechart.testing.search_contract import SearchContract
from gatechart.values.agents import Event, GuardError, Status
from gatechart.values.mail import Invocation
from gatechart.values.migrations import KnownGraph
from gatechart.values.queries import ActiveIn, GraphCount, HistoryEntry, MailQuery, Order, Pruning, Query

UNICODE = "Grüße, 東京 🚪 e\u0301 \u200f \\ \" ' % _ ; -- \r\n\t \x00 \x7f"
NUMBERS = [0, -1, 2**53 + 1, 2**80, 0.1, -1.5e-300, True, False, None]
LARGE = "x" * 1_000_000


@dataclass(frozen=True)
class UnknownEffect:
    """An effect or a unit that no store knows."""

    text: str


class StoreContract(
    MailContract,
    InvocationContract,
    HandoffContract,
    ChoiceContract,
    HistoryContract,
    SearchContract,
    BreakerContract,
    HostContract,
):
    """The tests that a store must pass. Subclass it in a test module and provide the store as a fixture.

    The fixture gives each test an empty store, open. The tests run under pytest-asyncio, in either of its modes:

        import pytest_asyncio
        from gatechart.testing import StoreContract

        class TestMyStore(StoreContract):
            @pytest_asyncio.fixture
            async def store(self, tmp_path):
                async with open_my_store(tmp_path) as store:
                    yield store
    """

    pytestmark = pytest.mark.asyncio

    async def test_an_unknown_effect_is_refused_and_nothing_of_its_commit_is_written(self, store: Store) -> None:
        """An unknown effect raises an error and is never dropped silently. So does an unknown unit."""
        first = started("a")
        assert await verdicts(store, first) == [COMMITTED]
        wishing = replace(going_on(first, "WISHED"), effects=(UnknownEffect("a pony"),))  # type: ignore[arg-type]
        for unknown in (wishing, UnknownEffect("a pony")):
            with pytest.raises(UnknownEffectError, match="'UnknownEffect'"):
                await store.commit([started("b"), unknown])  # type: ignore[list-item]
            with pytest.raises(UnknownEffectError, match="'UnknownEffect'"):
                await store.commit([unknown])  # type: ignore[list-item]
        assert await store.load("a") == first.snapshot
        await assert_unknown(store, "b", "b-1")

    async def test_an_agent_is_loaded_as_it_was_committed(self, store: Store) -> None:
        """`load` returns the newest committed snapshot, equal in every field."""
        first = started("a", context={"text": UNICODE, "numbers": NUMBERS})
        assert await verdicts(store, first) == [COMMITTED]
        assert await store.load("a") == first.snapshot
        second = going_on(first, "TOLD", target="TELLING", context={"text": ""})
        assert await verdicts(store, second) == [COMMITTED]
        assert await store.load("a") == second.snapshot

    async def test_many_agents_are_loaded_at_once(self, store: Store) -> None:
        """`load_many` returns the agents that exist, each once, as `load` does."""
        await lives(store, "abc", turns=2)
        loaded = await store.load_many(["c", "nobody", "a"])
        assert sorted(loaded, key=str) == [await store.load(agent_id) for agent_id in "ac"]
        assert list(await store.load_many([])) == []

    async def test_a_turn_is_remembered_in_every_part(self, store: Store) -> None:
        """`history` returns each turn unchanged: event, transitions, changes, timing, guards that raised."""
        errors = (
            GuardError("is_open", "A --TOLD--> B", "ValueError: no"),
            GuardError("is_shut", "A --TOLD", "KeyError"),
        )
        first = started("a", context={"kept": 1, "text": "old"})
        event = Event("TOLD", {"note": UNICODE, "of": {"": NUMBERS}}, NOON + timedelta(days=1), "id 1", "another")
        second = replace(
            going_on(first, "TOLD", target="B", context={"kept": 1, "text": "new"}),
            event=event,
            taken=("A --TOLD--> B", "B --error.execution"),
            took_us=4711,
            guard_errors=errors,
        )
        await commit_each(store, first, second)
        start, second_entry = await store.history("a")
        assert (start.source, start.target, start.changed) == ((), ("A",), {"kept": 1, "text": "old"})
        assert (start.event, start.taken, start.guard_errors) == (first.event, (), ())
        assert second_entry == HistoryEntry(
            "a", 2, event, ("A",), ("B",), second.taken, {"text": "new"}, Status.ACTIVE, 4711, errors
        )
        assert second_entry.outcome == second.outcome

    async def test_a_graph_is_remembered_as_it_was_first(self, store: Store) -> None:
        """`known_graph` returns the first graph remembered for a fingerprint, and None for unknown ones."""
        known = KnownGraph("f" * 32, "order", "1", {"PAID": "ORDER.PAID", UNICODE: UNICODE})
        await store.remember([known, replace(known, fingerprint="e" * 32)])
        await store.remember([replace(known, version="2"), replace(known, fingerprint="d" * 32)])
        await store.remember([])
        assert await store.known_graph("f" * 32) == known
        assert await store.known_graph("d" * 32) is not None
        assert await store.known_graph("c" * 32) is None

    async def test_large_values_come_back_whole(self, store: Store) -> None:
        """A megabyte in the context and a megabyte in the payload come back unchanged."""
        first = started("a", context={"text": LARGE})
        second = going_on(first, "TOLD", context={"text": LARGE + "y"}, payload={"text": LARGE})
        await commit_each(store, first, second)
        assert await store.load("a") == second.snapshot
        assert (await store.history("a"))[1].event.payload == {"text": LARGE}

    @pytest.mark.parametrize("agent_id", ["Ünïcode 🚪", 'it\'s "quoted"', "100%_of; --", "a/b c\n", "A", "null", "1"])
    async def test_any_text_is_an_id(self, store: Store, agent_id: str) -> None:
        """Ids are compared literally: without case folding, patterns or conversion to numbers."""
        await commit_each(store, started("a"), started(agent_id, event_id=agent_id), started("1.0"))
        assert (await store.load(agent_id)).agent_id == agent_id
        assert [entry.event.id for entry in await store.history(agent_id)] == [agent_id]
        assert await found(store, Query(after="a")) == [agent_id, "1.0"]
        assert await store.applied(agent_id, agent_id) is not None
        assert await store.applied("a", agent_id) is None

    async def test_verdicts_come_in_the_order_of_the_turns(self, store: Store) -> None:
        """`commit` returns one verdict for each turn. Stale turns are left out, and the others are committed."""
        first, other = started("a"), started("b")
        await commit_each(store, first, other, started("e"), going_on(first, "TOLD"))
        turns = going_on(other, "TOLD"), going_on(first, "LATE"), started("c"), started("d"), started("e", target="B")
        assert await verdicts(store, *turns) == [COMMITTED, STALE, COMMITTED, COMMITTED, STALE]
        assert [(await store.load(agent_id)).version for agent_id in "abcd"] == [2, 2, 1, 1]

    async def test_a_commit_of_no_turns_gives_no_verdicts(self, store: Store) -> None:
        """An empty `commit` is allowed, and writes nothing."""
        assert await verdicts(store) == []
        assert await found(store) == []

    async def test_the_second_writer_is_stale_and_writes_nothing(self, store: Store) -> None:
        """Of two turns that start from one version, the first is COMMITTED. The other leaves no trace."""
        first = started("a")
        winner, loser = going_on(first, "WON", target="B"), going_on(first, "LOST", target="C", event_id="lost")
        await commit_each(store, first, winner)
        await assert_stale(store, loser)

    async def test_a_start_under_an_id_that_exists_is_stale_and_writes_nothing(self, store: Store) -> None:
        """A turn without a `previous` is COMMITTED only if the agent does not exist."""
        await commit_each(store, started("a"))
        await assert_stale(store, started("a", target="B", event_id="again"))

    async def test_a_turn_of_an_agent_that_does_not_exist_is_stale_and_writes_nothing(self, store: Store) -> None:
        """A turn with a `previous` is never a start."""
        turn = going_on(started("a"), "TOLD", event_id="told")
        assert await verdicts(store, turn) == [STALE]
        await assert_unknown(store, "a", "told")

    async def test_a_turn_from_a_version_to_come_is_stale_and_writes_nothing(self, store: Store) -> None:
        """The version must equal the stored one. A gap in the history cannot arise."""
        first = started("a")
        await commit_each(store, first)
        await assert_stale(store, going_on(going_on(first, "TOLD"), "TOLD", target="B", event_id="told"))

    async def test_of_two_commits_at_once_one_wins(self, store: Store) -> None:
        """Two concurrent calls have the same effect as two calls in sequence."""
        first = started("a")
        await commit_each(store, first)
        rivals = [going_on(first, f"RIVAL_{number}") for number in range(8)]
        results = await asyncio.gather(*(verdicts(store, rival) for rival in rivals))
        assert sorted(verdict for [verdict] in results) == [COMMITTED, *[STALE] * 7]
        winner = rivals[results.index([COMMITTED])]
        assert [entry.event for entry in await store.history("a")] == [first.event, winner.event]

    async def test_history_is_complete_and_in_order(self, store: Store) -> None:
        """`history` returns all turns of the agent and of no other, oldest first."""
        a, b = await lives(store, "ab", turns=12)
        for turns in (a, b):
            entries = await store.history(turns[0].snapshot.agent_id)
            assert [entry.version for entry in entries] == list(range(1, 13))
            assert [entry.event for entry in entries] == [turn.event for turn in turns]
            assert [entry.source for entry in entries[1:]] == [entry.target for entry in entries[:-1]]

    @pytest.mark.parametrize(
        ("after", "limit", "versions"),
        [(0, 2, [1, 2]), (2, 2, [3, 4]), (2, None, [3, 4, 5]), (4, 9, [5]), (5, None, []), (9, 9, []), (0, 0, [])],
    )
    async def test_history_is_read_in_parts(
        self, store: Store, after: int, limit: int | None, versions: list[int]
    ) -> None:
        """`history` returns the versions above `after`, at most `limit`. Past the end it returns none."""
        await lives(store, "ab", turns=5)
        assert [entry.version for entry in await store.history("a", after=after, limit=limit)] == versions

    async def test_an_applied_id_leads_to_its_turn(self, store: Store) -> None:
        """`applied` returns the turn that applied the id, however many turns followed. Ids are per agent."""
        first = started("a")
        turn = going_on(first, "TOLD", event_id="crm-1", payload={"n": 1}, target="B")
        await commit_each(store, first, started("b"), turn, going_on(turn, "TOLD", event_id="crm-2"))
        entry = await store.applied("a", "crm-1")
        assert entry == (await store.history("a"))[1]
        assert entry is not None
        assert entry.outcome == turn.outcome
        assert await store.applied("a", "crm-3") is None
        assert await store.applied("b", "crm-1") is None
        assert await store.applied("nobody", "crm-1") is None

    async def test_agents_are_found_in_the_order_they_were_started(self, store: Store) -> None:
        """`find` orders agents by their start, and within one commit by their turns. Later turns do not change it."""
        z, y = started("z"), started("y")
        await store.commit([z, y])
        await store.commit([started("x"), started("a"), going_on(z, "TOLD")])
        assert await found(store) == ["z", "y", "x", "a"]

    @pytest.mark.parametrize(("by", "ids"), [("started", "zyxa"), ("-started", "axyz"), ("changed", "zaxy")])
    async def test_agents_are_found_in_the_order_that_is_wanted(self, store: Store, by: str, ids: str) -> None:
        """By change, agents are in the order of the commits of their newest turns, newest first."""
        z, y, x = started("z"), started("y"), started("x")
        await store.commit([z, y])
        await store.commit([x, started("a"), going_on(z, "TOLD")])
        wanted = Query(order=Order.of(by))
        assert "".join(await found(store, wanted)) == ids
        turned = replace(wanted.order, is_descending=not wanted.order.is_descending)
        assert "".join(await found(store, Query(order=turned))) == ids[::-1]
        assert "".join(await found(store, replace(wanted, graph="g", active=(ActiveIn("g", ("A",)),)))) == ids

    @pytest.mark.parametrize("limit", [1, 2, 3, 7])
    async def test_pages_by_change_join_into_the_whole(self, store: Store, limit: int) -> None:
        """An agent that changes between two pages does not affect the others. Any agent may be erased."""
        turns = [started(name) for name in "abcdefg"]
        await store.commit(turns)
        query, seen = Query(limit=limit, order=Order.of("changed")), ""
        while True:
            page = await store.find(query)
            seen += "".join(each.agent_id for each in page.agents)
            if page.next is None:
                break
            assert page.places[-1] == page.next
            await store.commit([going_on(turns["abcdefg".index(seen[0])], "TOLD")])  # stale after the first time
            if len(seen) < 6 and seen[-1] != seen[0]:
                await store.erase(seen[-1])
            query = replace(query, after=page.next)
        assert seen == "gfedcba"

    async def test_a_snapshot_tells_when_its_agent_started_and_changed(self, store: Store) -> None:
        """The times come from the events of its first turn, even if that is pruned, and of its newest turn."""
        turns = (await lives(store, "a", turns=3))[0]
        expected = [(NOON, NOON), (NOON, NOON + timedelta(seconds=1)), (NOON, NOON + timedelta(seconds=2))]
        snapshots = [await store.snapshot_at("a", turn.snapshot.version) for turn in turns]
        assert [(snapshot.started, snapshot.changed) for snapshot in snapshots] == expected
        await store.prune(Pruning(ids_since=NOON + timedelta(days=1), keep_turns=1))
        newest = await store.load("a")
        assert (newest.started, newest.changed) == expected[-1]

    @pytest.mark.parametrize(
        ("query", "ids"),
        [
            (Query(), "abcdef"),
            (Query(graph="g"), "abce"),
            (Query(graph="g", status=Status.ACTIVE), "ab"),
            (Query(active=(ActiveIn(None, ("B",)),)), "bdf"),
            (Query(active=(ActiveIn(None, ("B", "C")),)), "bcdf"),
            (Query(graph="g", active=(ActiveIn(None, ("B", "C")),)), "bc"),
            (Query(graph="g", active=(ActiveIn(None, ("C",)),), status=Status.DONE), "c"),
            (Query(graph="g", active=(ActiveIn(None, ("C",)),), status=Status.STOPPED), ""),
            (Query(active=()), ""),
            (Query(active=(ActiveIn("h", ("B",)), ActiveIn("g", ("C",)))), "cd"),
            (Query(graph="unheard of"), ""),
            (Query(active=(ActiveIn(None, ("%",)),)), ""),
            (Query(status=Status.STOPPED), "d"),
            (Query(status=Status.FAILED), "e"),
            (Query(graph="g", status=Status.DONE), "c"),
            (Query(after="c"), "def"),
            (Query(after="c", graph="g"), "e"),
            (Query(after="f"), ""),
        ],
    )
    async def test_agents_are_found_by_graph_state_and_status(self, store: Store, query: Query, ids: str) -> None:
        """`find` returns the newest snapshots of agents that match every part of the query."""
        a, b, c, d = (started(name, graph=graph) for name, graph in zip("abcd", "gggh", strict=True))
        e, f = started("e", graph="g"), started("f", graph="i", target="B")
        turns = [
            going_on(b, "TOLD", target="B"),
            going_on(c, "TOLD", target="C", status=Status.DONE),
            going_on(d, "TOLD", target="B", status=Status.STOPPED),
            going_on(e, "TOLD", target="A", status=Status.FAILED),
        ]
        await store.commit([a, b, c, d, e, f])
        await commit_each(store, *turns)
        page = await store.find(query)
        assert [snapshot.agent_id for snapshot in page.agents] == list(ids)
        assert list(page.agents) == [await store.load(agent_id) for agent_id in ids]
        assert page.next is None

    async def test_agents_are_counted_by_graph_status_and_state(self, store: Store) -> None:
        """An agent counts in each of its leaves, but not where it was stopped."""
        assert await store.counts() == ()
        a, b, c, d = (started(name, graph=graph) for name, graph in zip("abcd", "gggh", strict=True))
        both = replace(b, snapshot=replace(b.snapshot, configuration=("A", "B")))
        stopped = going_on(c, "TOLD", target="B", status=Status.STOPPED)
        await store.commit([d, a, both, c])
        await commit_each(store, stopped, going_on(d, "TOLD", target="END", status=Status.DONE))
        of_g = GraphCount("g", 3, {Status.ACTIVE: 2, Status.STOPPED: 1}, {"A": 2, "B": 1})
        assert await store.counts() == (of_g, GraphCount("h", 1, {Status.DONE: 1}, {"END": 1}))
        assert await store.counts("g") == (of_g,)
        assert await store.counts("unheard of") == ()

    async def test_an_agent_in_several_states_is_found_by_each(self, store: Store) -> None:
        """A configuration may hold several leaves. Any wanted leaf is enough, and no agent is found twice."""
        turn = started("a")
        both = replace(turn, snapshot=replace(turn.snapshot, configuration=("LEFT", "RIGHT")))
        await commit_each(store, both)
        for states in (("LEFT",), ("RIGHT",), ("RIGHT", "LEFT"), ("ELSEWHERE", "RIGHT")):
            assert await found(store, Query(active=(ActiveIn(None, states),))) == ["a"]

    @pytest.mark.parametrize("limit", [1, 2, 3, 6, 7])
    async def test_pages_join_into_the_whole(self, store: Store, limit: int) -> None:
        """`next` leads from page to page. It is None on the last page, even if that page is full."""
        await store.commit([started(name, graph="g" if name in "acegik" else "h") for name in "abcdefghijkl"])
        query, seen, pages = Query(graph="g", limit=limit), [], 0
        while True:
            page = await store.find(query)
            seen += [snapshot.agent_id for snapshot in page.agents]
            pages += 1
            if page.next is None:
                break
            assert len(page.agents) == limit
            query = replace(query, after=page.next)
        assert "".join(seen) == "acegik"
        assert pages == -(-6 // limit)

    async def test_an_erased_agent_is_forgotten(self, store: Store) -> None:
        """`erase` removes snapshot, history and ids of this agent, and of no other."""
        turns = await lives(store, "abc", turns=3)
        await store.erase("b")
        await assert_unknown(store, "b", "b-2")
        assert await found(store) == ["a", "c"]
        for remaining in (turns[0], turns[2]):
            agent_id = remaining[0].snapshot.agent_id
            assert await store.load(agent_id) == remaining[-1].snapshot
            assert len(await store.history(agent_id)) == 3
            assert await store.applied(agent_id, f"{agent_id}-2") is not None

    async def test_an_id_is_free_after_an_erasure(self, store: Store) -> None:
        """An agent started with the id of an erased one starts from scratch, after all others."""
        await lives(store, "abc", turns=3)
        await store.erase("c")
        await store.erase("a")
        again = started("a", target="B", event_id="a-2")
        await commit_each(store, again)
        assert await store.load("a") == again.snapshot
        assert [entry.event for entry in await store.history("a")] == [again.event]
        entry = await store.applied("a", "a-2")
        assert entry is not None
        assert entry.version == 1
        assert await found(store) == ["b", "a"]

    async def test_an_unknown_agent_is_named(self, store: Store) -> None:
        """Every call that needs an agent raises UnknownAgentError if it does not exist, and changes nothing."""
        await lives(store, "a", turns=2)
        await assert_unknown(store, "nobody", "a-2")
        calls: Sequence[Coroutine[Any, Any, object]] = (
            store.erase("nobody"),
            store.find(Query(after="nobody")),
            store.history("nobody", after=1, limit=1),
        )
        for call in calls:
            with pytest.raises(UnknownAgentError, match="'nobody'"):
                await call
        assert await found(store) == ["a"]
        assert len(await store.history("a")) == 2

    async def test_a_store_that_says_it_is_instant_never_suspends(self, store: Store) -> None:
        """If `is_instant` holds, every call completes at its first step."""
        if not store.is_instant:
            pytest.skip("the store says that it may suspend")
        first = started("a", event_id="a-1")
        assert at_once(verdicts(store, first)) == [COMMITTED]
        assert at_once(store.load("a")) == first.snapshot
        assert at_once(store.applied("a", "a-1")) is not None
        assert len(at_once(store.history("a"))) == len(at_once(store.find(Query())).agents) == 1
        assert at_once(store.load_many(["a"])) == [first.snapshot]
        nothing: Sequence[Coroutine[Any, Any, Sequence[Any]]] = (
            store.mail(MailQuery()),
            store.waiting(after=0, limit=1),
            store.due(after=(NOON, 0), limit=1),
            store.running(after=0, limit=1),
        )
        assert [list(at_once(call)) for call in nothing] == [[]] * len(nothing)
        assert at_once(store.steps(Invocation("a", "A", 1, "f"))) == {}
        at_once(store.erase("a"))
        assert at_once(store.find(Query())).agents == ()

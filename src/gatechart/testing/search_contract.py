"""Tests of a store's promises about searches by fields of contexts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from operator import ge, gt, le, lt
from random import Random
from typing import Any, Final

import pytest

from gatechart.ports import Store
from gatechart.testing.records import NOON, commit_each, found, going_on, started
from gatechart.values.agents import Snapshot, Status
from gatechart.values.commits import TurnRecord
from gatechart.values.queries import Order, Page, Pruning, Query
from gatechart.values.search import Comparison, Condition, Searchable, kind_bounds, prefix_bounds, sort_key

FIELDS: Final = ("n", "deep.x")
VALUES: Final = (
    *(None, True, False, 0, 1, -1, 1.0, 0.5, -2.5, 2**53, 2**53 + 1, -1e300, 5e-324),
    *("", "a", "A", "ab", "b", "\u00e9", "\U0001f600", "\uffff", "1", "%", "x" * 300, "x" * 301, "a\x1ab"),
    *([1], {"x": 1}),
)
_OPERATORS: Final[dict[Comparison, Callable[[Any, Any], bool]]] = {"ge": ge, "gt": gt, "le": le, "lt": lt}


def kind_of(value: Any) -> type | None:
    """Return the kind of a searchable value; None for any other value."""
    if isinstance(value, bool):
        return bool
    if isinstance(value, int | float):
        return float if not isinstance(value, int) or abs(value) <= 2**53 else None
    return str if isinstance(value, str) and len(value) <= 300 and "\x1a" not in value else None


def value_of(snapshot: Snapshot, path: str) -> Any:
    """Return the value at a path in the context."""
    value: Any = snapshot.context
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


@dataclass(frozen=True)
class Wish:
    """A condition, and the same condition in Python."""

    condition: Condition
    holds: Callable[[Any], bool]


def wish(random: Random) -> Wish:
    """Return any condition."""
    path, value = random.choice(FIELDS), random.choice([each for each in VALUES if kind_of(each)])
    key, kind = sort_key(value), kind_of(value)
    assert key is not None
    match random.randrange(4):
        case 0:
            return Wish(Condition(path, (key,)), lambda other: kind_of(other) is kind and other == value)
        case 1:
            more = [each for each in random.sample(VALUES, 4) if kind_of(each)]
            keys = tuple(filter(None, map(sort_key, more)))
            among = {(kind_of(each), each) for each in more}
            return Wish(Condition(path, keys), lambda other: bool(kind_of(other)) and (kind_of(other), other) in among)
        case 2 if isinstance(value, str) and len(value) < 300:
            return Wish(
                Condition(path, bounds=prefix_bounds(value)),
                lambda other: kind_of(other) is str and str(other).startswith(value),
            )
    name = random.choice(list(_OPERATORS))
    return Wish(
        Condition(path, bounds=((name, key), *kind_bounds(key))),
        lambda other: kind_of(other) is kind and _OPERATORS[name](other, value),
    )


@dataclass
class Crowd:
    """Agents that change at random in a store, and a copy of their newest turns in the order started."""

    store: Store
    random: Random
    agents: dict[str, TurnRecord] = field(default_factory=dict)
    count: int = 0

    def context(self) -> dict[str, Any]:
        """Return any context."""
        return {"n": self.random.choice(VALUES), "deep": {"x": self.random.choice(VALUES)}, "other": 1}

    async def live(self) -> None:
        """Start, change and erase some agents."""
        for _ in range(self.random.randrange(1, 4)):
            self.count += 1
            turn = started(f"a{self.count}", graph=self.random.choice("gggh"), context=self.context())
            await commit_each(self.store, turn)
            self.agents[f"a{self.count}"] = turn
        for name in self.random.sample(list(self.agents), min(3, len(self.agents))):
            status = self.random.choice([Status.ACTIVE, Status.ACTIVE, Status.STOPPED])
            turn = going_on(self.agents[name], "TOLD", context=self.context(), status=status)
            await commit_each(self.store, turn)
            self.agents[name] = turn
        if self.random.random() < 0.3:
            await self.store.erase(erased := self.random.choice(list(self.agents)))
            del self.agents[erased]
        if self.random.random() < 0.2:
            await self.store.prune(Pruning(ids_since=NOON + timedelta(days=1), keep_turns=1))

    def expected(self, wishes: Iterable[Wish]) -> list[str]:
        """Return the agents of the graph g that match all wishes, in the order started."""
        newest = [turn.snapshot for turn in self.agents.values() if turn.snapshot.graph == "g"]
        return [
            each.agent_id for each in newest if all(wish.holds(value_of(each, wish.condition.field)) for wish in wishes)
        ]


class SearchContract:
    """Tests of a store's searches by fields of contexts. See `StoreContract`."""

    @pytest.mark.parametrize("seed", range(4))
    async def test_what_is_found_by_fields_is_what_a_look_at_every_snapshot_finds(
        self, store: Store, seed: int
    ) -> None:
        """Agents change in all ways; conditions are: equal, one of several, in bounds, with a prefix, and several."""
        crowd = Crowd(store, random := Random(seed))
        await store.declare({"g": FIELDS, "h": ()})
        for _ in range(12):
            await crowd.live()
            for _ in range(6):
                wishes = [wish(random) for _ in range(random.choice([1, 1, 2]))]
                query = Query("g", where=tuple(each.condition for each in wishes), limit=1000)
                assert await found(store, query) == crowd.expected(wishes)
                assert await found(store, replace(query, graph=None)) == crowd.expected(wishes)

    @pytest.mark.parametrize("limit", [1, 3, 100])
    @pytest.mark.parametrize("by", ["n", "-n"])
    async def test_agents_are_ordered_by_a_field_and_pages_join(self, store: Store, by: str, limit: int) -> None:
        """False, true, numbers, texts by code point; ties in the order started. Agents without one are omitted."""
        await store.declare({"g": ["n"]})
        names = [f"a{number}" for number in range(2 * len(VALUES))]
        turns = [started(name, context={"n": value}) for name, value in zip(names, VALUES * 2, strict=True)]
        await store.commit(turns)
        seen: list[Any] = []
        query, page = Query("g", limit=limit, order=Order.of(by)), Page(next="")
        while page.next is not None:
            page = await store.find(query)
            seen += [(value_of(each, "n"), int(each.agent_id[1:])) for each in page.agents]
            query = replace(query, after=page.next)
        kinds = [bool, float, str]
        wanted = [(value, number) for number, value in enumerate(VALUES * 2) if kind_of(value)]
        wanted.sort(key=lambda each: (kinds.index(kind_of(each[0]) or bool), each[0], each[1]))
        assert seen == (wanted[::-1] if by == "-n" else wanted)

    async def test_a_field_that_is_declared_later_is_filled_part_by_part(self, store: Store) -> None:
        """Values of existing agents are found after the fill; until then, pages report that agents may be missing."""
        await store.commit([started(f"a{number}", context={"n": number, "m": 1}) for number in range(10)])
        query = Query("g", where=(Condition("n", bounds=kind_bounds("n")),), limit=100)
        before = (await store.find(query)).incomplete
        more = await store.declare({"g": ["n"]})
        assert (await store.find(query)).incomplete == (("n",) if more else ())
        assert before == (("n",) if more else ())
        changed = going_on(started("a8", context={"n": 8, "m": 1}), "TOLD", context={"n": "gone", "m": 1})
        await store.commit([started("new", context={"n": 7}), changed])
        parts = 0
        while more:
            assert list(await store.searchable()) == [Searchable("g", "n", is_complete=False)]
            more = await store.fill(limit=4)
            parts += 1
        assert parts in (0, 3)  # none if contexts need no filling
        page = await store.find(query)
        assert [each.agent_id for each in page.agents] == [*(f"a{n}" for n in range(8)), "a9", "new"]
        assert page.incomplete == ()
        assert list(await store.searchable()) == [Searchable("g", "n")]

    async def test_a_field_that_is_no_longer_declared_is_forgotten(self, store: Store) -> None:
        """Agents of other graphs keep their values. If the field is declared again, it is filled again."""
        await store.declare({"g": ["n", "m"], "h": ["n"]})
        await store.commit([started("a", context={"n": 1, "m": 2}), started("b", graph="h", context={"n": 1})])
        by_n, by_m = (Query(where=(Condition(each, bounds=kind_bounds("n")),)) for each in "nm")
        assert (await found(store, by_n), await found(store, by_m)) == (["a", "b"], ["a"])
        await store.declare({"g": ["m"]})
        assert (await found(store, by_n), await found(store, by_m)) == (["b"], ["a"])
        assert list(await store.searchable()) == [Searchable("g", "m"), Searchable("h", "n")]
        await store.declare({"g": ["m", "n"]})
        while await store.fill(limit=1):
            pass
        assert (await found(store, by_n), await found(store, by_m)) == (["a", "b"], ["a"])

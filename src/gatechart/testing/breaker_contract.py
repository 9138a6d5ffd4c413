"""Tests of a store's promises about circuit breakers."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from gatechart.ports import Store
from gatechart.testing.records import COMMITTED, NOON, started, verdicts
from gatechart.values.breakers import BreakerRecord, BreakerState
from gatechart.values.commits import BreakerChange
from gatechart.values.queries import Pruning

CRM: Final = BreakerRecord("crm", BreakerState.OPEN, NOON, NOON + timedelta(minutes=5), 2, "Grüße, 東京 🚪 \\ \" ' %")
ERP: Final = BreakerRecord("Ärp", BreakerState.ISOLATED, NOON, reason="x" * 10_000)


class BreakerContract:
    """The promises about circuit breakers."""

    async def test_a_breaker_is_kept_in_every_part(self, store: Store) -> None:
        """`breakers` returns the breakers that are not closed, by name, equal in every field."""
        assert list(await store.breakers()) == []
        assert await verdicts(store, BreakerChange(ERP), BreakerChange(CRM)) == [COMMITTED, COMMITTED]
        assert list(await store.breakers()) == [CRM, ERP]

    async def test_the_last_change_of_a_breaker_counts(self, store: Store) -> None:
        """A change replaces the stored state; of several changes in one commit, the last one is kept."""
        trying = replace(CRM, state=BreakerState.HALF_OPEN, retry_at=None)
        assert await verdicts(store, BreakerChange(CRM)) == [COMMITTED]
        assert await verdicts(store, BreakerChange(trying)) == [COMMITTED]
        assert list(await store.breakers()) == [trying]
        again = replace(CRM, breaks=3)
        units = [BreakerChange(replace(CRM, state=BreakerState.CLOSED)), BreakerChange(ERP), BreakerChange(again)]
        assert await verdicts(store, *units) == [COMMITTED] * 3
        assert list(await store.breakers()) == [again, ERP]

    async def test_a_closed_breaker_is_forgotten(self, store: Store) -> None:
        """A closed breaker is not listed, whether or not it was stored before."""
        await store.commit([BreakerChange(CRM), BreakerChange(ERP)])
        closed = [BreakerChange(replace(each, state=BreakerState.CLOSED)) for each in (CRM, replace(CRM, name="other"))]
        assert await verdicts(store, *closed) == [COMMITTED, COMMITTED]
        assert list(await store.breakers()) == [ERP]

    async def test_breakers_belong_to_no_agent(self, store: Store) -> None:
        """Neither erasing nor pruning agents changes them, and a turn is committed beside them."""
        assert await verdicts(store, BreakerChange(CRM), started("a")) == [COMMITTED, COMMITTED]
        assert await store.erase("a")
        await store.prune(Pruning(NOON, turns_before=NOON + timedelta(days=1)))
        assert list(await store.breakers()) == [CRM]

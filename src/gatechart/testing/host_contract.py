"""Tests of a store's promises about signs of life of hosts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from gatechart.ports import Store
from gatechart.testing.records import NOON, started
from gatechart.values.homes import Role
from gatechart.values.hosts import MOST_HOSTS, HostRecord
from gatechart.values.queries import Pruning

OWNER: Final = HostRecord("a", Role.OWNER, "Grüße 🚪", 4711, NOON, NOON, {"cpu": 0.25, "threads": 3})
STANDBY: Final = HostRecord("b", Role.STANDBY, "two", 4712, NOON + timedelta(seconds=1), NOON, {})
SECOND: Final = timedelta(seconds=1)


class HostContract:
    """The promises about hosts."""

    async def test_a_host_is_kept_in_every_part(self, store: Store) -> None:
        """`hosts` returns the hosts in the order started, equal in every field."""
        assert list(await store.hosts()) == []
        for host in (STANDBY, OWNER):
            await store.beat(host, forget_before=NOON)
        assert list(await store.hosts()) == [OWNER, STANDBY]

    async def test_the_newest_sign_of_life_of_a_host_replaces_the_one_before(self, store: Store) -> None:
        """A host has one row, however long it lives, and may change its role."""
        await store.beat(STANDBY, forget_before=NOON)
        later = replace(STANDBY, role=Role.OWNER, seen=NOON + 5 * SECOND, facts={"cpu": 1.0})
        await store.beat(later, forget_before=NOON)
        assert list(await store.hosts()) == [later]

    async def test_a_host_that_leaves_is_forgotten(self, store: Store) -> None:
        """An unknown host may leave, too, which changes nothing."""
        for host in (OWNER, STANDBY):
            await store.beat(host, forget_before=NOON)
        await store.leave(OWNER.id)
        await store.leave("unknown")
        assert list(await store.hosts()) == [STANDBY]

    async def test_hosts_that_were_not_seen_for_long_are_forgotten(self, store: Store) -> None:
        """A host last seen exactly at the limit stays."""
        await store.beat(OWNER, forget_before=NOON)
        await store.beat(replace(STANDBY, seen=NOON + SECOND), forget_before=NOON)
        assert len(await store.hosts()) == 2
        later = replace(STANDBY, seen=NOON + 9 * SECOND)
        await store.beat(later, forget_before=NOON + SECOND)
        assert list(await store.hosts()) == [later]

    async def test_of_too_many_hosts_those_seen_last_are_kept(self, store: Store) -> None:
        """So hosts that crash repeatedly do not fill the table."""
        for number in range(MOST_HOSTS + 3):
            host = replace(OWNER, id=f"host-{number:04}", seen=NOON + number * SECOND)
            await store.beat(host, forget_before=NOON)
        assert [each.id for each in await store.hosts()] == [f"host-{each:04}" for each in range(3, MOST_HOSTS + 3)]

    async def test_hosts_belong_to_no_agent(self, store: Store) -> None:
        """Neither erasing nor pruning agents changes them."""
        await store.beat(OWNER, forget_before=NOON)
        await store.commit([started("a")])
        assert await store.erase("a")
        await store.prune(Pruning(NOON, turns_before=NOON + timedelta(days=1)))
        assert list(await store.hosts()) == [OWNER]

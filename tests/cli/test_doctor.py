"""`gatechart doctor`: what is wrong, as a table and as JSON, by the exit code, with what would help."""

import asyncio
from datetime import UTC, datetime, timedelta

from gatechart import Runtime, State, StateTransitionGraph
from gatechart.stores.opening import open_store
from gatechart.values import HostRecord, Role

slow = StateTransitionGraph("slow", states=[State("HERE", expects="1ms")], entry_points=["HERE"])


def begin(url, work):
    async def live():
        async with Runtime.open(url, graphs=[slow]) as runtime:
            await work(runtime)

    asyncio.run(live())


def test_nothing_wrong_is_said_and_ends_with_0(gatechart, sqlite_url):
    begin(sqlite_url, lambda runtime: runtime.start("slow", at="HERE"))
    told = gatechart("doctor", sqlite_url)
    assert (told.code, told.out.strip()) == (0, "nothing is wrong")


def test_a_silent_host_is_critical_and_the_remedy_is_told(gatechart, sqlite_url):
    begin(sqlite_url, lambda runtime: runtime.start("slow", at="HERE"))

    async def left():
        async with open_store(sqlite_url) as store:
            seen = datetime.now(UTC) - timedelta(minutes=2)
            await store.beat(HostRecord("h-1", Role.OWNER, "one", 4711, seen, seen, {}), forget_before=seen)

    asyncio.run(left())
    told = gatechart("doctor", sqlite_url)
    assert told.code == 7
    assert "gave no sign of life for 2 min" in " ".join(told.out.split())
    assert "`gatechart run` hosts the agents" in told.out
    [found] = gatechart("doctor", sqlite_url, "--json").document["findings"]
    assert (found["key"], found["severity"], found["evidence"]["pid"]) == ("silent:h-1", "critical", 4711)

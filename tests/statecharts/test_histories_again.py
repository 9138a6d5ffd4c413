"""Whatever the example agents do, their histories played through the same charts differ nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatechart import Runtime
from gatechart.stores.memory import MemoryStore
from gatechart.testing import VirtualClock, replay
from statecharts import graphs
from statecharts.scenario import Scenario, play
from statecharts.services import Services
from tests.statecharts.recorded_scenarios import SCENARIOS
from tests.statecharts.shop import SPECIAL, ask, at_orders, taken_over


async def assert_same_again(store: MemoryStore) -> dict[str, int]:
    """Play all histories of the store again; return how many turns each graph has taken."""
    taken: dict[str, int] = {}
    for graph in graphs:
        report = await replay(store, graph, recorded=graph, services=Services())
        assert not report.turns, report
        assert report.effects_unknown == 0
        taken[graph.name] = report.same
    return taken


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
async def test_every_scenario_is_the_same_again(scenario: Scenario) -> None:
    store, clock = MemoryStore(), VirtualClock()
    async with Runtime.open(store, graphs=graphs, services=Services(), clock=clock) as runtime:
        agent = await play(scenario, runtime, clock=clock)
        version = agent.snapshot.version
    taken = await assert_same_again(store)
    assert taken[agent.snapshot.graph] >= version


async def test_work_that_is_handed_on_is_the_same_again() -> None:
    store = MemoryStore()
    async with Runtime.open(store, graphs=graphs, services=Services(), clock=VirtualClock()) as shop:
        simple = await at_orders(shop)
        await ask(simple, SPECIAL)
        advanced = await taken_over(shop, simple)
        await advanced.until("LISTENING")
        other = await at_orders(shop)
        await ask(other, "What refunds are there?")
        refunds = await taken_over(shop, other)
        await ask(refunds, "And the status of my order?")
        again = await taken_over(shop, refunds)
        await again.until("LISTENING")
    taken = await assert_same_again(store)
    assert all(taken[name] > 1 for name in ("general_enquiries", "orders", "advanced_orders", "refunds")), taken


async def test_they_are_the_same_again_from_a_database(tmp_path: Path) -> None:
    url, clock = f"sqlite+aiosqlite:///{tmp_path}/agents.db", VirtualClock()
    async with Runtime.open(url, graphs=graphs, services=Services(), clock=clock) as runtime:
        for scenario in SCENARIOS[:4]:
            await play(scenario, runtime, clock=clock)
        for graph in graphs:
            report = await replay(url, graph, recorded=graphs, services=Services())  # beside its owner
            assert not report.turns, report

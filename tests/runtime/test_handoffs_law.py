"""Whatever is asked of agents that hand on their work, in whatever order: at every commit it has one owner."""

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatechart.stores import MemoryStore
from tests.runtime.handoff_steps import live, steps

LAW = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck))


@settings(LAW, max_examples=60)
@given(schedule=st.lists(steps, min_size=5, max_size=16))
def test_work_has_one_owner_at_every_instant(schedule):
    asyncio.run(live(MemoryStore(), schedule))


@pytest.mark.slow
@settings(LAW, max_examples=3000)
@given(schedule=st.lists(steps, min_size=5, max_size=30))
def test_work_has_one_owner_at_every_instant_of_long_lives(schedule):
    asyncio.run(live(MemoryStore(), schedule))


@pytest.mark.slow
@settings(LAW, max_examples=200)
@given(schedule=st.lists(steps, max_size=20))
def test_work_has_one_owner_at_every_instant_in_a_database(schedule, tmp_path_factory):
    folder = tmp_path_factory.mktemp("law")
    asyncio.run(live(f"sqlite+aiosqlite:///{folder / 'agents.db'}", schedule))

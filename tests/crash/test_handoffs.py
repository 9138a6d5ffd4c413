"""Processes killed with SIGKILL wherever a handoff touches the database: one owner, no packet lost, nothing twice."""

import json
import logging
import signal

import pytest
from sqlalchemy import text

from gatechart.stores import open_store
from tests.crash.ledger import check_sound
from tests.crash.relay import ROUTES, check_end, run
from tests.runtime.handovers import check

POINTS = (
    ("before COMMIT", 4),
    ("after INSERT handoffs", 1),
    ("after COMMIT", 5),
    ("after UPDATE handoffs", 1),
    ("before INSERT handoffs", 2),
    ("after INSERT places", 1),
    ("after UPDATE handoffs", 2),
    ("after DELETE places", 2),
)


LOOKS = {  # points of who only looks how far it is, or is yet to make the tables; and how many kills there are without
    "sqlite": (("reading",), 100),
    "postgresql": (("SELECT", "ROLLBACK", "CREATE"), 50),
}
QUICK = [*(("sqlite", way) for way in ROUTES), *(("postgresql", way) for way in (ROUTES[0], ROUTES[-1]))]


@pytest.fixture(autouse=True)
def _quiet():
    """What fails on purpose is not logged."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(before)


class Lives:
    """Processes that hand on, and die on the way."""

    def __init__(self, forks, folder, new_url):
        self._forks, self.folder, self.url = forks, folder, new_url

    def live(self, url, way, point="nowhere", nth=0):
        """How the process ended."""
        errors = self.folder / "errors"
        returncode = self._forks.live("relay", url, self.folder / "points.json", *way, point, nth, errors=errors)
        assert returncode in (0, -signal.SIGKILL), errors.read_text()
        return returncode

    def points(self, url, way):
        """How often an undisturbed process comes to each point."""
        assert self.live(url, way) == 0
        return json.loads((self.folder / "points.json").read_text())


@pytest.fixture
def lives(forks, tmp_path, new_url):
    return Lives(forks, tmp_path, new_url)


async def sound(url):
    """What a process left is in order, whenever it died."""
    async with open_store(url) as store:
        await check(store)


async def go_on(url, way):
    """Checks what a process left, goes on in this one, and checks what came of it."""
    await sound(url)
    await run(url, *way)
    async with open_store(url) as store:
        await check(store)
        await check_end(store, *way)
        check_sound(url)
        for table in ("places", "mail"):
            sql = text(f"SELECT * FROM {table}")
            assert await store.read(lambda connection, sql=sql: connection.execute(sql).all()) == []


@pytest.mark.parametrize("new_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("way", ROUTES, ids="-".join)
async def test_a_handoff_goes_on_after_its_process_has_died(lives, way):
    for point, nth in POINTS[::3]:  # the others, and every other one, in the slow test
        url = lives.url()
        assert lives.live(url, way, point, nth) == -signal.SIGKILL, (point, nth)
        await go_on(url, way)


@pytest.mark.parametrize(("new_url", "way"), QUICK, indirect=["new_url"])
async def test_a_handoff_goes_on_after_its_process_has_died_again_and_again(lives, way):
    url = lives.url()
    for point, nth in POINTS:
        lives.live(url, way, point, nth)
        await sound(url)
    await go_on(url, way)


@pytest.mark.slow
@pytest.mark.parametrize("way", ROUTES, ids="-".join)
async def test_a_handoff_goes_on_wherever_its_process_has_died(lives, way, capsys):
    kills, url = 0, lives.url()
    passed_over, enough = LOOKS["sqlite" if url.startswith("sqlite") else "postgresql"]
    for point, times in lives.points(url, way).items():
        if point.partition(" ")[2].startswith(passed_over):
            continue
        for nth in range(1, times + 1):
            url = lives.url()
            kills += lives.live(url, way, point, nth) == -signal.SIGKILL
            await go_on(url, way)
    with capsys.disabled():
        print(f"\n{way}: {kills} kills", end="")  # noqa: T201
    assert kills > enough

"""Crews killed with SIGKILL wherever the code touches the database; another process goes on, and nothing is amiss."""

import json
import logging
import random
import signal
import time

import pytest

from tests.crash.crew import Journal, errands, main
from tests.crash.ledger import opened_ledger

AGENTS, ERRANDS = 6, 12
NTH = (1, 2, 7, 30)  # times a point is passed before the kill, as far as it is passed so often


@pytest.fixture(autouse=True)
def _quiet():
    """What fails on purpose is not logged."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(before)


class Lives:
    """Crews at work in processes that die."""

    def __init__(self, forks, errors):
        self._forks, self._errors = forks, errors

    def live(self, url, folder, point="nowhere", nth=0, *, seed=1, agents=AGENTS, count=ERRANDS, killed_after_s=None):
        """Let a crew work, and return how that ended. killed_after_s: by another, so long after it began."""
        given = (url, folder, point, nth, seed, agents, count)
        with self._forks.begin("fault_points", *given, errors=self._errors) as process:
            if killed_after_s is not None:
                kill_at_work(process, folder / "journal", killed_after_s)
        assert process.returncode in (0, -signal.SIGKILL), self._errors.read_text()
        return process.returncode

    def passed(self, url, folder):
        """How often an undisturbed crew passes each point."""
        assert self.live(url, folder) == 0
        return json.loads((folder / "points.json").read_text())


def kill_at_work(process, journal, after_s):
    """Kill a crew so long after it began to work; one that has ended is not there any more."""
    while process.poll() is None and not journal.exists():
        time.sleep(0.002)
    time.sleep(after_s)
    process.kill()


@pytest.fixture
def lives(forks, tmp_path_factory):
    return Lives(forks, tmp_path_factory.mktemp("errors") / "errors")


async def go_on(url, folder, seed=1, agents=AGENTS, count=ERRANDS):
    """Checks what a process left, finishes first what it had begun and then its work in this one, and checks again."""
    journal, wanted = Journal(folder / "journal"), list(errands(seed, agents, count))
    (await opened_ledger(url, journal)).check()
    for asked in ([], wanted):
        await main(url, journal, asked)
        (await opened_ledger(url, journal)).check_settled()
    assert journal.marks("try") == {errand.mark for errand in wanted}


@pytest.mark.parametrize(
    ("point", "nth"),
    [
        ("after CREATE steps", 1),
        ("before COMMIT", 1),
        ("after COMMIT", 2),
        ("after COMMIT", 20),
        ("after INSERT history", 9),
        ("after INSERT mail", 11),
        ("before INSERT steps", 4),
        ("after INSERT invokes", 3),
        ("after DELETE invokes", 5),
        ("after UPDATE mail", 3),
    ],
)
async def test_a_crew_that_dies_at_a_point_is_found_sound_and_can_go_on(lives, crash_url, tmp_path, point, nth):
    assert lives.live(crash_url, tmp_path, point, nth) == -signal.SIGKILL
    await go_on(crash_url, tmp_path)


async def test_a_crew_that_dies_again_and_again_is_found_sound_each_time(lives, crash_url, tmp_path):
    journal = Journal(tmp_path / "journal")
    for point, nth in (("after COMMIT", 12), ("before COMMIT", 15), ("after DELETE mail", 20)):
        lives.live(crash_url, tmp_path, point, nth)
        (await opened_ledger(crash_url, journal)).check()
    await go_on(crash_url, tmp_path)


@pytest.mark.slow
async def test_a_crew_that_dies_at_any_point_is_found_sound_and_can_go_on(lives, new_url, tmp_path_factory, capsys):
    kills, undisturbed = 0, new_url()
    is_file = undisturbed.startswith("sqlite")
    for point, times in lives.passed(undisturbed, tmp_path_factory.mktemp("undisturbed")).items():
        if "SELECT" in point and not is_file:  # those of who only reads are not told from the others
            continue
        for nth in [nth for nth in NTH if nth <= times]:
            folder, url = tmp_path_factory.mktemp("campaign"), new_url()
            killed = lives.live(url, folder, point, nth) == -signal.SIGKILL
            kills += killed
            with capsys.disabled():
                print(f"\n{point}, time {nth}: {'killed' if killed else 'not reached'}", end="")  # noqa: T201
            await go_on(url, folder)
    assert kills > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
async def test_a_crew_killed_at_random_times_is_found_sound_and_can_go_on(lives, crash_url, tmp_path, seed):
    chance, journal = random.Random(seed), Journal(tmp_path / "journal")
    for _ in range(3):
        lives.live(crash_url, tmp_path, seed=seed, killed_after_s=chance.uniform(0, 0.6))
        (await opened_ledger(crash_url, journal)).check()
    await go_on(crash_url, tmp_path, seed=seed)

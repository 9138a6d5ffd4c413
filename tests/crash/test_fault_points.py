"""Crews killed with SIGKILL wherever the code touches the database; another process goes on, and nothing is amiss."""

import json
import logging
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.crash.crew import Journal, errands, main
from tests.crash.ledger import opened_ledger

ROOT = Path(__file__).parents[2]
AGENTS, ERRANDS = 6, 12
NTH = (1, 2, 7, 30)  # times a point is passed before the kill, as far as it is passed so often


@pytest.fixture(autouse=True)
def _quiet():
    """What fails on purpose is not logged."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(before)


def life(url, folder, point="nowhere", nth=0, *, seed=1, agents=AGENTS, count=ERRANDS, killed_after_s=None):
    """Lets a crew work in a child, and returns how that ended. killed_after_s: by another, so long after it began."""
    numbers = map(str, (nth, seed, agents, count))
    command = [sys.executable, "-m", "tests.crash.fault_points", url, str(folder), point, *numbers]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as child:
        if killed_after_s is not None:
            journal = folder / "journal"
            while child.poll() is None and not journal.exists():
                time.sleep(0.002)
            time.sleep(killed_after_s)
            child.send_signal(signal.SIGKILL)
        told = child.stderr.read()
    assert child.returncode in (0, -signal.SIGKILL), told
    return child.returncode


async def go_on(url, folder, seed=1, agents=AGENTS, count=ERRANDS):
    """Checks what a process left, finishes first what it had begun and then its work in this one, and checks again."""
    journal, wanted = Journal(folder / "journal"), list(errands(seed, agents, count))
    (await opened_ledger(url, journal)).check()
    for asked in ([], wanted):
        await main(url, journal, asked)
        (await opened_ledger(url, journal)).check_settled()
    assert journal.marks("try") == {errand.mark for errand in wanted}


def passed(url, folder):
    """How often an undisturbed crew passes each point."""
    assert life(url, folder) == 0
    return json.loads((folder / "points.json").read_text())


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
async def test_a_crew_that_dies_at_a_point_is_found_sound_and_can_go_on(crash_url, tmp_path, point, nth):
    assert life(crash_url, tmp_path, point, nth) == -signal.SIGKILL
    await go_on(crash_url, tmp_path)


async def test_a_crew_that_dies_again_and_again_is_found_sound_each_time(crash_url, tmp_path):
    journal = Journal(tmp_path / "journal")
    for point, nth in (("after COMMIT", 12), ("before COMMIT", 15), ("after DELETE mail", 20)):
        life(crash_url, tmp_path, point, nth)
        (await opened_ledger(crash_url, journal)).check()
    await go_on(crash_url, tmp_path)


@pytest.mark.slow
async def test_a_crew_that_dies_at_any_point_is_found_sound_and_can_go_on(new_url, tmp_path_factory, capsys):
    kills, undisturbed = 0, new_url()
    is_file = undisturbed.startswith("sqlite")
    for point, times in passed(undisturbed, tmp_path_factory.mktemp("undisturbed")).items():
        if "SELECT" in point and not is_file:  # those of who only reads are not told from the others
            continue
        for nth in [nth for nth in NTH if nth <= times]:
            folder, url = tmp_path_factory.mktemp("campaign"), new_url()
            killed = life(url, folder, point, nth) == -signal.SIGKILL
            kills += killed
            with capsys.disabled():
                print(f"\n{point}, time {nth}: {'killed' if killed else 'not reached'}", end="")  # noqa: T201
            await go_on(url, folder)
    assert kills > 100


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
async def test_a_crew_killed_at_random_times_is_found_sound_and_can_go_on(crash_url, tmp_path, seed):
    chance, journal = random.Random(seed), Journal(tmp_path / "journal")
    for _ in range(3):
        life(crash_url, tmp_path, seed=seed, killed_after_s=chance.uniform(0, 0.6))
        (await opened_ledger(crash_url, journal)).check()
    await go_on(crash_url, tmp_path, seed=seed)

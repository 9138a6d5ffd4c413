"""The black-box scenarios of the benchmarks, for gatechart: a conversation that is handed on loses nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REPEATED = {"orders' effect was done twice", "refunds' effect was done twice"}  # killed between effect and record
SAID_AGAIN = "the person had to say it again"  # killed before it was taken down: the sender was not told that it was


@pytest.mark.slow
def test_a_conversation_that_is_handed_on_loses_nothing_wherever_its_process_dies():
    command = [sys.executable, "-m", "benchmarks.lost", "--json", "--of", "gatechart", "--every", "13"]
    told = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    for matrix in told["killed"]:
        assert matrix["kills"] > 5
        assert matrix["amiss"].keys() <= REPEATED | {SAID_AGAIN}
    for found in (each["gatechart"] for each in told["others"].values()):
        assert (found["owner"], found["told"]) == (found["next_answer"], "")
        assert len(found["effects"]) == len(set(found["effects"]))

"""How far through the code events, mail, handoffs, calls and escapes travel: counts that no machine changes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

MOST = {
    "an event": {"moves": 45, "parses": 1},
    "posted mail until applied": {"moves": 80, "parses": 1},
    "a handoff until its answer": {"moves": 240, "parses": 2},
    "a tool call until its state is left": {"moves": 385, "parses": 3},
    "a model loop with one call": {"moves": 1150, "parses": 3},
    "a signal until its escape": {"moves": 610, "parses": 3},
}
"""The most moves from file to file on SQLite, and readings of contexts. What is above, `--paths` shows step by step."""


@pytest.mark.processes
def test_journeys_stay_short():
    command = [sys.executable, "-m", "benchmarks.journeys", "--json", "--times=5"]
    root = Path(__file__).parents[2]
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True, timeout=180)
    found = json.loads(ended.stdout)["SQLite"]
    too_far = {
        name: {part: found[name][part] for part, most in limits.items() if found[name][part] > most}
        for name, limits in MOST.items()
    }
    assert {name: parts for name, parts in too_far.items() if parts} == {}

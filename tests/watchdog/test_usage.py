"""What a host's sign of life tells of its process: what it uses, and for how long it got nowhere."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from gatechart.watchdog import process_usage
from gatechart.watchdog.process_usage import usage_of

psutil = pytest.importorskip("psutil")


ALONE = """
import subprocess, sys
from gatechart.watchdog.process_usage import usage_of
measure = usage_of(lambda: 7)
alone = measure()
with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
    both = measure()
    child.stdin.close()
print(alone["memory"] > 1_000_000, alone["committed"], alone["cpu"] >= 0, alone["children"], both["children"])
"""


def test_a_process_is_measured_with_its_children():
    """The process of the tests has other children, which may end at any time."""
    ended = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=False)
    assert ended.stdout.split() == ["True", "7", "True", "0", "1"]


class Hurried:
    """A psutil whose process uses processors as it is told, with a network that nobody can count."""

    Error = psutil.Error

    def __init__(self):
        self.cpu_s = 0.0

    def Process(self, _pid):  # noqa: N802  psutil's name
        return self

    def children(self, *, recursive):
        return []

    def cpu_times(self):
        return SimpleNamespace(user=self.cpu_s, system=0.0)

    def memory_info(self):
        return SimpleNamespace(rss=1)

    def net_io_counters(self):
        return None


def test_a_process_is_busy_for_nothing_as_long_as_it_uses_processors_and_commits_nothing(monkeypatch):
    machine, done, now = Hurried(), [1], [100.0]
    monkeypatch.setitem(sys.modules, "psutil", machine)
    monkeypatch.setattr(process_usage, "monotonic", lambda: now[0])
    measure = usage_of(lambda: done[0])

    def busy_s(cpu_s, turns):
        """The busy time without a commit, measured a second after the last."""
        now[0] += 1
        machine.cpu_s += cpu_s
        done[0] += turns
        facts = measure()
        assert "received_per_s" not in facts
        return facts["busy_s"]

    assert busy_s(0.0, 0) == 0
    assert [busy_s(1e6, 0) for _ in range(2)] == [1, 2]
    assert busy_s(1e6, 1) == 0
    assert busy_s(1e6, 0) == 1
    assert busy_s(0.0, 0) == 0

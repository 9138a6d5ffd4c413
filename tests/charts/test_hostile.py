"""Files that mean harm are refused within seconds and 200 MB of memory, with an error that says why."""

from __future__ import annotations

import pytest

from gatechart.charts import load
from gatechart.errors import InvalidChartError
from tests.charts.hostile_charts import HOSTILE
from tests.hostile import outcomes

SMALL = sorted(name for name, (content, _) in HOSTILE.items() if len(content) < 20_000)
PROGRAM = """
import json, os, resource, signal, sys
from gatechart.charts import load
from gatechart.errors import InvalidChartError
for path in sys.argv[1:]:
    sys.stdout.flush()
    if child := os.fork():
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps({"path": path, "status": status}))
        continue
    with open(path, "rb") as file:
        content = file.read()
    # Seconds of the processor, after which the process is ended. An idle machine needs less than half of one; what
    # runs beside it may cost it several times as much.
    signal.setitimer(signal.ITIMER_PROF, 3.0)
    resource.setrlimit(resource.RLIMIT_DATA, (200 << 20, 200 << 20))
    try:
        load(content)
    except InvalidChartError as error:
        print(json.dumps({"path": path, "problem": str(error)[:2000], "line": error.faults[-1].line}), flush=True)
    os._exit(0)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What became of each file, loaded in a process of its own within the limits: how that ended, and what it said."""
    documents = {name: content for name, (content, _) in HOSTILE.items()}
    return outcomes(PROGRAM, documents, tmp_path_factory.mktemp("hostile"), timeout_s=300)


@pytest.mark.processes
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_within_its_limits_with_a_place(name, told):
    one, (_, problem) = told[name], HOSTILE[name]
    assert one["status"] == 0, one["errors"][-500:]
    assert problem in one["problem"]
    assert one["line"] >= 1


@pytest.mark.parametrize("name", SMALL)
def test_what_is_refused_is_refused_here_too(name):
    content, problem = HOSTILE[name]
    with pytest.raises(InvalidChartError, match=problem):
        load(content)

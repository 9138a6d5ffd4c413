"""Files that mean harm are refused within seconds and 200 MB of memory, with an error that says why."""

from __future__ import annotations

import json

import pytest

from gatechart.charts import load
from gatechart.errors import InvalidChartError
from tests.hostile import outcomes

MIB = 1 << 20
BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)
HOSTILE = {
    "too large": (b"id: x\n" + b"#" * MIB, "more than 1048576 bytes"),
    "too large and endless": (b"[" * (2 * MIB), "more than 1048576 bytes"),
    "deep lists": (b"a: " + b"[" * 60_000, "nested more than"),
    "deep mappings": (b"{a: " * 15_000, "nested more than"),
    "deep dashes": (b"- " * 30_000, "nested more than"),
    "deep keys": (b"? " * 30_000, "nested more than"),
    "deep indents": ("".join(f"{' ' * n}a:\n" for n in range(1000)).encode(), "nested more than"),
    "deep json": (b'{"a":' * (MIB // 5 - 4), "nested more than"),
    "alias bomb": (BOMB.encode(), "more than 20000 values"),
    "alias of itself": (b"a: &a [*a]\n", "contains itself"),
    "alias of nothing": (b"a: *b\n", "unknown anchor"),
    "many values": (b"a:\n" + b"- 1\n" * 49_000, "more than 20000 values"),
    "many json values": (b'{"a": [' + b"1," * (MIB // 2 - 9), "more than 20000 values"),
    "python tag": (b"a: !!python/object/apply:os.system [ls]\n", "tag"),
    "unknown tag": (b"a: !secret 1\n", "tag"),
    "deep and on one line": (b"a: " + b"[" * (MIB - 10), "more than 65536 characters"),
    "long tag": (b"a: !" + b"x" * 60_000, "tag"),
    "tag directives": ((b"%TAG ! " + b"x" * 60_000 + b"\n") * 17, "invalid YAML"),
    "unknown tag far down": (b"a:\n" + b"- x\n" * 19_000 + b"- !secret 1\n", "tag"),
    "binary": (bytes(range(256)), "not UTF-8"),
    "utf-16": ("id: x\n".encode("utf-16"), "not UTF-8"),
    "control characters": (b"id: x\n\x00\x01", "invalid YAML"),
    "two documents": (b"id: x\n---\nid: y\n", "second document"),
    "double key": (b"id: x\nid: y\n", "occurs twice"),
    "double json key": (b'{"id": 1, "id": 2}', "occurs twice"),
    "long text": (b"a: '" + b"x " * (MIB // 2 - 4), "more than 65536 characters"),
    "long number": (b"version: " + b"9" * 60_000, "missing"),
    "long json number": (b'{"version": ' + b"9" * (MIB - 20), "invalid JSON"),
    "list as a key": (b"? [a]\n: 1\n", "key must be a text"),
    "many blanks": (b"a: 1\n" + b"\n" * (MIB - 10), "more than 50000 lines"),
    "many words": ((b"- " + b"x " * 32_000 + b"\n") * 16 + b"- !secret 1\n", "more than 200000 words"),
    "many anchors": (b"a:\n" + b"".join(b"- &a%d x\n" % n for n in range(19_000)), "more than 1000 anchors"),
    "many targets": (
        b"id: x\nentry_points: [s0]\non: {GO: {target: ["
        + b",\n".join(b"s%d" % n for n in range(1_000))
        + b"]}}\nstates:\n"
        + b"".join(b"  s%d:\n" % n for n in range(1_000)),
        "more than 32 targets",
    ),
    "many targets of XState": (
        json.dumps(
            {
                "id": "x",
                "initial": "s0",
                "states": {"s0": {"on": {"GO": {"target": [f"s{n}" for n in range(2_000)]}}}},
            }
        ).encode(),
        "more than 32 targets",
    ),
    "many unknown targets of XState": (
        json.dumps(
            {
                "id": "x",
                "initial": "s0",
                "states": {f"s{n}": {"on": {"GO": f"q{n}"}} for n in range(2_000)},
            }
        ).encode(),
        "unknown state",
    ),
    "long delay of XState": (
        b'{"id": "x", "initial": "s0", "states": {"s0": {"after": {"' + b"9" * 600 + b'": "s0"}}}}',
        "is not a duration",
    ),
    "deep states of XState": (
        b'{"id": "x", "initial": "s", "states": ' + b'{"s": {"states": ' * 500 + b"{}" + b"}}" * 500 + b"}",
        "nested more than",
    ),
    "long delay": (b"id: x\nentry_points: [a]\nstates: {a: {after: {" + b"9" * 900 + b"d: a}}}", "is not a duration"),
    "a pattern from a payload": (
        b"id: x\nentry_points: [a]\nstates:\n  a: {on: {GO: {guard: {cel: context.x.matches(event.payload.y)}}}}",
        "not a literal text",
    ),
    "many comments": (b"# c\n" * (MIB // 4 - 4), "more than 50000 lines"),
}
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

"""What an export of XState does to a machine, and machines at the edge of what there is."""

from __future__ import annotations

import json

import pytest

from gatechart import Runtime
from gatechart.charts import bindings_of, dump, load
from tests.charts.support import Life, faults


def exported(machine, **options):
    return load(json.dumps(machine), dialect="xstate", **options)


def told(machine, **options):
    return [fault.partition(": ")[2] for fault in faults(json.dumps(machine), dialect="xstate", **options)]


def state(**parts):
    return {"id": "m", "initial": "a", "states": {"a": parts}}


def count(context, event):
    context.count += 1


@pytest.mark.parametrize("more", [{}, {"entry": "count"}])
def test_a_machine_without_states_is_one_state_that_stays(more):
    machine = {"id": "counter", "context": {"count": 0}, "on": {"ADD": {"actions": "count"}}, **more}
    graph = exported(machine, bind={"count": count})
    assert list(graph.entry_points) == ["counter"]
    life = Life(graph, "counter")
    assert (life.send("ADD"), life.snapshot.status) == (("counter",), "active")
    assert life.context.count == 1 + len(more)
    assert load(dump(graph), bind=bindings_of(graph)).fingerprint == graph.fingerprint


@pytest.mark.parametrize(
    ("target", "reached"),
    [
        (r"#foo\.bar", "b"),
        (r"#foo\.bar.in\.side", "in.side"),
        (r"c\.d", "c.d"),
        (r".x\.y", "x.y"),
        (r"#m.c\.d", "c.d"),
    ],
)
def test_a_backslash_makes_a_dot_a_part_of_the_name(target, reached):
    states = {
        "a": {"on": {"GO": target}, "initial": "z", "states": {"z": {}, "x.y": {}}},
        "b": {"id": "foo.bar", "states": {"first": {}, "in.side": {}}, "initial": "first"},
        "c.d": {},
    }
    life = Life(exported({"id": "m", "initial": "a", "states": states}), "a")
    (leaf,) = life.send("GO")
    assert leaf == {"b": "first"}.get(reached, reached)


def test_a_path_with_a_backslash_that_leads_nowhere_is_told():
    (fault,) = told(state(on={"GO": r"#foo\.baz.x"}))
    assert fault.startswith(r"unknown state '#foo\\.baz.x'")


async def test_the_output_of_a_machine_is_what_its_agent_hands_on():
    states = {"a": {"always": "b"}, "b": {"type": "final", "output": {"n": 1}}}
    child = exported({"id": "child", "initial": "a", "output": {"n": 2}, "states": states})
    parent = load(
        """
        id: parent
        context: {result: null}
        entry_points: [A]
        states:
          A: {invoke: {agent: child, at: a, id: work, onDone: {target: B, actions: keep}}}
          B: {}
        """,
        bind={"keep": lambda context, event: setattr(context, "result", dict(event.payload["result"]))},
    )
    async with Runtime.open("memory:", graphs=[child, parent]) as runtime:
        boss = await runtime.start("parent", at="A")
        await boss.until("B")
        assert boss.context.result == {"n": 2}


@pytest.mark.parametrize(
    ("parts", "problem", "remedy"),
    [
        ({"entry": ["count", None]}, "the name is missing", "actions"),
        ({"exit": {"type": ""}}, "the name is missing", "actions"),
        ({"entry": {"type": "xstate.assign"}}, "the name 'xstate.assign' does not identify one", "actions"),
        ({"invoke": {"onDone": "a"}}, "'src' is missing", "actors"),
        (
            {"on": {"GO": {"guard": {"type": "xstate.and", "guards": []}}}},
            "the name 'xstate.and' does not identify",
            "guards",
        ),
    ],
)
def test_a_function_that_json_has_lost_is_told_with_where_to_name_and_to_bind_it(parts, problem, remedy):
    (fault,) = told(state(**parts), bind={"count": count})
    assert f"JSON holds no functions, and {problem}" in fault
    assert f"XState's setup({{{remedy}: ...}})" in fault
    assert "bind it with bind=" in fault


def test_what_tojson_writes_of_a_machine_is_told_because_it_lacks_half():
    definition = {"id": "m", "key": "m", "order": -1, "transitions": [], "states": {"a": {}}, "unknown": 1}
    (fault,) = told(definition)
    assert fault.startswith("this is the output of machine.toJSON(), which leaves out the context, `always` and")
    assert fault.endswith("write JSON.stringify(machine.config)")


def test_a_delay_by_a_name_says_that_it_can_be_bound():
    (fault,) = told(state(after={"soon": "a"}))
    assert "or bind it to a number of milliseconds" in fault
    assert exported(state(after={"soon": "a"}), bind={"soon": 500}).nodes["a"].timers == (("after.500ms.a", 0.5),)

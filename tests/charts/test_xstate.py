"""Machines of XState, version 5, as they are exported."""

from __future__ import annotations

import json

import pytest

from gatechart.charts import bindings_of, dump, load
from gatechart.errors import InvalidChartError
from tests.charts.support import Life

MACHINE = {
    "id": "player",
    "context": {"count": 0, "song": None},
    "initial": "off",
    "states": {
        "off": {"on": {"POWER": {"target": "on.hist"}}, "meta": {"x": 1}, "tags": ["dark"]},
        "on": {
            "initial": "idle",
            "entry": [{"type": "add", "params": {"amount": 10}}],
            "exit": "leave",
            "on": {
                "POWER": "off",
                "SELF": "#player.on",
                "AGAIN": {"target": "#player.on", "reenter": True},
                "INSIDE": {"target": ".busy"},
                "error.*": {"target": ".broken", "description": "Any error."},
                "*": {"actions": ["count"]},
            },
            "invoke": {
                "src": "search",
                "id": "find",
                "input": {"depth": 2},
                "onDone": {"target": ".busy", "guard": {"type": "is_below", "params": {"limit": 100}}},
                "onError": ".broken",
            },
            "after": {"1000": ".busy", "later": {"target": "off"}},
            "states": {
                "idle": {"on": {"GO": [{"target": "busy", "guard": "never"}, {"target": "busy", "guard": "is_big"}]}},
                "busy": {"always": {"target": "done", "guard": "never"}},
                "broken": {},
                "done": {"type": "final", "output": {"result": 1}},
                "hist": {"type": "history"},
            },
            "onDone": "off",
        },
    },
}


class Deps:
    later = 60_000

    def add(self, context, event, amount):
        context.count += amount

    def count(self, context, event):
        context.count += 1

    def leave(self, context, event):
        context.count += 1000

    def search(self, context, work, depth):
        return depth

    def is_below(self, context, event, limit):
        return context.count < limit

    def is_big(self, context, event):
        return event.payload.get("big", False)

    def never(self, context, event):
        return False


def machine(parts=MACHINE, entry_points=("off", "on"), **options):
    options = {"bind": Deps(), "dialect": "xstate", **options}
    return load(json.dumps(parts), entry_points=entry_points, **options)


def test_an_exported_machine_loads_as_it_is_once_its_entry_points_are_named():
    graph = machine()
    assert graph.name == "player"
    assert graph.context().model_dump() == {"count": 0, "song": None}
    again = load(dump(graph), bind=bindings_of(graph))
    assert again.fingerprint == graph.fingerprint
    said = MACHINE | {"dialect": "xstate", "entry_points": ["off", "on"]}
    assert load(json.dumps(said), bind=Deps()).fingerprint == graph.fingerprint


def test_a_transition_stays_inside_its_source_unless_it_reenters():
    life = Life(machine(), "on")
    assert (life.send("INSIDE"), life.context.count) == (("busy",), 10)
    assert (life.send("SELF"), life.context.count) == (("idle",), 10)
    assert (life.send("AGAIN"), life.context.count) == (("idle",), 1020)


def test_history_without_a_target_goes_where_its_parent_begins():
    life = Life(machine(), "off")
    assert life.send("POWER") == ("idle",)
    assert life.send("GO", big=True) == ("busy",)
    assert life.send("POWER") == ("off",)
    assert life.send("POWER") == ("busy",)


def test_numbers_are_milliseconds_and_names_may_stand_for_delays():
    assert machine().nodes["on"].timers == (("after.1000ms.on", 1.0), ("after.60000ms.on", 60.0))


def test_the_ends_of_an_invoke_are_its_events():
    graph = machine()
    labels = [each.label for each in graph.transitions if each.source == "on"]
    assert "on --done.invoke.find--> busy" in labels
    assert "on --error.invoke.find--> broken" in labels
    assert graph.nodes["on"].invokes[0].function(None, None) == 2
    assert Life(graph, "on").send("done.invoke.find") == ("busy",)


def test_wildcards_come_after_what_is_more_special():
    life = Life(machine(), "on")
    assert (life.send("OTHER"), life.context.count) == (("idle",), 11)
    assert life.send("error.tool") == ("broken",)
    parts = {
        "id": "m",
        "states": {"a": {"on": {"*": "b", "GO": "c", "x.*": "d", "x.y.*": "e"}}, "b": {}, "c": {}, "d": {}, "e": {}},
    }
    graph = machine(parts, ("a",))
    went = {name: Life(graph, "a").send(name) for name in ("GO", "ANY", "x.z", "x.y", "x.y.z")}
    assert went == {"GO": ("c",), "ANY": ("b",), "x.z": ("d",), "x.y": ("e",), "x.y.z": ("e",)}


def test_a_wildcard_is_not_asked_where_the_event_has_transitions_of_its_own():
    parts = {"id": "m", "states": {"a": {"on": {"*": "b", "GO": {"target": "c", "guard": "is_big"}}}, "b": {}, "c": {}}}
    graph = machine(parts, ("a",))
    assert Life(graph, "a").send("GO") is None
    assert Life(graph, "a").send("GO", big=True) == ("c",)
    assert Life(graph, "a").send("OTHER") == ("b",)


def test_an_event_is_not_taken_for_one_that_it_begins_with():
    parts = {"id": "m", "states": {"a": {"on": {"GO": "b"}}, "b": {"on": {"GO.AWAY": "a"}}}}
    graph = machine(parts, ("a", "b"))
    assert Life(graph, "a").send("GO.AWAY") is None
    assert Life(graph, "a").send("GO") == ("b",)
    assert load(dump(graph)).fingerprint == graph.fingerprint


def test_a_key_that_occurs_twice_is_named_by_its_path():
    inner = {"initial": "x", "states": {"x": {"on": {"GO": "y"}}, "y": {"type": "final"}}, "onDone": "end"}
    parts = {"id": "m", "initial": "a", "states": {"a": inner, "b": inner, "end": {}}}
    graph = machine(parts, ("a", "b"))
    assert graph.states == ("a", "a.x", "a.y", "b", "b.x", "b.y", "end")
    assert Life(graph, "b").send("GO") == ("end",)
    assert load(dump(graph)).fingerprint == graph.fingerprint


def test_without_the_dialect_a_key_that_occurs_twice_is_a_fault():
    parts = {"id": "m", "entry_points": ["a"], "states": {"a": {"states": {"x": {}}}, "b": {"states": {"x": {}}}}}
    with pytest.raises(InvalidChartError, match="the name occurs twice"):
        load(json.dumps(parts))


def test_a_machine_that_is_parallel_becomes_a_state_with_an_end():
    region = {"initial": "x", "states": {"x": {"on": {"GO": "y"}}, "y": {"type": "final"}}}
    parts = {
        "id": "m",
        "type": "parallel",
        "entry": "count",
        "states": {"a": region, "b": {**region, "on": {"BACK": "#m.a.x"}}, "h": {"type": "history"}},
        "on": {"HIST": "#m.h", "xstate.done.state.m.a": {"actions": "count"}},
        "context": {"count": 0},
    }
    graph = machine(parts, ("m", "a.y"))
    assert graph.states == ("m", "a", "a.x", "a.y", "b", "b.x", "b.y", "h", "m.done")
    life = Life(graph, "m")
    assert (life.snapshot.configuration, life.context.count) == (("a.x", "b.x"), 1)
    assert life.send("GO") == ("m.done",)
    assert life.snapshot.status == "done"
    assert graph.nodes["h"].default.targets == ("a", "b")
    named = machine(parts | {"entry_points": ["m", {"state": "a.y", "name": "late"}]}, None)
    assert named.entry_points["late"].state == "a.y"


def test_a_forbidden_event_goes_no_further():
    parts = {"states": {"a": {"on": {"GO": "b"}, "states": {"x": {"on": {"GO": None, "NO": [], "IT": {}}}}}, "b": {}}}
    graph = machine(parts, ("a",))
    assert graph.name == "(machine)"
    assert Life(graph, "a").send("GO") == ("x",)


def test_a_machine_may_begin_with_actions_and_events_may_be_renamed():
    parts = {
        "id": "m",
        "context": {"count": 0},
        "states": {
            "a": {
                "initial": {"target": "x", "actions": {"type": "add", "params": {"amount": 2}}},
                "states": {"x": {"invoke": {"src": "count"}, "on": {"xstate.done.actor.count": "y"}}, "y": {}},
                "history": False,
            }
        },
    }
    life = Life(machine(parts, ("a",)), "a")
    assert life.context.count == 2
    assert life.send("done.invoke.count") == ("y",)


def test_what_only_the_other_dialect_has_is_a_fault():
    with pytest.raises(InvalidChartError, match="'internal' is no key"):
        machine({"id": "m", "states": {"a": {"on": {"GO": {"internal": True}}}}}, ("a",))
    with pytest.raises(InvalidChartError, match="'soon' is no delay"):
        machine({"id": "m", "states": {"a": {"after": {"soon": "a"}}}}, ("a",))
    with pytest.raises(ValueError, match="other"):
        machine(dialect="other")

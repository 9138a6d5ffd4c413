"""Machines of XState, version 5, as they are exported."""

from __future__ import annotations

import json

import pytest

from gatechart.charts import bindings_of, dump, load
from gatechart.errors import InvalidChartError
from gatechart.testing.rehearsal import rehearse
from tests.charts.machines import ORDER, UPLOADS
from tests.charts.player_machines import MACHINE, Deps
from tests.charts.support import Life

END = {"type": "final", "exit": "count"}
ANEW = {"target": "h", "reenter": True}


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


def test_a_wildcard_is_asked_after_the_transitions_of_the_very_event():
    parts = {"id": "m", "states": {"a": {"on": {"*": "b", "GO": {"target": "c", "guard": "is_big"}}}, "b": {}, "c": {}}}
    graph = machine(parts, ("a",))
    assert Life(graph, "a").send("GO") == ("b",)
    assert Life(graph, "a").send("GO", big=True) == ("c",)
    assert Life(graph, "a").send("OTHER") == ("b",)


def test_an_event_that_only_a_wildcard_takes_is_not_taken_for_the_event_that_it_begins_with():
    states = {"a": {"on": {"x": "b", "GO": "c"}}, "b": {}, "c": {"on": {"x.*": "a"}}}
    graph = machine({"id": "m", "states": states}, ("a",))
    life = Life(graph, "a")
    assert life.send("x.unknown") is None
    assert (life.send("GO"), life.send("x.unknown"), life.send("x")) == (("c",), ("a",), ("b",))
    assert load(dump(graph)).fingerprint == graph.fingerprint


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
        "states": {"a": region, "b": region, "h": {"type": "history"}},
        "on": {"HIST": "#m.h", "BACK": "#m.a.x", "xstate.done.state.m.a": {"actions": "count"}},
        "context": {"count": 0},
    }
    graph = machine(parts, ("m", "a.y"))
    assert graph.states == ("m", "a", "a.x", "a.y", "b", "b.x", "b.y", "h")
    life = Life(graph, "m")
    assert (life.snapshot.configuration, life.context.count) == (("a.x", "b.x"), 1)
    assert life.send("GO") == ("a.y", "b.y")
    assert life.snapshot.status == "done"
    assert graph.nodes["h"].default.targets == ("a", "b")
    named = machine(parts | {"entry_points": ["m", {"state": "a.y", "name": "late"}]}, None)
    assert named.entry_points["late"].state == "a.y"


def test_a_machine_with_actions_of_its_own_ends_in_its_final_state_and_is_left():
    parts = {
        "context": {"count": 0},
        "exit": "count",
        "states": {"a": {"on": {"GO": "won", "NO": "lost"}, "exit": "count"}, "won": END, "lost": END},
    }
    graph = machine(parts, ("a",))
    life = Life(graph, "a")
    assert (life.send("GO"), life.snapshot.status, life.context.count) == (("won",), "done", 3)
    assert load(dump(graph), bind=bindings_of(graph)).fingerprint == graph.fingerprint


def test_a_machine_that_is_parallel_and_never_ends_is_no_end():
    region = {"initial": "x", "states": {"x": {"on": {"GO": "y"}}, "y": {"type": "final"}}}
    graph = machine({"id": "m", "type": "parallel", "states": {"a": region, "b": {}}}, ("m",))
    life = Life(graph, "m")
    assert (life.send("GO"), life.snapshot.status) == (("y", "b"), "active")
    assert load(dump(graph)).fingerprint == graph.fingerprint


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
    with pytest.raises(InvalidChartError, match="unknown key 'internal'"):
        machine({"id": "m", "states": {"a": {"on": {"GO": {"internal": True}}}}}, ("a",))
    with pytest.raises(InvalidChartError, match="'soon' is not a duration"):
        machine({"id": "m", "states": {"a": {"after": {"soon": "a"}}}}, ("a",))
    with pytest.raises(ValueError, match="other"):
        machine(dialect="other")


class Shop:
    patience = 60_000

    def see(self, context, event, what):
        context.seen.append(what)

    def count(self, context, event):
        context.tries += 1

    def hasItems(self, context, event, atLeast):  # noqa: N802, N803
        return len(context.seen) >= atLeast

    def isPaid(self, context, event):  # noqa: N802
        return event.payload["result"] == "paid"

    def isHopeless(self, context, event):  # noqa: N802
        return False

    def watch(self, context, work, depth):
        return depth

    def charge(self, context, work):
        return "paid"


def order(**changes):
    return machine(ORDER | changes, ("cart", "paying", "packing"), bind=Shop())


def test_an_order_goes_its_way():
    graph = order()
    assert load(dump(graph), bind=bindings_of(graph)).fingerprint == graph.fingerprint
    assert graph.version == "2.1.0"
    assert graph.nodes["past"].kind == "history"
    life = Life(graph, "cart")
    assert life.send("checkout.start") == ("cart",)
    assert (life.send("Item added"), life.context.seen) == (("cart",), ["item"])
    assert life.send("checkout.start") == ("asking",)
    assert (life.send("bank.called"), life.context.tries) == (("waiting",), 1)
    assert (life.send("what else"), life.context.seen) == (("waiting",), ["item", "any"])
    assert life.send("error.invoke.charge") == ("failed",)
    assert (life.send("again"), life.context.tries) == (("asking",), 2)
    assert life.send("done.invoke.charge", result="paid") == ("packing.goods.open", "packing.papers.open")
    assert life.send("packed") == ("packing.goods.shut", "packing.papers.open")
    assert life.send("start over") == ("packing.goods.open", "packing.papers.open")
    life.send("packed")
    assert life.send("printed") == ("delivered",)
    assert life.context.tries == 4


def test_a_space_is_a_part_of_an_events_name():
    life = Life(order(), "cart")
    life.send("Item")
    assert life.context.seen == ["other"]
    assert faults_of({"states": {"a": {"on": {"x y.*": "a"}}}}) == [
        "1:26 states.a.on.x y.*: 'x y.*' would match several events, because it contains spaces; "
        "write a name without spaces before `.*`"
    ]


def upload(context, work):
    return None


def test_invokes_without_ids_are_told_apart_by_their_states():
    graph = machine(UPLOADS, ("uploads",), bind={"upload": upload})
    ids = [invoke.id for node in graph.nodes.values() for invoke in node.invokes]
    assert ids == ["0.uploads.first.loading", "0.uploads.second.loading"]
    life = Life(graph, "uploads")
    assert life.send("error.invoke.0.uploads.first.loading") == ("lost", "second.loading")
    assert life.send("error.invoke.0.uploads.second.loading") == ("lost", "second.done")
    assert life.send("stop") == ("lost", "second.done")
    assert life.send("retry") == ("first.loading", "second.done")
    assert life.send("done.invoke.0.uploads.first.loading") == ("first.done", "second.done")


def faults_of(parts, doors=("a",), **options):
    with pytest.raises(InvalidChartError) as caught:
        machine(parts, doors, **options)
    return [str(fault) for fault in caught.value.faults]


def test_what_would_follow_the_end_of_a_machine_is_told():
    parts = {"id": "m", "states": {"a": {"on": {"xstate.done.state.m": "a"}}}, "onDone": ".a"}
    assert faults_of(parts) == [
        "1:37 states.a.on.xstate.done.state.m: the end of the machine ends the agent, so nothing can follow; "
        "drop it, or move it to the entry of a final state",
        "1:68 onDone: the end of the machine ends the agent, so nothing can follow; "
        "drop it, or move it to the entry of a final state",
    ]
    parallel = {"id": "m", "type": "parallel", "states": {"a": {}}, "output": "text"}
    assert [fault.partition(";")[0] for fault in faults_of(parallel, ("m",))] == [
        "1:54 output: a parallel machine ends in several states at once, so it has no output"
    ]
    assert faults_of({"type": "final", "states": {"a": {}}}) == [
        "1:10 type: a machine cannot be a final state; drop it"
    ]


@pytest.mark.parametrize("event", ["xstate.*", "xstate.init", "xstate.after.1000.m.a", "xstate.snapshot.find"])
def test_an_event_of_xstate_that_nothing_here_is_like_is_told(event):
    (fault,) = faults_of({"id": "m", "states": {"a": {"on": {event: "a"}}}})
    assert f"states.a.on.{event}: XState's event {event!r} has no counterpart here" in fault


def test_the_end_of_an_unknown_state_is_told_with_its_like():
    (fault,) = faults_of({"id": "m", "states": {"a": {"on": {"xstate.done.state.m.aa": "a"}}}})
    assert "no state has the id 'm.aa'; did you mean 'm.a'" in fault


def test_wildcards_over_xstates_own_events_take_those_here():
    inner = {"x": {"type": "final"}}
    parts = {
        "id": "m",
        "states": {
            "a": {"states": inner, "on": {"xstate.done.*": "b"}, "invoke": {"src": "search", "input": {"depth": 1}}},
            "b": {"on": {"xstate.error.*": "c"}, "invoke": {"src": "search", "id": "late", "input": {"depth": 1}}},
            "c": {"states": inner | {"y": {}}, "initial": "y", "on": {"GO": ".x", "xstate.done.state.*": "d"}},
            "d": {},
        },
    }
    life = Life(machine(parts, ("a",)), "a")
    assert life.snapshot.configuration == ("b",)
    assert life.send("error.invoke.late") == ("y",)
    assert life.send("GO") == ("d",)


def test_onsnapshot_is_told_as_what_there_is_not():
    invoke = {"src": "search", "input": {"depth": 1}, "onSnapshot": {"actions": "count"}}
    (fault,) = faults_of({"id": "m", "states": {"a": {"invoke": invoke}}})
    assert "states.a.invoke.onSnapshot: unknown key 'onSnapshot'" in fault


def test_output_is_the_value_itself_whatever_its_keys():
    finals = {"x": {"type": "final", "output": {"type": "ok"}}, "y": {"type": "final", "output": {"value": {"n": 1}}}}
    graph = machine({"id": "m", "states": {"a": {"states": finals}}}, ("a",))
    assert [graph.nodes[name].data.function(None, None) for name in "xy"] == [{"type": "ok"}, {"value": {"n": 1}}]


def test_a_final_state_says_in_its_meta_that_it_is_a_failure():
    ends = {"x": {"type": "final", "meta": {"gatechart": {"failed": True}}}, "y": {"type": "final", "meta": {"x": 1}}}
    graph = machine({"id": "m", "states": {"a": None, **ends}}, ("a",))
    assert [graph.nodes[name].failed for name in "xy"] == [True, False]
    assert (
        graph.fingerprint
        != machine({"id": "m", "states": {"a": None, "x": {"type": "final"}, "y": ends["y"]}}, ("a",)).fingerprint
    )


@pytest.mark.parametrize(
    ("state", "fault"),
    [
        ({"type": "final", "meta": {"gatechart": {"faild": True}}}, "unknown key 'faild'"),
        ({"type": "final", "meta": {"gatechart": 1}}, "expected keys with values, found 1"),
        ({"type": "final", "failed": True}, "unknown key 'failed'"),
        ({"meta": {"gatechart": {"failed": True}}}, "it has `failed: true`, but is not final"),
    ],
)
def test_what_a_meta_cannot_say_of_failures(state, fault):
    assert fault in faults_of({"id": "m", "states": {"a": None, "x": state}})[0]


def test_a_machine_with_actions_of_its_own_fails_where_its_final_state_says_so():
    lost = {"type": "final", "meta": {"gatechart": {"failed": True}}}
    states = {"a": {"on": {"GO": "won", "NO": "lost"}}, "won": {"type": "final"}, "lost": lost}
    graph = machine({"context": {"count": 0}, "entry": "count", "states": states}, ("a",))
    for event, state, status in (("GO", "won", "done"), ("NO", "lost", "failed")):
        life = Life(graph, "a")
        assert (life.send(event), life.snapshot.status) == ((state,), status)


def test_a_region_of_a_machine_ends_the_machine_only_with_the_others():
    failure = {"type": "final", "meta": {"gatechart": {"failed": True}}}
    regions = {name: {"states": {f"{name}1": None, f"{name}2": failure}} for name in "ab"}
    faults = faults_of({"id": "m", "type": "parallel", "states": regions})
    assert len(faults) == 2
    assert all("ends only the state around it, not the agent" in each for each in faults)


def test_null_stands_for_what_is_left_out():
    keys = ("id", "type", "initial", "states", "entry", "exit", "on", "always", "after", "invoke", "onDone", "output")
    nulls = {"states": {"a": {**dict.fromkeys(keys), "tags": None}}, "initial": None, "output": None, "context": None}
    plain = {"states": {"a": {}}}
    assert machine({"id": "m"} | nulls, ("a",)).fingerprint == machine({"id": "m"} | plain, ("a",)).fingerprint
    then = dict.fromkeys(("target", "guard", "actions", "reenter", "description"))
    graph = machine({"id": "m", "states": {"a": {"on": {"GO": then}}}}, ("a",))
    assert (graph.transitions[0].targets, graph.transitions[0].guard) == ((), None)


REGIONS = {
    "p": {
        "type": "parallel",
        "states": {
            "left": {"initial": "l1", "states": {"l1": {"on": {"OVER": "#m.p.right.r2"}}, "l2": {}}},
            "right": {"initial": "r1", "states": {"r1": {}, "r2": {}}},
        },
    }
}


def test_a_transition_between_regions_leaves_all_of_them():
    life = Life(machine({"id": "m", "states": REGIONS}, ("p",)), "p")
    assert life.send("OVER") == ("l1", "r2")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"entry": "count"}, "with its entry; put 'p' into a compound state, and give that its entry"),
        ({"exit": ["count"], "after": {"1": {"actions": "count"}}}, "with its exit, after; put"),
        ({"invoke": {"src": "search", "input": {"depth": 1}}}, "with its invoke; put"),
    ],
)
def test_a_transition_between_regions_that_xstate_takes_otherwise_is_told(more, told):
    (fault,) = faults_of({"id": "m", "states": {"p": REGIONS["p"] | more}}, ("p",))
    assert "OVER: XState leaves the regions of 'p', but not 'p', which is left here, too, " in fault
    assert told in fault


def test_a_region_that_is_parallel_itself_is_not_left_by_a_transition_between_its_regions():
    (fault,) = faults_of({"id": "m", "type": "parallel", "states": {**REGIONS, "q": {}}}, ("m",))
    assert "with the regions beside it" in fault
    outer = {"id": "m", "type": "parallel", "states": {"o": {"initial": "p", "states": REGIONS}, "q": {}}}
    outer["states"]["o"]["states"]["p"]["states"]["left"]["states"]["l1"]["on"]["OVER"] = "#m.o.p.right.r2"
    assert Life(machine(outer, ("m",)), "m").send("OVER") == ("l1", "r2", "q")


def test_a_region_that_reenters_itself_is_told_where_its_parent_would_be_left():
    left = {"on": {"AGAIN": {"target": "left", "reenter": True}}}
    parts = {"id": "m", "states": {"p": {"type": "parallel", "states": {"left": left, "right": {}}, "exit": "count"}}}
    assert "but not 'p'" in faults_of(parts, ("p",))[0]


async def begun(machine, at):
    async with rehearse(load(json.dumps(machine), dialect="xstate", bind={"note": note}), at=at) as agent:
        return agent.leaves


def note(context, event): ...


DOWN = {"down": {"on": {"UP": "up"}}, "up": {"states": {"a": {}}, "initial": "a"}}


@pytest.mark.parametrize(
    ("machine", "at", "leaves"),
    [
        ({"id": "lift", "initial": "up", "states": DOWN}, "up", ("a",)),
        ({"id": "lift", "initial": {"target": "down"}, "states": DOWN}, "down", ("down",)),
        ({"id": "lift", "initial": "up", "entry": "note", "states": DOWN}, "up", ("a",)),
        ({"id": "lift", "initial": {"target": "up", "actions": "note"}, "states": DOWN}, "initial", ("a",)),
        ({"id": "lift", "type": "parallel", "states": DOWN}, "lift", ("down", "a")),
    ],
)
async def test_a_machine_without_entry_points_begins_where_xstate_begins_it(machine, at, leaves):
    assert list(load(json.dumps(machine), dialect="xstate", bind={"note": note}).entry_points) == [at]
    assert await begun(machine, at) == leaves


def test_a_machine_that_begins_nowhere_says_what_is_missing():
    machine = {"id": "lift", "states": DOWN}
    with pytest.raises(InvalidChartError) as raised:
        load(json.dumps(machine), dialect="xstate")
    (fault,) = raised.value.faults
    assert str(fault) == (
        "1:1 entry_points: no entry point is listed and the machine has no `initial`, so no agent could start; "
        "write one of the two, or pass load(entry_points=[...])"
    )
    with pytest.raises(
        InvalidChartError, match="entry_points: no entry point is listed, so no agent could start; list"
    ):
        load(json.dumps({**machine, "initial": "up", "entry_points": []}), dialect="xstate")


def test_a_transition_to_an_outer_history_state_stays_in_its_source_where_that_leads_inside():
    a = {"entry": "count", "states": {"x": {"on": {"GO": "y"}}, "y": {}}, "on": {"BACK": "h", "ANEW": ANEW, "OUT": "b"}}
    parts = {
        "context": {"count": 0},
        "states": {"s": {"states": {"a": a, "b": {"on": {"IN": "a.y"}}, "h": {"history": "deep", "target": "a.x"}}}},
    }
    graph = machine(parts, ("s",))
    assert load(dump(graph), bind=bindings_of(graph)).fingerprint == graph.fingerprint
    life = Life(graph, "s")
    assert (life.send("GO"), life.send("BACK"), life.context.count) == (("y",), ("x",), 1)
    assert (life.send("GO"), life.send("ANEW"), life.context.count) == (("y",), ("x",), 2)


def test_an_empty_transition_forbids_an_event_and_a_dropped_one_does_not():
    """JSON.stringify drops a key whose value is undefined, which forbids the event in XState."""

    def life(inner):
        states = {"p": {"initial": "c", "on": {"E": "x"}, "states": {"c": {"on": inner}}}, "x": {}}
        return Life(machine({"id": "m", "initial": "p", "states": states}, ("p",)), "p")

    assert life({"E": {}}).send("E") == ("c",)
    assert life({}).send("E") == ("x",)


@pytest.mark.parametrize(("own", "runs"), [({}, 0), ({"exit": "count"}, 2)])
def test_exit_actions_of_a_final_state_run_only_in_a_machine_with_actions_of_its_own(own, runs):
    states = {"a": {"on": {"E": "f"}}, "f": END}
    life = Life(machine({"id": "m", "context": {"count": 0}, "initial": "a", "states": states, **own}, ("a",)), "a")
    life.send("E")
    assert life.context.count == runs

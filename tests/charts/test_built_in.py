"""Actions that a chart does without a function."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gatechart import Runtime
from gatechart.charts import dump, load, schema
from gatechart.checks import check
from gatechart.drawing import to_dot
from gatechart.errors import GuardBudgetError
from gatechart.testing import rehearse
from tests.charts.support import Life, faults

COUNTER = """
id: counter
context: {count: 0, twice: 0, last: null, notes: []}
entry_points: [A]
states:
  A:
    on:
      ADD: {actions: {assign: {count: context.count + event.payload.by, twice: context.count * 2}}}
      SET: {actions: [{assign: {last: {by: event.name, list: [1, context.count], no: null}}}]}
      GO: {actions: [{raise: NEXT}, {raise: {event: TOLD, payload: {count: context.count + 1, fixed: 7}}}]}
      NEXT: {actions: {assign: {notes: "context.notes + [event.name]"}}}
      TOLD: {target: B, actions: {assign: {last: event.payload}}}
      LONG: {actions: {assign: {count: "context.notes.map(x, context.notes.map(y, context.notes.map(z, z))).size()"}}}
      TIME: {actions: {assign: {last: "[event.time]"}}}
  B: {after: {1m: {target: A, actions: {assign: {count: 0}}}}}
"""


def test_assign_sets_fields_by_what_they_were_before():
    life = Life(load(COUNTER), "A")
    life.send("ADD", by=3)
    life.send("ADD", by=4)
    assert (life.context.count, life.context.twice) == (7, 6)
    life.send("SET")
    assert life.context.last == {"by": "SET", "list": [1, 7], "no": None}


def test_a_mapping_has_its_keys_in_the_same_order_each_time():
    chart = COUNTER.replace("event.payload}}", "\"{'d': 1, 'a': {'z': 1, 'y': 2}, 'c': 3, 'b': 4}\"}}")
    for _ in range(8):
        life = Life(load(chart), "A")
        life.send("TOLD")
        assert list(life.context.last) == ["a", "b", "c", "d"]
        assert list(life.context.last["a"]) == ["y", "z"]


def test_raised_events_are_taken_in_the_same_turn_with_their_payloads():
    life = Life(load(COUNTER), "A")
    assert life.send("GO") == ("B",)
    assert life.context.last == {"count": 1, "fixed": 7}
    assert life.context.notes == ["NEXT"]


async def test_a_timer_assigns_and_goes_on():
    async with rehearse(load(COUNTER), at="A") as agent:
        await agent.send("ADD", {"by": 2})
        await agent.send("GO")
        await agent.advance(60)
        assert (agent.leaves, agent.context.count) == (("A",), 0)


@pytest.mark.parametrize("written", ["yaml", "json"])
@pytest.mark.parametrize("dialect", ["scxml", "xstate"])
def test_what_is_dumped_loads_again_and_fits_the_schema(written, dialect):
    graph = load(COUNTER, dialect=dialect)
    again = load(dump(graph, format=written))
    assert again.fingerprint == graph.fingerprint
    assert again.transitions[0].actions == graph.transitions[0].actions
    assert load(COUNTER.replace("context.count * 2", "context.count * 3")).fingerprint != graph.fingerprint


def test_the_schema_knows_them():
    def chart(action):
        return {"id": "x", "entry_points": ["A"], "states": {"A": {"entry": action}}}

    validator = Draft202012Validator(schema())
    for right in ({"raise": "X"}, {"assign": {"x": 1}}, {"send": {"event": "X", "delay": "2s"}}, {"log": "x"}):
        validator.validate(chart(right))
        validator.validate(chart([right]) | {"dialect": "xstate"})
    for wrong in (
        {"raise": {}},
        {"assign": "x"},
        {"send": {"to": "x"}},
        {"log": {"facts": {}}},
        {"log": "x", "raise": "y"},
    ):
        assert not validator.is_valid(chart(wrong))


def test_all_faults_are_told_at_once_with_their_places():
    chart = """
    id: x
    entry_points: [A]
    context: {n: 0}
    states:
      A:
        entry:
          - assign: {n: contxt.n + 1}
          - assign: {}
          - raise: {payload: {a: "1 +"}}
          - send: {event: done.state.A, delay: soon}
          - {log: x, raise: y}
          - log: {message: hello, facts: {b: ["size("]}}
    """
    told = faults(chart)
    assert [fault.partition(" ")[2].partition(";")[0] for fault in told] == [
        "states.A.entry[0].assign.n: unknown variable 'contxt'",
        "states.A.entry[1].assign: it sets no field",
        "states.A.entry[2].raise: 'event' is missing",
        *[fault.partition(" ")[2].partition(";")[0] for fault in told[3:4]],
        "states.A.entry[3]: only the framework sends 'done.state.A'",
        "states.A.entry[3].send.delay: 'soon' is not a duration",
        "states.A.entry[4].log: unknown key 'log'",
        *[fault.partition(" ")[2].partition(";")[0] for fault in told[7:]],
    ]
    assert "invalid CEL" in told[3]
    assert "states.A.entry[5].log.facts.b[0]: invalid CEL" in told[7]
    assert len(told) == 8


def test_a_field_that_the_context_lacks_is_a_finding():
    graph = load("id: x\nentry_points: [A]\ncontext: {n: 0}\nstates: {A: {entry: {assign: {m: context.n}}}}")
    found = [each for each in check(graph) if each.code == "GC301"]
    assert [each.problem for each in found] == ["m = context.n uses 'm', which Context does not have"]


def test_costs_are_bounded_before_anything_is_evaluated():
    life = Life(load(COUNTER.replace("notes: []", f"notes: {list(range(400))}")), "A")
    with pytest.raises(Exception, match=r"may take .* steps on this data") as caught:
        life.send("LONG")
    assert isinstance(caught.value.__cause__, GuardBudgetError)


def test_a_value_that_json_does_not_have_is_an_error():
    with pytest.raises(Exception, match="which JSON does not have"):
        Life(load(COUNTER), "A").send("TIME")
    told = faults(COUNTER.replace('"[event.time]"', "event.time"))
    assert told[0].partition("last: ")[2] == "its value is of type timestamp, which JSON does not have; use string()"


async def test_events_are_sent_to_other_agents_and_to_itself():
    chart = """
    id: talker
    context: {friend: "", heard: []}
    entry_points: [A]
    states:
      A:
        on:
          MEET: {actions: {assign: {friend: event.payload.id}}}
          TALK: {actions: {send: {to: context.friend, event: HEARD, payload: {word: "event.payload.word + '!'"}}}}
          LATER: {actions: {send: {event: HEARD, payload: {word: "'late'"}, delay: 30s}}}
          HEARD: {actions: {assign: {heard: "context.heard + [event.payload.word]"}}}
          SOON: {actions: {send: STOP}}
          STOP: B
      B: {}
    """
    async with rehearse(load(chart), at="A") as one:
        await one.send("LATER")
        await one.advance(29)
        assert one.context.heard == []
        await one.advance(1)
        assert one.context.heard == ["late"]
        await one.send("SOON")
        assert one.leaves == ("B",)
    async with Runtime.open("memory:", graphs=[load(chart)]) as runtime:
        one, other = await runtime.start("talker", at="A"), await runtime.start("talker", at="A")
        await one.send("MEET", {"id": other.id})
        await one.send("TALK", {"word": "hi"})
        await other.send("MEET", {"id": one.id})  # queued behind what was sent
        assert other.context.heard == ["hi!"]


def test_a_message_is_logged_with_its_facts(caplog):
    chart = """
    id: x
    context: {n: 2}
    entry_points: [A]
    states: {A: {on: {GO: {actions: [{log: {message: so many, facts: {n: context.n}}}, {log: "100 %"}]}}}}
    """
    life = Life(load(chart), "A")
    with caplog.at_level(logging.INFO, "gatechart.chartfiles.built_in"):
        life.send("GO")
    first, second = caplog.records
    assert (first.message, first.facts, first.agent_id, first.graph) == ("so many", {"n": 2}, "agent", "x")
    assert (second.message, second.facts) == ("100 %", {})


def test_they_are_drawn_by_what_they_do():
    assert "count = context.count + event.payload.by" in to_dot(load(COUNTER))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-5, 5),
        lambda each: st.lists(each) | st.dictionaries(st.text("ab"), each),
    )
)
def test_a_value_without_expressions_is_itself(value):
    from gatechart.chartfiles.built_in import Template

    assert Template(value).filled(None, None) == value

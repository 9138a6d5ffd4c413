"""Handoffs in charts: as actions, as agents that are invoked, and what is accepted."""

from __future__ import annotations

from datetime import timedelta

import pytest
from jsonschema import Draft202012Validator

from gatechart.chartfiles.faults import Spot
from gatechart.chartfiles.source import read
from gatechart.charts import bindings_of, dump, load, schema
from gatechart.graph.definition import Invoke, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.handoff import Accepts, Fallbacks, Handoff, Human, OtherGraph, SameTarget
from tests.charts import functions
from tests.charts.functions import Case, is_welcome, living, note, result, tell
from tests.charts.support import chart, faults

VALIDATOR = Draft202012Validator(schema())
DATA = """
    id: orders
    context: Case
    accepts: {capacity: 3, policy: is_welcome}
    entry_points: [TALKING]
    states:
      TALKING:
        on:
          REFUND_ASKED:
            target: WAITING
            actions:
              - note
              - handoff:
                  to: refunds
                  at: REVIEWING
                  mode: delegate
                  reason: out of scope
                  deadline: 30s
                  fallbacks:
                    - same_target: {attempts: 5, first_s: 2}
                    - {other_graph: advanced_orders, at: REVIEWING}
                    - {human: human_desk, at: NORMAL, agent: p1}
                  packet: tell
                  agent: {type: living, params: {who: b2}}
                  achieved: result
                  transcript: false
        exit: {handoff: {to: billing, at: OPEN}}
      WAITING:
        on: {handoff.completed: TALKING, handoff.failed: TALKING}
        invoke:
          - {agent: parcels, at: TRACKING, id: track, timeout_s: 60, packet: tell, fallbacks: [{same_target: }],
             onDone: TALKING}
          - {agent: billing, at: OPEN, onError: TALKING}
"""
FALLBACKS = Fallbacks(
    SameTarget(5, first_s=2),
    OtherGraph("advanced_orders", at="REVIEWING"),
    Human("human_desk", at="NORMAL", agent="p1"),
)


def loaded() -> StateTransitionGraph:
    return chart(DATA, bind=functions)


def written() -> StateTransitionGraph:
    """The same chart in code."""
    from functools import partial

    refund = Handoff(
        "refunds",
        at="REVIEWING",
        mode="delegate",
        reason="out of scope",
        deadline="30s",
        fallbacks=FALLBACKS,
        packet=tell,
        agent=partial(living, who="b2"),
        achieved=result,
        transcript=False,
    )
    track = Invoke(
        id="track", agent="parcels", at="TRACKING", timeout_s=60, packet=tell, fallbacks=Fallbacks(SameTarget())
    )
    return StateTransitionGraph(
        "orders",
        context=Case,
        states=[
            State("TALKING", on_exit=Handoff("billing", at="OPEN")),
            State("WAITING", invoke=[track, Invoke(agent="billing", at="OPEN")]),
        ],
        transitions=[
            Transition("TALKING", "REFUND_ASKED", "WAITING", actions=[note, refund]),
            Transition("WAITING", "handoff.completed", "TALKING"),
            Transition("WAITING", "handoff.failed", "TALKING"),
            Transition("WAITING", "done.invoke.track", "TALKING"),
            Transition("WAITING", "error.invoke.billing", "TALKING"),
        ],
        entry_points=["TALKING"],
        accepts=Accepts(3, is_welcome),
    )


def test_a_chart_hands_on_work_as_code_does():
    refund = loaded().transitions[0].actions[1]
    assert refund.fallbacks == FALLBACKS
    assert (refund.to, refund.at, refund.mode, refund.reason) == ("refunds", "REVIEWING", "delegate", "out of scope")
    assert (refund.deadline, refund.packet, refund.agent(None, None)) == ("30s", tell, "b2")
    assert loaded().nodes["TALKING"].on_exit[0].function == Handoff("billing", at="OPEN")
    assert loaded().nodes["WAITING"].invokes == written().nodes["WAITING"].invokes
    assert loaded().accepts == Accepts(3, is_welcome)


def test_the_same_chart_in_code_and_in_data_has_the_same_fingerprint():
    assert loaded().fingerprint == written().fingerprint


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_what_was_loaded_is_dumped_and_loaded_as_the_same(form):
    graph = loaded()
    text = dump(graph, format=form)
    again = load(text, bind=bindings_of(graph))
    assert again.fingerprint == graph.fingerprint
    assert again.transitions[0].actions[1].fallbacks == FALLBACKS
    assert again.accepts == graph.accepts
    assert dump(again, format=form) == text


def test_a_deadline_in_code_may_be_of_any_kind():
    ask = Handoff("refunds", at="REVIEWING", deadline=timedelta(days=15, milliseconds=1))
    graph = StateTransitionGraph("orders", states=[State("A", on_entry=ask)], entry_points=["A"])
    assert load(dump(graph)).nodes["A"].on_entry[0].function.deadline == 15 * 86400 + 0.001


@pytest.mark.parametrize(
    "changed",
    [
        {"to": "other"},
        {"at": "OTHER"},
        {"mode": "delegate"},
        {"packet": tell},
        {"agent": living},
        {"achieved": tell},
    ],
)
def test_the_fingerprint_covers_where_a_handoff_leads_and_its_names(changed):
    first, second = ({"to": "refunds", "at": "REVIEWING"} | more for more in ({}, changed))
    assert fingerprint_of(Handoff(**first)) != fingerprint_of(Handoff(**second))


def test_the_fingerprint_covers_neither_code_nor_what_only_says_how_long_and_why():
    def other(context, event):
        return None

    other.__name__ = "tell"
    first = Handoff("refunds", at="REVIEWING", packet=tell)
    second = Handoff("refunds", at="REVIEWING", packet=other, reason="timeout", deadline="1s", fallbacks=FALLBACKS)
    assert fingerprint_of(first) == fingerprint_of(second)


def fingerprint_of(handoff: Handoff) -> str:
    return StateTransitionGraph("orders", states=[State("A", on_entry=handoff)], entry_points=["A"]).fingerprint


WRONG = """
    id: orders
    entry_points: [A]
    accepts: {capacity: -1, polcy: x}
    states:
      A:
        entry:
          - handoff: {too: refunds, at: "", mode: delegat, reason: timeot, deadline: soon, packet: tel}
          - handoff: refunds
          - handoff: {to: b, at: OPEN, fallbacks: [
              same_target: {attempts: 0}, other_graph: b, {human: c, other_graph: d, at: E}, {at: E}]}
        exit:
          - {handoff: {to: refunds, at: OPEN}, type: note}
        invoke:
          - {agent: refunds}
          - {agent: refunds, at: OPEN, src: note}
          - {src: search, packet: tell}
          - {agent: refunds, at: OPEN, id: again, retry: {attempts: 3}}
"""
TOLD = [
    "4:21 accepts.capacity: expected a number, found -1; write a number, 0 or more",
    "4:25 accepts.polcy: unknown key 'polcy'; did you mean 'policy'? There are 'capacity', 'policy'",
    "7:5 states.A: the invoke 'refunds' occurs twice; give each an `id` of its own",
    "8:18 states.A.entry[0].handoff: 'to' is missing; name the graph that takes the work",
    "8:19 states.A.entry[0].handoff.too: unknown key 'too'; did you mean 'to'? There are 'to', 'best', 'a",
    "8:37 states.A.entry[0].handoff.at: the text is empty; write a text",
    "8:47 states.A.entry[0].handoff.mode: unknown value 'delegat'; did you mean 'delegate'? There are 'tr",
    "8:64 states.A.entry[0].handoff.reason: unknown value 'timeot'; did you mean 'timeout'? There are 'kn",
    "8:82 states.A.entry[0].handoff.deadline: 'soon' is not a duration; write '500ms', '30s', '1h30m', '2",
    "8:96 states.A.entry[0].handoff.packet: no function is bound to 'tel'; did you mean 'tell'? There are",
    "9:18 states.A.entry[1].handoff: expected keys with values, found 'refunds'; write `key: value`",
    "11:24 states.A.entry[2].handoff.fallbacks[0].same_target: it is not possible: attempts and factor ar",
    "11:39 states.A.entry[2].handoff.fallbacks[1]: 'at' is missing; name the entry point of the graph",
    "11:55 states.A.entry[2].handoff.fallbacks[2]: it is 'other_graph' and 'human' at once; write `same_t",
    "11:90 states.A.entry[2].handoff.fallbacks[3]: it names no fallback; write `same_target: {attempts: 3",
    "13:44 states.A.exit[0].type: unknown key 'type'; there are 'handoff'",
    "15:9 states.A.invoke[0]: 'at' is missing; name the entry point of the graph",
    "16:36 states.A.invoke[1].src: 'src' is for functions; drop it, or drop `agent:`",
    "17:23 states.A.invoke[2].packet: 'packet' is for agents; name its graph with `agent:`",
    "18:47 states.A.invoke[3].retry: 'retry' is for functions; drop it, or drop `agent:`",
]


def test_every_fault_is_told_at_its_place_all_at_once():
    assert [each[:100] for each in faults(WRONG, bind=functions)] == TOLD


def test_a_function_that_does_not_fit_is_told_at_the_state():
    told = faults(
        "id: a\nentry_points: [A]\nstates: {A: {entry: {handoff: {to: b, at: C, packet: filled}}}}", bind=functions
    )
    assert told == [
        "3:13 states.A: state 'A', entry, handoff: packet: filled does not take (context, event); "
        "pass a function of (context, event)"
    ]


def test_xstate_has_no_handoffs_but_a_name_may_be_bound_to_one():
    machine = "dialect: xstate\nid: a\nentry_points: [A]\nstates: {A: {entry: %s}}"
    [told] = faults(machine % "{handoff: {to: b, at: C}}")
    assert told.startswith(
        "4:22 states.A.entry.handoff: XState has no handoffs; name an action, and bind a Handoff(...)"
    )
    ask = Handoff("refunds", at="REVIEWING")
    graph = load(machine % "ask", bind={"ask": ask})
    assert graph.nodes["A"].on_entry[0].function is ask
    assert load(dump(graph)).fingerprint == graph.fingerprint


def test_a_handoff_that_a_name_is_bound_to_takes_no_parameters():
    text = "id: a\nentry_points: [A]\nstates: {A: {entry: {type: ask, params: {to: b}}}}"
    [told] = faults(text, bind={"ask": Handoff("refunds", at="REVIEWING")})
    assert "ask is a handoff, which takes no parameters; drop them" in told


def test_xstate_invokes_no_agents():
    text = "dialect: xstate\nid: a\nentry_points: [A]\nstates: {A: {invoke: {agent: b, at: C}}}"
    told = faults(text)
    assert any("unknown key 'agent'" in each for each in told)


def test_editors_know_handoffs():
    from textwrap import dedent

    node, _ = read(dedent(DATA))
    VALIDATOR.validate(Spot(node).plain())


@pytest.mark.parametrize("deadline", [0, 2.5, "30s", "1.5 h", ".5d"])
def test_editors_know_the_delays_that_can_be_read(deadline):
    state = {"entry": {"handoff": {"to": "b", "at": "C", "deadline": deadline}}}
    VALIDATOR.validate({"id": "x", "entry_points": ["A"], "states": {"A": state}})


@pytest.mark.parametrize("capacity", [-1, 2.5, "3"])
def test_editors_are_told_of_a_capacity_that_is_none(capacity):
    chart = {"id": "x", "entry_points": ["A"], "states": {"A": None}}
    assert not VALIDATOR.is_valid(chart | {"accepts": {"capacity": capacity}})


@pytest.mark.parametrize(
    "state",
    [
        {"entry": {"handoff": {"to": "b"}}},
        {"entry": {"handoff": {"to": "b", "at": "C", "mode": "give"}}},
        {"entry": {"handoff": {"to": "b", "at": "C", "reason": "so"}}},
        {"entry": {"handoff": {"to": "b", "at": "C", "fallbacks": [{"other_graph": "b"}]}}},
        {
            "entry": {
                "handoff": {"to": "b", "at": "C", "fallbacks": [{"same_target": None, "other_graph": "b", "at": "C"}]}
            }
        },
        {"entry": {"handoff": {"to": "b", "at": "C", "fallbacks": [{"same_target": {"factor": 0.5}}]}}},
        {"entry": {"handoff": {"to": "b", "at": "C"}, "type": "note"}},
        {"entry": {"handoff": {"to": "", "at": "C"}}},
        {"entry": {"handoff": {"to": "b", "at": ""}}},
        {"entry": {"handoff": {"to": "b", "at": "C", "deadline": -1}}},
        {"entry": {"handoff": {"to": "b", "at": "C", "deadline": "soon"}}},
        {"entry": {"handoff": {"to": "b", "at": "C", "fallbacks": [{"other_graph": "", "at": "C"}]}}},
        {"invoke": {"agent": "b", "at": ""}},
        {"invoke": {"agent": "b"}},
        {"invoke": {"agent": "b", "at": "C", "src": "f"}},
        {"invoke": {"src": "f", "at": "C"}},
        {"invoke": {"agent": "b", "at": "C", "retry": {"attempts": 3}}},
        {"invoke": {"src": "f", "retry": {"attempts": 0}}},
        {"invoke": {"src": "f", "retry": 3}},
    ],
)
def test_editors_are_told_of_wrong_handoffs(state):
    assert not VALIDATOR.is_valid({"id": "x", "entry_points": ["A"], "states": {"A": state}})

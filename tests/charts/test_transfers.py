"""Transfers in chart files: read, written, and told apart from what they cannot be."""

import json

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from gatechart import load
from gatechart.charts import dump
from gatechart.charts.schema import schema
from gatechart.errors import InvalidChartError
from gatechart.graph.transfers import To

CHART = """
id: research
context: {is_open: true, reason: ""}
entry_points: [CHECKING]
states:
  CHECKING:
    invoke: check
    transfers:
      targets:
        - SEARCHING
        - state: WRITING
          guard: {cel: context.is_open}
          actions: [{assign: {reason: event.payload.arguments.reason}}]
          takes: Chapter
        - graph: refunds
          at: REVIEWING
          description: decides on refunds
          deadline: 2h
          fallbacks: [{human: desk, at: NORMAL}]
          waits: HANDING_OVER
          transcript: false
      most: 3
      otherwise: WRITING
      resets_on: [ASKED, REOPENED]
      arguments: false
      status: how_far
  HANDING_OVER: {on: {handoff.rejected: CHECKING, handoff.expired: CHECKING}}
  SEARCHING:
    on: {FOUND: CHECKING}
  WRITING: {type: final}
"""


class Chapter(BaseModel):
    title: str = ""


def check(context, work): ...


def how_far(context):
    return "half"


BOUND = {"check": check, "how_far": how_far, "Chapter": Chapter}


def chart(*changes):
    text = CHART
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return text


def transfers_of(graph):
    return graph.nodes["CHECKING"].transfers


def test_a_file_says_what_transfers_have_in_code():
    transfers = transfers_of(load(CHART, bind=BOUND))
    searching, writing, refunds = transfers.targets
    assert (transfers.most, transfers.otherwise, transfers.resets_on) == (3, "WRITING", ("ASKED", "REOPENED"))
    assert (transfers.arguments, transfers.status) == (False, how_far)
    assert searching == To("SEARCHING")
    assert (writing.target, writing.takes, len(writing.actions)) == ("WRITING", Chapter, 1)
    assert writing.guard is not None
    assert (refunds.target, refunds.at, refunds.deadline, refunds.waits) == (
        "refunds",
        "REVIEWING",
        "2h",
        "HANDING_OVER",
    )
    assert [step.graph for step in refunds.fallbacks.targets] == ["desk"]
    assert (writing.transcript, refunds.transcript, refunds.handoff.transcript) == (True, False, False)


@pytest.mark.parametrize("kind", ["yaml", "json"])
def test_a_graph_that_is_written_and_read_is_the_same(kind):
    graph = load(CHART, bind=BOUND)
    again = load(dump(graph, format=kind), bind=BOUND)
    assert again.fingerprint == graph.fingerprint
    assert dump(again) == dump(graph)
    assert [each.transcript for each in transfers_of(again).targets] == [True, True, False]


def test_a_state_that_the_graph_adds_is_written_like_any_other():
    graph = load(chart(("          waits: HANDING_OVER\n", "")), bind=BOUND)
    assert "CHECKING_TO_refunds" in graph.states
    assert load(dump(graph), bind=BOUND).fingerprint == graph.fingerprint


def test_null_switches_the_transfers_off():
    graph = load(chart(("most: 3", "most: null"), ("      otherwise: WRITING\n", "")), bind=BOUND)
    assert graph.choosing == ()
    assert load(dump(graph), bind=BOUND).fingerprint == graph.fingerprint


def test_the_schema_takes_the_file():
    plain = json.loads(dump(load(CHART, bind=BOUND), format="json"))
    assert list(Draft202012Validator(schema()).iter_errors(plain)) == []
    plain["states"]["CHECKING"]["transfers"]["targets"][1]["at"] = "DOOR"
    assert list(Draft202012Validator(schema()).iter_errors(plain))


FAULTS = {
    "no targets": (("      targets:", "      target:"), "transfers: 'targets' is missing"),
    "no target's name": (("graph: refunds\n          at: REVIEWING", "at: REVIEWING"), "it names no target"),
    "two kinds of target": (
        ("state: WRITING\n", "state: WRITING\n          graph: x\n"),
        "it is 'state' and 'graph' at once",
    ),
    "a state with an entry point": (("takes: Chapter", "at: DOOR"), "'at' is for other graphs"),
    "a graph without an entry point": (("          at: REVIEWING\n", ""), "'at' is missing"),
    "an unknown target": (("- SEARCHING", "- SEARCHIN"), "did you mean 'SEARCHING'?"),
    "an unknown way out": (("otherwise: WRITING", "otherwise: WRITIN"), "transfers.otherwise: unknown state 'WRITIN'"),
    "no way out": (("      otherwise: WRITING\n", ""), "it has `most`, but no `otherwise`"),
    "no limit": (("most: 3", "most: few"), "expected a whole number, found 'few'"),
    "a limit of nothing": (("most: 3", "most: 0"), "most: 0 is no limit"),
    "an unknown key": (("resets_on:", "reset_on:"), "unknown key 'reset_on'; did you mean 'resets_on'?"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_with_its_place(name):
    change, told = FAULTS[name]
    with pytest.raises(InvalidChartError) as caught:
        load(chart(change), bind=BOUND)
    assert told in str(caught.value)

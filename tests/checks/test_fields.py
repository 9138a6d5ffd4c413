from __future__ import annotations

import pytest
from pydantic import BaseModel, model_validator

from gatechart import AgentContext
from gatechart.graph.definition import EntryPoint, Initial, State, Transition
from tests.checks.support import Expression, Raising, found, graph_of, places, yes


class Desk(AgentContext):
    customer: str
    retries: int = 0


class CaseFile(BaseModel):
    customer: str


class Person(BaseModel):
    name: str


class Forgiving(Desk):
    @model_validator(mode="before")
    @classmethod
    def filled(cls, data):
        return {"customer": "nobody", **data}


class Strict(Desk):
    @model_validator(mode="after")
    def checked(self):
        return self


def starts(context=Desk, **entry):
    graph = graph_of(states=["A"], context=context, entry_points=[EntryPoint("A", **entry)])
    return places(graph, "GC303")


def test_a_guard_that_uses_an_unknown_field_is_found_with_the_nearest():
    graph = graph_of([Transition("A", "E", "B", guard=Expression("retrys", "retries"))], context=Desk)
    (finding,) = found(graph, "GC301")
    assert finding.place == "transition 'A --E--> B'"
    assert "Expression uses 'retrys', which Desk does not have" in finding.problem
    assert "did you mean 'retries'?" in finding.remedy


def test_expressions_that_use_known_fields_and_plain_functions_are_not_found():
    ways = [Transition("A", "E", "B", guard=Expression("retries")), Transition("A", "F", "B", guard=yes)]
    assert places(graph_of(ways, context=Desk), "GC301") == []


def test_a_context_without_fields_has_none_to_offer():
    (finding,) = found(graph_of([Transition("A", "E", "B", guard=Expression("retries"))]), "GC301")
    assert finding.remedy == "add the field"


@pytest.mark.parametrize(
    "state",
    [
        State("A", on_entry=[Expression("lost")]),
        State("A", on_exit=[Expression("lost")]),
        State("A", states=["A1"], initial=Initial("A1", actions=[Expression("lost")])),
    ],
)
def test_actions_of_a_state_are_looked_at(state):
    assert places(graph_of(states=[state]), "GC301") == ["state 'A'"]


def test_data_and_actions_of_transitions_are_looked_at():
    final = State("A2", final=True, data=Expression("lost"))
    graph = graph_of(
        [Transition("A1", "E", "A2", actions=[Expression("gone"), Raising("E")])],
        states=[State("A", states=["A1", final])],
    )
    assert places(graph, "GC301") == ["state 'A1'", "state 'A2'"]


def test_the_guard_of_an_entry_point_is_looked_at():
    graph = graph_of(states=["A"], entry_points=[EntryPoint("A", guard=Expression("lost"))])
    assert places(graph, "GC301") == ["entry point 'A'"]


def test_an_entry_point_without_a_description_is_noted():
    (finding,) = found(graph_of(states=["A"]), "GC302")
    assert (finding.place, finding.severity) == ("entry point 'A'", "note")


def test_an_entry_point_with_a_description_is_not_noted():
    graph = graph_of(states=["A"], entry_points=[EntryPoint("A", description="a customer asks")])
    assert places(graph, "GC302") == []


@pytest.mark.parametrize("entry", [{}, {"takes": Person, "maps": {}}])
def test_an_entry_point_that_leaves_a_required_field_empty_is_found(entry):
    assert starts(**entry) == ["entry point 'A'"]


@pytest.mark.parametrize(
    "entry",
    [
        {"takes": CaseFile},
        {"takes": Person, "maps": {"name": "customer"}},
        {"takes": Person, "maps": lambda person: {"customer": person.name}},
    ],
)
def test_a_payload_that_fills_the_required_fields_is_enough(entry):
    assert starts(**entry) == []


def test_a_validator_that_comes_before_may_fill_what_it_likes():
    assert starts(Forgiving) == []
    assert starts(Strict) == ["entry point 'A'"]
    assert starts(AgentContext) == []


def test_an_expression_of_a_chart_tells_its_fields():
    cel = pytest.importorskip("gatechart.chartfiles.cel").Cel
    ways = [Transition("A", "E", "B", guard=cel("context.retris < 3 && context.customer == event.name"))]
    (finding,) = found(graph_of(ways, context=Desk), "GC301")
    assert "uses 'retris'" in finding.problem

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from gatechart import AgentContext, ConversationContext, HandoffPacket
from gatechart.checks import report
from gatechart.graph.definition import EntryPoint, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.handoff import Fallbacks, Handoff, Human
from gatechart.graph.transfers import To, Transfers
from tests.checks.support import Expression, found, graph_of, places, yes


class Case(ConversationContext):
    city: str = ""
    approved: bool = False


class Plain(AgentContext):
    city: str = ""
    approved: bool = False


class Claim(BaseModel):
    city: str
    agreed: bool = False


def entered(*transitions: Transition[Any], context: Any = Case, **entry: Any) -> StateTransitionGraph[Any]:
    ways = [Transition("A", "GO", "B"), Transition("UNREACHED", "GO", "C"), *transitions]
    return graph_of(ways, context=context, entry_points=[EntryPoint("A", **entry), "UNREACHED"])


def test_an_entry_point_whose_fields_can_be_entities_is_found():
    (finding,) = found(entered(entities=["city", "approved"]), "GC505")
    assert (finding.severity, finding.place) == ("note", "entry point 'A'")
    assert "may fill 'city', 'approved' here" in finding.problem
    assert places(entered(), "GC505") == []


@pytest.mark.parametrize(
    "entry",
    [
        {"entities": "approved"},
        {"entities": "approved", "takes": HandoffPacket},
        {"entities": "agreed", "takes": Claim, "maps": {"agreed": "approved"}},
        {"entities": "approved", "takes": Claim, "maps": {"city": "city"}},
    ],
)
def test_a_guard_that_reads_what_entities_may_fill_is_found(entry):
    guards = Transition("B", "PAY", "C", guard=Expression("city", "approved"))
    assert places(entered(guards, **entry), "GC506") == ["transition 'B --PAY--> C'"]
    assert places(entered(guard=Expression("approved"), **entry), "GC506") == ["entry point 'A'"]


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"entities": "city"},
        {"entities": "agreed", "takes": Claim, "maps": {"city": "city"}},
        {"entities": "agreed", "takes": Claim, "maps": lambda claim: {}},
    ],
)
def test_guards_of_other_fields_are_left_alone(entry):
    guards = Transition("B", "PAY", "C", guard=Expression("approved"))
    assert places(entered(guards, **entry), "GC506") == []


def test_guards_that_do_not_say_what_they_read_or_are_not_reached_are_left_alone():
    plain = Transition("B", "PAY", "C", guard=yes)
    elsewhere = Transition("UNREACHED", "PAY", "C", guard=Expression("approved"))
    assert places(entered(plain, elsewhere, entities="approved"), "GC506") == []


def test_a_transition_from_anywhere_is_reached():
    anywhere = Transition("*", "PAY", "C", guard=Expression("approved"))
    assert places(entered(anywhere, entities="approved", context=Plain), "GC506") == ["transition '* --PAY--> C'"]


def refunds(*entities: str, **more: Any) -> StateTransitionGraph[Any]:
    entry = EntryPoint("REVIEWING", takes=Claim, maps={"city": "city"}, entities=entities, **more)
    return StateTransitionGraph("refunds", context=Case, states=["REVIEWING"], entry_points=[entry])


def hits(graph: StateTransitionGraph[Any], code: str, *others: StateTransitionGraph[Any]) -> list[str]:
    """What is found where the graphs of the application are known."""
    return [each.problem for each in report(graph, among=[graph, *others]).findings if each.code == code]


def asking(context: Any = ConversationContext, **handoff: Any) -> StateTransitionGraph[Any]:
    offer = Handoff(**{"to": "refunds", "at": "REVIEWING"} | handoff)
    return graph_of([Transition("A", "ASKED", "B", actions=offer)], context=context)


def test_a_required_field_that_nothing_may_fill_is_found_at_the_handoff():
    (problem,) = hits(asking(), "GC507", refunds())
    assert problem == (
        "'refunds' requires 'city' at 'REVIEWING', which the context ConversationContext of 'desk' does not have"
    )
    fallbacks = Fallbacks(Human("refunds", at="REVIEWING"))
    assert hits(asking(to="desk", at="A", fallbacks=fallbacks), "GC507", refunds()) == [problem]


def test_a_required_field_that_something_may_fill_is_not_found():
    assert hits(asking(), "GC507", refunds("city")) == []
    assert hits(asking(Plain), "GC507", refunds()) == []
    assert hits(asking(packet=lambda context, event: HandoffPacket()), "GC507", refunds()) == []
    assert hits(asking(), "GC507") == []  # the other graph is not known


async def choose(context, work): ...


def choosing(**to: Any) -> StateTransitionGraph[Any]:
    targets = [To("refunds", at="REVIEWING", **to), "B"]
    states = [State("A", invoke=choose, transfers=Transfers(targets, otherwise="B")), State("B", final=True)]
    return graph_of(states=states, context=Case)


def test_arguments_of_a_transfer_that_fill_nothing_are_found():
    class Words(BaseModel):
        city: str
        mood: str

    (problem,) = hits(choosing(takes=Words), "GC603", refunds())
    assert problem == "its transfer to 'refunds.REVIEWING' asks a model for 'city', which fills no field there"
    assert hits(choosing(takes=Words), "GC603", refunds("city")) == []
    assert hits(choosing(), "GC603", refunds()) == []
    assert hits(choosing(takes=Words, packet=lambda context, event: HandoffPacket()), "GC603", refunds()) == []

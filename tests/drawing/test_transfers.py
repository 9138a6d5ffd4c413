"""Transfers in drawings: apart from other transitions, with what is left of them."""

from gatechart import State, StateTransitionGraph, To, Transfers, Transition
from gatechart.drawing import to_dot, to_mermaid
from gatechart.drawing.legend import Sign, signs_of
from gatechart.drawing.outline import outline
from gatechart.stores import entry_of
from gatechart.values.frozen import replaced
from gatechart.values.transfers import TransferCount
from tests.support import applied, at_once, is_yes, started


async def check(context, work): ...


def research():
    targets = ["SEARCHING", To("WRITING", guard=is_yes)]
    states = [
        State("CHECKING", invoke=check, transfers=Transfers(targets, most=3, otherwise="WRITING")),
        State("WRITING", final=True),
    ]
    ways = [Transition("SEARCHING", "FOUND", "CHECKING")]
    return StateTransitionGraph("research", states=states, transitions=ways, entry_points=["CHECKING"])


def arrows(drawing):
    return {(each.source, each.target): each for each in drawing.arrows}


def test_choices_and_what_follows_in_their_place_are_told_apart():
    drawn = arrows(outline(research()))
    assert [part.event for part in drawn["CHECKING", "SEARCHING"].parts] == ["transfer"]
    writing = drawn["CHECKING", "WRITING"].parts
    assert [(part.event, part.guard) for part in writing] == [("transfer", "is_yes"), ("otherwise", "")]
    assert drawn["CHECKING", "WRITING"].is_transfer
    assert not drawn["SEARCHING", "CHECKING"].is_transfer


def test_lines_of_transfers_are_dotted_and_explained():
    graph = research()
    assert to_dot(graph).count('style="dotted"') == 4
    assert "-.->" in to_mermaid(graph)
    assert Sign.TRANSFER in signs_of(outline(graph))


def test_a_state_says_how_many_choices_it_has_and_of_an_agent_how_many_are_left():
    graph = research()
    box, *_ = outline(graph).boxes
    assert "transfers / 3" in box.notes
    snapshot = at_once(started(graph)).snapshot
    once = replaced(snapshot, transfers=(TransferCount("CHECKING", 2),))
    box, *_ = outline(graph, highlight=once).boxes
    assert "transfers / 1 of 3 left" in box.notes


def test_a_refusal_is_drawn_only_if_it_happened():
    graph = research()
    begun = at_once(started(graph)).snapshot
    record = at_once(applied(graph, begun, "transfer.SEARCHING"))
    drawn = arrows(outline(graph, trail=[entry_of(record)]))
    assert drawn["CHECKING", "SEARCHING"].places == (1,)
    assert not outline(graph).boxes[0].parts

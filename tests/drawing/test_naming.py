"""What states, events and functions are called in a drawing."""

from __future__ import annotations

import pytest

from gatechart import ANY, Invoke, State, StateTransitionGraph, Transition
from gatechart.charts import load
from gatechart.contrib import scxml
from gatechart.drawing import to_dot, to_mermaid
from gatechart.drawing.naming import titles_of
from gatechart.drawing.outline import outline
from tests.drawing.charts import is_solved


def titles(*states, first):
    graph = StateTransitionGraph("g", states=states, entry_points=[first])
    return {name: title for name, title in titles_of(graph.nodes).items() if name != ANY}


def test_a_state_is_called_without_the_path_of_the_states_around_it():
    packing = State("packing", states=[State("goods", states=["packing.goods.open", "goods.shut", "open"])])
    assert titles(packing, first="packing") == {
        "packing": "packing",
        "goods": "goods",
        "packing.goods.open": "open",
        "goods.shut": "shut",
        "open": "open",
    }


def test_a_path_is_left_out_below_states_that_are_called_by_theirs():
    nested = State("a", states=[State("a.b", states=[State("a.b.c", states=["a.b.c.d"])])])
    assert list(titles(nested, first="a").values()) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("name", ["b.open", "packing", "packingopen", "packing.", ".open", "open.packing"])
def test_what_is_no_path_of_the_states_around_stays(name):
    assert titles(State("packing" if name != "packing" else "p", states=[name]), "b", first="b")[name] == name


def test_a_state_is_written_by_its_title_and_known_by_its_name():
    graph = StateTransitionGraph("g", states=[State("box", states=["box.lid"])], entry_points=["box"])
    text = to_dot(graph)
    assert ">lid</FONT>" in text
    assert ">box.lid</FONT>" not in text
    assert 'tooltip="box.lid"' in text
    assert '("lid"):::state' in to_mermaid(graph)


MACHINE = """
dialect: xstate
id: shop
initial: paying
states:
  paying:
    invoke:
      - {src: charge, onDone: paid, onError: {target: lost, guard: is_final}}
    on:
      "*": {actions: note}
      GO: {target: paid, guard: is_final}
      GO.AWAY: lost
    onDone: paid
    initial: card
    states: {card: {on: {DONE: lost}}}
  again: {invoke: {src: charge, onDone: paid}}
  paid: {type: final}
  lost: {type: final}
"""


def bound():
    async def charge(context, work): ...
    def is_final(context, event):
        return True

    def note(context, event): ...

    return {"charge": charge, "is_final": is_final, "note": note}


def test_guards_that_only_make_up_for_a_dialect_are_not_drawn():
    graph = load(MACHINE, bind=bound())
    guards = {edge.ask.name for node in graph.nodes.values() for edge in node.edges if edge.ask}
    assert any(name.startswith(("not ", "is_final and not ")) for name in guards)
    assert "not " not in to_dot(graph)
    assert "[is_final]" in to_mermaid(graph)


def test_an_invoke_without_an_id_is_called_by_its_function():
    drawing = outline(load(MACHINE, bind=bound()))
    assert "done.invoke.0.shop.paying" in load(MACHINE, bind=bound()).events
    (paying,) = (box for box in drawing.every_box() if box.name == "paying")
    assert paying.does == ("charge",)
    events = {part.event for arrow in drawing.arrows if arrow.source == "paying" for part in arrow.parts}
    assert {"done.invoke", "error.invoke"} <= events
    assert "0.shop.paying" not in to_dot(load(MACHINE, bind=bound()))


def test_of_two_invokes_without_ids_each_event_names_its_function():
    machine = MACHINE.replace("      - {src: charge,", "      - {src: watch, onDone: lost}\n      - {src: charge,")
    drawing = outline(load(machine, bind={**bound(), "watch": bound()["charge"]}))
    events = {part.event for arrow in drawing.arrows for part in arrow.parts}
    assert {"done.invoke.charge", "done.invoke.watch", "error.invoke.charge"} <= events


def test_an_id_that_was_chosen_stays_in_the_events_and_stands_beside_the_function():
    async def search(context, work): ...

    graph = StateTransitionGraph(
        "g",
        states=[State("A", invoke=[Invoke(search, id="first"), Invoke(search)])],
        transitions=[Transition("A", "done.invoke.first", "B"), Transition("A", "done.invoke.search", "B")],
        entry_points=["A"],
    )
    drawing = outline(graph)
    assert drawing.boxes[0].does == ("search as first", "search")
    assert [part.event for part in drawing.arrows[0].parts] == ["done.invoke.first", "done.invoke.search"]


def test_a_transition_without_a_condition_in_a_document_has_no_guard_in_the_drawing():
    document = """<scxml xmlns="http://www.w3.org/2005/07/scxml" version="1.0" datamodel="ecmascript">
      <datamodel><data id="n" expr="0"/></datamodel>
      <state id="a"><transition><assign location="n" expr="1"/></transition></state>
    </scxml>"""
    graph = scxml.read(document)
    (part,) = outline(graph).boxes[0].parts
    assert (part.event, part.guard) == ("always", "")


def test_what_is_asked_after_a_guard_that_is_not_drawn_is_not_called_else():
    def always(context, event):
        return True

    always.drawn_as = ""
    graph = StateTransitionGraph(
        "g",
        transitions=[
            Transition("A", "E", "B", guard=always),
            Transition("A", "E", "C"),
            Transition("A", "F", "B", guard=is_solved),
            Transition("A", "F", "C", guard=always),
        ],
        entry_points=["A"],
    )
    guards = [(part.event, part.guard) for arrow in outline(graph).arrows for part in arrow.parts]
    assert guards == [("E", ""), ("F", "is_solved"), ("E", ""), ("F", "else")]

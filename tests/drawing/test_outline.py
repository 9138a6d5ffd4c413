"""What is to be drawn: which boxes, arrows and doors a graph has, and what stands out."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from gatechart import ANY, EntryPoint, EventType, State, StateTransitionGraph, Transition
from gatechart.drawing.dot import to_dot, write_dot
from gatechart.drawing.mermaid import to_mermaid, write_mermaid
from gatechart.drawing.outline import outline
from gatechart.drawing.shapes import Arrow, Box, Outline, TransitionLabel
from gatechart.errors import DrawingError, UnknownGraphError, UnknownStateError
from gatechart.values.names import STARTED
from gatechart.values.queries import HistoryEntry
from tests.drawing.charts import HISTORY, SNAPSHOT, Case, is_solved, note, notify, snapshot, support, turn


def graph_of(*transitions: Transition, states: list[State] | None = None, doors: list | None = None):
    first = transitions[0].source if transitions else "A"
    return StateTransitionGraph(
        "g", context=Case, states=states or ["A"], transitions=transitions, entry_points=doors or [first]
    )


def arrow_of(drawing: Outline, source: str, target: str) -> Arrow:
    return next(arrow for arrow in drawing.arrows if (arrow.source, arrow.target) == (source, target))


def box_of(drawing: Outline, name: str) -> Box:
    return next(box for box in drawing.every_box() if box.name == name)


NESTED = [State("OUTER", states=[State("INNER", states=["X", "Y"]), "Z"]), State("B")]


# Arrows


def test_transitions_between_the_same_states_share_an_arrow_in_document_order():
    drawing = outline(
        graph_of(Transition("A", "GONE", "B"), Transition("A", "LEFT", "C"), Transition("A", "WENT", "B"))
    )
    assert [(arrow.source, arrow.target) for arrow in drawing.arrows] == [("A", "B"), ("A", "C")]
    assert [part.event for part in drawing.arrows[0].parts] == ["GONE", "WENT"]


def test_an_arrow_says_event_guard_and_actions():
    drawing = outline(graph_of(Transition("A", "GONE", "B", guard=is_solved, actions=[note, notify])))
    assert drawing.arrows[0].parts == (TransitionLabel("GONE", "is_solved", ("note", "notify")),)
    assert drawing.arrows[0].parts[0].details == ("[is_solved]", "/ note, notify")


class Decision(BaseModel):
    approved: bool


def test_declared_events_are_written_with_their_payloads_on_wish():
    graph = StateTransitionGraph(
        "g",
        transitions=[Transition("A", event, "B") for event in ("DECIDED", "NOTED", "GONE", "LEFT")],
        entry_points=["A"],
        events=[
            EventType("DECIDED", takes=Decision),
            EventType("NOTED", takes={"properties": {"text": {}, "by": {}}, "required": ["text"]}),
            "GONE",
        ],
    )
    parts = outline(graph, payloads=True).arrows[0].parts
    assert [part.event for part in parts] == ["DECIDED(Decision)", "NOTED(text, by?)", "GONE", "LEFT"]
    assert [part.event for part in outline(graph).arrows[0].parts] == ["DECIDED", "NOTED", "GONE", "LEFT"]
    for text in (to_dot(graph, payloads=True), to_mermaid(graph, payloads=True)):
        assert "Decision" in text


def test_a_lambda_is_written_as_the_letter():
    drawing = outline(graph_of(Transition("A", "GONE", "B", guard=lambda c, e: True, actions=lambda c, e: None)))
    assert drawing.arrows[0].parts == (TransitionLabel("GONE", "λ", ("λ",)),)


def test_what_is_asked_last_on_an_event_reads_else():
    drawing = outline(
        graph_of(
            Transition("A", "CHECKED", "B", guard=is_solved),
            Transition("A", "CHECKED", "C"),
            Transition("A", "LEFT", "C"),
            Transition("B", "CHECKED", "C"),
        )
    )
    guards = {(arrow.source, part.event): part.guard for arrow in drawing.arrows[1:] for part in arrow.parts}
    assert guards == {("A", "CHECKED"): "else", ("A", "LEFT"): "", ("B", "CHECKED"): ""}


def test_a_leaf_that_is_left_for_itself_has_a_loop():
    drawing = outline(graph_of(Transition("A", "AGAIN", "A")))
    assert drawing.arrows[0].is_loop
    assert drawing.arrows[0].parts[0].reenters is None


@pytest.mark.parametrize(
    "transition", [Transition("A", "NOTED", actions=note), Transition("A", "NOTED", "A", actions=note, internal=True)]
)
def test_a_transition_that_leaves_nothing_stands_inside_its_state(transition):
    drawing = outline(graph_of(transition))
    assert drawing.arrows == ()
    assert drawing.boxes[0].parts == (TransitionLabel("NOTED", actions=("note",)),)


def test_an_internal_transition_of_a_compound_state_to_itself_points_to_its_initial_child():
    drawing = outline(graph_of(Transition("INNER", "RESET", "INNER", internal=True), states=NESTED))
    arrow = arrow_of(drawing, "INNER", "X")
    assert (arrow.home, arrow.is_inner, arrow.is_roaming, arrow.parts) == (
        "INNER",
        True,
        True,
        (TransitionLabel("RESET"),),
    )


@pytest.mark.parametrize(
    ("source", "target", "reenters", "home"),
    [
        ("INNER", "INNER", "INNER", "INNER"),
        ("OUTER", "Y", "OUTER", "OUTER"),
        ("Y", "OUTER", "OUTER", "OUTER"),
        ("Y", "Z", None, "OUTER"),
        ("INNER", "B", None, "*"),
        ("B", "Y", None, "*"),
    ],
)
def test_an_arrow_says_which_compound_state_it_enters_again(source, target, reenters, home):
    arrow = outline(graph_of(Transition(source, "GONE", target), states=NESTED)).arrows[0]
    assert (arrow.parts[0].reenters, arrow.home) == (reenters, home)
    assert arrow.is_roaming == (source in {"INNER", "OUTER"} and home == source)
    assert bool(arrow.parts[0].details) == bool(reenters)


def test_transitions_from_anywhere_are_apart():
    drawing = outline(graph_of(Transition(ANY, "FAILED", "A"), Transition(ANY, "NOTED"), doors=["A"]))
    assert drawing.parts == (TransitionLabel("NOTED"),)
    assert [(arrow.source, arrow.is_roaming, arrow.is_inner, arrow.home) for arrow in drawing.arrows] == [
        ("*", True, False, "*")
    ]


# Boxes and doors


def test_a_box_says_what_is_done_on_entry_and_exit():
    assert outline(support).boxes[0].notes == ("entry / notify", "exit / note, notify")
    assert outline(support).boxes[2].notes == ()


def test_every_box_comes_after_its_parent():
    assert tuple(box.name for box in outline(support).every_box()) == support.states


def test_a_door_says_what_opens_it_what_it_takes_and_what_it_asks():
    plain, handover = outline(support).doors
    assert (plain.title, plain.terms) == ("", ())
    assert (handover.title, handover.state) == ("handover", "READING")
    assert handover.terms == ("on HANDED_OVER", "on RETURNED", "takes CaseFile", "[is_solved]")


# What stands out


def test_nothing_stands_out_unless_asked_for():
    drawing = outline(support)
    assert not drawing.has_trail
    assert not any(box.is_active or box.is_visited for box in drawing.every_box())
    assert not any(place.places for place in (*drawing.arrows, *drawing.doors))


def test_the_active_leaf_and_its_ancestors_stand_out():
    drawing = outline(support, highlight=SNAPSHOT)
    assert {box.name for box in drawing.every_box() if box.is_active} == {"WORKING", "ANSWERING"}


def test_the_way_taken_is_numbered_from_the_door_on():
    drawing = outline(support, trail=HISTORY)
    assert drawing.doors[1].places == (1,)
    assert arrow_of(drawing, "READING", "READING").places == (2,)
    assert drawing.parts[0].places == (3,)
    assert arrow_of(drawing, "READING", "ANSWERING").places == (4,)
    assert {box.name for box in drawing.every_box() if box.is_visited} == {"WORKING", "READING", "ANSWERING"}
    assert drawing.has_trail


def test_a_part_of_a_history_is_numbered_from_its_own_beginning():
    drawing = outline(support, trail=HISTORY[3:])
    assert arrow_of(drawing, "READING", "ANSWERING").places == (1,)
    assert not any(door.places for door in drawing.doors)


def test_places_of_an_arrow_are_in_order_whichever_transition_was_taken_first():
    graph = graph_of(Transition("A", "GONE", "B"), Transition("A", "LEFT", "B"), Transition("B", "BACK", "A"))
    there, left, back = "A --GONE--> B", "A --LEFT--> B", "B --BACK--> A"
    drawing = outline(graph, trail=[turn("A", "B", left), turn("B", "A", back), turn("A", "B", there)])
    assert arrow_of(drawing, "A", "B").places == (1, 3)


TWINS = [EntryPoint("A", "chat", opens_on="CHATTED"), EntryPoint("A", "call", opens_on="CALLED"), EntryPoint("B")]


def test_of_doors_that_lead_to_the_same_state_the_one_taken_stands_out():
    graph = graph_of(Transition("A", "GONE", "B"), doors=TWINS)
    drawing = outline(graph, trail=[turn("", "A", event=f"{STARTED}call"), turn("A", "B", "A --GONE--> B")])
    assert [door.name for door in drawing.doors if door.places] == ["call"]
    assert drawing.arrows[0].places == (2,)


def test_a_start_that_went_on_by_itself_came_through_its_door():
    graph = graph_of(Transition("B", "error.execution", "C"), doors=["A", "B", "C"])
    drawing = outline(graph, trail=[turn("", "C", "B --error.execution--> C", event=f"{STARTED}B")])
    assert [(door.name, door.places) for door in drawing.doors] == [("A", ()), ("B", (1,)), ("C", ())]
    assert arrow_of(drawing, "B", "C").places == (2,)


def visited(graph, *turns):
    return {box.name for box in outline(graph, trail=turns).every_box() if box.is_visited}


PASSING = StateTransitionGraph(
    "passing",
    states=["A", State("S", states=["S1", "S2"]), "B", "C"],
    transitions=[
        Transition("A", "GONE", "S"),
        Transition("S", None, "B", guard=is_solved),
        Transition("B", None, "C"),
        Transition("S", "LEFT", "B"),
    ],
    entry_points=["A", "S2"],
)


def test_states_that_a_turn_only_passes_are_visited_too():
    way = turn("A", "C", "A --GONE--> S", "S --> B", "B --> C")
    assert visited(PASSING, way) == {"A", "S", "S1", "B", "C"}
    door = turn("", "C", "S --> B", "B --> C", event=f"{STARTED}S2")
    assert visited(PASSING, door) == {"S", "S2", "B", "C"}


def test_the_way_of_an_older_history_is_known_whose_arrows_without_an_event_are_longer():
    drawing = outline(PASSING, trail=[turn("S1", "C", "S --LEFT--> B", "B ----> C")])
    assert arrow_of(drawing, "B", "C").places == (2,)


def test_a_state_passed_by_way_of_a_history_state_is_visited_where_the_trail_tells_which():
    graph = StateTransitionGraph(
        "back",
        states=[State("S", states=["S1", "S2", State("H", history="shallow", initial="S1")]), "OUT", "END"],
        transitions=[
            Transition("S1", "ON", "S2"),
            Transition("S", "PUT_ASIDE", "OUT"),
            Transition("OUT", "BACK", "H"),
            Transition("S", None, "END", guard=is_solved),
        ],
        entry_points=["S"],
    )
    on, aside = turn("S1", "S2", "S1 --ON--> S2"), turn("S2", "OUT", "S --PUT_ASIDE--> OUT")
    back = turn("OUT", "END", "OUT --BACK--> H", "S --> END")
    assert visited(graph, turn("", "S1", event=f"{STARTED}S"), on, aside, back) == {"S", "S1", "S2", "OUT", "END"}
    assert visited(graph, aside, back) == {"S", "S2", "OUT", "END"}
    assert visited(graph, back) == {"S", "OUT", "END"}


def test_of_two_transitions_that_differ_in_their_guards_the_one_taken_is_numbered():
    graph = graph_of(Transition("A", "GONE", "B", guard=is_solved), Transition("A", "GONE", "B"))
    drawing = outline(graph, trail=[turn("A", "B", "A --GONE--> B #2")])
    assert [part.places for part in drawing.arrows[0].parts] == [(), (1,)]


@pytest.mark.parametrize("initial", [None, "A", "B"])
def test_a_door_to_the_root_leads_to_where_the_graph_begins(initial):
    graph = StateTransitionGraph(
        "g", transitions=[Transition("A", "GONE", "B")], entry_points=[ANY, "B"], initial=initial
    )
    drawing = outline(graph, trail=[turn("", initial or "A", event=f"{STARTED}{ANY}")])
    assert [(door.state, door.places) for door in drawing.doors] == [(initial or "A", (1,)), ("B", ())]
    assert f'-> "{initial or "A"}" [' in write_dot(drawing)
    assert f"==> s_{initial or 'A'}" in write_mermaid(drawing)


# What does not fit


def test_another_graphs_snapshot_is_refused_by_name():
    with pytest.raises(UnknownGraphError, match="no graph is named 'g': there are 'support'"):
        outline(support, highlight=snapshot(graph_of(), "A"))


@pytest.mark.parametrize("state", ["ANSWERNIG", "*"])
def test_a_snapshot_in_an_unknown_state_is_refused_with_what_there_is(state):
    with pytest.raises(UnknownStateError) as caught:
        outline(support, highlight=snapshot(support, state))
    assert (caught.value.state, caught.value.states) == (state, support.states)


@pytest.mark.parametrize("entry", [turn("", "NOWHERE"), turn("NOWHERE", "DONE")])
def test_a_trail_through_an_unknown_state_is_refused(entry: HistoryEntry):
    with pytest.raises(UnknownStateError, match="NOWHERE"):
        outline(support, trail=[entry])


def test_a_trail_along_an_unknown_transition_is_refused_with_a_remedy():
    with pytest.raises(
        DrawingError, match=r"agent 'a1' took 'WAITING --FLED--> DONE'.*draw its history with the graph"
    ):
        outline(support, trail=[turn("WAITING", "DONE", "WAITING --FLED--> DONE")])


def test_a_trail_through_an_unknown_door_is_refused_with_a_remedy():
    with pytest.raises(DrawingError, match=r"agent 'a1' came in at 'cellar'.*draw its history with the graph"):
        outline(support, trail=[turn("", "WAITING", event=f"{STARTED}cellar")])


@pytest.mark.parametrize("highlight", ["ANSWERING", ("ANSWERING",), support])
def test_what_is_no_snapshot_cannot_be_highlighted(highlight):
    with pytest.raises(DrawingError, match="is not a Snapshot; pass an agent's `snapshot`"):
        outline(support, highlight=highlight)

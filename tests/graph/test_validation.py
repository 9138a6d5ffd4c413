"""Every fault that a definition can have. Each is found, says where, what, and what would have worked."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from pydantic import BaseModel

from gatechart import ConversationContext, HandoffPacket
from gatechart.context import AgentContext
from gatechart.errors import Fault, InvalidGraphError
from gatechart.graph.definition import ANY, EntryPoint, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.kernel.plan import plan_entry
from tests.support import Trail, boom, is_yes


class Case(BaseModel):
    number: int
    caller: str = ""


class CaseContext(AgentContext):
    number: int = 0
    title: str = ""


def one_parameter(context: Any) -> bool:
    return True


def four_parameters(context: Any, event: Any, turn: Any, more: Any) -> None: ...


async def is_later(context: Any, event: Any) -> bool:
    return True


GO = Transition("A", "GO", "B")


def faults_of(**definition: Any) -> list[Fault]:
    definition = {"name": "g", "transitions": [GO], "entry_points": ["A"], **definition}
    with pytest.raises(InvalidGraphError) as caught:
        StateTransitionGraph(definition.pop("name"), **definition)
    assert all(each.place and each.problem and each.remedy for each in caught.value.faults)
    return list(caught.value.faults)


def fault_of(**definition: Any) -> str:
    """The only fault of the definition."""
    (fault,) = faults_of(**definition)
    return str(fault)


def sound(**definition: Any) -> None:
    """Build a graph that has no faults."""
    StateTransitionGraph("g", transitions=[GO], **definition)


def entering(*args: Any, **kwargs: Any) -> dict[str, Any]:
    return {"context": CaseContext, "entry_points": [EntryPoint(*args, **kwargs)]}


@pytest.mark.parametrize("name", ["", None, 7])
def test_a_graph_needs_a_name(name: Any) -> None:
    assert fault_of(name=name) == f"graph: its name is {name!r}; give it a text that is not empty"


@pytest.mark.parametrize("version", [1, None, ""])
def test_a_version_is_a_text(version: Any) -> None:
    assert fault_of(version=version) == f"graph: its version is {version!r}; give it a text that is not empty"


@pytest.mark.parametrize("limit", [0, -1, "100", None])
def test_a_turn_may_take_at_least_one_microstep(limit: Any) -> None:
    expected = f"max_microsteps: {limit!r} is not a bound; pass a whole number of 1 or more"
    assert fault_of(max_microsteps=limit) == expected


@pytest.mark.parametrize("policy", ["raise", None])
def test_what_becomes_of_a_refused_event_is_one_of_the_known_policies(policy: Any) -> None:
    expected = f"on_refusal: {policy!r} is not a policy; pass one of OnRefusal.RETURN, OnRefusal.RAISE, OnRefusal.EVENT"
    assert fault_of(on_refusal=policy) == expected


@pytest.mark.parametrize("context", [None, dict, Case, AgentContext()])
def test_a_context_type_derives_from_agent_context(context: Any) -> None:
    assert fault_of(context=context) == f"context: {context!r} is not a context type; pass a subclass of AgentContext"


def test_a_graph_without_entry_points_could_not_begin() -> None:
    expected = (
        "entry_points: no entry point is listed, so no agent could start; list the states in which an agent may start"
    )
    assert fault_of(entry_points=[]) == expected


def test_the_names_of_entry_points_are_unique() -> None:
    fault = fault_of(entry_points=["A", EntryPoint("B", "A"), "B"])
    assert fault == "entry point 'A': the name occurs twice; give each entry point a name of its own"


@pytest.mark.parametrize("name", ["", ANY, None, 7])
def test_a_state_needs_a_name_that_can_be_its_own(name: Any) -> None:
    assert fault_of(states=[State(name)]) == (
        f"state {name!r}: this cannot name a state; use a text that is neither '' nor '*'"
    )


def test_a_nested_state_needs_a_name_too() -> None:
    assert fault_of(states=[State("A", states=["C", ""])]).startswith("state '': this cannot name a state")


def test_a_state_that_only_a_transition_names_needs_a_name_too() -> None:
    assert fault_of(transitions=[Transition("A", "GO", "")]).startswith("state '': this cannot name a state")


def test_a_transition_needs_a_source() -> None:
    assert fault_of(transitions=[GO, Transition(None, "GO", "B")])


def test_the_names_of_states_are_unique_in_the_whole_graph() -> None:
    fault = fault_of(states=["A", State("B", states=[State("C", states=["A"])])])
    assert fault == "state 'A': the name occurs twice; rename one; names are unique in a graph"


def test_an_initial_state_is_a_child() -> None:
    assert fault_of(states=[State("A", states=["ONE", "TWO"], initial="TOW")]) == (
        "state 'A': its initial state 'TOW' is not inside it; did you mean 'TWO'? There are 'ONE', 'TWO'"
    )


def test_an_initial_state_may_be_a_grandchild() -> None:
    graph = StateTransitionGraph(
        "g", states=[State("A", states=[State("ONE", states=["SHALLOW", "DEEP"])], initial="DEEP")], entry_points=["A"]
    )
    assert plan_entry(graph, ("A",)).entries == ("A", "ONE", "DEEP")


def test_a_state_without_children_has_no_initial_state() -> None:
    assert fault_of(states=[State("A", initial="B")]) == (
        "state 'A': its initial state 'B' is not inside it; leave it out, or give the state children"
    )


def test_a_final_state_with_children_is_ended_by_them_and_ends_the_agent() -> None:
    remedy = "let a child be final, or drop final=True"
    fault = fault_of(states=[State("C", states=["D"], final=True)])
    assert fault == f"state 'C': it is final and has children that never end it; {remedy}"
    ended = State("R", states=["R1", State("R2", final=True)])
    fault = fault_of(states=[State("P", parallel=True, states=[ended, "S"], final=True)])
    assert fault == f"state 'P': it is final and has children that never end it; {remedy}"
    fault = fault_of(states=[State("C", states=[State("D", states=["E", State("F", final=True)], final=True)])])
    assert fault == f"state 'D': it is final and has children, but is not at the top level; {remedy}"
    fault = fault_of(states=[State("C", states=[State("D", final=True)], final=True, data=lambda context, event: {})])
    assert fault == "state 'C': it has data and children; give the data to the final child"


def test_only_a_final_state_fails() -> None:
    fault = fault_of(states=[State("C", failed=True)])
    assert fault == "state 'C': it has failed=True, but is not final; add final=True, or drop failed=True"


@pytest.mark.parametrize("parallel", [False, True])
def test_only_an_end_of_the_agent_is_a_failure(parallel: bool) -> None:
    """A parallel state ends when all its regions have, so none of their final states alone can say how."""
    region = State("R", states=[State("END", final=True, failed=True)])
    outer = State("P", states=[region, "Q"], parallel=parallel)
    assert fault_of(states=[outer]) == (
        "state 'END': it has failed=True, but ends only the state around it, not the agent; "
        "let that state's end lead to a final state at the top level, and mark that one"
    )


def test_a_final_state_is_not_left() -> None:
    assert fault_of(states=[State("A", final=True)]) == (
        "transition 'A --GO--> B': it leaves a final state, in which every event is refused; drop it, or final=True"
    )


@pytest.mark.parametrize("event", ["", 7])
def test_a_transition_waits_for_an_event_with_a_name(event: Any) -> None:
    fault = fault_of(transitions=[Transition("A", event, "B")])
    assert (
        fault
        == f"transition 'A --{event}--> B': its event is {event!r}; use a text that is not empty, or None for none"
    )


def test_the_root_is_no_target() -> None:
    fault = fault_of(transitions=[GO, Transition("B", "GO", ANY)])
    assert fault == "transition 'B --GO--> *': '*' cannot be a target; name the state to enter"


@pytest.mark.parametrize("target", ["B", "PARENT", "SISTER"])
def test_an_internal_transition_stays_inside_its_source(target: str) -> None:
    family = State("PARENT", states=[State("A", states=["CHILD"]), "SISTER"])
    fault = fault_of(states=[family, "B"], transitions=[Transition("A", "GO", target, internal=True)])
    assert fault == (
        f"transition 'A --GO--> {target}': it is internal, but {target!r} lies outside its source; drop internal=True"
    )


@pytest.mark.parametrize("target", ["A", "CHILD", "GRANDCHILD", None])
def test_an_internal_transition_into_its_source_is_sound(target: str | None) -> None:
    states = [State("A", states=[State("CHILD", states=["GRANDCHILD"])])]
    StateTransitionGraph(
        "g", states=states, transitions=[Transition("A", "GO", target, internal=True)], entry_points=["A"]
    )


def test_an_internal_transition_of_the_root_is_sound() -> None:
    StateTransitionGraph("g", transitions=[GO, Transition(ANY, "RESET", "A", internal=True)], entry_points=["A"])


GUARD_FAULTS = [
    (7, "guard 7 cannot be called; pass a function of (context, event)"),
    (is_later, "guard is_later is async; ask at once: a guard is a fast, plain function"),
    (partial(is_later), "guard is_later is async; ask at once: a guard is a fast, plain function"),
    (one_parameter, "guard one_parameter does not take (context, event); give it two parameters"),
    (four_parameters, "guard four_parameters does not take (context, event); give it two parameters"),
]


@pytest.mark.parametrize(("guard", "expected"), GUARD_FAULTS)
def test_a_guard_is_a_plain_function_of_context_and_event(guard: Any, expected: str) -> None:
    fault = fault_of(transitions=[Transition("A", "GO", "B", guard=guard)])
    assert fault == f"transition 'A --GO--> B': {expected}"


@pytest.mark.parametrize(("guard", "expected"), GUARD_FAULTS)
def test_the_guard_of_an_entry_point_is_one_too(guard: Any, expected: str) -> None:
    assert fault_of(entry_points=[EntryPoint("A", "door", guard=guard)]) == f"entry point 'door': {expected}"


ACTION_FAULTS = [
    ("greet", "action 'greet' cannot be called; pass a function of (context, event)"),
    (
        one_parameter,
        "action one_parameter takes neither (context, event) nor (context, event, turn); "
        "give it two or three parameters",
    ),
    (
        four_parameters,
        "action four_parameters takes neither (context, event) nor (context, event, turn); "
        "give it two or three parameters",
    ),
]


@pytest.mark.parametrize(("action", "expected"), ACTION_FAULTS)
def test_an_action_is_a_function_of_context_event_and_perhaps_turn(action: Any, expected: str) -> None:
    assert fault_of(transitions=[Transition("A", "GO", "B", actions=[boom, action])]) == (
        f"transition 'A --GO--> B': {expected}"
    )
    assert fault_of(states=[State("A", on_entry=action)]) == f"state 'A', on_entry: {expected}"
    assert fault_of(states=[State("B", states=[State("C", on_exit=[action])])]) == f"state 'C', on_exit: {expected}"


def yielding(context: Any, event: Any) -> Any:
    yield


async def yielding_later(context: Any, event: Any) -> Any:
    yield


@pytest.mark.parametrize("action", [yielding, yielding_later, partial(yielding)])
def test_an_action_that_yields_would_never_run(action: Any) -> None:
    assert "yield" in fault_of(transitions=[Transition("A", "GO", "B", actions=action)])


def test_an_entry_point_is_in_a_state_that_exists() -> None:
    assert fault_of(entry_points=[EntryPoint("C", "door")]) == (
        "entry point 'door': unknown state 'C'; there are 'A', 'B'"
    )
    fault = fault_of(states=["GREETING"], entry_points=["GREETNIG"])
    assert fault == (
        "entry point 'GREETNIG': unknown state 'GREETNIG'; did you mean 'GREETING'? There are 'GREETING', 'A', 'B'"
    )


def test_the_root_as_an_entry_point_stands_for_the_initial_states() -> None:
    graph = StateTransitionGraph("g", transitions=[GO], entry_points=[ANY], initial="B")
    assert plan_entry(graph, (graph.entry_point(ANY).state,)).configuration == ("B",)


def test_an_entry_point_that_takes_nothing_maps_nothing() -> None:
    fault = fault_of(**entering("A", maps={"number": "number"}))
    assert fault == "entry point 'A': it maps a payload but takes none; declare takes=, or drop maps="


def test_entities_fill_fields_of_the_payload_or_of_the_context() -> None:
    sound(**entering("A", entities="title"))
    assert fault_of(**entering("A", entities=["number", "titel"])) == (
        "entry point 'A': entities= has 'titel', and a packet fills no field of that name; "
        "did you mean 'title'? There are 'number', 'title'"
    )
    maps = {"caller": "title"}
    sound(**entering("A", takes=Case, maps=maps, entities="caller"))
    assert fault_of(**entering("A", takes=Case, maps=maps, entities="title")).startswith(
        "entry point 'A': entities= has 'title', and a packet fills no field of that name; "
    )


def test_entities_fill_the_fields_that_a_conversation_adds() -> None:
    class Talk(ConversationContext):
        city: str = ""

    def entering_talk(*entities: Any, **more: Any) -> dict[str, Any]:
        return {"context": Talk, "entry_points": [EntryPoint("A", entities=entities, **more)]}

    sound(**entering_talk("city"))
    sound(**entering_talk("city", takes=HandoffPacket))
    assert fault_of(**entering_talk("user_id")).endswith("no field of that name; there are 'city'")
    assert fault_of(**entering_talk("city", takes=HandoffPacket, maps=lambda packet: {})).endswith(
        "drop it: no packet fills fields here"
    )
    assert "twice" in fault_of(**entering_talk("city", "city"))
    assert "its entity is 7" in fault_of(**entering_talk(7))


@pytest.mark.parametrize("schema", [dict, Case(number=1), "Case"])
def test_an_entry_point_takes_a_pydantic_model(schema: Any) -> None:
    fault = fault_of(**entering("A", takes=schema))
    assert fault == f"entry point 'A': takes={schema!r} is not a schema; pass a pydantic model"


def test_each_field_of_the_payload_has_its_field_in_the_context() -> None:
    assert fault_of(**entering("A", takes=Case)) == (
        "entry point 'A': CaseContext has no field 'caller' for the payload's 'caller'; "
        "add it to CaseContext, or map it with maps=; there are 'number', 'title'"
    )


def test_a_mapping_leads_from_fields_of_the_payload_to_fields_of_the_context() -> None:
    assert fault_of(**entering("A", takes=Case, maps={"calelr": "title"})) == (
        "entry point 'A': Case has no field 'calelr' to map; did you mean 'caller'? There are 'number', 'caller'"
    )
    assert fault_of(**entering("A", takes=Case, maps={"caller": "titel"})) == (
        "entry point 'A': CaseContext has no field 'titel' for the payload's 'caller'; "
        "add it to CaseContext, or map it with maps=; did you mean 'title'? There are 'number', 'title'"
    )


@pytest.mark.parametrize("maps", [{7: "title"}, {"caller": 7}, {"caller": None}])
def test_a_mapping_leads_from_text_to_text(maps: Any) -> None:
    assert faults_of(**entering("A", takes=Case, maps=maps))


def test_a_function_that_maps_takes_the_payload() -> None:
    def nothing() -> dict[str, Any]:
        return {}

    fault = fault_of(**entering("A", takes=Case, maps=nothing))
    assert fault == "entry point 'A': maps=nothing does not take (payload); give it one parameter"


async def mapped_later(payload: Any) -> dict[str, Any]:
    return {}


@pytest.mark.parametrize("maps", [["number"], "number", 7])
def test_maps_is_a_mapping_or_a_function(maps: Any) -> None:
    assert fault_of(**entering("A", takes=Case, maps=maps)) == (
        f"entry point 'A': maps={maps!r} is not a mapping; pass a mapping of fields, or a function of (payload)"
    )


def test_a_function_that_maps_is_not_async() -> None:
    fault = fault_of(**entering("A", takes=Case, maps=mapped_later))
    assert fault == "entry point 'A': maps=mapped_later is async; pass a plain function of (payload)"


def test_a_mapping_is_sound_where_both_sides_have_the_fields() -> None:
    for maps in ({"caller": "title"}, lambda payload: {}, {}):
        StateTransitionGraph("g", transitions=[GO], **entering("A", takes=Case, maps=maps))


def test_no_field_is_missed_where_the_context_itself_is_a_fault() -> None:
    fault = fault_of(context=None, entry_points=[EntryPoint("A", takes=Case)])
    assert fault.startswith("context:")


def test_a_trigger_opens_one_entry_point_of_a_graph() -> None:
    fault = fault_of(entry_points=[EntryPoint("A", opens_on=["X", "Y"]), EntryPoint("B", "door", opens_on="X")])
    assert fault == "trigger 'X': it opens A, door; let one entry point of a graph open on it"


def test_an_entry_point_lists_a_trigger_once() -> None:
    assert "twice" in fault_of(entry_points=[EntryPoint("A", opens_on=["X", "X"])])


def test_a_trigger_has_a_name() -> None:
    fault = fault_of(entry_points=[EntryPoint("A", opens_on=["X", ""])])
    assert fault == "entry point 'A': it opens on the trigger ''; use a text that is not empty"


# What cannot be read as a definition at all is a fault as well, not an error from somewhere inside.


NUMBERED = State("A", states=[State(7)], initial="C")
NO_TEXT = "use a text, or an Enum member"
NO_STATE = "this cannot name a state; use a text that is neither '' nor '*'"


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        (
            {"transitions": [("A", "GO", "B")]},
            "transition ('A', 'GO', 'B'): it is not a transition; write Transition(source, event, target)",
        ),
        (
            {"transitions": [GO, Transition(None, "GO", "B")]},
            f"transition 'None --GO--> B': its source is None; {NO_TEXT}",
        ),
        (
            {"transitions": [GO, Transition(["A"], "GO", "C")]},
            f"transition \"['A'] --GO--> C\": its source is ['A']; {NO_TEXT}",
        ),
        ({"transitions": [GO, Transition("A", "GO", 7)]}, f"transition 'A --GO--> 7': its target is 7; {NO_TEXT}"),
        ({"entry_points": [EntryPoint(7, "door")]}, f"entry point 'door': its state is 7; {NO_TEXT}"),
        ({"entry_points": [EntryPoint("A", 7)]}, f"entry point 7: its name is 7; {NO_TEXT}"),
        ({"entry_points": [EntryPoint("A", opens_on=[["X"]])]}, f"entry point 'A': its trigger is ['X']; {NO_TEXT}"),
        ({"states": [7], "entry_points": ["C"]}, f"state 7: {NO_STATE}"),
        ({"states": [["A"]]}, f"state ['A']: {NO_STATE}"),
        ({"states": [NUMBERED]}, f"state 7: {NO_STATE}"),
    ],
    ids=range(10),
)
def test_what_is_no_definition_at_all_is_a_fault_too(definition: dict[str, Any], expected: str) -> None:
    assert fault_of(**definition) == expected


def test_what_is_no_definition_at_all_comes_together() -> None:
    faults = faults_of(states=[7, None], transitions=[GO, "GO"], entry_points=[EntryPoint(None, 7, opens_on=[7])])
    assert [f"{fault.place}: {fault.problem}" for fault in faults] == [
        "state 7: this cannot name a state",
        "state None: this cannot name a state",
        "transition 'GO': it is not a transition",
        "entry point 7: its state is None",
        "entry point 7: its name is 7",
        "entry point 7: its trigger is 7",
    ]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("states", f"state None: {NO_STATE}"),
        ("transitions", "transition None: it is not a transition; write Transition(source, event, target)"),
        ("entry_points", f"entry point None: its state is None; {NO_TEXT}"),
    ],
)
def test_nothing_is_no_part_of_a_graph(part: str, expected: str) -> None:
    assert fault_of(**{part: None}) == expected


def test_what_is_no_definition_at_all_hides_no_other_fault() -> None:
    faults = faults_of(
        name="",
        states=[State("A", on_entry="greet", initial="X"), State(7, on_exit="leave", states=["Y"], initial="Z")],
        transitions=[GO, Transition("A", "GO", ["B", 7]), Transition("B", "", "A")],
        entry_points=[EntryPoint("A", guard=is_later), EntryPoint(None, "door")],
    )
    assert [f"{fault.place}: {fault.problem}" for fault in faults] == [
        "state 7: this cannot name a state",
        "transition 'A --GO--> B, 7': its target is 7",
        "entry point 'door': its state is None",
        "graph: its name is ''",
        "state 'A': its initial state 'X' is not inside it",
        "state 'A', on_entry: action 'greet' cannot be called",
        "state 7: its initial state 'Z' is not inside it",
        "state 7, on_exit: action 'leave' cannot be called",
        "transition 'B ----> A': its event is ''",
        "entry point 'A': guard is_later is async",
    ]


def test_a_delayed_transition_leads_to_a_state_with_a_name() -> None:
    fault = fault_of(states=[State("A", after={"1s": 7})])
    assert fault == f"transition 'A --after.1s.A--> 7': its target is 7; {NO_TEXT}"


def test_a_door_to_the_root_needs_a_state_behind_it() -> None:
    assert fault_of(transitions=[], entry_points=[ANY]) == (
        "entry point '*': the graph has no states; list some, or write transitions between them"
    )


async def fetch(context: Any, work: Any) -> None: ...


def test_an_invoke_has_another_id_than_that_of_a_state_around_it() -> None:
    states = [State("A", invoke=fetch, states=[State("INNER", states=[State("INMOST", invoke=fetch)])])]
    expected = (
        "state 'INMOST': 'A', which can be active with it, has an invoke 'fetch', too; give one of them another id="
    )
    assert fault_of(states=states) == expected


def test_invokes_in_different_regions_have_different_ids() -> None:
    regions = [State("A", states=[State("A1", invoke=fetch)]), State("B", states=[State("B1", invoke=fetch)])]
    expected = "state 'B1': 'A1', which can be active with it, has an invoke 'fetch', too; give one of them another id="
    assert fault_of(states=[State("P", states=regions, parallel=True)]) == expected


def test_invokes_of_states_that_are_never_active_together_may_share_an_id() -> None:
    StateTransitionGraph("g", states=[State("A", invoke=fetch), State("B", invoke=fetch)], entry_points=["A"])


def test_all_faults_come_together() -> None:
    faults = faults_of(
        name="",
        context=dict,
        states=[
            State("A", on_entry="greet", initial="C"),
            State("F", states=["G"], final=True),
            State("F"),
            State("*"),
        ],
        transitions=[
            Transition("A", "", "B", guard=one_parameter, actions=[four_parameters]),
            Transition("F", "GO", ANY),
            Transition("A", "STAYED", "B", internal=True),
        ],
        entry_points=[
            EntryPoint("NOWHERE", "A", opens_on="X", guard=is_later),
            EntryPoint("A", opens_on="X", takes=dict),
            EntryPoint("B", maps={"a": "b"}),
        ],
    )
    assert [f"{fault.place}: {fault.problem}" for fault in faults] == [
        "graph: its name is ''",
        "context: <class 'dict'> is not a context type",
        "entry point 'A': the name occurs twice",
        "state '*': this cannot name a state",
        "state 'F': the name occurs twice",
        "state 'A': its initial state 'C' is not inside it",
        "state 'A', on_entry: action 'greet' cannot be called",
        "state 'F': it is final and has children that never end it",
        "transition 'A ----> B': its event is ''",
        "transition 'A ----> B': guard one_parameter does not take (context, event)",
        "transition 'A ----> B': action four_parameters takes neither (context, event) nor (context, event, turn)",
        "transition 'F --GO--> *': it leaves a final state, in which every event is refused",
        "transition 'F --GO--> *': '*' cannot be a target",
        "transition 'A --STAYED--> B': it is internal, but 'B' lies outside its source",
        "entry point 'A': unknown state 'NOWHERE'",
        "entry point 'A': guard is_later is async",
        "entry point 'A': takes=<class 'dict'> is not a schema",
        "entry point 'B': it maps a payload but takes none",
        "trigger 'X': it opens A, A",
    ]


def test_a_sound_definition_has_no_faults() -> None:
    StateTransitionGraph(
        "g",
        context=Trail,
        states=[State("P", states=["A", State("END", final=True)], initial="A", on_entry=boom, on_exit=[boom])],
        transitions=[GO, Transition("A", "GO", "P", guard=is_yes), Transition(ANY, "STOPPED", "END")],
        entry_points=["A", EntryPoint("B", opens_on=["X", "Y"], guard=is_yes)],
    )


REGIONS = [State("L", states=["L1", "L2"]), State("R", states=["R1", "R2"])]


def test_a_history_state_of_a_parallel_state_stands_for_all_its_regions() -> None:
    parallel = State("P", parallel=True, states=[State("H", history="deep", initial="L1"), *REGIONS])
    assert fault_of(states=["A", parallel], transitions=[Transition("A", "GO", ["R2", "H"])]) == (
        "transition 'A --GO--> R2, H': 'R2' and 'H' cannot be active together; "
        "name states of different regions of a parallel state"
    )


def test_a_history_state_has_no_other_as_its_default() -> None:
    inner = State("C", states=["C1", State("I", history="deep", initial="C1")])
    outer = State("B", states=[State("H", history="deep", initial="I"), inner])
    assert fault_of(states=["A", outer]) == (
        "state 'H': its initial state 'I' is a history state; name the states to enter while nothing is remembered"
    )

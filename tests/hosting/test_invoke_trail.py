"""Which functions of an agent may be under way at the same time, so that their calls wait for each other's signals."""

from __future__ import annotations

from gatechart import Invoke, State, StateTransitionGraph, Transition
from gatechart.hosting.invoke_trail import states_with_others


def first(context: object, work: object) -> None: ...


def second(context: object, work: object) -> None: ...


def graph(*states: State) -> StateTransitionGraph:
    return StateTransitionGraph(
        "several", states=[State("ALONE", invoke=Invoke(first)), *states], entry_points=["ALONE"],
        transitions=[Transition("ALONE", "GO", states[0].name), Transition(states[0].name, "BACK", "ALONE")],
    )  # fmt: skip


def test_a_function_that_is_alone_in_its_state_has_no_others() -> None:
    assert states_with_others(graph(State("LATER", invoke=Invoke(second)))) == set()


def test_functions_of_one_state_have_each_other() -> None:
    assert states_with_others(graph(State("BOTH", invoke=[Invoke(first), Invoke(second)]))) == {"BOTH"}


def test_functions_of_two_regions_have_each_other_and_those_of_one_region_do_not() -> None:
    left = State("LEFT", states=[State("L1", invoke=Invoke(first)), "L2"], initial="L1")
    right = State("RIGHT", states=[State("R1", invoke=Invoke(second)), "R2"], initial="R1")
    idle = State("RIGHT", states=["R1", "R2"], initial="R1")
    assert states_with_others(graph(State("BOTH", parallel=True, states=[left, right]))) == {"L1", "R1"}
    assert states_with_others(graph(State("BOTH", parallel=True, states=[left, idle]))) == set()


def test_a_function_inside_the_state_of_another_has_it() -> None:
    inner = State("INNER", invoke=Invoke(first))
    assert states_with_others(graph(State("OUTER", invoke=Invoke(second), states=[inner], initial="INNER"))) == {
        "OUTER", "INNER"
    }  # fmt: skip

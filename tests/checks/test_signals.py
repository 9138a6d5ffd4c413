"""Findings about signals: thresholds out of reach, and signals that nobody answers."""

from __future__ import annotations

from typing import Any

import pytest

from gatechart.checks import check
from gatechart.context import AgentContext
from gatechart.graph.definition import Allow, EntryPoint, Invoke, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.handoff import Handoff
from gatechart.graph.signals import Signal, Signals
from gatechart.signals import (
    CALLED,
    GoesInCircles,
    NoProgress,
    Noticed,
    Repeats,
    RetriesOver,
    SameCall,
    SameQuestion,
    Sentiment,
    ToolFailures,
    UserAsked,
    VisitsOver,
    handing_on,
    looping,
)
from gatechart.values.detectors import AnyOf, Detector, Symptom


class Ordering(AgentContext):
    order: str = ""


def work(context: object, work: object) -> None: ...


WORK = Invoke(work)


def graph(signals: Any, *more: Transition, invoke: Any = WORK, **parts: Any) -> StateTransitionGraph[Any]:
    transitions = [
        Transition("WORKING", "done.invoke.work", "CHECKING"),
        Transition("CHECKING", "AGAIN", "WORKING"),
        Transition("CHECKING", "GOOD", "ENDED"),
        Transition("WORKING", "error.invoke.work", "ENDED"),
        Transition("BEGINNING", "GO", "WORKING"),
    ]
    given: dict[str, Any] = {"entry_points": [EntryPoint("WORKING", description="work")]}
    return StateTransitionGraph(
        "shop",
        states=[State("WORKING", invoke=invoke), "CHECKING", State("ENDED", final=True)],
        transitions=[*transitions, *more],
        signals=signals,
        **given | parts,
    )


def found(code: str, shop: StateTransitionGraph[Any]) -> list[tuple[str, str]]:
    return [(each.place, each.problem) for each in check(shop) if each.code == code]


def hits(shop: StateTransitionGraph[Any]) -> list[tuple[str, str, str]]:
    return [(each.place, each.problem, each.remedy) for each in check(shop) if each.code == "GC701"]


TAKES_ALL = Transition("*", "signal", "ENDED")


def test_presets_that_are_taken_have_no_findings() -> None:
    shop = graph(handing_on() + looping()[1:], TAKES_ALL)
    assert [each for each in check(shop) if each.code in ("GC701", "GC702")] == []


@pytest.mark.parametrize(
    ("detector", "told"),
    [
        (Repeats(7, 3, window=20), "a block of 7, seen 3 times, does not fit in the window of 20 moves"),
        (Repeats(times=21), "a block of 1, seen 21 times, does not fit in the window of 20 moves"),
        (Sentiment(lambda text: 0.0, below=-1.5), "no number from -1 to 1 is below -1.5"),
        (VisitsOver("ENDED"), "the agent ends in 'ENDED', so it is visited once"),
        (VisitsOver("BEGINNING"), "no way leads from 'BEGINNING' back to it, so it is visited once"),
        (VisitsOver("NOWHERE"), "'NOWHERE' is no state in which an agent can rest"),
    ],
)
def test_a_threshold_that_can_never_be_reached_is_found(detector: Detector, told: str) -> None:
    name = Signal(detector).name
    assert found("GC701", graph(detector, TAKES_ALL)) == [(f"signals, {name}", told)]


@pytest.mark.parametrize(
    "detector",
    [
        *(Repeats(7, 2), Repeats(), VisitsOver("CHECKING", 5), Noticed(lambda trail, context: True)),
        *(SameCall(), SameCall(3, window=120), SameCall(200, window=200)),  # the trail keeps 100 calls
    ],
)
def test_a_threshold_that_can_be_reached_is_not(detector: Detector) -> None:
    assert found("GC701", graph(detector, TAKES_ALL)) == []


def test_where_no_way_leads_back_nothing_is_repeated() -> None:
    ways = [Transition("NEW", "PAID", "PAID"), Transition("PAID", "SENT", "SENT"), Transition("*", "signal", "SENT")]
    straight = StateTransitionGraph("order", transitions=ways, entry_points=["NEW"], signals=Repeats())
    assert found("GC701", straight) == [
        ("signals, repeats", "no way leads from any state back to it, so nothing is repeated")
    ]


def ring(length: int, signals: Any, *more: Transition[Any], **parts: Any) -> StateTransitionGraph[Any]:
    """A graph whose agents go round in a circle of so many states, S0 at first."""
    names = [f"S{number}" for number in range(length)]
    ways = [Transition(one, "GO", other) for one, other in zip(names, [*names[1:], "S0"], strict=True)]
    ways.append(Transition("S0", "signal", "STUCK"))
    given: dict[str, Any] = {"entry_points": ["S0"]}
    return StateTransitionGraph("ring", transitions=[*ways, *more], signals=signals, **given | parts)


@pytest.mark.parametrize(
    ("detector", "told"),
    [
        (Repeats(), "takes 11 moves; seen 2 times, it does not fit in the window of 20; pass window=22 at least"),
        (
            Repeats(times=3, window=30),
            "takes 11 moves; seen 3 times, it does not fit in the window of 30; pass window=33 at least, or times=2",
        ),
        (Repeats(period=8), "takes 11 moves, so no block of 8 is repeated; pass period=11 or more"),
    ],
)
def test_repeats_are_never_found_where_the_shortest_circle_is_too_long_for_them(detector: Detector, told: str) -> None:
    ((place, problem, remedy),) = hits(ring(11, detector))
    assert place == "signals, repeats"
    assert f"{problem}; {remedy}" == f"the shortest circle, S0 > S1 > S2 > S3 > … > S10 > S0, {told}"


@pytest.mark.parametrize(
    "detector", [Repeats(window=22), Repeats(times=3, window=33), Repeats(period=11, window=22), Repeats(4, window=8)]
)
def test_repeats_that_the_shortest_circle_fits_in_are_not_told_of(detector: Repeats) -> None:
    assert hits(ring(detector.period or 11, detector)) == []


def test_the_advice_for_a_circle_that_is_too_long_can_be_taken() -> None:
    long = "pass window=140 and times=2"
    ((_, _, remedy),) = hits(ring(70, Repeats(times=3, window=100)))
    assert remedy == long
    assert hits(ring(70, Repeats(times=2, window=140))) == []
    ((_, _, remedy),) = hits(ring(101, Repeats(window=200)))
    assert remedy == "drop it, or count the visits to one state with VisitsOver"


def raises(context: object, event: object, turn: Any) -> None: ...


@pytest.mark.parametrize(
    "shortcut",
    [
        Transition("S5", "BACK", "S0"),
        Transition("S5", "signal.visits_over", "S0"),  # no move, and S5 to S0 is one all the same
        Transition("S8", "CALLED", actions=raises),  # may raise events, so that one turn goes round any part
    ],
)
def test_a_circle_is_as_short_as_the_shortest_way_that_an_agent_may_take(shortcut: Transition[Any]) -> None:
    assert hits(ring(11, [Repeats(), VisitsOver("S5", 1)], shortcut)) == []


def test_states_that_are_passed_within_a_turn_are_no_moves() -> None:
    at_once = [Transition(f"S{number}", None, f"S{number + 1}", guard=lambda c, e: True) for number in (2, 5)]
    ((_, problem, _),) = hits(ring(11, Repeats(window=17), *at_once))
    assert "takes 9 moves" in problem
    assert hits(ring(11, Repeats(window=18), *at_once)) == []


def test_what_follows_on_the_end_of_a_state_is_no_move() -> None:
    def order(window: int) -> StateTransitionGraph[Any]:
        packing = State("PACKING", states=["OPEN", State("CLOSED", final=True)])
        ways = [("ORDERED", "PAID", "PACKING"), ("OPEN", "FULL", "CLOSED"), ("SENT", "BACK", "ORDERED")]
        return StateTransitionGraph(
            "order",
            states=packing,
            transitions=[*(Transition(*way) for way in ways), Transition("PACKING", "done.state.PACKING", "SENT")],
            entry_points="ORDERED",
            signals=Repeats(window=window),
        )

    ((_, problem, _),) = hits(order(5))
    assert "takes 3 moves" in problem
    assert hits(order(6)) == []


def test_what_a_guard_that_raises_leads_to_is_no_move() -> None:
    undecided = [
        Transition("S4", "TRIED", "S5", guard=lambda context, event: 1 / 0),
        *(Transition(f"S{number}", "error.execution", f"S{number + 3}") for number in (1, 4)),
    ]
    ((_, problem, _),) = hits(ring(11, Repeats(window=9), *undecided))
    assert "takes 5 moves" in problem
    assert "takes 9 moves" not in problem


def test_a_circle_of_one_region_is_a_circle_whatever_the_other_region_does() -> None:
    regions = [
        State("LEFT", states=[f"S{number}" for number in range(11)]),
        State("RIGHT", states=["UP", "DOWN"]),
    ]
    both = State("BOTH", states=regions, parallel=True)
    parts: dict[str, Any] = {"states": both, "entry_points": "BOTH"}
    ((_, problem, _),) = hits(ring(11, Repeats(), Transition("UP", "FELL", "DOWN"), **parts))
    assert "takes 11 moves" in problem
    swing = Transition("UP", "FELL", "DOWN"), Transition("DOWN", "ROSE", "UP")
    assert hits(ring(11, Repeats(), *swing, **parts)) == []


def test_who_is_led_back_by_others_to_the_state_where_it_is_repeats_nothing() -> None:
    def talk(event: str) -> StateTransitionGraph[Any]:
        ways = [Transition("TALKING", event, "TALKING"), Transition("TALKING", "signal", "ENDED")]
        return StateTransitionGraph("talk", transitions=ways, entry_points=["TALKING"], signals=Repeats())

    ((_, problem, _),) = hits(talk("ASKED"))
    assert problem == "no way leads from any state back to it, so nothing is repeated"
    assert hits(talk("handoff.rejected")) == []  # what the framework sends is counted


def test_a_region_that_is_a_leaf_leads_back_to_itself_with_all_regions_beside_it() -> None:
    regions = State("BOTH", parallel=True, states=["ASKING", State("STEPS", states=["FIRST", "SECOND"])])
    ways = [Transition("ASKING", "ASKED", "ASKING"), Transition("FIRST", "DONE", "SECOND")]
    both = StateTransitionGraph("both", states=regions, transitions=ways, entry_points="BOTH", signals=Repeats())
    assert hits(both) == []


def test_progress_that_only_the_answer_to_a_signal_makes_is_seen_by_no_detector() -> None:
    ways = [Transition("ASKING", "ASKED", "ANSWERING"), Transition("PAUSING", "WENT_ON", "ASKING")]
    answer = Transition("ANSWERING", "signal.user_asked", "PAUSING")
    desk = StateTransitionGraph(
        "desk",
        states=[State("PAUSING", progress=True)],
        transitions=[*ways, answer],
        entry_points=["ASKING"],
        signals=[Repeats(), VisitsOver("ASKING"), UserAsked()],
    )
    assert hits(desk) == []


def test_the_signals_of_an_entry_point_are_about_the_states_that_it_leads_to() -> None:
    doors = [
        EntryPoint("S0", signals=()),
        EntryPoint("ALONE", signals=[Repeats(), VisitsOver("S3")]),
    ]
    two = ring(4, None, Transition("ALONE", "LEFT", "STUCK"), entry_points=doors)
    assert [(place, problem) for place, problem, _ in hits(two)] == [
        ("entry point 'ALONE', signals, repeats", "no way leads from any state back to it, so nothing is repeated"),
        ("entry point 'ALONE', signals, visits_over", "no way leads from the entry point to 'S3'"),
    ]


@pytest.mark.parametrize(
    ("symptom", "told"),
    [
        (Repeats() & ~Repeats(), "it never holds, whatever its detectors find"),
        (AnyOf(3, Repeats(), SameCall(), ~SameCall() & ~Repeats()), "it never holds, whatever its detectors find"),
        (Repeats() | ~Repeats(), "it always holds, so it never comes to hold, whatever its detectors find"),
    ],
)
def test_joined_detectors_that_exclude_each_other_never_come_to_hold(symptom: Symptom, told: str) -> None:
    assert found("GC701", graph(Signal(symptom, "joined"), TAKES_ALL)) == [("signals, joined", told)]


@pytest.mark.parametrize(
    "symptom",
    [Repeats() & ~SameCall(), ~Repeats(), AnyOf(2, Repeats(), SameCall(), ~SameCall()), Repeats() & Repeats()],
)
def test_joined_detectors_that_can_come_to_hold_are_not_told_of(symptom: Symptom) -> None:
    assert found("GC701", graph(Signal(symptom, "joined"), TAKES_ALL)) == []


def test_turns_without_progress_are_never_found_where_each_end_of_an_invoke_makes_progress() -> None:
    def shop(*more: Transition[Any], **parts: Any) -> StateTransitionGraph[Any]:
        ends = [State("GOOD", progress=True), State("BAD", progress=True)]
        return StateTransitionGraph(
            "shop",
            states=[State("WORKING", invoke=WORK), *ends],
            transitions=[
                Transition("WORKING", "done.invoke.work", "GOOD"),
                Transition("WORKING", "error.invoke.work", "BAD"),
                *(Transition(each.name, "AGAIN", "WORKING") for each in ends),
                *more,
            ],
            entry_points="WORKING",
            **parts,
        )

    ((_, problem, _),) = hits(shop(signals=NoProgress(1)))
    assert problem == "each transition by which an invoke ends makes progress, so no turn is without it"
    assert hits(shop(signals=NoProgress(1, 5))) == hits(shop(signals=NoProgress(1, measure="done"))) == []
    assert hits(shop(Transition("*", "error", "WORKING"), signals=NoProgress(1))) == []


def test_an_entry_point_that_leads_to_no_invoke_has_nothing_that_its_signals_could_see_of_one() -> None:
    doors = [EntryPoint("WORKING"), EntryPoint("RESTING", signals=ToolFailures())]
    shop = graph(ToolFailures(), TAKES_ALL, Transition("RESTING", "DONE", "ENDED"), entry_points=doors)
    ((place, problem),) = found("GC701", shop)
    assert place == "entry point 'RESTING', signals, tool_failures"
    assert "it leads to no function" in problem


def round_trip(signals: Any, *more: Transition) -> StateTransitionGraph[Any]:
    """A graph in which the only way back, unless more are given, leads through a state whose entry is progress."""
    ways = [Transition("ASKING", "ASKED", "ANSWERING"), Transition("ANSWERING", "ANSWERED", "ASKING"), *more]
    states = ["ASKING", State("ANSWERING", progress=True)]
    return StateTransitionGraph("desk", states=states, transitions=ways, entry_points=["ASKING"], signals=signals)


def test_a_state_whose_entry_is_progress_is_never_counted_far() -> None:
    ((_, problem),) = found("GC701", round_trip(VisitsOver("ANSWERING", 3)))
    assert problem == "to enter 'ANSWERING' is progress, with which its count begins anew"


@pytest.mark.parametrize(
    ("detector", "told"),
    [
        (Repeats(), "each way back to a state makes progress, with which it forgets what it saw"),
        (VisitsOver("ASKING"), "each way back to 'ASKING' makes progress, with which its count begins anew"),
    ],
)
def test_where_each_way_back_makes_progress_nothing_is_repeated(detector: Detector, told: str) -> None:
    assert found("GC701", round_trip(detector)) == [(f"signals, {Signal(detector).name}", told)]
    around = Transition("ASKING", "REPHRASED", "LISTENING"), Transition("LISTENING", "HEARD", "ASKING")
    assert found("GC701", round_trip(detector, *around)) == []


def test_what_a_history_state_remembers_is_come_back_to_though_no_other_way_leads_there_without_progress() -> None:
    room = State(
        "IN",
        states=["HALL", State("DESK", progress=True), "SEAT", State("BACK", history="shallow", initial="DESK")],
        initial="HALL",
    )
    ways = [("HALL", "WENT", "DESK"), ("DESK", "SAT", "SEAT"), ("IN", "LEFT", "OUT"), ("OUT", "CAME", "BACK")]
    transitions = [Transition(*way) for way in ways]
    house = StateTransitionGraph(
        "house", states=[room, "OUT"], transitions=transitions, entry_points=["IN"], signals=VisitsOver("SEAT")
    )
    assert found("GC701", house) == []


@pytest.mark.parametrize(("said", "count"), [({"SAID": "text"}, 2), ({"AGAIN": "text"}, 0), (None, 0)])
def test_who_is_heard_by_no_event_of_the_chart_is_never_found_to_say_anything(said: Any, count: int) -> None:
    heard = [Signal(UserAsked()), Signal(SameQuestion())]
    problems = [problem for _, problem in found("GC701", graph(Signals(heard, said=said), TAKES_ALL))]
    assert problems == ["no transition takes an event that said= names, so nobody is heard"] * count


@pytest.mark.parametrize(
    "detector",
    [ToolFailures(), NoProgress(3), SameCall(), GoesInCircles(), Noticed(lambda trail, context: True, CALLED)],
)
def test_what_only_invokes_do_is_never_found_in_a_graph_without_any(detector: Detector) -> None:
    ((_, problem),) = found("GC701", graph(detector, TAKES_ALL, invoke=()))
    assert "the graph invokes no function" in problem


def test_a_signal_that_nothing_takes_is_found_where_it_is_declared_and_can_be_allowed() -> None:
    doors = [EntryPoint("WORKING", description="work", signals=[ToolFailures(5)])]
    shop = graph(Repeats(), entry_points=doors, allow=Allow("GC702", "signals, repeats", "noting it is enough"))
    assert found("GC702", shop) == [
        ("entry point 'WORKING', signals, tool_failures", "nothing takes 'signal.tool_failures'")
    ]


def test_a_transition_for_every_event_takes_no_signal() -> None:
    assert found("GC702", graph(Repeats(), Transition("*", "*", "ENDED"))) != []


def test_an_answer_takes_its_signal() -> None:
    answered = Signal(Repeats(), answer=Handoff("desk", at="HELPING"), otherwise="CHECKING")
    assert found("GC702", graph(Signals(answered))) == []


def test_retries_per_task_need_to_know_the_task() -> None:
    counting = RetriesOver(2, per="task")
    told = "it counts retries per task, but the signals name no field with the id of the task"
    assert found("GC703", graph(counting | Repeats())) == [("signals, retries_over", told)]
    assert found("GC703", graph(Signals(counting, task="order"), context=Ordering)) == []
    assert found("GC703", graph(RetriesOver(2))) == []

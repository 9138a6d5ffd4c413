"""Promise 7: what becomes of a turn in which an action or a guard raises."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import Any

import pytest
from pydantic import ValidationError

from gatechart.errors import ActionFailedError, MicrostepLimitError
from gatechart.graph.definition import ANY, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.turn.turn_context import ERROR_EXECUTION, told
from gatechart.turn.turns import take_turn
from gatechart.values.agents import Event, GuardError, RefusalReason, Snapshot, Status
from tests.support import (
    NOW,
    Trail,
    applied,
    boom,
    context_of,
    happened,
    is_broken,
    is_no,
    note,
    refused,
    started,
    trail_of,
)

NOTING = [State(name, on_entry=note(f"+{name}"), on_exit=note(f"-{name}")) for name in ("A", "B", "MENDING")]


def keep_details(context: Trail, event: Event) -> None:
    context.thing = [event.name, dict(event.payload), event.time.isoformat(), event.id]


def graph_of(*transitions: Transition, states: list[Any] = NOTING, **more: Any) -> StateTransitionGraph:
    return StateTransitionGraph("g", context=Trail, states=states, transitions=transitions, entry_points=["A"], **more)


async def failing(graph: StateTransitionGraph, at: Snapshot, event: str = "GO") -> ActionFailedError:
    """The error with which the turn fails, having changed nothing."""
    before = deepcopy(at)
    with pytest.raises(ActionFailedError) as caught:
        await take_turn(graph, at, happened(event))
    assert at == before
    return caught.value


# Unhandled.


async def test_an_action_that_raises_undoes_the_turn() -> None:
    graph = graph_of(Transition("A", "GO", "B", actions=[note("1"), boom]), Transition("A", "NOTED", actions=note("2")))
    begun = (await started(graph)).snapshot
    error = await failing(graph, begun)
    assert (error.agent_id, error.event, error.action) == ("agent-1", "GO", "boom")
    assert (error.place, error.raised) == ("transition A --GO--> B", "LookupError: no luck")
    assert isinstance(error.__cause__, LookupError)
    assert trail_of(graph, await applied(graph, begun, "NOTED")) == ["+A", "2"]


@pytest.mark.parametrize(
    ("states", "place"),
    [
        ([State("A", on_exit=boom)], "on_exit of A"),
        ([State("B", on_entry=boom)], "on_entry of B"),
        ([State("P", states=["B"], on_entry=boom)], "on_entry of P"),
    ],
)
async def test_the_error_names_the_place_of_the_action(states: list[State], place: str) -> None:
    graph = graph_of(Transition("A", "GO", "B"), states=states)
    assert (await failing(graph, (await started(graph)).snapshot)).place == place


async def test_an_async_action_that_raises_undoes_the_turn() -> None:
    async def sink(context: Any, event: Any) -> None:
        await asyncio.sleep(0)
        raise LookupError("at sea")

    graph = graph_of(Transition("A", "GO", "B", actions=sink))
    assert (await failing(graph, (await started(graph)).snapshot)).raised == "LookupError: at sea"


async def test_an_entry_action_that_raises_starts_nothing() -> None:
    graph = graph_of(states=[State("A", on_entry=boom)])
    with pytest.raises(ActionFailedError) as caught:
        await started(graph)
    assert (caught.value.event, caught.value.place) == ("agent.started.A", "on_entry of A")


async def test_a_plain_function_that_returns_a_coroutine_is_told_to_be_async() -> None:
    async def later(context: Trail, event: Event) -> None:
        context.trail.append("later")

    def forgetful(context: Trail, event: Event) -> Any:
        return later(context, event)

    graph = graph_of(Transition("A", "GO", "B", actions=forgetful))
    error = await failing(graph, (await started(graph)).snapshot)
    assert error.raised == "TypeError: forgetful returned an awaitable; declare it with async def"


async def test_a_plain_function_that_returns_a_future_is_told_to_be_async() -> None:
    def forgetful(context: Trail, event: Event) -> Any:
        return asyncio.get_running_loop().create_future()

    graph = graph_of(Transition("A", "GO", "B", actions=forgetful))
    assert "declare it with async def" in (await failing(graph, (await started(graph)).snapshot)).raised


async def test_a_turn_that_is_cancelled_is_no_failing_action() -> None:
    waiting = asyncio.Event()

    async def wait(context: Any, event: Any) -> None:
        waiting.set()
        await asyncio.Event().wait()

    graph = graph_of(Transition("A", "GO", "B", actions=wait), Transition(ANY, ERROR_EXECUTION, "MENDING"))
    begun = (await started(graph)).snapshot
    turn = asyncio.ensure_future(take_turn(graph, begun, happened("GO")))
    await waiting.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn


async def test_an_action_whose_own_work_was_cancelled_has_failed() -> None:
    async def give_up(context: Any, event: Any) -> None:
        work = asyncio.ensure_future(asyncio.Event().wait())
        work.cancel()
        await work

    graph = graph_of(Transition("A", "GO", "B", actions=give_up))
    error = await failing(graph, (await started(graph)).snapshot)
    assert (error.action, error.raised) == ("give_up", "CancelledError")
    handled = graph_of(*graph.transitions, Transition("B", ERROR_EXECUTION, "MENDING"))
    record = await applied(handled, (await started(handled)).snapshot, "GO")
    assert record.snapshot.configuration == ("MENDING",)


# Handled.


async def test_a_handled_error_is_a_successful_turn_in_which_the_rest_of_the_block_is_skipped() -> None:
    graph = graph_of(
        Transition("A", "GO", "B", actions=[note("before"), boom, note("after")]),
        Transition("B", ERROR_EXECUTION, "MENDING", actions=keep_details),
    )
    record = await applied(graph, (await started(graph)).snapshot, "GO")
    assert trail_of(graph, record) == ["+A", "-A", "before", "+B", "-B", "+MENDING"]
    assert record.snapshot.configuration == ("MENDING",)
    assert record.taken == ("A --GO--> B", "B --error.execution--> MENDING")
    assert record.event.name == record.outcome.event == "GO"


async def test_the_details_of_an_error_are_in_its_event() -> None:
    graph = graph_of(Transition("A", "GO", "B", actions=boom), Transition("B", ERROR_EXECUTION, actions=keep_details))
    record = await applied(graph, (await started(graph)).snapshot, "GO")
    assert context_of(graph, record).thing == [
        "error.execution",
        {
            "type": "LookupError",
            "message": "no luck",
            "raised_by": "boom",
            "place": "transition A --GO--> B",
            "event": "GO",
        },
        NOW.isoformat(),
        None,
    ]


async def test_what_an_action_did_before_it_raised_stands() -> None:
    def half(context: Trail, event: Event) -> None:
        context.number = 1
        raise LookupError

    graph = graph_of(Transition("A", "GO", actions=half), Transition("A", ERROR_EXECUTION, "MENDING"))
    record = await applied(graph, (await started(graph)).snapshot, "GO")
    assert context_of(graph, record).number == 1


async def test_an_exit_that_raises_skips_the_rest_of_its_own_block_only() -> None:
    graph = graph_of(
        Transition("A", "GO", "B", actions=note("go")),
        Transition("B", ERROR_EXECUTION),
        states=[
            State("P", states=[State("A", on_exit=[note("1"), boom, note("2")])], on_exit=note("-P")),
            State("B", on_entry=note("+B")),
        ],
    )
    record = await applied(graph, (await started(graph)).snapshot, "GO")
    assert trail_of(graph, record) == ["1", "-P", "go", "+B"]


async def test_an_entry_that_raises_skips_the_rest_of_its_own_block_only() -> None:
    graph = graph_of(
        Transition("A", "GO", "B"),
        Transition("P", ERROR_EXECUTION),
        states=["A", State("P", states=[State("B", on_entry=note("+B"))], on_entry=[note("1"), boom, note("2")])],
    )
    assert trail_of(graph, await applied(graph, (await started(graph)).snapshot, "GO")) == ["1", "+B"]


async def test_the_states_that_are_active_after_the_step_handle_its_error() -> None:
    graph = graph_of(Transition("A", "GO", "B", actions=boom), Transition("A", ERROR_EXECUTION, "MENDING"))
    await failing(graph, (await started(graph)).snapshot)


@pytest.mark.parametrize("source", ["P", ANY])
async def test_an_outer_state_handles_the_errors_of_the_inner_ones(source: str) -> None:
    graph = graph_of(
        Transition("A", "GO", actions=boom),
        Transition(source, ERROR_EXECUTION, "MENDING"),
        states=[State("P", states=["A"])],
    )
    record = await applied(graph, (await started(graph)).snapshot, "GO")
    assert record.snapshot.configuration == ("MENDING",)


async def test_an_error_of_the_first_turn_is_handled_too() -> None:
    graph = graph_of(
        Transition("A", ERROR_EXECUTION, "MENDING", actions=keep_details),
        states=[State("A", on_entry=[note("1"), boom])],
    )
    record = await started(graph)
    assert record.snapshot.configuration == ("MENDING",)
    assert record.taken == ("A --error.execution--> MENDING",)
    assert trail_of(graph, record) == ["1"]
    assert context_of(graph, record).thing[1]["event"] == "agent.started.A"


async def test_several_errors_of_one_step_are_handled_in_the_order_they_were_raised() -> None:
    def keep(context: Trail, event: Event) -> None:
        context.trail.append(event.payload["place"])

    graph = graph_of(
        Transition("A", "GO", "B", actions=boom),
        Transition("B", ERROR_EXECUTION, actions=keep),
        states=[State("A", on_exit=boom), State("B", on_entry=boom)],
    )
    record = await applied(graph, (await started(graph)).snapshot, "GO")
    assert trail_of(graph, record) == ["on_exit of A", "transition A --GO--> B", "on_entry of B"]
    assert len(record.taken) == 4


async def test_a_handler_whose_guard_says_no_does_not_handle() -> None:
    graph = graph_of(Transition("A", "GO", actions=boom), Transition("A", ERROR_EXECUTION, "MENDING", guard=is_no))
    await failing(graph, (await started(graph)).snapshot)


async def test_a_handler_whose_guard_raises_does_not_handle_and_does_not_call_for_itself() -> None:
    graph = graph_of(
        Transition("A", "GO", actions=boom),
        Transition("A", ERROR_EXECUTION, "MENDING", guard=is_broken),
        max_microsteps=5,
    )
    assert (await failing(graph, (await started(graph)).snapshot)).raised == "LookupError: no luck"


async def test_an_error_of_a_handler_is_an_error_like_any_other() -> None:
    graph = graph_of(
        Transition("A", "GO", actions=boom),
        Transition("A", ERROR_EXECUTION, "MENDING", actions=boom),
    )
    begun = (await started(graph)).snapshot
    error = await failing(graph, begun)
    assert error.place == "transition A --error.execution--> MENDING"
    assert error.event == "GO"
    handled = graph_of(*graph.transitions, Transition("MENDING", ERROR_EXECUTION, "B"))
    assert (await applied(handled, begun, "GO")).snapshot.configuration == ("B",)


async def test_a_handled_error_may_end_the_agent() -> None:
    graph = graph_of(
        Transition("A", "GO", actions=boom),
        Transition("A", ERROR_EXECUTION, "END"),
        states=["A", State("END", final=True)],
    )
    record = await applied(graph, (await started(graph)).snapshot, "GO")
    assert (record.snapshot.configuration, record.snapshot.status) == (("END",), Status.DONE)


async def test_an_error_on_the_way_into_a_final_state_undoes_the_turn_whoever_would_handle_it() -> None:
    graph = graph_of(
        Transition("A", "GO", "END"),
        Transition(ANY, ERROR_EXECUTION, "MENDING"),
        states=["A", State("END", final=True, on_entry=boom)],
    )
    error = await failing(graph, (await started(graph)).snapshot)
    assert error.place == "on_entry of END"


async def test_an_error_sent_from_outside_is_an_event_like_any_other() -> None:
    graph = graph_of(Transition("A", ERROR_EXECUTION, "MENDING"))
    begun = (await started(graph)).snapshot
    assert (await applied(graph, begun, ERROR_EXECUTION)).snapshot.configuration == ("MENDING",)


# Guards that raise.


async def test_a_guard_that_raises_is_handled_where_nothing_else_was_enabled() -> None:
    graph = graph_of(
        Transition("A", "GO", "B", guard=is_broken),
        Transition("A", ERROR_EXECUTION, "MENDING", actions=keep_details),
    )
    record = await applied(graph, (await started(graph)).snapshot, "GO")
    assert record.snapshot.configuration == ("MENDING",)
    assert record.taken == ("A --error.execution--> MENDING",)
    assert record.guard_errors == (GuardError("is_broken", "A --GO--> B", "ZeroDivisionError: a guard went wrong"),)
    assert context_of(graph, record).thing[1] == {
        "type": "ZeroDivisionError",
        "message": "a guard went wrong",
        "raised_by": "is_broken",
        "place": "guard of A --GO--> B",
        "event": "GO",
    }


async def test_a_guard_that_raises_is_handled_after_the_transition_that_was_enabled() -> None:
    graph = graph_of(
        Transition("A", "GO", "MENDING", guard=is_broken),
        Transition("A", "GO", "B"),
        Transition("B", ERROR_EXECUTION, "MENDING"),
    )
    record = await applied(graph, (await started(graph)).snapshot, "GO")
    assert record.taken == ("A --GO--> B", "B --error.execution--> MENDING")


async def test_a_guard_that_raises_undoes_nothing_on_the_way_into_a_final_state() -> None:
    graph = graph_of(
        Transition("A", "GO", "B", guard=is_broken),
        Transition("A", "GO", "END"),
        Transition(ANY, ERROR_EXECUTION, "MENDING"),
        states=["A", State("END", final=True)],
    )
    record = await applied(graph, (await started(graph)).snapshot, "GO")
    assert (record.snapshot.configuration, record.snapshot.status) == (("END",), Status.DONE)
    assert len(record.guard_errors) == 1


async def test_every_guard_that_raised_is_noted() -> None:
    graph = graph_of(
        Transition("A", "GO", "B", guard=is_broken),
        Transition("A", "GO", "MENDING", guard=is_broken),
        Transition("A", ERROR_EXECUTION, "B", guard=is_broken),
    )
    outcome = await refused(graph, (await started(graph)).snapshot, "GO")
    assert outcome.refusal.reason is RefusalReason.GUARD_RAISED
    assert [error.transition for error in outcome.guard_errors] == [
        "A --GO--> B",
        "A --GO--> MENDING",
        "A --error.execution--> B",
        "A --error.execution--> B",
    ]


# The bound of microsteps.


async def test_a_turn_that_does_not_come_to_rest_names_its_cycle_and_is_undone() -> None:
    graph = graph_of(
        Transition("A", "GO", "P"),
        Transition("P", ERROR_EXECUTION, "Q"),
        Transition("Q", ERROR_EXECUTION, "P"),
        states=["A", State("P", on_entry=boom), State("Q", on_entry=boom)],
        max_microsteps=10,
    )
    begun = (await started(graph)).snapshot
    before = deepcopy(begun)
    with pytest.raises(MicrostepLimitError) as caught:
        await take_turn(graph, begun, happened("GO"))
    error = caught.value
    assert (error.agent_id, error.event, error.limit) == ("agent-1", "GO", 10)
    there, back = "P --error.execution--> Q", "Q --error.execution--> P"
    assert error.cycle == (back, there, back)
    assert begun == before


async def test_a_cycle_of_one_transition_is_named_too() -> None:
    graph = graph_of(
        Transition("A", "GO", "P"), Transition("P", ERROR_EXECUTION, "P"), states=["A", State("P", on_entry=boom)]
    )
    begun = (await started(graph)).snapshot
    with pytest.raises(MicrostepLimitError) as caught:
        await take_turn(graph, begun, happened("GO"))
    assert caught.value.cycle == ("P --error.execution--> P",) * 2
    assert caught.value.limit == 100


@pytest.mark.parametrize(("limit", "fits"), [(4, True), (3, False)])
async def test_a_turn_may_take_as_many_transitions_as_the_bound_says(limit: int, fits: bool) -> None:
    chain = [Transition(f"S{n}", ERROR_EXECUTION, f"S{n + 1}") for n in range(3)]
    failing_states = [State(f"S{n}", on_entry=boom) for n in range(3)]
    graph = graph_of(Transition("A", "GO", "S0"), *chain, states=["A", *failing_states], max_microsteps=limit)
    begun = (await started(graph)).snapshot
    if fits:
        assert (await applied(graph, begun, "GO")).snapshot.configuration == ("S3",)
        return
    with pytest.raises(MicrostepLimitError) as caught:
        await take_turn(graph, begun, happened("GO"))
    assert caught.value.cycle == ("A --GO--> S0", *(edge.label for edge in chain))


@pytest.mark.parametrize(
    ("message", "expected"), [("no\nluck \t today", "LookupError: no luck today"), ("  ", "LookupError")]
)
def test_an_exception_is_told_in_one_line(message: str, expected: str) -> None:
    assert told(LookupError(message)) == expected


def test_what_pydantic_refused_is_told_in_one_line_too() -> None:
    with pytest.raises(ValidationError) as caught:
        Trail(number="many", trail=7)
    assert told(caught.value) == (
        "ValidationError: trail: Input should be a valid list; "
        "number: Input should be a valid integer, unable to parse string as an integer"
    )


# The data of a final state.


def ending(data: Any, *transitions: Transition) -> StateTransitionGraph:
    """A graph that goes on from B as C in it ends with the data."""
    inner = State("B", states=[State("C", final=True, data=data)])
    done = Transition("B", "done.state.B", "D", actions=keep_details)
    return graph_of(Transition("A", "GO", "B"), done, *transitions, states=["A", inner, "D"])


@pytest.mark.parametrize("data", [boom, lambda context, event: {"thing": object()}, lambda context, event: 7])
async def test_data_that_cannot_be_had_count_as_an_action_that_raises(data: Any) -> None:
    begun = (await started(ending(data))).snapshot
    error = await failing(ending(data), begun)
    assert (error.action, error.event) == ("data", "GO")
    handled = ending(data, Transition(ANY, ERROR_EXECUTION, actions=note("handled")))
    ended = await applied(handled, begun, "GO")
    assert (ended.snapshot.configuration, trail_of(handled, ended)) == (("D",), ["handled"])
    assert context_of(handled, ended.snapshot).thing[:2] == ["done.state.B", {}]


async def test_data_may_ask_for_the_turn() -> None:
    graph = ending(lambda context, event, turn: {"version": turn.version, "active": sorted(turn.active)})
    ended = await applied(graph, (await started(graph)).snapshot, "GO")
    assert context_of(graph, ended.snapshot).thing[1] == {"version": 2, "active": ["B", "C"]}

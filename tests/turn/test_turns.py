"""Turns that go well, and events that are refused."""

from __future__ import annotations

import asyncio
import math
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pydantic import BaseModel, Field

from gatechart.context import AgentContext
from gatechart.errors import ActionFailedError, ContextInvalidError, IncompatibleGraphError
from gatechart.graph.definition import ANY, Action, EntryPoint, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.turn.turn_context import Turn
from gatechart.turn.turns import take_turn
from gatechart.values.agents import Event, GuardError, Outcome, Refusal, RefusalReason, Snapshot, Status
from tests.support import (
    NOW,
    Trail,
    applied,
    boom,
    context_of,
    happened,
    is_broken,
    is_no,
    is_yes,
    note,
    refused,
    started,
    trail_of,
)


def graph_of(*transitions: Transition, states: list[Any] | None = None, **more: Any) -> StateTransitionGraph:
    """A graph with two noting states A and B, entered at A."""
    noting = [State(name, on_entry=note(f"+{name}"), on_exit=note(f"-{name}")) for name in "AB"]
    more = {"context": Trail, "entry_points": ["A"], **more}
    return StateTransitionGraph("g", states=states or noting, transitions=transitions, **more)


async def left_alone(graph: StateTransitionGraph, at: Snapshot, event: str, kind: type[Exception]) -> Any:
    """The error with which the turn fails, having changed nothing."""
    before = deepcopy(at)
    with pytest.raises(kind) as caught:
        await take_turn(graph, at, happened(event))
    assert at == before
    return caught.value


# A turn.


async def test_a_turn_leaves_acts_and_enters_in_this_order() -> None:
    graph = graph_of(Transition("A", "GO", "B", actions=[note("1"), note("2")]))
    begun = (await started(graph)).snapshot
    record = await applied(graph, begun, "GO")
    assert trail_of(graph, record) == ["+A", "-A", "1", "2", "+B"]
    assert record.snapshot == replace(
        begun,
        configuration=("B",),
        version=2,
        context_text='{"trail":["+A","-A","1","2","+B"],"number":0,"thing":null}',
        changed=record.event.time,
    )
    assert record.previous is begun
    assert record.taken == ("A --GO--> B",)
    assert record.outcome == Outcome("GO", ("B",), 2, Status.ACTIVE, ("A --GO--> B",))


async def test_a_record_tells_how_many_microseconds_its_turn_took(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(Transition("A", "GO", "B"))
    begun = (await started(graph)).snapshot
    clock = iter([5_000_000, 7_999_999])
    monkeypatch.setattr("gatechart.turn.turns.perf_counter_ns", lambda: next(clock))
    assert (await applied(graph, begun, "GO")).took_us == 2999


async def test_the_first_turn_makes_the_first_version() -> None:
    graph = graph_of(version="7")
    record = await started(graph)
    assert record.previous is None
    assert record.taken == ()
    assert record.snapshot == Snapshot(
        agent_id="agent-1",
        graph="g",
        graph_version="7",
        fingerprint=graph.fingerprint,
        configuration=("A",),
        context_text='{"trail":["+A"],"number":0,"thing":null}',
        version=1,
        status=Status.ACTIVE,
        started=record.event.time,
        changed=record.event.time,
    )


async def test_the_context_of_one_turn_is_not_that_of_another() -> None:
    graph = graph_of(Transition("A", "GO", actions=note("go")))
    begun = (await started(graph)).snapshot
    for _ in range(2):
        assert trail_of(graph, await applied(graph, begun, "GO")) == ["+A", "go"]


async def test_a_transition_without_target_only_acts() -> None:
    graph = graph_of(Transition("A", "GO", actions=note("go")))
    record = await applied(graph, (await started(graph)).snapshot, "GO")
    assert trail_of(graph, record) == ["+A", "go"]
    assert record.snapshot.configuration == ("A",)
    assert record.taken == ("A --GO",)


async def test_a_self_transition_leaves_and_enters_again_unless_it_is_internal() -> None:
    graph = graph_of(Transition("A", "GO", "A"), Transition("A", "STAYED", "A", internal=True))
    begun = (await started(graph)).snapshot
    assert trail_of(graph, await applied(graph, begun, "GO")) == ["+A", "-A", "+A"]
    assert trail_of(graph, await applied(graph, begun, "STAYED")) == ["+A"]


async def test_a_final_state_of_the_root_ends_the_agent() -> None:
    graph = graph_of(Transition("A", "GO", "END"), states=["A", State("END", final=True, on_entry=note("+END"))])
    record = await applied(graph, (await started(graph)).snapshot, "GO")
    assert record.snapshot.status is record.outcome.status is Status.DONE
    assert trail_of(graph, record) == ["+END"]


async def test_a_nested_final_state_does_not_end_the_agent() -> None:
    graph = graph_of(
        Transition("P", "GO", "END"),
        Transition("P", "BACK", "A"),
        states=[State("P", states=["A", State("END", final=True)])],
    )
    record = await applied(graph, (await started(graph)).snapshot, "GO")
    assert (record.snapshot.configuration, record.snapshot.status) == (("END",), Status.ACTIVE)
    assert (await applied(graph, record.snapshot, "BACK")).snapshot.configuration == ("A",)


async def test_the_event_and_its_payload_reach_guards_and_actions() -> None:
    seen: list[Any] = []

    def is_wanted(context: Trail, event: Event) -> bool:
        seen.append(event)
        return event.payload["wanted"]

    def keep(context: Trail, event: Event) -> None:
        seen.append(event)
        context.thing = event.payload["what"]

    graph = graph_of(Transition("A", "GO", "B", guard=is_wanted, actions=keep))
    begun = (await started(graph)).snapshot
    assert context_of(graph, await applied(graph, begun, "GO", {"wanted": True, "what": [1]})).thing == [1]
    event = Event("GO", {"wanted": True, "what": [1]}, NOW)
    assert seen == [event, event]


async def test_what_an_action_does_to_the_payload_is_not_what_is_recorded() -> None:
    """A sender that repeats an event is compared with the record: it must hold what was sent."""

    def spoil(context: Trail, event: Event) -> None:
        event.payload["items"].pop()
        event.payload["more"] = True

    graph = graph_of(Transition("A", "GO", "B", actions=spoil))
    try:
        record = await applied(graph, (await started(graph)).snapshot, "GO", {"items": [1]})
    except ActionFailedError:
        return
    assert record.event.payload == {"items": [1]}


# Which transition is taken.


async def test_guards_are_asked_in_order_and_the_first_that_agrees_decides() -> None:
    asked: list[str] = []

    def guard(name: str, answer: Any) -> Any:
        def ask(context: Any, event: Any) -> Any:
            asked.append(name)
            return answer

        return ask

    graph = graph_of(
        Transition("A", "GO", "B", guard=guard("first", False)),
        Transition("A", "GO", "C", guard=guard("second", True)),
        Transition("A", "GO", "D", guard=guard("third", True)),
        Transition("A", "GO", "D"),
    )
    record = await applied(graph, (await started(graph)).snapshot, "GO")
    assert record.snapshot.configuration == ("C",)
    assert asked == ["first", "second"]


async def test_an_unguarded_transition_is_taken_where_the_guards_before_it_said_no() -> None:
    graph = graph_of(Transition("A", "GO", "B", guard=is_no), Transition("A", "GO", "C"), Transition("A", "GO", "D"))
    assert (await applied(graph, (await started(graph)).snapshot, "GO")).snapshot.configuration == ("C",)


async def test_an_outer_state_is_asked_where_the_inner_one_said_no() -> None:
    graph = graph_of(
        Transition(ANY, "GO", "ROOT_SAID"),
        Transition("P", "GO", "P_SAID", guard=is_yes),
        Transition("A", "GO", "A_SAID", guard=is_no),
        states=[State("P", states=["A"])],
    )
    assert (await applied(graph, (await started(graph)).snapshot, "GO")).snapshot.configuration == ("P_SAID",)


async def test_a_guard_agrees_with_what_is_true_and_not_only_with_true() -> None:
    graph = graph_of(
        Transition("A", "GO", "B", guard=lambda c, e: []), Transition("A", "GO", "C", guard=lambda c, e: 1)
    )
    assert (await applied(graph, (await started(graph)).snapshot, "GO")).snapshot.configuration == ("C",)


async def test_a_guard_sees_the_context_as_the_turn_before_left_it() -> None:
    def count(context: Trail, event: Event) -> None:
        context.number += 1

    graph = graph_of(
        Transition("A", "GO", "B", guard=lambda context, event: context.number == 2),
        Transition("A", "GO", actions=count),
    )
    snapshot = (await started(graph)).snapshot
    for configuration in (("A",), ("A",), ("B",)):
        snapshot = (await applied(graph, snapshot, "GO")).snapshot
        assert snapshot.configuration == configuration


# Promise 6: a refused event changes nothing and says why.


async def test_an_event_that_nothing_waits_for_is_refused() -> None:
    graph = graph_of(Transition("A", "GO", "B"), Transition("B", "BACK", "A"), Transition(ANY, "STOPPED", "B"))
    begun = (await started(graph)).snapshot
    before = deepcopy(begun)
    outcome = await refused(graph, begun, "BACK")
    refusal = Refusal(RefusalReason.NO_TRANSITION, ("A",), ("GO", "STOPPED"))
    assert outcome == Outcome("BACK", ("A",), 1, Status.ACTIVE, (), refusal)
    assert not outcome.applied
    assert begun == before


async def test_an_event_to_which_every_guard_said_no_is_refused() -> None:
    graph = graph_of(
        Transition("A", "GO", "B", guard=is_no, actions=note("never")),
        Transition(ANY, "GO", "B", guard=lambda context, event: False),
    )
    begun = (await started(graph)).snapshot
    outcome = await refused(graph, begun, "GO")
    assert outcome.refusal == Refusal(RefusalReason.GUARDS_SAID_NO, ("A",), ("GO",), ("is_no", "<lambda>"))
    assert trail_of(graph, begun) == ["+A"]


async def test_what_a_guard_does_to_the_context_does_not_outlive_a_refusal() -> None:
    def is_rude(context: Trail, event: Event) -> bool:
        context.trail.append("rude")
        return False

    graph = graph_of(Transition("A", "GO", "B", guard=is_rude), Transition("A", "NOTED", actions=note("noted")))
    begun = (await started(graph)).snapshot
    await refused(graph, begun, "GO")
    assert trail_of(graph, await applied(graph, begun, "NOTED")) == ["+A", "noted"]


async def test_a_guard_that_raises_counts_as_false_and_is_noted() -> None:
    graph = graph_of(Transition("A", "GO", "C", guard=is_broken), Transition("A", "GO", "B"))
    record = await applied(graph, (await started(graph)).snapshot, "GO")
    assert record.snapshot.configuration == ("B",)
    error = GuardError("is_broken", "A --GO--> C", "ZeroDivisionError: a guard went wrong")
    assert record.guard_errors == record.outcome.guard_errors == (error,)
    assert record.taken == ("A --GO--> B",)


async def test_an_event_is_refused_with_that_reason_where_a_guard_raised_and_nothing_was_enabled() -> None:
    graph = graph_of(
        Transition("A", "GO", "B", guard=is_no),
        Transition("A", "GO", "B", guard=is_broken),
    )
    begun = (await started(graph)).snapshot
    before = deepcopy(begun)
    outcome = await refused(graph, begun, "GO")
    assert outcome.refusal.reason is RefusalReason.GUARD_RAISED
    assert outcome.refusal.guards == ("is_no", "is_broken")
    error = GuardError("is_broken", "A --GO--> B #2", "ZeroDivisionError: a guard went wrong")
    assert outcome.guard_errors == (error,)
    assert begun == before


async def test_an_exception_without_a_message_is_told_by_its_type() -> None:
    def is_silent(context: Any, event: Any) -> bool:
        raise KeyError

    graph = graph_of(Transition("A", "GO", "B", guard=is_silent))
    (error,) = (await refused(graph, (await started(graph)).snapshot, "GO")).guard_errors
    assert error.raised == "KeyError"


async def test_a_guard_that_gives_something_to_await_does_not_agree() -> None:
    async def is_later(context: Any, event: Any) -> bool:
        return False

    def is_forgetful(context: Any, event: Any) -> Any:
        return is_later(context, event)

    graph = graph_of(Transition("A", "GO", "B", guard=is_forgetful))
    outcome = await refused(graph, (await started(graph)).snapshot, "GO")
    assert "is_forgetful" in outcome.guard_errors[0].raised


@pytest.mark.parametrize("status", [Status.DONE, Status.FAILED, Status.STOPPED])
async def test_an_agent_that_has_ended_refuses_every_event(status: Status) -> None:
    def is_asked(context: Any, event: Any) -> bool:
        raise AssertionError("nobody is to be asked")

    graph = graph_of(Transition("A", "GO", "B", guard=is_asked), Transition(ANY, "STOPPED", "B"))
    ended = replace((await started(graph)).snapshot, status=status)
    for event in ("GO", "STOPPED", "NOISE"):
        outcome = await refused(graph, ended, event)
        assert outcome == Outcome(event, ("A",), 1, status, (), Refusal(RefusalReason.AGENT_ENDED, ("A",), ()))


async def test_a_final_state_refuses_every_event_even_those_of_the_root() -> None:
    graph = graph_of(
        Transition("A", "GO", "END"), Transition(ANY, "AGAIN", "A"), states=["A", State("END", final=True)]
    )
    ended = (await applied(graph, (await started(graph)).snapshot, "GO")).snapshot
    outcome = await refused(graph, ended, "AGAIN")
    assert outcome.refusal == Refusal(RefusalReason.AGENT_ENDED, ("END",), ())


async def test_events_of_unknown_names_leave_nothing_behind_in_the_graph() -> None:
    graph = graph_of(Transition("A", "GO", "B", guard=is_no))
    begun = (await started(graph)).snapshot
    await refused(graph, begun, "GO")
    known = len(graph.memo)
    for number in range(100):
        await refused(graph, begun, f"NOISE_{number}")
    assert len(graph.memo) == known


# Actions, plain and async, with two parameters and three.


async def test_an_async_action_is_awaited_before_the_next_one_runs() -> None:
    async def slowly(context: Trail, event: Event) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        context.trail.append("slowly")

    graph = graph_of(Transition("A", "GO", "B", actions=[note("1"), slowly, note("2")]))
    record = await applied(graph, (await started(graph)).snapshot, "GO")
    assert trail_of(graph, record) == ["+A", "-A", "1", "slowly", "2", "+B"]


async def test_what_a_plain_action_returns_is_dropped() -> None:
    graph = graph_of(Transition("A", "GO", actions=[lambda context, event: context.trail.append("x") or "ignored"]))
    assert trail_of(graph, await applied(graph, (await started(graph)).snapshot, "GO")) == ["+A", "x"]


async def test_an_action_with_three_parameters_gets_the_turn() -> None:
    seen: list[Turn] = []

    def plain(context: Trail, event: Event, turn: Turn) -> None:
        seen.append(turn)

    async def slow(context: Trail, event: Event, turn: Turn) -> None:
        seen.append(turn)

    graph = graph_of(Transition("A", "GO", "B", actions=[plain, slow]))
    begun = (await started(graph)).snapshot
    services = object()
    event = happened("GO", {"a": 1})
    await take_turn(graph, begun, event, services)
    assert seen[0] is seen[1]
    assert (seen[0].agent_id, seen[0].version, seen[0].event) == ("agent-1", 2, event)
    assert seen[0].services is services
    assert seen[0].now == NOW


async def test_the_first_turn_has_its_tools_too() -> None:
    def enter(context: Trail, event: Event, turn: Turn) -> None:
        context.thing = [turn.version, turn.services, turn.event.name, turn.now == NOW]

    graph = graph_of(states=[State("A", on_entry=enter)])
    record = await started(graph, services="services")
    assert context_of(graph, record).thing == [1, "services", "agent.started.A", True]


# Promise 10: the same turn run again gives the same record.


def gamble(context: Trail, event: Event, turn: Turn) -> None:
    context.thing = [turn.now.isoformat(), turn.random.random(), turn.new_id(), turn.new_id(), turn.random.random()]


async def test_the_same_turn_run_twice_gives_the_same_record() -> None:
    graph = graph_of(Transition("A", "GO", "B", actions=gamble))
    begun = (await started(graph)).snapshot
    first, second = [await applied(graph, begun, "GO", {"a": 1}) for _ in range(2)]
    assert first == second
    assert await started(graph) == await started(graph)


async def test_another_turn_has_other_numbers_and_ids() -> None:
    graph = graph_of(Transition("A", "GO", actions=gamble))
    begun = (await started(graph)).snapshot
    first = await applied(graph, begun, "GO")
    second = await applied(graph, first.snapshot, "GO")
    other = await applied(graph, replace(begun, agent_id="agent-2"), "GO")
    drawn = [context_of(graph, record).thing[1:] for record in (first, second, other)]
    assert len({value for values in drawn for value in values}) == 12


async def test_random_numbers_are_the_same_in_every_process() -> None:
    turn = Turn("agent-1", 2, happened("GO"))
    assert turn.new_id() == "05db6dc6cb7bb1f00428b27c4d17be45"


async def test_an_id_has_32_hexadecimal_digits() -> None:
    turn = Turn("agent-1", 2, happened("GO"))
    ids = [turn.new_id() for _ in range(100)]
    assert {len(each) for each in ids} == {32}
    assert set("".join(ids)) <= set("0123456789abcdef")
    assert len(set(ids)) == 100


async def test_the_time_of_a_turn_is_that_of_its_event() -> None:
    later = NOW + timedelta(days=1)
    assert Turn("agent-1", 2, Event("GO", {}, later)).now == later


# Promise 8: the context is validated before it is committed.


def setting(name: str, value: Any) -> Action:
    def set_it(context: Any, event: Any) -> None:
        setattr(context, name, value)

    return set_it


async def test_a_context_that_an_action_made_invalid_undoes_the_turn() -> None:
    graph = graph_of(
        Transition("A", "GO", actions=[setting("number", "many"), setting("trail", None)]),
        Transition("A", "NOTED", actions=note("noted")),
    )
    begun = (await started(graph)).snapshot
    error = await left_alone(graph, begun, "GO", ContextInvalidError)
    assert (error.agent_id, error.event, error.context) == ("agent-1", "GO", "Trail")
    assert [problem.split(":")[0] for problem in error.problems] == ["trail", "number"]
    assert trail_of(graph, await applied(graph, begun, "NOTED")) == ["+A", "noted"]


@pytest.mark.parametrize("value", [object(), "\ud800"], ids=["object", "surrogate"])
async def test_a_value_that_cannot_be_stored_undoes_the_turn(value: Any) -> None:
    graph = graph_of(Transition("A", "GO", "B", actions=setting("thing", value)))
    error = await left_alone(graph, (await started(graph)).snapshot, "GO", ContextInvalidError)
    assert len(error.problems) == 1


async def test_a_value_that_holds_itself_undoes_the_turn() -> None:
    def tie(context: Trail, event: Event) -> None:
        context.thing = []
        context.thing.append(context.thing)

    graph = graph_of(Transition("A", "GO", "B", actions=tie))
    error = await left_alone(graph, (await started(graph)).snapshot, "GO", ContextInvalidError)
    assert "Circular reference" in error.problems[0]


class Reading(BaseModel):
    value: float | None = 0.0


class Doubted(Reading):
    doubt: str = "none"


class Lab(AgentContext):
    reading: Reading = Field(default_factory=Reading)
    scratch: int = Field(0, exclude=True)


def lab_of(action: Action) -> StateTransitionGraph:
    return StateTransitionGraph(
        "lab", context=Lab, transitions=[Transition("A", "GO", actions=action)], entry_points=["A"]
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("reading", Reading(value=math.inf)),  # written as null, which reads as None
        ("reading", Doubted(value=1.0, doubt="much")),  # written as its base
    ],
)
async def test_a_value_that_would_come_back_as_another_one_undoes_the_turn(field: str, value: Any) -> None:
    graph = lab_of(setting(field, value))
    error = await left_alone(graph, (await started(graph)).snapshot, "GO", ContextInvalidError)
    (problem,) = error.problems
    assert problem.startswith(f"{field}: ")
    assert "would come back as" in problem


@pytest.mark.parametrize(
    ("field", "value"),
    [("number", math.nan), ("numbers", [1.0, math.nan]), ("inner", Reading(value=2.5))],
)
async def test_a_value_that_comes_back_as_it_was_is_committed(field: str, value: Any) -> None:
    class Sound(AgentContext):
        number: float = 0.0
        numbers: list[float] = Field(default_factory=list)
        inner: Reading | None = None

    graph = StateTransitionGraph(
        "sound", context=Sound, transitions=[Transition("A", "GO", actions=setting(field, value))], entry_points=["A"]
    )
    record = await applied(graph, (await started(graph)).snapshot, "GO")
    assert repr(getattr(context_of(graph, record), field)) == repr(value)  # a NaN is not equal to itself


async def test_an_excluded_field_does_not_outlive_its_turn() -> None:
    def work(context: Lab, event: Event) -> None:
        context.scratch += 1
        context.reading.value = float(context.scratch)

    graph = lab_of(work)
    snapshot = (await started(graph)).snapshot
    for _ in range(2):
        snapshot = (await applied(graph, snapshot, "GO")).snapshot
        assert context_of(graph, snapshot) == Lab(reading=Reading(value=1.0))


async def test_a_first_context_that_an_action_made_invalid_starts_nothing() -> None:
    graph = graph_of(states=[State("A", on_entry=setting("number", "many"))])
    with pytest.raises(ContextInvalidError) as caught:
        await started(graph)
    assert caught.value.event == "agent.started.A"


async def test_a_field_that_the_context_does_not_have_cannot_be_set() -> None:
    graph = graph_of(Transition("A", "GO", actions=setting("numbre", 1)), Transition("A", "error.execution", "B"))
    record = await applied(graph, (await started(graph)).snapshot, "GO")
    assert record.snapshot.configuration == ("B",)


async def test_a_stored_context_that_the_graph_cannot_read_is_left_as_it_is() -> None:
    graph = graph_of(Transition("A", "GO", "B", actions=boom))
    begun = (await started(graph)).snapshot
    foreign = replace(begun, context_text='{"other":1}')
    with pytest.raises(IncompatibleGraphError) as caught:
        await take_turn(graph, foreign, happened("GO"))
    assert caught.value.agent_id == "agent-1"
    assert caught.value.problem == "its context is not a valid Trail: other: Extra inputs are not permitted"


# Entry points at the start of an agent.


async def test_an_agent_may_begin_in_a_nested_state() -> None:
    graph = graph_of(
        states=[State("P", states=[State("Q", states=["X", "Y"], on_entry=note("+Q"))], on_entry=note("+P"))],
        entry_points=["Y", "P"],
    )
    for at, configuration in (("Y", ("Y",)), ("P", ("X",))):
        record = await started(graph, at)
        assert record.snapshot.configuration == configuration
        assert trail_of(graph, record) == ["+P", "+Q"]


async def test_an_agent_that_begins_in_a_final_state_is_done() -> None:
    graph = graph_of(states=[State("END", final=True, on_entry=note("+END"))], entry_points=[EntryPoint("END")])
    record = await started(graph)
    assert record.snapshot.status is Status.DONE
    assert trail_of(graph, record) == ["+END"]


def test_a_turn_keeps_its_bookkeeping_to_itself() -> None:
    turn = Turn("agent-1", 2, happened("GO"))
    public = {name for name in dir(turn) if not name.startswith("_")}
    facts = {"active", "agent_id", "context", "event", "graph", "handoffs", "now", "random", "services", "version"}
    verbs = {"after", "cancel", "complete", "fail", "handoff", "new_id", "progressed", "raise_event", "send"}
    assert public == facts | verbs
    with pytest.raises(AttributeError):
        turn.active = frozenset({"GONE"})  # type: ignore[misc]

"""Transfers as ordinary transitions: choices that are followed, refused and counted, and what follows at zero."""

from __future__ import annotations

from typing import Any

import pytest

from gatechart.context import AgentContext
from gatechart.errors import InvalidGraphError
from gatechart.graph.definition import Invoke, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.transfers import To, Transfers
from gatechart.turn.turns import take_turn
from gatechart.values.agents import Event, Outcome, Refused, Snapshot
from gatechart.values.transfers import count_of
from tests.support import applied, happened, refused, started

DONE = "done.invoke.check"


class Case(AgentContext):
    is_open: bool = True


def is_open(context: Case, event: Event) -> bool | Refused:
    return context.is_open or Refused("the case is closed")


def close(context: Case, event: Event) -> None:
    context.is_open = False


async def check(context: Case, work: Any) -> None: ...


def graph_of(*transitions: Transition[Any], **more: Any) -> StateTransitionGraph[Case]:
    """CHECKING, which may search again, write, or hand on."""
    targets = ["SEARCHING", To("WRITING", guard=is_open), To("refunds", at="REVIEWING")]
    transfers = Transfers(**{"targets": targets, "most": 2, "otherwise": "DONE"} | more)
    states = [
        State("CHECKING", invoke=check, transfers=transfers),
        State("SEARCHING"),
        State("WRITING"),
        State("DONE", final=True),
    ]
    ways = [
        Transition("SEARCHING", "FOUND", "CHECKING"),
        Transition("WRITING", "WRITTEN", "CHECKING"),
        Transition("CHECKING", "CLOSED", actions=[close]),
    ]
    return StateTransitionGraph(
        "research", context=Case, states=states, transitions=[*ways, *transitions], entry_points=["CHECKING"]
    )


async def after(graph: StateTransitionGraph[Case], *names: str) -> Snapshot:
    """The snapshot of a new agent after these events."""
    snapshot = (await started(graph)).snapshot
    for name in names:
        snapshot = (await applied(graph, snapshot, name)).snapshot
    return snapshot


def taken(snapshot: Snapshot) -> int:
    return count_of(snapshot.transfers, "CHECKING").taken


async def test_a_choice_leads_to_its_target_and_counts() -> None:
    graph = graph_of()
    begun = await after(graph)
    record = await applied(graph, begun, "transfer.SEARCHING", {"arguments": {"reason": "too little"}})
    assert record.taken == ("CHECKING --transfer.SEARCHING--> SEARCHING",)
    assert taken(begun) == 0
    assert taken(record.snapshot) == 1


async def test_the_count_goes_on_when_the_state_is_entered_again() -> None:
    assert taken(await after(graph_of(), "transfer.SEARCHING", "FOUND", "transfer.WRITING", "WRITTEN")) == 2


async def test_what_came_back_is_kept_with_the_choice() -> None:
    graph = graph_of()
    away = await after(graph, "transfer.SEARCHING")
    back = (await applied(graph, away, "FOUND", {"result": "7 papers"})).snapshot
    (count,) = back.transfers
    assert count.entered_by == "FOUND: 7 papers"
    assert [(visit.target, visit.said) for visit in count.visits] == [("SEARCHING", "FOUND: 7 papers")]


async def test_only_the_newest_choices_are_kept() -> None:
    graph = graph_of(most=30)
    back = await after(graph, *["transfer.SEARCHING", "FOUND"] * 12)
    assert taken(back) == 12
    assert len(count_of(back.transfers, "CHECKING").visits) == 8


async def test_an_event_is_kept_in_a_line_of_bounded_length() -> None:
    graph = graph_of()
    back = await applied(graph, await after(graph, "transfer.SEARCHING"), "FOUND", {"result": "a\nb " + "x" * 5000})
    (count,) = back.snapshot.transfers
    assert count.entered_by.startswith("FOUND: a b xxx")
    assert len(count.entered_by) == 1000


async def test_a_choice_that_its_guard_denies_by_now_is_refused_once_and_then_takes_otherwise() -> None:
    graph = graph_of()
    closed = await after(graph, "CLOSED")
    first = await applied(graph, closed, "transfer.WRITING")
    (count,) = first.snapshot.transfers
    assert first.taken == ("CHECKING --transfer.WRITING",)
    assert (count.taken, count.refused, count.why) == (0, "WRITING", "the case is closed")
    second = await applied(graph, first.snapshot, "transfer.WRITING")
    assert second.snapshot.configuration == ("DONE",)
    assert taken(second.snapshot) == 1


async def test_a_refusal_counts_only_in_the_entry_of_the_state_in_which_it_happened() -> None:
    graph = graph_of()
    refused_once = await after(graph, "CLOSED", "transfer.WRITING", "transfer.SEARCHING", "FOUND")
    again = await applied(graph, refused_once, "transfer.WRITING")
    assert again.snapshot.configuration == ("CHECKING",)


async def test_at_zero_the_end_of_the_invoke_takes_otherwise_before_the_transitions_of_the_chart() -> None:
    graph = graph_of(Transition("CHECKING", DONE, "WRITING"))
    with_one_left = await after(graph, "transfer.SEARCHING", "FOUND")
    assert (await applied(graph, with_one_left, DONE)).snapshot.configuration == ("WRITING",)
    with_none = await after(graph, "transfer.SEARCHING", "FOUND", "transfer.SEARCHING", "FOUND")
    assert (await applied(graph, with_none, DONE)).snapshot.configuration == ("DONE",)


async def test_an_end_without_a_choice_takes_otherwise_unless_the_chart_handles_it() -> None:
    graph = graph_of()
    assert (await applied(graph, await after(graph), DONE)).snapshot.configuration == ("DONE",)
    handled = graph_of(Transition("CHECKING", "done.invoke", "WRITING"))
    assert (await applied(handled, await after(handled), DONE)).snapshot.configuration == ("WRITING",)


async def test_an_event_of_resets_on_lets_the_count_begin_anew() -> None:
    graph = graph_of(resets_on=["FOUND"])
    assert taken(await after(graph, "transfer.SEARCHING", "FOUND")) == 0


async def test_an_event_that_is_refused_resets_nothing() -> None:
    graph = graph_of(resets_on=["ASKED"])
    away = await after(graph, "transfer.SEARCHING")
    assert isinstance(await refused(graph, away, "ASKED"), Outcome)
    assert taken(away) == 1


async def test_a_transfer_to_another_graph_is_a_handoff_and_waits_for_its_answer() -> None:
    graph = graph_of()
    waiting = await applied(graph, await after(graph), "transfer.refunds.REVIEWING")
    assert waiting.snapshot.configuration == ("CHECKING_TO_refunds",)
    (handoff,) = waiting.snapshot.handoffs
    assert handoff.states == ("CHECKING_TO_refunds",)
    assert taken(waiting.snapshot) == 1


async def test_without_a_limit_there_are_no_transfers_at_all() -> None:
    graph = graph_of(Transition("CHECKING", DONE, "WRITING"), most=None, otherwise="")
    assert graph.choosing == ()
    assert (await after(graph)).transfers == ()
    assert not [edge for edge in graph.nodes["CHECKING"].edges if edge.role is not None]


async def test_another_limit_is_another_graph() -> None:
    assert graph_of(most=2).fingerprint != graph_of(most=3).fingerprint


async def test_an_agent_without_transfers_keeps_no_counts() -> None:
    plain = StateTransitionGraph("plain", transitions=[Transition("A", "GO", "B")], entry_points=["A"])
    begun = (await started(plain)).snapshot
    record = await take_turn(plain, begun, happened("GO"))
    assert not isinstance(record, Outcome)
    assert record.snapshot.transfers == ()


async def test_a_state_may_bear_the_name_of_a_graph() -> None:
    targets = [To("refunds"), To("refunds", at="REVIEWING")]
    states = [
        State("A", invoke=check, transfers=Transfers(targets, otherwise="refunds")),
        State("refunds", final=True),
    ]
    graph = StateTransitionGraph("g", states=states, entry_points=["A"])
    begun = (await started(graph)).snapshot
    assert (await applied(graph, begun, "transfer.refunds")).snapshot.configuration == ("refunds",)
    assert (await applied(graph, begun, "transfer.refunds.REVIEWING")).snapshot.configuration == ("A_TO_refunds",)


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "one target": ({"targets": ["SEARCHING"]}, "fewer than two targets"),
    "a limit without a way out": ({"otherwise": ""}, "it has most=, but no otherwise="),
    "an unknown target": ({"targets": ["SEARCHING", "WRITNG"]}, "did you mean 'WRITING'?"),
    "an unknown way out": ({"otherwise": "DON"}, "did you mean 'DONE'?"),
    "a limit of nothing": ({"most": 0}, "most=0 is no limit"),
    "a target twice": ({"targets": ["SEARCHING", "SEARCHING", "WRITING"]}, "the key 'SEARCHING' occurs twice"),
    "a guard that cannot be asked": ({"targets": ["SEARCHING", To("WRITING", guard=check)]}, "guard check is async"),
    "an unknown state that waits": (
        {"targets": ["SEARCHING", To("refunds", at="R", waits="WAIT")]},
        "refunds.R, waits: unknown state 'WAIT'",
    ),
    "a state that waits for nothing": (
        {"targets": ["SEARCHING", To("WRITING", waits="DONE")]},
        "it has waits=, but no at=",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(name: str) -> None:
    parts, told = FAULTS[name]
    with pytest.raises(InvalidGraphError) as caught:
        graph_of(**parts)
    assert told in str(caught.value)


def test_transfers_need_a_function_that_chooses() -> None:
    transfers = Transfers(["B", "C"], otherwise="C")
    states = [State("A", transfers=transfers, invoke=Invoke(agent="others", at="IN")), State("B"), State("C")]
    with pytest.raises(InvalidGraphError, match="it invokes no function that could choose"):
        StateTransitionGraph("g", states=states, entry_points=["A"])

from __future__ import annotations

import pytest

from gatechart import AgentContext, Runtime
from gatechart.errors import ReservedEventError
from gatechart.graph.definition import EntryPoint, State, Then, Transition
from gatechart.testing.paths import path_cases, walk_path
from gatechart.testing.rehearsal import rehearse
from tests.checks.support import graph_of


class Desk(AgentContext):
    is_urgent: bool = False


def is_refund(context, event):
    return event.payload.get("query") == "refund"


DESK = graph_of(
    [
        Transition("A", "ASKED", "REFUND", guard=is_refund),
        Transition("REFUND", "PAID", "DONE"),
        Transition("DONE", None, "CLOSED"),
        Transition("CLOSED", "REOPENED", "A"),
    ],
    states=[State("A", after={"30s": Then("CLOSED")})],
    context=Desk,
)


async def walk(graph, path, payloads=None):
    async with rehearse(graph, path.entry_point, as_framework=True) as rehearsal:
        await walk_path(path, rehearsal, payloads)


def one(graph, from_="A"):
    (case,) = path_cases(graph, from_=from_)
    return case.values[0]


def test_cases_have_ids_that_tell_the_events():
    assert [case.id for case in path_cases(DESK)] == ["A > ASKED > PAID", "A > after.30s.A > REOPENED"]


def test_cases_begin_at_every_entry_point_or_at_one():
    graph = graph_of([Transition("A", "E", "B"), Transition("B", "E", "A")], entry_points=["A", "B"])
    assert [case.id for case in path_cases(graph)] == ["A > E > E", "B > E > E"]
    assert [case.id for case in path_cases(graph, from_="B")] == ["B > E > E"]


@pytest.mark.parametrize("path", path_cases(DESK))
async def test_a_path_is_walked(path):
    await walk(DESK, path, {"ASKED": {"query": "refund"}})


@pytest.mark.parametrize(("payloads", "given"), [(None, "has none"), ({"ASKED": {"query": "?"}}, r"has \{'query'")])
async def test_a_guard_that_says_no_is_told_with_what_to_do(payloads, given):
    case, _ = path_cases(DESK)
    with pytest.raises(pytest.fail.Exception, match=given) as failed:
        await walk(DESK, case.values[0], payloads)
    assert "'ASKED' should take A --ASKED--> REFUND, but guards said no (is_refund) in A" in str(failed.value)
    assert "payloads={'ASKED': ...}" in str(failed.value)


async def test_another_transition_is_told():
    ways = [Transition("A", "E", "B", guard=is_refund), Transition("A", "E", "C"), Transition("B", "F", "B")]
    failures = []
    for case in path_cases(graph_of(ways)):
        try:
            await walk(graph_of(ways), case.values[0])
        except pytest.fail.Exception as failed:
            failures.append(str(failed))
    assert len(failures) == 1
    assert "but took A --E--> C" in failures[0]


async def test_a_path_may_begin_with_eventless_transitions():
    await walk(graph := graph_of([Transition("A", None, "B"), Transition("B", "E", "C")]), one(graph))


async def test_a_beginning_that_goes_another_way_is_told():
    graph = graph_of(
        [Transition("A", None, "B", guard=lambda context, event: context.is_urgent), Transition("B", "E", "C")],
        context=Desk,
        entry_points=[EntryPoint("A")],
    )
    with pytest.raises(pytest.fail.Exception, match="started in A, not in B; start with a payload"):
        await walk(graph, one(graph))


async def test_an_agent_of_a_runtime_walks_a_path_that_has_only_events_of_its_own():
    case, timed = path_cases(DESK)
    async with Runtime.open("memory:", graphs=[DESK]) as runtime:
        await walk_path(case.values[0], await runtime.start("desk", at="A"), {"ASKED": {"query": "refund"}})
        with pytest.raises(ReservedEventError):
            await walk_path(timed.values[0], await runtime.start("desk", at="A"))


async def test_a_rehearsal_plays_the_framework_only_when_it_is_told_to():
    async with rehearse(DESK, "A") as rehearsal:
        with pytest.raises(ReservedEventError):
            await rehearsal.send("after.30s.A")

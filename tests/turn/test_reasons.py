"""Guards that say why they say no."""

from __future__ import annotations

import pytest

from gatechart.charts import load
from gatechart.errors import EntryGuardError
from gatechart.graph.definition import ANY, EntryPoint, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.values.agents import RefusalReason, Refused
from tests.support import Trail, applied, is_no, refused, started


def is_another(context, event):
    return Refused("the author may not\ndecide\0 this")


def is_open(context, event):
    return Refused("it is closed")


review = StateTransitionGraph(
    "review",
    context=Trail,
    transitions=[
        Transition("A", "DECIDED", "B", guard=is_another),
        Transition("A", "DECIDED", "B", guard=is_no),
        Transition(ANY, "DECIDED", "B", guard=is_open),
        Transition("A", "TRIED", "B", guard=is_open),
        Transition("A", "TRIED", "B"),
    ],
    entry_points=["A", EntryPoint("A", "CLOSED", guard=is_open)],
)


async def test_a_refusal_tells_the_reasons_in_one_line_that_a_store_can_keep():
    outcome = await refused(review, (await started(review, "A")).snapshot, "DECIDED")
    assert outcome.refusal.reason is RefusalReason.GUARDS_SAID_NO
    assert outcome.refusal.guards == ("is_another", "is_no", "is_open")
    assert outcome.refusal.explanations == ("the author may not decide this", "it is closed")
    assert str(outcome.refusal) == (
        "guards said no (is_another, is_no, is_open): the author may not decide this; it is closed, in A; "
        "accepted there: DECIDED, TRIED"
    )


async def test_a_guard_that_refuses_with_a_reason_has_not_failed():
    outcome = (await applied(review, (await started(review, "A")).snapshot, "TRIED")).outcome
    assert (outcome.configuration, outcome.guard_errors) == (("B",), ())


async def test_the_error_of_an_entry_point_tells_the_reason_of_its_guard():
    with pytest.raises(EntryGuardError, match=r"its guard is_open said no \(it is closed\)") as raised:
        await started(review, "CLOSED")
    assert (raised.value.reason, raised.value.raised) == ("it is closed", None)


async def test_a_guard_with_exceptions_passes_the_reason_on():
    chart = "id: g\nentry_points: [A]\nstates: {A: {on: {'*': {target: B, guard: {except: [X], guard: is_open}}}}, B: }"
    graph = load(f"{chart}\n", bind={"is_open": is_open})
    outcome = await refused(graph, (await started(graph, "A")).snapshot, "GO")
    assert outcome.refusal.explanations == ("it is closed",)

"""Paths through a graph with transfers can be walked."""

import asyncio

import pytest

from gatechart import AgentContext, State, StateTransitionGraph, To, Transfers, Transition
from gatechart.testing import rehearse
from gatechart.testing.paths import path_cases, walk_path


async def check(context, work):
    await asyncio.Event().wait()  # the path says what comes of it


def agrees(context, event):
    return not event.payload.get("denied")


research = StateTransitionGraph(
    "research",
    context=AgentContext,
    states=[
        State(
            "CHECKING",
            invoke=check,
            transfers=Transfers(["SEARCHING", To("WRITING", guard=agrees)], most=3, otherwise="DONE"),
        ),
        State("WRITING", final=True),
        State("DONE", final=True),
    ],
    transitions=[Transition("SEARCHING", "FOUND", "CHECKING")],
    entry_points=["CHECKING"],
)


@pytest.mark.parametrize("path", path_cases(research))
async def test_each_path_leads_where_it_says(path):
    denied = any(label == "CHECKING --transfer.WRITING" for step in path.steps for label in step.transitions)
    async with rehearse(research, path.entry_point, as_framework=True) as rehearsal:
        await walk_path(path, rehearsal, payloads={"transfer.WRITING": {"denied": denied}})


def test_the_paths_take_each_transition_that_a_first_choice_can():
    taken = {label for case in path_cases(research) for step in case.values[0].steps for label in step.transitions}
    assert taken == {
        "CHECKING --transfer.SEARCHING--> SEARCHING",
        "CHECKING --transfer.WRITING--> WRITING",
        "CHECKING --transfer.WRITING",
        "CHECKING --done.invoke.check--> DONE #2",
        "SEARCHING --FOUND--> CHECKING",
    }

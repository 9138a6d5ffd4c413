"""The graph of a desk: cases wait, are taken and worked on, and are resolved or returned."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from gatechart.contrib.human_desk import actions as do
from gatechart.contrib.human_desk.context import Answered, DeskContext, Resolved, Taken
from gatechart.errors.root import suggestion
from gatechart.graph.definition import EntryPoint, State, Then, Transition
from gatechart.graph.graph import AnyGraph, StateTransitionGraph
from gatechart.graph.handoff import Accepts
from gatechart.handoff.packet import Priority
from gatechart.values.delays import Delay
from gatechart.values.profiles import Profile

RANKS: Final[Mapping[Priority, int]] = MappingProxyType(
    {Priority.URGENT: 0, Priority.HIGH: 1, Priority.NORMAL: 2, Priority.LOW: 3}
)
"""The order of priorities for operators, the lowest number first."""

ENTRY_POINTS: Final[Mapping[Priority, str]] = MappingProxyType({priority: priority.value.upper() for priority in RANKS})
"""The entry point for each priority."""

NO_PROFILES: Final[Mapping[Priority, Profile]] = MappingProxyType({})

FAILURES: Final = ("handoff.rejected", "handoff.failed", "handoff.expired")


def desk(
    name: str = "human_desk",
    time_limit: Delay | None = "4h",
    capacity: int | None = None,
    profiles: Mapping[Priority, Profile] = NO_PROFILES,
) -> AnyGraph:
    """Return the graph of a desk where people work: each case that it receives is an agent.

    time_limit: the time after which an open case becomes overdue and urgent; None for no limit.
    capacity: the most open cases; more are rejected as an overload. None for no limit.
    profiles: the abilities of the people who handle cases of a priority ("urgent", "high", "normal", "low"); selections
        do not find the entry points of other priorities.

    A case ends with a result: `{"outcome": "resolved" or "returned", "answer", "rating", "note", "operator"}`.
    """
    for priority in profiles:
        if priority not in ENTRY_POINTS:
            raise ValueError(f"{priority!r} is not a priority; {suggestion(priority, tuple(map(str, Priority)))}")
    limit = {} if time_limit is None else {time_limit: Then(actions=do.escalate)}
    return StateTransitionGraph(
        name,
        context=DeskContext,
        states=[
            State(
                "OPEN",
                states=[
                    State("WAITING", on_entry=do.note_arrival, description="for an operator"),
                    State(
                        "TAKEN",
                        states=[
                            State("ASSIGNED", description="not started yet"),
                            State("WORKING", description="being worked on, perhaps answered already"),
                            State("SUBTASK", description="automatic agents work on a part of it"),
                        ],
                        description="an operator has it",
                    ),
                    State("RETURNING", description="offered to the agent that transferred it"),
                ],
                after=limit,
                description="neither resolved nor returned",
            ),
            State("RESOLVED", final=True, data=do.resolved, description="by the operator, with an answer"),
            State("RETURNED", final=True, data=do.returned, description="to the source agent"),
        ],
        transitions=[*_taking(), *_working(), *_splitting(), *_ending()],
        entry_points=[
            EntryPoint("WAITING", door, description=f"a case of {priority} priority", profile=profiles.get(priority))
            for priority, door in ENTRY_POINTS.items()
        ],
        accepts=Accepts(capacity),
        description="Where people work: each case is an agent, taken by an operator, resolved or returned.",
    )


def _taking() -> list[Transition[Any]]:
    return [
        Transition("WAITING", "TAKE", "ASSIGNED", guard=do.brings(Taken, "an_operator_is_named"), actions=do.assign),
        Transition("TAKEN", "RELEASE", "WAITING", actions=do.release),
    ]


def _working() -> list[Transition[Any]]:
    answered = do.brings(Answered, "there_is_a_text")
    return [
        Transition("ASSIGNED", "WORK", "WORKING"),
        Transition("ASSIGNED", "ANSWER", "WORKING", guard=answered, actions=do.answer),
        Transition("TAKEN", "ANSWER", guard=answered, actions=do.answer),
    ]


def _splitting() -> list[Transition[Any]]:
    """Transitions of sub-tasks. Several can run at a time."""
    ends = [("handoff.completed", do.note_result), *((failure, do.note_failure) for failure in FAILURES)]
    return [
        Transition("SUBTASK", "SUBTASK", guard=do.can_be_split, actions=do.split_off),
        Transition("TAKEN", "SUBTASK", "SUBTASK", guard=do.can_be_split, actions=do.split_off),
        *(Transition("SUBTASK", event, guard=do.others_are_open, actions=note) for event, note in ends),
        *(Transition("SUBTASK", event, "WORKING", actions=note) for event, note in ends),
    ]


def _ending() -> list[Transition[Any]]:
    return [
        Transition(
            "TAKEN", "RESOLVE", "RESOLVED", guard=do.brings(Resolved, "a_rating_is_from_1_to_5"), actions=do.resolve
        ),
        Transition("TAKEN", "RETURN", "RETURNED", guard=do.can_be_returned, actions=do.give_back),
        Transition("TAKEN", "RETURN_TO_AGENT", "RETURNING", guard=do.can_go_back, actions=do.hand_back),
        Transition(
            "OPEN",
            "handoff.accepted",
            "RETURNED",
            guard=do.is_taken_back,
            description="the agent may accept before it learns that the operator keeps the case",
        ),
        *(Transition("RETURNING", failure, "WORKING", actions=do.note_way_back_shut) for failure in FAILURES),
        Transition("RETURNING", "KEEP", "WORKING", description="the operator keeps it, unless it is accepted already"),
    ]


human_desk: Final = desk()
"""The desk with the defaults: four hours for a case, and no limit on open cases."""

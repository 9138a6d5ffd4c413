"""The graph of a desk: cases wait, are taken, worked on, resolved or returned."""

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
"""Cases in the order in which operators should look at them."""

ENTRY_POINTS: Final[Mapping[Priority, str]] = MappingProxyType({each: each.value.upper() for each in RANKS})
"""The entry point for each priority."""

NO_PROFILES: Final[Mapping[Priority, Profile]] = MappingProxyType({})

FAILURES: Final = ("handoff.rejected", "handoff.failed", "handoff.expired")


def desk(
    name: str = "human_desk",
    time_limit: Delay | None = "4h",
    capacity: int | None = None,
    profiles: Mapping[Priority, Profile] = NO_PROFILES,
) -> AnyGraph:
    """Return the graph of a desk where people work: each case that is handed to it is an agent.

    time_limit: after so long a case that is neither resolved nor returned becomes overdue, and urgent; None: never.
    capacity: how many cases are open at once, before others are rejected as an overload; None: any number.
    profiles: what people can do who look after cases of a priority ("urgent", "high", "normal", "low"); selections do
        not find the entry points of others.

    A case ends with a result: `{"outcome": "resolved" or "returned", "answer", "rating", "note", "operator"}`.
    """
    for each in profiles:
        if each not in ENTRY_POINTS:
            raise ValueError(f"{each!r} is no priority; {suggestion(each, tuple(map(str, Priority)))}")
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
                            State("ASSIGNED", description="not looked at yet"),
                            State("WORKING", description="looked into, perhaps answered already"),
                            State("SUBTASK", description="automatic agents do a part of it"),
                        ],
                        description="an operator has it",
                    ),
                    State("RETURNING", description="offered to the agent that gave it away"),
                ],
                after=limit,
                description="neither resolved nor returned",
            ),
            State("RESOLVED", final=True, data=do.resolved, description="by the operator, with an answer"),
            State("RETURNED", final=True, data=do.returned, description="to the agent that asked"),
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
    """Sub-tasks: another one may be asked for while one is under way."""
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
            description="perhaps before it learnt that the operator wants it after all",
        ),
        *(Transition("RETURNING", failure, "WORKING", actions=do.note_way_back_shut) for failure in FAILURES),
        Transition("RETURNING", "KEEP", "WORKING", description="the operator wants it, unless it is taken already"),
    ]


human_desk: Final = desk()
"""The desk as it is where nothing else is said: four hours for a case, and any number of them."""

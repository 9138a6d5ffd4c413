"""Declared events inside turns: what guards and actions get as `event.data`, and what is refused."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, Field, field_validator

from gatechart.context import AgentContext
from gatechart.errors import ActionFailedError
from gatechart.graph.definition import State, Transition
from gatechart.graph.events import EventType
from gatechart.graph.graph import StateTransitionGraph
from gatechart.values.agents import RefusalReason
from tests.support import applied, context_of, refused, started


class Decision(BaseModel):
    approved: bool
    days: int = 0

    @field_validator("days")
    @classmethod
    def is_known(cls, days):
        return {0: 0, 7: 7}[days]


class Notes(AgentContext):
    seen: list[str] = Field(default_factory=list)


def is_approved(context, event):
    return event.data.approved


def note(context, event):
    context.seen.append(f"{event.name} {event.data!r} {dict(event.payload)}")


def pass_on(context, event, turn):
    turn.raise_event("NOTED", {"text": event.payload["text"]})


TEXT = {"properties": {"text": {"type": "string"}}, "required": ["text"]}
leave = StateTransitionGraph(
    "leave",
    context=Notes,
    states=[State("A"), State("B")],
    transitions=[
        Transition("A", "DECIDED", "B", guard=is_approved, actions=note),
        Transition("A", "NOTED", actions=note),
        Transition("A", "OTHER", actions=note),
        Transition("A", "PASSED", actions=pass_on),
    ],
    entry_points=["A"],
    events=[EventType("DECIDED", takes=Decision), EventType("NOTED", takes=TEXT), "PASSED"],
)


async def after(name, payload):
    begun = await started(leave, "A")
    return context_of(leave, await applied(leave, begun.snapshot, name, payload)).seen


async def test_guards_and_actions_get_the_model_and_the_payload_as_it_was_sent():
    assert await after("DECIDED", {"approved": "yes"}) == [
        "DECIDED Decision(approved=True, days=0) {'approved': 'yes'}"
    ]


async def test_of_a_json_schema_the_data_are_the_values_and_undeclared_events_have_none():
    assert await after("NOTED", {"text": "hi"}) == ["NOTED {'text': 'hi'} {'text': 'hi'}"]
    assert await after("OTHER", {"text": 1}) == ["OTHER None {'text': 1}"]


async def test_a_payload_that_does_not_fit_is_refused_with_its_fields():
    begun = await started(leave, "A")
    outcome = await refused(leave, begun.snapshot, "DECIDED", {"approved": "perhaps", "days": "x"})
    assert outcome.refusal.reason is RefusalReason.PAYLOAD_MISFIT
    assert [problem.partition(":")[0] for problem in outcome.refusal.problems] == ["approved", "days"]
    assert str(outcome.refusal).startswith("the payload does not fit (approved: Input should be a valid boolean")


async def test_an_exception_of_a_validator_refuses_without_its_text():
    begun = await started(leave, "A")
    outcome = await refused(leave, begun.snapshot, "DECIDED", {"approved": True, "days": 3})
    assert outcome.refusal.problems == ("reading it raised KeyError",)


async def test_an_event_raised_in_the_turn_is_read_too():
    assert await after("PASSED", {"text": "hi"}) == ["NOTED {'text': 'hi'} {'text': 'hi'}"]


async def test_an_event_raised_with_a_payload_that_does_not_fit_undoes_the_turn():
    begun = await started(leave, "A")
    with pytest.raises(ActionFailedError, match=r"raise_event .event NOTED. raised PayloadError.*text: 1 is not"):
        await applied(leave, begun.snapshot, "PASSED", {"text": 1})

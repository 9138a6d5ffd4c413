"""Who greets the customers, and hands on what it cannot do itself to whoever can."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict

from gatechart import (
    ConversationContext,
    EntryPoint,
    Event,
    EventType,
    Fallbacks,
    Handoff,
    HandoffPacket,
    State,
    StateTransitionGraph,
    Transition,
)
from gatechart.handoff import Reason
from statecharts.support_team.rules import GENERALIST, SPECIALIST, TOP


class Stuck(BaseModel):
    """What the customer wants, and why the reception cannot do it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    problem: str
    reason: Reason


def packet(context: ConversationContext, event: Event) -> HandoffPacket:
    """Return what the next agent needs to know."""
    stuck = Stuck.model_validate(event.payload)
    return context.packet(stuck.reason).model_copy(update={"current_problem": stuck.problem})


HAND_ON: Final = Handoff(SPECIALIST, packet=packet, fallbacks=Fallbacks(GENERALIST, TOP))

reception: Final = StateTransitionGraph(
    "reception",
    context=ConversationContext,
    states=[
        State("LISTENING", description="The customer says what they want."),
        State("HANDING_ON", description="Whoever can do it is looked for."),
        State("HANDED_ON", description="Somebody else has the customer.", final=True),
    ],
    transitions=[
        Transition("LISTENING", "GOT_STUCK", "HANDING_ON", actions=HAND_ON),
        Transition("HANDING_ON", "handoff.accepted", "HANDED_ON"),
        Transition("HANDING_ON", "handoff.failed", "LISTENING", description="Nobody can do it just now."),
    ],
    entry_points=[EntryPoint("LISTENING", description="A customer comes.")],
    events=[EventType("GOT_STUCK", takes=Stuck)],
    description="Greets the customers, and hands on what it cannot do.",
)

"""A chart for each kind of service: that of the service desk, with doors to and from the others, and to a person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from gatechart import (
    ANY,
    Again,
    ConversationContext,
    EntryPoint,
    Event,
    Handoff,
    HandoffPacket,
    Ladder,
    Mode,
    Person,
    Reason,
    State,
    StateTransitionGraph,
    Transition,
)
from statecharts.service_desk import service_desk
from statecharts.service_desk.actions import settle_slots
from statecharts.service_desk.context import Asked, DeskContext, Intent, Request
from statecharts.service_desk.guards import has_counter_offer, has_required_slots

PERSON = "human_desk"
LADDER = Ladder(Again(attempts=3, first_s=0.1), Person(PERSON, at="NORMAL"))

SAME: Mapping[str, tuple[str, ...]] = {
    "area": ("pickup_city",),
    "city": ("city",),
    "destination": ("destination_city",),
    "location": ("to_location", "city_of_event"),
}
"""Where users go: the names that services have for it, by that of the service that comes after them."""


class Move(BaseModel):
    """What the user wants of another service."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    graph: str
    service: str
    intent: Intent
    slots: dict[str, str] = {}  # that the user gave with it


class Colleague(BaseModel):
    """An agent that had the conversation before, and what it knew of the user's wishes."""

    agent: str
    slots: dict[str, str] = {}


class Words(BaseModel):
    """Something that was said, word for word."""

    speaker: str
    text: str


class ServiceContext(DeskContext, ConversationContext):
    """A conversation as an agent of one service knows it."""

    colleagues: dict[str, Colleague] = Field(default_factory=dict)  # by service
    unsolved: str = ""  # the intent whose call failed last, until it is tried again


def kind_of(service: str) -> str:
    """The name of the graph for services of its kind.

    >>> kind_of("RideSharing_1")
    'ride_sharing'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", service.rpartition("_")[0]).lower()


def keep_words(context: ServiceContext, event: Event, turn) -> None:
    """Adds to the conversation what was said."""
    words = Words.model_validate(event.payload)
    context.initial_query = context.initial_query or words.text
    context.say(words.speaker, words.text, turn.now)


def move_on(context: ServiceContext, event: Event, turn) -> None:
    """Hands the conversation to the service that the user wants now: to its agent where it has one already."""
    move = Move.model_validate(event.payload)
    intent = move.intent
    context.colleagues[context.service] = Colleague(agent=turn.agent_id, slots=context.slots)
    context.entities |= {**context.answers, **context.slots}
    before = context.colleagues.get(move.service)
    slots = carried(intent, context.entities) | (before.slots if before else {}) | move.slots
    brought = {"service": move.service, "slots": slots, **intent.model_dump(mode="json")}
    colleagues = {service: each.model_dump() for service, each in context.colleagues.items()}
    turn.handoff(
        move.graph,
        at=door_for(intent, slots),
        agent=before.agent if before else None,
        packet=context.packet(
            Reason.OUT_OF_SCOPE,
            current_problem=intent.intent,
            internal_state={**brought, "colleagues": colleagues},
        ),
        ladder=LADDER,
        achieved=achieved(context),
    )


def carried(intent: Intent, known: Mapping[str, Any]) -> dict[str, str]:
    """What other services know under other names, of what the intent requires."""
    required = {slot: SAME[slot] for slot in intent.required_slots if slot in SAME}
    return {slot: known[name] for slot, names in required.items() for name in names if name in known}


def door_for(intent: Intent, slots: Mapping[str, str]) -> str:
    """The entry point at which a service is entered that is asked for this intent, with these slots given."""
    is_complete = set(intent.required_slots) <= slots.keys()
    if intent.is_transactional:
        return "CONFIRMING" if is_complete else "ELICITING_DETAILS"
    return "SEARCHING" if is_complete else "ELICITING_CRITERIA"


def achieved(context: ServiceContext) -> str:
    """What the service came to, in words."""
    did = {"done": context.successes, "failed": context.failures, "answered": len(context.answers)}
    told = [f"{count} {what}" for what, count in did.items() if count]
    return ", ".join([*told, *(f"{slot} is {value}" for slot, value in context.slots.items())])


def suggest(context: ServiceContext, event: Event) -> None:
    """Notes the value that the service expects, where it names just one; the user may agree to it."""
    asked = Asked.model_validate(event.payload)
    if len(asked.values) == 1:
        context.unconfirmed[asked.slot] = asked.values[0]


def take_up(context: ServiceContext, event: Event) -> None:
    """Goes on with a conversation that has come back."""
    context.take(HandoffPacket.model_validate(event.payload))
    context.offer, context.unconfirmed, context.proposal = {}, {}, None


def say_goodbye(context: ServiceContext, _event: Event, turn) -> None:
    """Tells the agents that had the conversation before that it is over."""
    for colleague in context.colleagues.values():
        if colleague.agent != turn.agent_id:
            turn.send(colleague.agent, "CONVERSATION_OVER")


def note_failure(context: ServiceContext, _event: Event) -> None:
    """Remembers what could not be done."""
    context.unsolved = context.intent


def try_again(context: ServiceContext, _event: Event) -> None:
    """Forgets it: something is being done."""
    context.unsolved = ""


def keep_help(context: ServiceContext, event: Event) -> None:
    """Notes what a person came to."""
    context.decisions.append(str(event.payload["result"]))
    context.offer, context.unsolved = {}, ""


def of_the_failure(context: ServiceContext, _event: Event) -> HandoffPacket:
    """All that a person needs to know of what could not be done."""
    return context.packet(
        Reason.TOOL_FAILURE,
        current_problem=f"{context.service} could not do {context.unsolved or context.intent}",
        entities={**context.entities, **context.slots},
    )


def has_failed(context: ServiceContext, _event: Event) -> bool:
    """Whether something could not be done, and was not tried again."""
    return bool(context.unsolved)


def knows_enough(context: ServiceContext, event: Event) -> bool:
    """Whether nothing is missing that the intent requires: in what a packet brings, and else in the context."""
    brought = event.payload.get("internal_state", {})
    slots, required = brought.get("slots", context.slots), brought.get("required_slots", context.required_slots)
    return set(required) <= set(slots)


TO_A_PERSON = Handoff(PERSON, at="NORMAL", mode=Mode.DELEGATE, reason=Reason.TOOL_FAILURE, packet=of_the_failure)

_ENTERED = {"GIVEN_UP": note_failure, "SEARCH": try_again, "TRANSACTION": try_again}
_DOORS = (
    *(
        EntryPoint(each.state, takes=Request, guard=knows_enough if each.guard else None)
        for each in service_desk.entry_points.values()
    ),
    EntryPoint("CONFIRMING", takes=Request, guard=knows_enough),
)
_ELICITING = ("ELICITING_CRITERIA", "ELICITING_DETAILS")
_MOVES = (
    *(Transition(state, "SERVICE_ASKED_FOR_DETAIL", actions=suggest) for state in _ELICITING),
    Transition(_ELICITING[0], "USER_AGREED", "SEARCHING", guard=has_required_slots, actions=settle_slots),
    *(Transition(state, "USER_AGREED", actions=settle_slots) for state in _ELICITING),
    Transition("COUNTER_OFFERING", "USER_DISAGREED", "CALLING_PERSON", actions=TO_A_PERSON),
    Transition("ASKING_FOR_MORE", "USER_DISAGREED", "CALLING_PERSON", guard=has_failed, actions=TO_A_PERSON),
    Transition("CALLING_PERSON", "handoff.accepted", "WITH_PERSON"),
    Transition("WITH_PERSON", "handoff.completed", "WRAPPING_UP", guard=has_counter_offer, actions=keep_help),
    Transition("WITH_PERSON", "handoff.completed", "PARTING", actions=keep_help),
    Transition("CALLING_PERSON", "handoff", "PARTING"),
    Transition("WITH_PERSON", "handoff", "PARTING"),
    Transition("HANDING_ON", "handoff.accepted", "AWAY"),
    Transition("HANDING_ON", "handoff", "WRAPPING_UP"),
    *(Transition("AWAY", f"handoff.offered.{door.name}", door.state, actions=take_up) for door in _DOORS),
    Transition("AWAY", "CONVERSATION_OVER", "ENDED"),
    Transition("PARTING", "SERVICE_SAID_GOODBYE", "ENDED", actions=say_goodbye),
    Transition(ANY, "USER_MOVED_ON", "HANDING_ON", actions=move_on),
    Transition(ANY, "SAID", actions=keep_words),
)
_REPLACED = {
    ("COUNTER_OFFERING", "USER_DISAGREED"),
    ("PARTING", "SERVICE_SAID_GOODBYE"),
    *((state, "SERVICE_ASKED_FOR_DETAIL") for state in _ELICITING),
}


def service(kind: str) -> StateTransitionGraph:
    """The chart for services of a kind."""
    kept = [each for each in service_desk.transitions if (each.source, each.event) not in _REPLACED]
    return StateTransitionGraph(
        kind,
        context=ServiceContext,
        states=(*map(_with_entry, service_desk.tree), "CALLING_PERSON", "WITH_PERSON", "HANDING_ON", "AWAY"),
        transitions=(*_MOVES, *kept),
        entry_points=_DOORS,
    )


def services(names: Iterable[str]) -> tuple[StateTransitionGraph, ...]:
    """A chart for each kind of the services named."""
    return tuple(map(service, sorted(set(map(kind_of, names)))))


def _with_entry(state: State) -> State:
    entered = _ENTERED.get(state.name)
    actions = (*state.on_entry, entered) if entered else state.on_entry
    return replace(state, on_entry=actions, states=tuple(map(_with_entry, state.states)))

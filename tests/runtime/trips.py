"""Agents that travel, and note what they meet: for tests that go back to what an agent was."""

import asyncio
from datetime import timedelta

from pydantic import Field

from gatechart import ANY, AgentContext, State, StateTransitionGraph, Transition
from gatechart.graph.definition import Then


class Trip(AgentContext):
    notes: list[str] = Field(default_factory=list)


def note(context, event):
    context.notes.append(event.payload.get("n", event.name))


def enter(context, event):
    context.notes.append("entered")


def tell(context, event, turn):
    turn.send("other", "TOLD")
    turn.after(100, "RANG", {"n": "keyed"}, key="k")
    turn.send(turn.agent_id, "RANG", {"n": "to itself"}, due=turn.now + timedelta(seconds=100))


async def search(context, work):
    work.services.append((list(context.notes), work.idempotency_key("x")))
    await asyncio.Event().wait()


def trip(version="1", extra=(), **more):
    return StateTransitionGraph(
        "trip",
        version=version,
        context=Trip,
        states=[
            "HOME",
            State("AWAY", on_entry=enter, after={"60s": Then(actions=note)}, invoke=search),
            State(
                "TOURING",
                states=["SEA", "HILLS", State("PAST", history="shallow", initial="SEA")],
            ),
            State("BACK", final=True, on_entry=enter),
        ],
        transitions=[
            Transition("HOME", "LEFT", "AWAY"),
            Transition("HOME", "TOURED", "TOURING"),
            Transition("TOURING", "DROVE", "HILLS"),
            Transition("TOURING", "STOPPED", "HOME"),
            Transition("HOME", "WENT_ON", "PAST"),
            Transition("AWAY", "RETURNED", "BACK"),
            Transition("AWAY", "GAVE_UP", "HOME"),
            Transition(ANY, "NOTED", actions=note),
            Transition(ANY, "RANG", actions=note),
            Transition(ANY, "TOLD_ALL", actions=tell),
            *extra,
        ],
        entry_points=["HOME"],
        **more,
    )

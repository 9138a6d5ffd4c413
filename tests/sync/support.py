"""A chart for the tests without `await`, and how to interrupt them."""

from __future__ import annotations

from gatechart import ANY, AgentContext, EntryPoint, Invoke, State, StateTransitionGraph, Transition


class Lamp(AgentContext):
    switched: int = 0


def count(context, event):
    context.switched += 1


def burst(context, event):
    raise OSError("the bulb burst")


def ask_outside(context, event, turn):
    turn.services(turn.agent_id)


async def glow(context, work):
    for colour in ("red", "yellow"):
        work.publish(colour)
    return await work.step("ask", work.services, work.agent_id)


lamp = StateTransitionGraph(
    "lamp",
    context=Lamp,
    states=[State("GLOWING", invoke=Invoke(glow)), State("BROKEN", final=True)],
    transitions=[
        Transition("OFF", "SWITCHED", "ON", actions=count),
        Transition("ON", "SWITCHED", "OFF", actions=count),
        Transition("OFF", "WARMED", "GLOWING"),
        Transition("GLOWING", "done.invoke.glow", "ON"),
        Transition(ANY, "OVERLOADED", actions=burst),
        Transition(ANY, "ASKED", actions=ask_outside),
        Transition(ANY, "DROPPED", "BROKEN"),
    ],
    entry_points=[EntryPoint("OFF", opens_on="DUSK"), "ON"],
)

"""A lamp, and a shade to which it can hand on."""

from gatechart import AgentContext, EntryPoint, State, StateTransitionGraph, Transition


class Note(AgentContext):
    text: str = ""


def keep(context, event):
    context.text = event.payload.get("text", "")


lamp = StateTransitionGraph(
    "lamp",
    context=Note,
    states=["OFF", "ON", State("BROKEN", final=True)],
    transitions=[
        Transition("OFF", "SWITCHED", "ON", actions=keep),
        Transition("ON", "SWITCHED", "OFF", actions=keep),
        Transition("ON", "SHATTERED", "BROKEN"),
    ],
    entry_points=[EntryPoint("OFF", opens_on=["DUSK"], takes=Note), "ON"],
    searchable="text",
)


shade = StateTransitionGraph("shade", context=Note, states=["UP", "DOWN"], entry_points=["UP"])

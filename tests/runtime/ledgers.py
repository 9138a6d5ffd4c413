"""A chart that writes down what it is told, for the tests of mail and timers."""

from collections import Counter

from pydantic import Field

from gatechart import ANY, AgentContext, State, StateTransitionGraph, Transition


class Ledger(AgentContext):
    notes: list[str] = Field(default_factory=list)


class Faults:
    """What is to fail, and how often it was tried. Services of a runtime that hosts `ledger`."""

    def __init__(self, *broken):
        self.broken = set(broken)
        self.tried = Counter()

    def check(self, name):
        self.tried[name] += 1
        if name in self.broken:
            raise RuntimeError(f"{name} is broken")


def note(context, event):
    context.notes.append(event.payload.get("n", event.name))


def try_it(context, event, turn):
    turn.services.check(event.payload["n"])
    note(context, event)


def pass_on(context, event, turn):
    """Sends what the payload lists: recipient, event, and the rest of a payload."""
    note(context, event)
    for to, name in event.payload["to"]:
        turn.send(to, name, {"n": f"{name} of {turn.agent_id}"}, event_id=event.payload.get("id"))


def set_timer(context, event, turn):
    """Sets the timers that the payload lists: seconds, what it notes, and a key."""
    for seconds, name, key in event.payload["timers"]:
        turn.after(seconds, "RANG", {"n": name}, key=key)


def cancel_timer(context, event, turn):
    note(context, event)
    turn.cancel(event.payload["key"])


def is_even(context, event):
    return event.payload.get("n", 0) % 2 == 0


ledger = StateTransitionGraph(
    "ledger",
    context=Ledger,
    states=["OPEN", State("CLOSED", final=True)],
    transitions=[
        Transition(ANY, "NOTED", actions=note),
        Transition(ANY, "RANG", actions=note),
        Transition(ANY, "TRIED", actions=try_it),
        Transition(ANY, "PASSED_ON", actions=pass_on),
        Transition(ANY, "SET", actions=set_timer),
        Transition(ANY, "CANCELLED", actions=cancel_timer),
        Transition("OPEN", "COUNTED", guard=is_even),
        Transition("OPEN", "MOVED", "ELSEWHERE"),
        Transition("OPEN", "ENDED", "CLOSED"),
    ],
    entry_points=["OPEN"],
)

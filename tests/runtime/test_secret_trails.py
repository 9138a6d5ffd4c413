"""Secrets on trails, on every home: in nothing that is stored or shown of a trail, nor in what a signal found."""

import json

import pytest
from pydantic import BaseModel, Secret, SecretStr

from gatechart import AgentContext, EventType, Runtime, State, StateTransitionGraph, ToolBox, tool
from gatechart.api.codec import SNAPSHOT, TURN
from gatechart.graph.definition import Invoke, Transition
from gatechart.graph.payload_schema import JsonSchema
from gatechart.graph.signals import Signal, Signals
from gatechart.secrets import MASK
from gatechart.signals import Noticed, Repeats, SameCall, SameQuestion, ToolFailures
from gatechart.tools import ToolPolicies
from gatechart.values.trail import Called, Moved, Said, digest_of, entries_in
from tests.runtime.support import eventually

pytestmark = [pytest.mark.sqlite_is_enough, pytest.mark.one_variant_is_enough]

PIN = "pin-0815"


class Told(BaseModel):
    text: SecretStr
    number: Secret[int] = Secret[int](0)


SCHEMA = JsonSchema(json.dumps({"type": "object", "properties": {"text": {"type": "string", "writeOnly": True}}}))


class Case(AgentContext):
    pin: SecretStr = SecretStr(PIN)
    done: bool = False


class Services:
    def __init__(self):
        self.tools = ToolBox([enter])


@tool(policies=ToolPolicies(retry="off", breaker="off"))
def enter(pin: SecretStr, number: Secret[int]) -> SecretStr:
    """Enter the pin."""
    if pin.get_secret_value() == "wrong":
        raise PermissionError("not this one")
    return pin


async def call(context, work):
    for number in (1, 2, 3):
        await work.call("enter", pin=PIN, number=number)
    for _ in range(2):
        await work.call("enter", pin="wrong", number=4)


def be_done(context, event):
    context.done = True


def bank():
    ways = [("OPEN", "HEARD"), ("HEARD", "OPEN")]
    told = [Transition(source, name, target) for name in ("MODEL", "SCHEMA", "PLAIN") for source, target in ways]
    return StateTransitionGraph(
        "bank",
        context=Case,
        events=[EventType("MODEL", takes=Told), EventType("SCHEMA", takes=SCHEMA), EventType("PLAIN")],
        states=[State("CALLING", invoke=Invoke(call))],
        transitions=[*told, Transition("CALLING", "done.invoke.call", "OPEN", actions=be_done)],
        entry_points=["OPEN", "CALLING"],
        signals=Signals(
            [
                SameQuestion(times=2, shortest=3),
                Repeats(),
                ToolFailures(),
                SameCall(),
                Signal(Noticed(lambda trail, context: {"pin": context.pin}), "own"),
            ],
            said=dict.fromkeys(("MODEL", "SCHEMA", "PLAIN"), "text"),
            task="pin",
        ),
    )


def hides_all(*things):
    for each in things:
        assert PIN not in f"{each!r} {each}"


async def shown(runtime, agent):
    snapshot, turns = await runtime.read(agent.id), await agent.history()
    hides_all(snapshot, snapshot.trail.text, snapshot.trail.slots, turns)
    hides_all(*map(TURN.plain, turns), SNAPSHOT.plain(snapshot), SNAPSHOT.write(snapshot))
    return entries_in(agent.snapshot.trail.text)


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("MODEL", Told(text=SecretStr(PIN))),
        ("MODEL", {"text": {"$secret": PIN}}),
        ("SCHEMA", {"text": {"$secret": PIN}}),
        ("PLAIN", {"text": {"$secret": PIN}}),
    ],
)
async def test_what_is_said_in_secret_is_not_on_the_trail(place, event, payload):
    async with Runtime.open(place, graphs=[bank()]) as runtime:
        agent = await runtime.start("bank", at="OPEN")
        for _ in range(6):
            await agent.send(event, payload)
        entries = await shown(runtime, agent)
        assert not [each for each in entries if isinstance(each, Said)]
        fired = [turn.fired for turn in await agent.history() if turn.fired]
        assert {each.signal for each in fired} == {"own", "repeats"}


@pytest.mark.parametrize("event", ["MODEL", "SCHEMA"])
async def test_a_secret_that_only_its_type_tells_of_is_not_on_the_trail_either(place, event):
    async with Runtime.open(place, graphs=[bank()]) as runtime:
        for pin in (PIN, "1234"):
            agent = await runtime.start("bank", at="OPEN", agent_id=pin)
            await agent.send(event, {"text": pin})
        trails = [(await runtime.read(each)).trail for each in (PIN, "1234")]
        hides_all(trails)
        first, second = ([each for each in entries_in(trail.text) if isinstance(each, Moved)] for trail in trails)
        assert first[-1] == second[-1]
        assert trails[0].slots == trails[1].slots  # a character for a short secret would give it away


async def test_secrets_among_arguments_and_results_of_calls_are_not_on_the_trail(place):
    async with Runtime.open(place, graphs=[bank()], services=Services()) as runtime:
        agent = await runtime.start("bank", at="CALLING")
        await eventually(lambda: agent.context.done)
        calls = [each for each in await shown(runtime, agent) if isinstance(each, Called)]
        assert [each.ok for each in calls] == [True] * 3 + [False] * 2
        assert {(each.arguments, each.outcome) for each in calls if each.ok} == {
            (digest_of({"pin": MASK, "number": MASK}), digest_of(MASK))
        }
        fired = [turn.fired for turn in await agent.history() if turn.fired]
        assert [each.signal for each in fired] == ["own", "same_call", "tool_failures"]
        assert fired[0].evidence[0]["pin"] == MASK

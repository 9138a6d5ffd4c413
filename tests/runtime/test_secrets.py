"""Secrets in contexts, payloads and packets: kept for the agent, masked for everybody else."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, Secret, SecretBytes, SecretStr

from gatechart import (
    AgentContext,
    EntryPoint,
    Event,
    EventType,
    Handoff,
    HandoffPacket,
    Invoke,
    Migration,
    Runtime,
    State,
    StateTransitionGraph,
    Transition,
)
from gatechart.api.codec import SNAPSHOT, TURN
from gatechart.context import read_context, write_context
from gatechart.errors import InvalidGraphError, PayloadError
from gatechart.secrets import MASK
from gatechart.turn.turns import begin, take_turn
from gatechart.values.handoffs import Reason
from tests.laws.flat_charts import laws

pytestmark = pytest.mark.sqlite_is_enough

PIN = "pin-0815"
BYTES = b"\xff\x00"


class Key(BaseModel):
    name: str = ""
    code: SecretStr | None = None


class Login(BaseModel):
    user: str
    pin: SecretStr


class Account(AgentContext):
    user: str = ""
    pin: SecretStr | None = None
    raw: SecretBytes = SecretBytes(BYTES)
    number: Secret[int] = Secret[int](0)
    keys: list[Key] = Field(default_factory=list)
    used: str = ""


def keep(context, event):
    context.pin = event.data.pin
    context.keys.append(Key(name="door", code=event.data.pin))


def use(context, _):
    context.used = f"{len(context.pin.get_secret_value())} {context.raw.get_secret_value()!r}"


async def look(context, work):
    return context.pin.get_secret_value() == PIN


def take(context, event):
    context.used += f" {event.payload['result']}"


LOGGED_IN = EventType("LOGGED_IN", takes=Login)


def bank(version="1", **more):
    points = ["OPEN", EntryPoint("LOGGED", takes=Login)]
    more = {"context": Account, "events": [LOGGED_IN], "entry_points": points} | more
    return StateTransitionGraph(
        "bank",
        version=version,
        states=[State("LOOKING", invoke=Invoke(look))],
        transitions=[
            Transition("OPEN", "LOGGED_IN", "LOGGED", actions=keep),
            Transition("LOGGED", "USED", "LOGGED", actions=use),
            Transition("LOGGED", "LOOKED", "LOOKING"),
            Transition("LOGGED", "NOTED", "LOGGED"),
            Transition("LOOKING", "done.invoke.look", "LOGGED", actions=take),
        ],
        **more,
    )


def shown_everywhere(*things):
    """Everything that people and other programs read of these: no secret is in it."""
    for each in things:
        told = f"{each!r} {each}"
        assert PIN not in told
        assert "$secret" not in told


async def test_a_secret_in_a_context_is_there_for_the_agent_and_masked_for_everybody_else(place):
    async with Runtime.open(place, graphs=[bank()]) as runtime:
        agent = await runtime.start("bank", at="OPEN", agent_id="ada")
        await agent.send("LOGGED_IN", Login(user="ada", pin=SecretStr(PIN)))
        await agent.send("USED")
        assert agent.context.pin.get_secret_value() == PIN
        assert agent.snapshot.context["pin"] == agent.snapshot.context["raw"] == MASK
        assert agent.snapshot.context["keys"] == [{"name": "door", "code": MASK}]
    async with Runtime.open(place, graphs=[bank()]) as runtime:
        agent = await runtime.resume("ada")
        await agent.send("LOOKED")
        await agent.until("LOGGED")
        assert agent.context.used == f"{len(PIN)} {BYTES!r} True"
        await agent.send("USED")
        assert agent.context.used == f"{len(PIN)} {BYTES!r}"
        assert agent.context.pin.get_secret_value() == PIN
        assert agent.context.number.get_secret_value() == 0
        found = (await runtime.find(graph="bank")).agents
        turns = await runtime.history("ada")
        assert turns[1].changed["pin"] == turns[1].event.payload["pin"] == MASK
        documents = [*map(SNAPSHOT.plain, found), *map(TURN.plain, turns), *map(SNAPSHOT.write, found)]
        shown_everywhere(agent.snapshot, found, turns, await agent.history(), agent.context, *documents)
        shown_everywhere(await runtime.snapshot_at("ada", 2), await runtime.read("ada"))


async def test_a_secret_of_an_entry_payload_and_of_waiting_mail_is_masked(place):
    async with Runtime.open(place, graphs=[bank()]) as runtime:
        agent = await runtime.start("bank", at="LOGGED", agent_id="ada", payload=Login(user="ada", pin=SecretStr(PIN)))
        given = await runtime.start("bank", at="LOGGED", payload={"user": "bob", "pin": PIN})
        for each in agent, given:
            assert each.context.pin.get_secret_value() == PIN
            shown_everywhere(each.snapshot, await each.history())
        await runtime.post("nobody", "LOGGED_IN", {"user": "ada", "pin": SecretStr(PIN)})
        shown_everywhere(await runtime.mail("nobody"))
        await runtime.start("bank", at="OPEN", agent_id="nobody")
        nobody = await runtime.resume("nobody")
        await nobody.until("LOGGED")
        assert (await runtime.resume("nobody")).context.pin.get_secret_value() == PIN


async def test_a_rollback_and_a_fork_bring_back_the_secret_itself(place):
    async with Runtime.open(place, graphs=[bank()]) as runtime:
        agent = await runtime.start("bank", at="LOGGED", payload=Login(user="ada", pin=SecretStr(PIN)))
        await agent.send("USED")
        await agent.rollback(1, reason="once more")
        assert agent.context.pin.get_secret_value() == PIN
        assert (await runtime.fork(agent.id, 1)).context.pin.get_secret_value() == PIN


class Renamed(AgentContext):
    user: str = ""
    code: SecretStr | None = None


def rename(stored):
    context = stored.context
    assert context["pin"] == PIN  # what a migration makes of it is up to the migration
    return replace(stored, context={"user": context["user"], "code": context["pin"]})


class Quiet(HandoffPacket):
    pin: SecretStr


class Open(HandoffPacket):
    pin: str = ""


def vault(takes=None):
    maps = None if takes is None else (lambda packet: {"pin": packet.pin})
    return StateTransitionGraph(
        "vault",
        context=Account,
        transitions=[Transition("SHUT", "OPENED", "OPEN")],
        entry_points=[EntryPoint("SHUT", takes=takes, maps=maps)],
    )


async def test_a_handoff_hands_on_a_secret_only_if_the_type_of_its_packet_says_so(place):
    quiet = Handoff("vault", at="SHUT", packet=lambda context, _: Quiet(pin=context.pin))
    for number, (handoff, takes, pin) in enumerate([(Handoff("vault", at="SHUT"), None, None), (quiet, Quiet, PIN)]):
        graph = bank_that_hands_on(handoff)
        async with Runtime.open(place, graphs=[graph, vault(takes)]) as runtime:
            login = Login(user="ada", pin=SecretStr(PIN))
            agent = await runtime.start("bank", at="LOGGED", agent_id=f"ada-{number}", payload=login)
            await agent.send("HANDED")
            await agent.until("GONE")
            [handed] = await runtime.handoffs(source=agent.id)
            target = await runtime.resume(handed.target)
            assert (target.context.pin and target.context.pin.get_secret_value()) == pin
            assert target.context.user == ("" if takes else "ada")
            shown_everywhere(handed, await target.history(), await agent.history())


@pytest.mark.parametrize(("given", "reason"), [({}, Reason.LOW_CONFIDENCE), ({"reason": "timeout"}, Reason.TIMEOUT)])
async def test_a_handoff_as_an_action_has_its_own_reason_or_that_of_its_packet(given, reason):
    handoff = Handoff("vault", at="SHUT", packet=lambda *_: HandoffPacket(reason="low confidence"), **given)
    async with Runtime.open("memory:", graphs=[bank_that_hands_on(handoff), vault()]) as runtime:
        agent = await runtime.start("bank", at="LOGGED", payload=Login(user="ada", pin=SecretStr(PIN)))
        await agent.send("HANDED")
        assert [each.reason for each in await runtime.handoffs()] == [reason]


def bank_that_hands_on(handoff):
    return StateTransitionGraph(
        "bank",
        context=Account,
        transitions=[
            Transition("LOGGED", "HANDED", "HANDING", actions=handoff),
            Transition("HANDING", "handoff.accepted", "GONE"),
            Transition("HANDING", "handoff.rejected", "LOST"),
        ],
        entry_points=[EntryPoint("LOGGED", takes=Login)],
    )


def test_a_secret_cannot_be_searchable():
    with pytest.raises(InvalidGraphError, match="its values are secrets, which nobody may search for"):
        bank(searchable=["pin"])
    with pytest.raises(InvalidGraphError, match="its values are secrets"):
        bank(searchable=["number"])


async def test_a_payload_is_not_itself_a_secret():
    async with Runtime.open("memory:", graphs=[bank()]) as runtime:
        agent = await runtime.start("bank", at="OPEN")
        with pytest.raises(PayloadError, match="name the secret, as in"):
            await agent.send("LOGGED_IN", {"$secret": PIN})


async def test_whoever_sends_plain_json_can_mark_a_secret():
    async with Runtime.open("memory:", graphs=[bank()]) as runtime:
        agent = await runtime.start("bank", at="OPEN")
        await agent.send("LOGGED_IN", {"user": "ada", "pin": {"$secret": PIN}})
        assert agent.context.pin.get_secret_value() == PIN
        shown_everywhere(await agent.history())


async def test_a_migration_sees_the_secret_and_the_next_version_masks_it(place):
    async with Runtime.open(place, graphs=[bank()]) as runtime:
        login = Login(user="ada", pin=SecretStr(PIN))
        await runtime.start("bank", at="LOGGED", agent_id="ada", payload=login)
    newer = bank("2", context=Renamed, events=(), entry_points="OPEN", migrations=[Migration("1", "2", rename)])
    async with Runtime.open(place, graphs=[newer]) as runtime:
        agent = await runtime.resume("ada")
        await agent.send("NOTED")
        assert agent.context == Renamed(user="ada", code=SecretStr(PIN))
        shown_everywhere(agent.snapshot, await agent.history())


def test_the_stored_text_marks_secrets_so_that_a_reader_without_the_graph_can_mask_them():
    account = Account(pin=SecretStr(PIN))
    text = write_context(account)
    assert json.loads(text)["pin"] == {"$secret": PIN}
    assert read_context(Account, text) == account


CHANGES = {
    "text": lambda context, value: setattr(context, "pin", SecretStr(value)),
    "bytes": lambda context, value: setattr(context, "raw", SecretBytes(value.encode("utf-16-le"))),
    "number": lambda context, value: setattr(context, "number", Secret[int](len(value))),
    "item": lambda context, value: context.keys.append(Key(name=value[:1], code=SecretStr(value))),
    "gone": lambda context, _: setattr(context, "pin", None),
}


def change(context, event):
    CHANGES[event.payload["what"]](context, event.payload["value"])


def changing():
    return StateTransitionGraph(
        "changing",
        context=Account,
        transitions=[Transition("OPEN", "CHANGED", "OPEN", actions=change)],
        entry_points=["OPEN"],
    )


@laws
@given(st.lists(st.tuples(st.sampled_from(sorted(CHANGES)), st.text('a*"{ü€', max_size=12)), max_size=8))
def test_an_agent_with_secrets_that_was_restored_equals_one_that_never_stopped(changes):
    asyncio.run(go_both_ways(changes))


async def go_both_ways(changes):
    start = datetime(2026, 1, 1, tzinfo=UTC)
    lasting, other, event = changing(), changing(), Event("agent.started.OPEN", {}, start)
    begun = await begin(lasting, lasting.entry_point("OPEN"), None, "a", event)
    stays = restored = begun.snapshot
    expected = Account()
    for what, value in changes:
        happened = Event("CHANGED", {"what": what, "value": value}, start)
        stays = (await take_turn(lasting, stays, happened)).snapshot
        other.contexts.take("a", restored.context_text)  # a new process has no context in memory
        restored = (await take_turn(other, restored, happened)).snapshot
        CHANGES[what](expected, value)
        assert stays.context_text == restored.context_text
        assert lasting.context_of(restored) == expected

"""What gets a new name that people read: no look-alikes and no hidden characters, in any way in and on every store."""

import asyncio

import pytest

from gatechart import AgentContext, EntryPoint, Runtime, StateTransitionGraph, Transition
from gatechart.alerts.mailbox import Mailbox
from gatechart.alerts.sinks import Alerts
from gatechart.errors import LookAlikeError, PayloadError
from gatechart.testing import VirtualClock
from gatechart.values.handoffs import HandoffStatus

pytestmark = pytest.mark.sqlite_is_enough

HIDDEN = [
    "order\N{ZERO WIDTH SPACE}-17",
    "order-17\N{RIGHT-TO-LEFT OVERRIDE}",
    "\N{CYRILLIC SMALL LETTER O}rder-17",
    "order-17 ",
    "order\n17",
]
CLEAR = ["заказ-17", "订单-17", "طلب-17", "order-17", "order 17"]


class Case(AgentContext):
    target: str = ""


def offer(context, event, turn):
    turn.handoff("desk", at="OPEN", agent=event.payload["to"])


case = StateTransitionGraph(
    "case",
    context=Case,
    states=["OPEN", "OFFERING"],
    transitions=[
        Transition("OPEN", "NOTED", "OPEN"),
        Transition("OPEN", "OFFERED", "OFFERING", actions=offer),
        Transition("OFFERING", "handoff.rejected", "OPEN"),
        Transition("OFFERING", "handoff.accepted", "OPEN"),
    ],
    entry_points=[EntryPoint("OPEN", opens_on=["CALLED"])],
)


desk = StateTransitionGraph("desk", states=["OPEN"], transitions=[], entry_points=["OPEN"])


@pytest.fixture
async def runtime(runtime_url):
    async with Runtime.open(runtime_url, graphs=[case, desk], clock=VirtualClock()) as runtime:
        yield runtime


@pytest.fixture(params=["memory", "sqlite"])
def runtime_url(request, sqlite_url):
    return "memory:" if request.param == "memory" else sqlite_url


@pytest.mark.parametrize("name", HIDDEN)
async def test_no_new_agent_gets_an_id_that_readers_may_mistake(runtime, name):
    first = await runtime.start("case", at="OPEN", agent_id="first")
    await first.send("NOTED")
    for call in (
        lambda: runtime.start("case", at="OPEN", agent_id=name),
        lambda: runtime.start("case", at="OPEN", idempotency_key=name),
        lambda: runtime.start_on("CALLED", agent_id=name),
        lambda: runtime.fork("first", version=1, new_id=name),
    ):
        with pytest.raises(PayloadError, match="visible characters, words of one script each"):
            await call()
    assert [each.agent_id for each in (await runtime.find()).agents] == ["first"]


@pytest.mark.parametrize("name", CLEAR)
async def test_an_agent_has_an_id_in_any_script(runtime, name):
    agent = await runtime.start("case", at="OPEN", agent_id=name)
    await agent.send("NOTED")
    assert (await runtime.resume(name)).id == name


@pytest.mark.parametrize("name", HIDDEN)
async def test_no_handoff_starts_an_agent_with_such_an_id(runtime, name):
    source = await runtime.start("case", at="OPEN", agent_id="source")
    await source.send("OFFERED", {"to": name})
    await asyncio.wait_for(source.until("OPEN"), 10)
    (record,) = await runtime.handoffs()
    assert record.status is HandoffStatus.REJECTED
    assert [each.agent_id for each in (await runtime.find()).agents] == ["source"]


@pytest.mark.parametrize("name", HIDDEN)
async def test_no_schedule_has_such_a_name(runtime, name):
    with pytest.raises(PayloadError, match="visible characters"):
        await runtime.schedule(name, "case", at="OPEN", every="1d")
    assert await runtime.schedules() == ()


async def test_no_schedule_is_named_like_another_one(runtime):
    for name in ("nightly", "ABC", "заказ"):
        await runtime.schedule(name, "case", at="OPEN", every="1d")
    for name, like in (("АВС", "ABC"), ("ｎightly", "nightly")):
        with pytest.raises(LookAlikeError) as refused:
            await runtime.schedule(name, "case", at="OPEN", every="1d")
        assert (refused.value.id, refused.value.existing) == (name, like)
    await runtime.schedule("заказ", "case", at="OPEN", every="2d")  # a change of the one that is there
    assert {each.name for each in await runtime.schedules()} == {"nightly", "ABC", "заказ"}


@pytest.mark.parametrize("name", HIDDEN)
def test_no_sink_has_such_a_name(name):
    with pytest.raises(PayloadError, match="sink"):
        Alerts({name: Mailbox("localhost", sender="a@example.org", to=["ops@example.org"])})


@pytest.mark.parametrize("other", ["ОРЅ", "ｏps", "0PS"])
def test_no_sink_is_named_like_another_one(other):
    sink = Mailbox("localhost", sender="a@example.org", to=["ops@example.org"])
    with pytest.raises(LookAlikeError, match="the name of a sink"):
        Alerts({"OPS": sink, other: sink})

"""The agents of gatechart itself are in views only on request: in `changes`, `mail`, and in pages of both."""

import asyncio

import pytest

from gatechart import Runtime, StateTransitionGraph, Transition
from gatechart.values.mail import MailStatus

pytestmark = pytest.mark.sqlite_is_enough

case = StateTransitionGraph(
    "case", states=["OPEN"], transitions=[Transition("OPEN", "NOTED", "OPEN")], entry_points=["OPEN"]
)


@pytest.fixture
async def runtime(place):
    async with Runtime.open(place, graphs=[case]) as runtime:
        yield runtime


async def of_next(changes, count):
    return [(await asyncio.wait_for(anext(changes), 30)).agent_id for _ in range(count)]


async def test_turns_of_the_framework_are_among_the_changes_on_request(runtime):
    async with runtime.changes() as usual, runtime.changes(framework=True) as whole:
        await runtime.schedule("nightly", "case", at="OPEN", every="1d")
        agent = await runtime.start("case", at="OPEN", agent_id="a")
        await agent.send("NOTED")
        assert await of_next(usual, 2) == ["a", "a"]
        assert await of_next(whole, 3) == ["schedule:nightly", "a", "a"]


async def test_mail_to_agents_of_the_framework_is_listed_on_request_or_by_name(runtime):
    await runtime.schedule("nightly", "case", at="OPEN", every="1d")
    for name in ("alarms", "b", "watchdogs"):  # the names of applications' agents that begin alike
        await runtime.post(name, "NOTED")
    timer, *others = await runtime.mail(framework=True)
    assert (timer.recipient, [mail.recipient for mail in others]) == ("schedule:nightly", ["alarms", "b", "watchdogs"])
    assert await runtime.mail() == others
    assert await runtime.mail(status=MailStatus.WAITING, limit=1) == others[:1]
    assert await runtime.mail(after=others[0].number) == others[1:]
    assert await runtime.mail("schedule:nightly") == [timer]
    assert await runtime.mail("schedule:nightly", framework=False) == [timer]

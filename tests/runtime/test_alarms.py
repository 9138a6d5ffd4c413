"""Alarms from outside, and agents that failed and go on, on every home."""

import asyncio

import pytest
from pydantic import Field

from gatechart import AgentContext, Invoke, Retry, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import EventIdReusedError, NotFailedError, PayloadError, UnknownAgentError

pytestmark = pytest.mark.sqlite_is_enough


class Case(AgentContext):
    team: str = "red"
    heard: list[str] = Field(default_factory=list)


def note(context, event):
    context.heard.append(f"{event.name} {event.payload.get('level', '')} {event.origin.value}")


class Press:
    def __init__(self):
        self.broken = True


async def print_it(context, work):
    if work.services.broken:
        raise ConnectionError("the press is broken")
    return "printed"


case = StateTransitionGraph(
    "case",
    context=Case,
    searchable="team",
    states=[
        "OPEN",
        State("PRINTING", invoke=Invoke(print_it, retry=Retry(attempts=2, first_s=0.01))),
        State("PRINTED", final=True),
        State("FAILED", final=True, failed=True),
    ],
    transitions=[
        Transition("OPEN", "alarm.disk", actions=note),
        Transition("OPEN", "PRINT", "PRINTING"),
        Transition("PRINTING", "done.invoke.print_it", "PRINTED"),
        Transition("PRINTING", "error.invoke.print_it", "FAILED"),
    ],
    entry_points=["OPEN", "PRINTING"],
)


async def heard(runtime, agent_id):
    """What the agent heard, as soon as it heard something."""
    async with asyncio.timeout(30):
        while True:
            found = (await runtime.read(agent_id)).context["heard"]
            if found:
                return found
            await asyncio.sleep(0.02)


async def test_an_alarm_reaches_the_agents_that_it_names_once(place):
    async with Runtime.open(place, graphs=[case], services=Press()) as runtime:
        for name in ("a", "b"):
            await runtime.start("case", at="OPEN", agent_id=name)
        told = {"alarm_id": "m-1", "payload": {"level": "90 %"}, "to": ["a", "b", "a"]}
        raised = await runtime.alarm("disk", **told)
        assert (raised.event, raised.recipients, raised.repeat) == ("alarm.disk", ("a", "b"), False)
        again = await runtime.alarm("alarm.disk", **told)
        assert (again.recipients, again.repeat) == (("a", "b"), True)
        for name in ("a", "b"):
            assert await heard(runtime, name) == ["alarm.disk 90 % framework"]
        with pytest.raises(EventIdReusedError):
            await runtime.alarm("disk", alarm_id="m-1", to="a")


async def test_an_alarm_reaches_the_agents_that_match_or_none_of_too_many(place):
    async with Runtime.open(place, graphs=[case], services=Press()) as runtime:
        for name in ("a", "b"):
            await runtime.start("case", at="OPEN", agent_id=name)
        with pytest.raises(PayloadError, match="more than 1 agents match"):
            await runtime.alarm("disk", alarm_id="m-1", graph="case", where={"team": "red"}, most=1)
        raised = await runtime.alarm("disk", alarm_id="m-2", graph="case", where={"team": "red"})
        assert sorted(raised.recipients) == ["a", "b"]
        assert await heard(runtime, "b") == ["alarm.disk  framework"]


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"name": "watchdog.stuck", "to": "a"}, "the first word is not watchdog"),
        ({"name": "watchdog", "to": "a"}, "the first word is not watchdog"),
        ({"name": "a b", "to": "a"}, "separated by dots"),
        ({"name": "disk"}, "it has no recipients, or both"),
        ({"name": "disk", "to": "a", "graph": "case"}, "it has no recipients, or both"),
    ],
)
async def test_an_alarm_that_cannot_be_is_refused(wrong, problem):
    async with Runtime.open("memory:", graphs=[case], services=Press()) as runtime:
        await runtime.start("case", at="OPEN", agent_id="a")
        with pytest.raises(PayloadError, match=problem):
            await runtime.alarm(alarm_id="m-1", **wrong)
        with pytest.raises(UnknownAgentError):
            await runtime.alarm("disk", alarm_id="m-1", to=["a", "nobody"])
        assert len((await runtime.find()).agents) == 1


async def test_what_made_an_agent_fail_is_kept_and_it_goes_on_from_there(place):
    press = Press()
    async with Runtime.open(place, graphs=[case], services=press) as runtime:
        agent = await runtime.start("case", at="OPEN", agent_id="a")
        with pytest.raises(NotFailedError, match="has not failed"):
            await runtime.retry_agent("a", reason="why not")
        await agent.send("PRINT")
        async with asyncio.timeout(30):
            while (await runtime.read("a")).status == "active":  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        failure = await runtime.failure("a")
        assert (failure.type, failure.message, failure.attempts) == ("ConnectionError", "the press is broken", 2)
        assert (failure.event, failure.source, failure.state) == (
            "error.invoke.print_it",
            ("PRINTING",),
            ("FAILED",),
        )
        assert "print_it" in failure.traceback
        press.broken = False
        snapshot = await runtime.retry_agent("a", reason="the press is mended", idempotency_key="r-1")
        assert snapshot.version == failure.version + 1
        async with asyncio.timeout(30):
            while (await runtime.read("a")).status != "done":  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        again = await runtime.retry_agent("a", reason="the press is mended", idempotency_key="r-1")
        assert (again.status, again.configuration) == ("done", ("PRINTED",))
        with pytest.raises(NotFailedError):
            await runtime.failure("a")

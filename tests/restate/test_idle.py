"""Invokes that only wait: the engine waits for them, and what else they do is not held up."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from gatechart import Runtime, State, StateTransitionGraph, Transition
from gatechart.graph.definition import Invoke
from gatechart.restate import auxiliary_objects
from tests.restate.engines import eventually


class Services:
    def __init__(self):
        self.calls = Counter()

    def call(self, name):
        self.calls[name] += 1
        return name


def waiting(function, **more):
    return StateTransitionGraph(
        "waiting",
        states=[State("BUSY", invoke=Invoke(function, id="wait", **more)), "DONE", "FAILED"],
        transitions=[
            Transition("BUSY", "done.invoke.wait", "DONE"),
            Transition("BUSY", "error.invoke.wait", "FAILED"),
        ],
        entry_points=["BUSY"],
    )


async def cool(context, work):
    work.services.call("begun")
    await work.sleep("cooling", 3)
    work.services.call("cold")


async def impatient(context, work):
    try:
        await asyncio.wait_for(work.sleep("cooling", 600), 0.5)
    except TimeoutError:
        await work.step("given up", work.services.call, "given up")


async def side_by_side(context, work):
    async def beside():
        await asyncio.sleep(0.3)
        await work.step("beside", work.services.call, "beside")

    await asyncio.gather(work.sleep("cooling", 1.5), beside(), work.sleep("short", 0.6))


@pytest.fixture
def services():
    return Services()


async def test_an_invoke_that_only_waits_is_suspended_and_begins_anew_when_its_wait_is_over(
    place, services, monkeypatch
):
    monkeypatch.setattr(auxiliary_objects, "MARGIN", timedelta(seconds=0.4))
    terms = {"idle_s": 0.1, "invoke_s": 0.4}
    async with Runtime.open(place, graphs=[waiting(cool, timeout_s=1)], services=services, **terms) as runtime:
        agent = await runtime.start("waiting", at="BUSY")

        async def is_suspended():
            asked = f"SELECT status FROM sys_invocation WHERE target_service_name = '{place.namespace}.Invokes'"
            return [row["status"] for row in place.engine.rows(asked)] == ["suspended"]

        await eventually(is_suspended)
        assert services.calls == {"begun": 1}
        await agent.until("DONE", timeout=20)
        assert services.calls == {"begun": 2, "cold": 1}


@pytest.mark.parametrize("function", [impatient, side_by_side])
async def test_what_an_invoke_does_beside_its_wait_is_not_held_up_by_the_engine(place, services, function):
    async with Runtime.open(place, graphs=[waiting(function)], services=services, idle_s=0.1) as runtime:
        agent = await runtime.start("waiting", at="BUSY")
        await agent.until("DONE", timeout=20)
        assert services.calls.total() == 1


async def test_the_time_limit_of_an_idle_invoke_stands_still(place, services):
    async def over_time(context, work):
        await work.sleep("cooling", 1.2)
        await work.sleep(30)

    async with Runtime.open(place, graphs=[waiting(over_time, timeout_s=1)], services=services) as runtime:
        agent = await runtime.start("waiting", at="BUSY")
        await agent.until("FAILED", timeout=20)
        await runtime.caught_up(agent.id)
        begun, failed = await runtime.history(agent.id)
        assert failed.event.payload["type"] == "TimeoutError"
        assert failed.event.time - begun.event.time > timedelta(seconds=2.2)


async def test_leaving_the_state_ends_an_invoke_that_the_engine_waits_for(place, services):
    async def cool_for_long(context, work):
        try:
            await work.sleep("cooling", 600)
        finally:
            work.services.call("ended")

    graph = StateTransitionGraph(
        "waiting",
        states=[State("BUSY", invoke=cool_for_long), "LEFT"],
        transitions=[Transition("BUSY", "LEFT", "LEFT")],
        entry_points=["BUSY"],
    )
    async with Runtime.open(place, graphs=[graph], services=services, idle_s=0.1) as runtime:
        agent = await runtime.start("waiting", at="BUSY")

        async def engine_waits():
            asked = "SELECT j.entry_type AS kind FROM sys_journal j JOIN sys_invocation i ON i.id = j.id"
            rows = place.engine.rows(f"{asked} WHERE i.target_service_name = '{place.namespace}.Invokes'")
            return any("Sleep" in row["kind"] for row in rows)

        await eventually(engine_waits)
        assert services.calls == {}
        await agent.send("LEFT")

        async def has_ended():
            return services.calls["ended"] == 1

        await eventually(has_ended)
        await runtime.at_rest()

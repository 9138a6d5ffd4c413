"""Records that belong to an agent: they outlive the invocations that write them, on every home."""

from datetime import UTC, datetime

import pytest

from gatechart import Retry, State, StateTransitionGraph, Step, Transition
from gatechart.errors import PayloadError
from gatechart.graph.definition import Invoke
from gatechart.testing import VirtualClock
from tests.runtime.busy_agents import Services, Task, busy, note, noted, opened
from tests.runtime.support import eventually

pytestmark = pytest.mark.sqlite_is_enough

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock(place):
    return VirtualClock(NOON)


@pytest.fixture
def services():
    return Services()


async def talk(context, work):
    """Takes a step for the agent, then waits to be left; takes the same and another one when it is invoked again."""
    mine = await work.for_agent("talk")
    first = await mine.step("first", work.services.call, "first")
    if not work.services.open.is_set():
        work.services.call("waits")
        await work.services.open.wait()
    return [first, await mine.step("second", work.services.call, "second"), list(mine.journal.entries)]


def talking():
    """A graph whose state BUSY talks, and which comes to rest in DONE."""
    return StateTransitionGraph(
        "talking",
        context=Task,
        states=[State("BUSY", invoke=talk)],
        transitions=[
            Transition("BUSY", "done.invoke.talk", "DONE", actions=note),
            Transition("BUSY", "LEFT", "IDLE"),
            Transition("IDLE", "BEGAN", "BUSY"),
        ],
        entry_points=["IDLE", "BUSY"],
    )


async def results(runtime):
    """The result of each talk of the agent, once it is done."""
    await (await runtime.resume("a")).until("DONE")
    return [payload["result"] for _, payload in (await runtime.resume("a")).context.notes]


async def left(agent, services):
    """Leave the state in the midst of the function, and come back."""
    await eventually(lambda: services.calls["waits"] == 1)
    await agent.send("LEFT")
    services.open.set()
    await agent.send("BEGAN")


@pytest.mark.needs("takes_a_clock")
async def test_steps_of_an_agent_are_not_taken_again_when_it_comes_back_to_the_state(place, clock, services):
    async with opened(place, busy(Invoke(talk)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await left(agent, services)
        await noted(agent, 1)
        await agent.send("LEFT")
        await agent.send("BEGAN")
        result = ["first 1", "second 1", ["first", "second"]]
        assert await noted(agent, 2) == [["done.invoke.talk", {"result": result}]] * 2
        assert services.calls == {"first": 1, "second": 1, "waits": 1}


async def test_steps_of_an_agent_outlive_the_state_and_the_process(place, services):
    async with opened(place, talking(), services, None) as runtime:
        agent = await runtime.start("talking", at="BUSY", agent_id="a")
        await eventually(lambda: services.calls["waits"] == 1)
        await agent.send("LEFT")
    services.open.set()
    async with opened(place, talking(), services, None) as runtime:
        await (await runtime.resume("a")).send("BEGAN")
        assert await results(runtime) == [["first 1", "second 1", ["first", "second"]]]
    assert services.calls == {"first": 1, "second": 1, "waits": 1}


async def test_an_agent_that_is_erased_leaves_no_records_to_the_next_of_its_id(place, services):
    services.open.set()
    async with opened(place, talking(), services, None) as runtime:
        for number in (1, 2):
            await runtime.start("talking", at="BUSY", agent_id="a")
            assert await results(runtime) == [[f"first {number}", f"second {number}", ["first", "second"]]]
            await runtime.erase("a")


async def test_a_rollback_leaves_an_agents_records_and_a_fork_has_none(place, services):
    services.open.set()
    async with opened(place, talking(), services, None) as runtime:
        agent = await runtime.start("talking", at="BUSY", agent_id="a")
        await agent.until("DONE")
        await (await runtime.resume("a")).rollback(1, reason="again")
        assert await results(runtime) == [["first 1", "second 1", ["first", "second"]]]
        fork = await runtime.fork("a", 1, new_id="b")
        await fork.until("DONE")
        [[_, payload]] = (await runtime.resume("b")).context.notes
    assert payload["result"] == ["first 2", "second 2", ["first", "second"]]


@pytest.mark.needs("takes_a_clock")
async def test_tries_of_an_agents_step_begin_anew_with_each_invocation(place, clock, services):
    async def tries(context, work):
        mine = await work.for_agent("talk")
        return await mine.step(Step("first", retry=Retry(attempts=2, first_s=0)), work.services.call, "first")

    services.fails["first"] = 3
    async with opened(place, busy(Invoke(tries)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [(kind, _)] = await noted(agent, 1)
        assert (kind, services.calls["first"]) == ("error.invoke.tries", 2)
        await agent.send("LEFT")
        await agent.send("BEGAN")
        assert (await noted(agent, 2))[1] == ["done.invoke.tries", {"result": "first 4"}]


@pytest.mark.parametrize("name", ["gatechart.talk", ""])
async def test_a_journal_has_a_name_that_a_store_can_keep_and_the_framework_does_not_give(services, name):
    async def talks(context, work):
        try:
            await work.for_agent(name)
        except PayloadError as error:
            return str(error)

    async with opened("memory:", busy(Invoke(talks)), services, None) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [(_, payload)] = await noted(agent, 1)
        assert "journal" in payload["result"]


async def test_an_entry_replaces_others_and_the_marks_of_their_tries(services):
    async def talks(context, work):
        mine = await work.for_agent("talk")
        for name in "ab":
            await mine.step(Step(name, retry=Retry(attempts=2, first_s=0)), work.services.call, name)
        assert any("retry" in each for each in mine.journal._recorded)
        await mine.journal.replace("sum", "1", ["a"])
        again = await work.for_agent("talk")
        return [
            list(mine.journal.entries),
            list(again.journal.entries),
            again.journal.attempt,
            len(again.journal._recorded),
        ]

    services.fails["a"] = 1
    async with opened("memory:", busy(Invoke(talks)), services, None) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [(_, payload)] = await noted(agent, 1)
        assert payload["result"] == [["b", "sum"], ["b", "sum"], 0, 3]

"""What invokes record and wait for: the framework's marks beside the results of steps, and waits that are durable."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from gatechart import Step
from gatechart.graph.definition import Invoke
from gatechart.hosting.limits import Limits
from gatechart.stores.memory import MemoryStore
from gatechart.testing import VirtualClock
from gatechart.tools import ToolError
from gatechart.values.commits import StepRecord
from gatechart.values.delays import Retry
from tests.runtime.busy_agents import Services, busy, noted, opened
from tests.runtime.support import at_rest, eventually

pytestmark = pytest.mark.sqlite_is_enough

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
ONE = Limits(invokes=1)


@pytest.fixture
def clock():
    return VirtualClock(NOON)


@pytest.fixture
def services():
    return Services()


async def cool(context, work):
    work.services.call("cool")
    await work.sleep("cooling", "2d")
    return "cold"


async def search(context, work):
    return {"call": work.services.call("search")}


async def until_due(clock, moment):
    """Returns once the next sleeper is due at that moment."""
    await eventually(lambda: clock.next_due == moment)


# Names


@pytest.mark.parametrize("name", ["gatechart.", "gatechart.retry.0.1.label"])
async def test_a_step_cannot_have_a_name_that_only_the_framework_gives(place, clock, services, name):
    async def steps(context, work):
        await work.step(name, work.services.call, "label")

    async with opened(place, busy(Invoke(steps)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [[event, payload]] = await noted(agent, 1)
        assert (event, payload["type"]) == ("error.invoke.steps", "PayloadError")
        assert "names that begin with 'gatechart.' are the framework's own" in payload["message"]
        assert services.calls["label"] == 0


@pytest.mark.one_variant_is_enough
@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        (("gatechart.x", 1), "PayloadError"),
        (("", 1), "PayloadError"),
        ((5, 1), "PayloadError"),
        (("cooling", "soon"), "ValueError"),
        (("cooling",), "ValueError"),
        ((-1,), "ValueError"),
    ],
)
async def test_a_wait_needs_a_name_of_its_own_and_a_duration(place, clock, services, asked, kind):
    async def waits(context, work):
        await work.sleep(*asked)

    async with opened(place, busy(Invoke(waits)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [[event, payload]] = await noted(agent, 1)
        assert (event, payload["type"]) == ("error.invoke.waits", kind)


async def test_a_wait_may_have_the_name_of_a_step_but_not_of_another_wait(place, clock, services):
    async def waits(context, work):
        await work.step("same", work.services.call, "same")
        await work.sleep("same", 0)
        work.services.call("slept")
        await work.sleep("same", 0)

    async with opened(place, busy(Invoke(waits)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [[event, payload]] = await noted(agent, 1)
        assert (event, payload["type"]) == ("error.invoke.waits", "StepRepeatedError")
        assert services.calls == {"same": 1, "slept": 1}


# Waits that last


@pytest.mark.needs("takes_a_clock")
async def test_a_named_wait_ends_at_one_moment_whoever_waits_for_it(place, clock, services):
    async with opened(place, busy(Invoke(cool)), services, clock) as runtime:
        await runtime.start("busy", at="BUSY", agent_id="b-1")
        await until_due(clock, NOON + timedelta(days=2))
    clock.advance("30h")
    async with opened(place, busy(Invoke(cool)), services, clock) as runtime:
        agent = await runtime.resume("b-1")
        await until_due(clock, NOON + timedelta(days=2))
        clock.advance("17h")
        await at_rest(runtime, clock)
        assert agent.context.notes == []
        clock.advance("1h")
        assert await noted(agent, 1) == [["done.invoke.cool", {"result": "cold"}]]
    assert services.calls == {"cool": 2}


@pytest.mark.needs("takes_a_clock")
async def test_a_wait_that_is_over_is_not_waited_for_again(place, clock, services):
    async with opened(place, busy(Invoke(cool)), services, clock) as runtime:
        await runtime.start("busy", at="BUSY", agent_id="b-1")
        await eventually(lambda: clock.next_due is not None)
    clock.advance("3d")
    async with opened(place, busy(Invoke(cool)), services, clock) as runtime:
        assert await noted(await runtime.resume("b-1"), 1) == [["done.invoke.cool", {"result": "cold"}]]


@pytest.mark.needs("takes_a_clock")
async def test_a_clock_that_was_ahead_makes_no_wait_longer(place, clock, services):
    clock.at = NOON + timedelta(days=365)
    async with opened(place, busy(Invoke(cool)), services, clock) as runtime:
        await runtime.start("busy", at="BUSY", agent_id="b-1")
        await eventually(lambda: clock.next_due is not None)
    clock.at = NOON
    async with opened(place, busy(Invoke(cool)), services, clock) as runtime:
        await until_due(clock, NOON + timedelta(days=2))
        clock.advance("2d")
        await noted(await runtime.resume("b-1"), 1)


@pytest.mark.needs("takes_a_clock")
async def test_a_pause_without_a_name_begins_anew_in_a_repeat(place, clock, services):
    async def pause(context, work):
        await work.sleep("1h")

    async with opened(place, busy(Invoke(pause)), services, clock) as runtime:
        await runtime.start("busy", at="BUSY", agent_id="b-1")
        await eventually(lambda: clock.next_due is not None)
    clock.advance("50m")
    async with opened(place, busy(Invoke(pause)), services, clock) as runtime:
        await until_due(clock, NOON + timedelta(minutes=110))
        clock.advance("1h")
        await noted(await runtime.resume("b-1"), 1)


@pytest.mark.needs("takes_a_clock")
async def test_the_tries_of_a_step_are_counted_on_after_a_restart(place, clock, services):
    services.fails["flaky"] = 9

    async def steps(context, work):
        await work.step(
            Step("flaky", retry=Retry(attempts=3, first_s=100, factor=3, most_s=1000)), work.services.call, "flaky"
        )

    async with opened(place, busy(Invoke(steps)), services, clock) as runtime:
        await runtime.start("busy", at="BUSY", agent_id="b-1")
        await until_due(clock, NOON + timedelta(seconds=100))
        clock.advance(60)
    async with opened(place, busy(Invoke(steps)), services, clock) as runtime:
        await until_due(clock, NOON + timedelta(seconds=100))
        clock.advance(40)
        await until_due(clock, NOON + timedelta(seconds=400))
        assert services.calls["flaky"] == 2
    async with opened(place, busy(Invoke(steps)), services, clock) as runtime:
        await until_due(clock, NOON + timedelta(seconds=400))
        clock.advance(300)
        [[event, payload]] = await noted(await runtime.resume("b-1"), 1)
    assert (event, payload["type"], services.calls["flaky"]) == ("error.invoke.steps", "LookupError", 3)


@pytest.mark.needs("takes_a_clock")
async def test_only_failures_that_are_worth_it_are_tried_again(place, clock, services):
    async def steps(context, work):
        how = Step("label", retry=Retry(attempts=3, first_s=60), retry_on=ConnectionError)
        return await work.step(how, work.services.call, "label")

    services.fails["label"] = 1  # by a LookupError
    async with opened(place, busy(Invoke(steps)), services, clock) as runtime:
        [[event, payload]] = await noted(await runtime.start("busy", at="BUSY"), 1)
        assert (event, payload["type"], services.calls["label"]) == ("error.invoke.steps", "LookupError", 1)


@pytest.mark.needs("takes_a_clock")
async def test_a_step_waits_at_least_as_long_as_the_other_side_asks(place, clock, services):
    async def steps(context, work):
        return await work.step(Step("label", retry=Retry(first_s=60)), print_label, work.services)

    async def print_label(services):
        if services.call("label") == "label 1":
            raise ToolError("busy", after="10m")
        return "printed"

    async with opened(place, busy(Invoke(steps)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await until_due(clock, NOON + timedelta(minutes=10))
        clock.advance("10m")
        assert await noted(agent, 1) == [["done.invoke.steps", {"result": "printed"}]]


@pytest.mark.needs("takes_a_clock")
async def test_the_attempts_of_an_invoke_are_counted_on_and_give_its_steps_their_tries_anew(place, clock, services):
    services.fails["flaky"] = 9

    async def steps(context, work):
        await work.step(Step("flaky", retry=Retry(attempts=2, first_s=10)), work.services.call, "flaky")

    graph = busy(Invoke(steps, retry=Retry(attempts=2, first_s=1000, most_s=1000)))
    async with opened(place, graph, services, clock) as runtime:
        await runtime.start("busy", at="BUSY", agent_id="b-1")
        await until_due(clock, NOON + timedelta(seconds=10))
        clock.advance(10)
        await until_due(clock, NOON + timedelta(seconds=1010))
        clock.advance(600)
    async with opened(place, graph, services, clock) as runtime:
        await until_due(clock, NOON + timedelta(seconds=1010))
        clock.advance(400)
        await until_due(clock, NOON + timedelta(seconds=1020))
    async with opened(place, graph, services, clock) as runtime:
        await until_due(clock, NOON + timedelta(seconds=1020))
        clock.advance(10)
        [[event, payload]] = await noted(await runtime.resume("b-1"), 1)
    assert (event, payload["attempts"], services.calls["flaky"]) == ("error.invoke.steps", 2, 4)


# Idle


def by_query(**ways):
    """An invoked function that does what the context's query names."""

    async def invoked(context, work):
        return await ways[context.query](context, work)

    return invoked


async def begun(runtime, query):
    agent = await runtime.start("busy", at="IDLE")
    await agent.send("BEGAN", {"query": query})
    return agent


async def hold(context, work):
    work.services.call("hold")
    await work.services.open.wait()


async def cool_a_minute(context, work):
    await work.sleep("cooling", "1m")
    work.services.call("cold")


async def fails_once(context, work):
    work.services.call("flaky")


async def fails_once_in_a_step(context, work):
    await work.step(Step("flaky", retry=Retry(first_s=60)), work.services.call, "flaky")


async def some_turns(agent):
    """Turns of another agent, in which an invocation could have gone on."""
    for _ in range(5):
        await agent.send("CHANGED")


@pytest.mark.needs("takes_a_clock")
@pytest.mark.parametrize("wait", [cool_a_minute, fails_once, fails_once_in_a_step])
async def test_an_invocation_that_only_waits_holds_no_place(place, clock, services, wait):
    services.fails["flaky"] = 1
    graph = busy(Invoke(by_query(wait=wait, search=search), retry=Retry(first_s=60)))
    async with opened(place, graph, services, clock, limits=ONE) as runtime:
        first = await begun(runtime, "wait")
        await until_due(clock, NOON + timedelta(minutes=1))
        await noted(await begun(runtime, "search"), 1)
        assert first.context.notes == []
        clock.advance(60)
        assert (await noted(first, 1))[0][0] == "done.invoke.invoked"


@pytest.mark.needs("takes_a_clock")
async def test_an_invocation_that_wakes_takes_a_place_before_it_goes_on(place, clock, services):
    graph = busy(Invoke(by_query(wait=cool_a_minute, hold=hold)))
    async with opened(place, graph, services, clock, limits=ONE) as runtime:
        sleeper = await begun(runtime, "wait")
        await until_due(clock, NOON + timedelta(minutes=1))
        holder = await begun(runtime, "hold")
        await eventually(lambda: services.calls["hold"])
        clock.advance(60)
        await some_turns(sleeper)
        assert services.calls["cold"] == 0
        services.open.set()
        for agent in (holder, sleeper):
            await noted(agent, 1)
        assert services.calls["cold"] == 1


@pytest.mark.needs("takes_a_clock")
async def test_an_invocation_that_waits_for_a_place_to_go_on_can_be_left(place, clock, services):
    graph = busy(Invoke(by_query(wait=cool_a_minute, hold=hold, search=search)))
    async with opened(place, graph, services, clock, limits=ONE) as runtime:
        sleeper = await begun(runtime, "wait")
        await until_due(clock, NOON + timedelta(minutes=1))
        holder = await begun(runtime, "hold")
        await eventually(lambda: services.calls["hold"])
        clock.advance(60)
        await some_turns(holder)
        await sleeper.send("LEFT")
        services.open.set()
        await noted(holder, 1)
        await sleeper.send("BEGAN", {"query": "search"})
        await noted(sleeper, 1)
        assert services.calls == {"hold": 1, "search": 1}


@pytest.mark.needs("takes_a_clock")
async def test_the_time_limit_stands_still_while_an_invocation_is_idle(place, clock, services):
    async def wait(context, work):
        await work.sleep("one", "1h")
        await work.sleep(20)
        await work.sleep("two", "1h")
        await work.sleep(20)

    async with opened(place, busy(Invoke(wait, timeout_s=30)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        for seconds in (3600, 20, 3600, 10):
            await until_due(clock, clock.now() + timedelta(seconds=seconds))
            clock.advance(seconds)
        [[event, payload]] = await noted(agent, 1)
        assert (event, payload["type"]) == ("error.invoke.wait", "TimeoutError")
        await at_rest(runtime, clock)
        assert clock.sleeping == 0


@pytest.mark.needs("takes_a_clock")
async def test_an_invocation_is_idle_only_once_the_step_beside_its_wait_has_ended(place, clock, services):
    async def both(context, work):
        await asyncio.gather(work.sleep("cooling", "1h"), work.step("hold", hold, context, work))

    graph = busy(Invoke(by_query(both=both, search=search), timeout_s=60))
    async with opened(place, graph, services, clock, limits=ONE) as runtime:
        first = await begun(runtime, "both")
        await eventually(lambda: clock.sleeping == 2)  # the limit, and the wait
        other = await begun(runtime, "search")
        await some_turns(other)
        assert services.calls == {"hold": 1}
        clock.advance(59)
        services.open.set()
        await noted(other, 1)
        clock.advance("1h")
        assert (await noted(first, 1))[0][0] == "done.invoke.invoked"


@pytest.mark.needs("takes_a_clock")
async def test_of_two_waits_the_first_that_ends_leaves_the_invocation_idle(place, clock, services):
    async def both(context, work):
        await asyncio.gather(work.sleep("short", "1m"), work.sleep("long", "1h"))
        await work.sleep(10)

    async with opened(place, busy(Invoke(both, timeout_s=30)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        for seconds in (60, 3540, 10):
            await until_due(clock, clock.now() + timedelta(seconds=seconds))
            clock.advance(seconds)
        assert (await noted(agent, 1))[0][0] == "done.invoke.both"


@pytest.mark.needs("takes_a_clock")
async def test_a_wait_that_its_function_gives_up_ends_the_idleness(place, clock, services):
    patience = asyncio.timeout(None)

    async def impatient(context, work):
        with pytest.raises(TimeoutError):
            async with patience:
                await work.sleep("cooling", "1h")
        await work.step("hold", hold, context, work)

    graph = busy(Invoke(by_query(impatient=impatient, search=search), timeout_s=60))
    async with opened(place, graph, services, clock, limits=ONE) as runtime:
        first = await begun(runtime, "impatient")
        await until_due(clock, NOON + timedelta(hours=1))
        patience.reschedule(0)
        await eventually(lambda: services.calls["hold"])
        other = await begun(runtime, "search")
        await some_turns(other)
        assert services.calls["search"] == 0
        clock.advance(60)
        [[event, payload]] = await noted(first, 1)
        assert (event, payload["type"]) == ("error.invoke.invoked", "TimeoutError")
        await noted(other, 1)


@pytest.mark.needs("takes_a_clock")
async def test_a_time_limit_counts_from_the_end_of_a_wait_before_its_timer_has_run(place, clock, services):
    patience = asyncio.timeout(None)

    async def impatient(context, work):
        with pytest.raises(TimeoutError):
            async with patience:
                await work.sleep("cooling", "1h")
        clock.advance(60)
        await work.step("hold", hold, context, work)

    async with opened(place, busy(Invoke(impatient, timeout_s=60)), services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await until_due(clock, NOON + timedelta(hours=1))
        patience.reschedule(0)
        [[event, payload]] = await noted(agent, 1)
        assert (event, payload["type"]) == ("error.invoke.impatient", "TimeoutError")


@pytest.mark.needs("takes_a_clock")
async def test_a_function_that_outlives_its_attempt_holds_no_place(place, clock, services):
    async def stubborn(context, work):
        try:
            await work.sleep(100)
        except asyncio.CancelledError:
            await work.sleep("cooling", 5)
            services.call("outlived")
            await work.step("hold", hold, context, work)

    graph = busy(Invoke(by_query(stubborn=stubborn, search=search), timeout_s=60))
    async with opened(place, graph, services, clock, limits=ONE) as runtime:
        first = await begun(runtime, "stubborn")
        await eventually(lambda: clock.sleeping == 2)
        clock.advance(60)
        await noted(first, 1)
        await noted(await begun(runtime, "search"), 1)


# Spread


@pytest.mark.needs("takes_a_clock")
async def test_waits_with_jitter_are_spread_over_agents_and_the_same_in_a_repeat(place, clock, services):
    services.fails["flaky"] = 20

    async def waits(runtime):
        await eventually(lambda: clock.sleeping == 10)
        return sorted(sleeper.due for sleeper in clock._sleepers)

    graph = busy(Invoke(by_query(wait=fails_once), retry=Retry(first_s=100, most_s=1000, jitter=0.1)))
    async with opened(place, graph, services, clock) as runtime:
        for number in range(10):
            agent = await runtime.start("busy", at="IDLE", agent_id=f"b-{number}")
            await agent.send("BEGAN", {"query": "wait"})
        first = await waits(runtime)
    assert len(set(first)) == 10
    assert NOON + timedelta(seconds=90) <= first[0] < first[-1] <= NOON + timedelta(seconds=110)
    async with opened(place, graph, services, clock) as runtime:
        assert await waits(runtime) == first


# What is kept


class Kept(MemoryStore):
    """A store in memory that notes how many steps of an invocation it holds at most."""

    most = 0

    async def commit(self, units):
        verdicts = await super().commit(units)
        for unit in units:
            if isinstance(unit, StepRecord):
                self.most = max(self.most, len(await self.steps(unit.invocation)))
        return verdicts


async def test_an_invoke_that_is_tried_again_and_again_leaves_no_more_and_more_marks(clock, services):
    services.fails["flaky"] = 60

    async def stubborn(context, work):
        await work.step(Step("flaky", retry=Retry(attempts=6, first_s=0)), work.services.call, "flaky")

    store, graph = Kept(), busy(Invoke(stubborn, retry=Retry(attempts=20, first_s=0)))
    async with opened(store, graph, services, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        assert (await noted(agent, 1))[0][0] == "done.invoke.stubborn"
    assert (services.calls["flaky"], store.most) == (61, 2)

"""Policies of tool calls in a runtime: how each holds, and how they compose, by a clock that a test sets."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from gatechart import Limits, Retry, State, ToolBox, tool
from gatechart.errors import InvalidToolError, NoToolBoxError
from gatechart.graph.definition import ANY, Invoke, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.hosting.tool_gates import ToolGates
from gatechart.testing import VirtualClock
from gatechart.tools import BreakerPolicy, Capability, ToolError, ToolPolicies
from gatechart.values.tool_policies import Rate
from tests.insides import core_of
from tests.runtime.busy_agents import Services, Task, busy, note, noted, opened
from tests.runtime.support import at_rest, eventually

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
ONCE = ToolPolicies(retry="off", breaker="off")
pytestmark = [pytest.mark.needs("takes_a_clock"), pytest.mark.sqlite_is_enough]


class Shop(Services):
    """Services with tools, which note when they were called and hang until a test lets them go on."""

    def __init__(self, clock, *tools):
        super().__init__()
        self.clock = clock
        self.tools = ToolBox(tools)
        self.called = []  # tools, with the seconds since noon
        self.thread = threading.Event()
        self.most = self.inside = 0

    def note(self, name):
        self.called.append((name, (self.clock.now() - NOON).total_seconds()))
        self.call(name)


@pytest.fixture
def clock():
    return VirtualClock(NOON)


class Tools:
    """Tools of a shop that is made with them."""

    def __init__(self, clock):
        self.clock = clock
        self.made = []

    def add(self, name, function=None, **options):
        options.setdefault("policies", ToolPolicies(breaker="off"))

        async def note_call() -> str:
            self.shop.note(name)
            return f"from {name}"

        self.made.append(tool(**{"name": name, "repeat": "safe", **options})(function or note_call))
        return self

    def open(self):
        self.shop = Shop(self.clock, *self.made)
        return self.shop


@pytest.fixture
def tools(clock):
    return Tools(clock)


def told(result):
    failure = result.failure and [result.failure.kind.value, result.failure.message]
    return {
        "value": result.value,
        "failure": failure,
        "by": result.answered_by,
        "attempts": result.attempts,
        "waited_s": round(result.waited_s, 3),
        "breaker": result.breaker,
    }


def calling(*calls, **more):
    """A graph whose state BUSY calls tools one after the other and tells what came of each."""

    async def call(context, work):
        return [told(await work.call(name)) for name in calls]

    return busy(Invoke(call, id="f"), **more)


async def until_due(clock, seconds):
    await eventually(lambda: clock.next_due == NOON + timedelta(seconds=seconds))


async def results(agent):
    [[name, payload]] = await noted(agent, 1)
    assert name == "done.invoke.f", payload
    return payload["result"]


# Retries


async def test_a_failed_call_is_tried_again_with_waits_that_grow(place, clock, tools):
    policies = ToolPolicies(retry=Retry(attempts=4), breaker="off")
    shop = tools.add("lookup", policies=policies).open()
    shop.fails["lookup"] = 3
    async with opened(place, calling("lookup"), shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        for seconds in (1, 3, 7):
            await until_due(clock, seconds)
            clock.at = NOON + timedelta(seconds=seconds)
        [result] = await results(agent)
    assert (result["value"], result["attempts"], result["waited_s"]) == ("from lookup", 4, 7)
    assert shop.called == [("lookup", 0), ("lookup", 1), ("lookup", 3), ("lookup", 7)]


async def test_usually_there_are_four_attempts_whose_waits_are_spread_by_a_tenth(place, clock, tools):
    shop = tools.add("lookup").open()
    shop.fails["lookup"] = 9
    async with opened(place, calling("lookup"), shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        for wait_s in (1, 2, 4):
            await eventually(lambda: clock.next_due is not None)
            rest_s = (clock.next_due - clock.now()).total_seconds()
            assert 0.9 * wait_s <= rest_s <= 1.1 * wait_s
            assert rest_s != wait_s
            clock.at = clock.next_due
            await eventually(lambda: clock.next_due != clock.now())
        [result] = await results(agent)
    assert result["attempts"] == 4


async def test_after_the_last_attempt_the_failure_says_what_was_raised(place, clock, tools):
    policies = ToolPolicies(retry=Retry(attempts=2, first_s=0), breaker="off")
    shop = tools.add("lookup", policies=policies).open()
    shop.fails["lookup"] = 9
    async with opened(place, calling("lookup"), shop, clock) as runtime:
        [result] = await results(await runtime.start("busy", at="BUSY"))
    assert result["failure"] == ["raised", "lookup is not there"]
    assert (result["attempts"], shop.calls["lookup"]) == (2, 2)


async def test_a_failure_that_is_not_worth_it_is_not_tried_again(place, clock, tools):
    async def refuse() -> None:
        raise ToolError("no such order", retry=False)

    shop = tools.add("lookup", refuse).open()
    async with opened(place, calling("lookup"), shop, clock) as runtime:
        [result] = await results(await runtime.start("busy", at="BUSY"))
    assert (result["failure"], result["attempts"]) == (["raised", "no such order"], 1)


async def test_the_other_side_may_ask_for_a_longer_wait(place, clock, tools):
    async def busy_for_a_while() -> None:
        shop.note("lookup")
        request = httpx.Request("GET", "http://shop.test")
        response = httpx.Response(429, headers={"retry-after": "30"})
        raise httpx.HTTPStatusError("429", request=request, response=response)

    policies = ToolPolicies(retry=Retry(attempts=2), breaker="off")
    shop = tools.add("lookup", busy_for_a_while, policies=policies).open()
    async with opened(place, calling("lookup"), shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await until_due(clock, 30)
        clock.advance(30)
        [result] = await results(agent)
    assert (result["attempts"], result["waited_s"]) == (2, 30)


async def test_a_wait_of_more_than_a_day_is_not_waited_for(place, clock, tools):
    async def busy_for_long() -> None:
        raise ToolError("closed", after="2d")

    shop = tools.add("lookup", busy_for_long).open()
    async with opened(place, calling("lookup"), shop, clock) as runtime:
        [result] = await results(await runtime.start("busy", at="BUSY"))
    assert (result["failure"], result["attempts"]) == (["raised", "closed"], 1)


async def test_a_new_process_waits_only_for_the_rest_and_counts_on(place, clock, tools):
    policies = ToolPolicies(retry=Retry(attempts=3, first_s=100, factor=3, most_s=1000), breaker="off")
    shop = tools.add("lookup", policies=policies).open()
    shop.fails["lookup"] = 9
    async with opened(place, calling("lookup"), shop, clock) as runtime:
        await runtime.start("busy", at="BUSY", agent_id="b-1")
        await until_due(clock, 100)
        clock.advance(60)
    async with opened(place, calling("lookup"), shop, clock) as runtime:
        await until_due(clock, 100)
        clock.advance(40)
        await until_due(clock, 400)
    async with opened(place, calling("lookup"), shop, clock) as runtime:
        clock.advance(300)
        [result] = await results(await runtime.resume("b-1"))
    assert (result["attempts"], result["waited_s"], shop.calls["lookup"]) == (3, 400, 3)


async def test_a_call_that_waits_holds_no_place_of_an_invoke(place, clock, tools):
    shop = tools.add("lookup", policies=ToolPolicies(retry=Retry(), breaker="off")).open()
    shop.fails["lookup"] = 1
    limits = Limits(invokes=1)
    async with opened(place, calling("lookup"), shop, clock, limits=limits) as runtime:
        await runtime.start("busy", at="BUSY")
        await until_due(clock, 1)
        other = await runtime.start("busy", at="BUSY")
        assert (await results(other))[0]["value"] == "from lookup"


# Limits of time


async def hang() -> None:
    await asyncio.Event().wait()


async def test_an_attempt_that_takes_too_long_is_tried_again(place, clock, tools):
    policies = ToolPolicies(timeout_s=5, retry=Retry(attempts=2, first_s=1), breaker="off")
    shop = tools.add("lookup", hang, policies=policies).open()
    async with opened(place, calling("lookup"), shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        for seconds in (5, 6, 11):
            await until_due(clock, seconds)
            clock.at = NOON + timedelta(seconds=seconds)
        [result] = await results(agent)
    assert result["failure"] == ["timed out", "it took longer than its limit of 5 s"]
    assert result["attempts"] == 2


@pytest.mark.parametrize("is_over_limit", [True, False])
async def test_a_tool_that_must_not_be_repeated_is_not_after_a_time_limit(place, clock, tools, is_over_limit):
    limits = {"timeout_s": 5} if is_over_limit else {"total_s": 5}
    policies = ToolPolicies(**limits, alternatives="other", breaker="off")
    shop = tools.add("pay", hang, repeat="never", policies=policies).add("other").open()
    async with opened(place, calling("pay"), shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await until_due(clock, 5)
        clock.advance(5)
        [result] = await results(agent)
    assert result["failure"] == ["outcome unknown", "it took longer than its limit of 5 s"]
    assert (result["attempts"], shop.called) == (1, [])


async def test_an_exception_of_a_tool_that_must_not_be_repeated_is_a_known_failure(place, clock, tools):
    shop = tools.add("pay", repeat="never", policies=ToolPolicies(retry=Retry(first_s=0), breaker="off")).open()
    shop.fails["pay"] = 2
    async with opened(place, calling("pay"), shop, clock) as runtime:
        [result] = await results(await runtime.start("busy", at="BUSY"))
    assert (result["value"], result["attempts"]) == ("from pay", 3)


async def test_a_tool_that_must_not_be_repeated_is_unknown_to_the_next_process(place, clock, tools):
    began = asyncio.Event()

    async def pay() -> None:
        shop.call("pay")
        began.set()
        await hang()

    shop = tools.add("pay", pay, repeat="never", policies=ToolPolicies(alternatives="other")).add("other").open()
    async with opened(place, calling("pay"), shop, clock) as runtime:
        await runtime.start("busy", at="BUSY", agent_id="b-1")
        await began.wait()
    async with opened(place, calling("pay"), shop, clock) as runtime:
        [result] = await results(await runtime.resume("b-1"))
    assert result["failure"][0] == "outcome unknown"
    assert shop.calls == {"pay": 1}


async def test_a_call_as_a_whole_ends_within_its_limit(place, clock, tools):
    policies = ToolPolicies(total_s=10, timeout_s=4, retry=Retry(attempts=9, first_s=1, factor=1), breaker="off")
    shop = tools.add("lookup", hang, policies=policies).open()
    async with opened(place, calling("lookup"), shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        for seconds in (4, 5, 9):
            await until_due(clock, seconds)
            clock.at = NOON + timedelta(seconds=seconds)
        [result] = await results(agent)
    assert result["failure"] == ["total limit", "the call as a whole would take longer than its limit of 10 s"]
    assert result["attempts"] == 2


# Alternatives


async def test_alternatives_by_name_and_capability_are_called_in_order(place, clock, tools):
    policies = ToolPolicies(alternatives=["cache", Capability("orders")], retry="off", breaker="off")
    tools.add("lookup", policies=policies).add("archive", capabilities="orders", policies=ONCE)
    shop = tools.add("cache", policies=ONCE).add("mirror", capabilities="orders", policies=ONCE).open()
    shop.fails.update({"lookup": 1, "cache": 1, "archive": 1})
    async with opened(place, calling("lookup"), shop, clock) as runtime:
        [result] = await results(await runtime.start("busy", at="BUSY"))
    assert (result["value"], result["by"], result["attempts"]) == ("from mirror", "mirror", 4)
    assert [name for name, _ in shop.called] == ["lookup", "cache", "archive", "mirror"]


async def test_an_alternative_that_was_reached_is_not_left_by_a_restart(place, clock, tools):
    shop = tools.add("lookup", policies=ToolPolicies(alternatives="cache", retry="off", breaker="off"))
    shop = shop.add("cache", policies=ToolPolicies(retry=Retry(attempts=2, first_s=60), breaker="off")).open()
    shop.fails.update({"lookup": 9, "cache": 1})
    async with opened(place, calling("lookup"), shop, clock) as runtime:
        await runtime.start("busy", at="BUSY", agent_id="b-1")
        await until_due(clock, 60)
    async with opened(place, calling("lookup"), shop, clock) as runtime:
        await until_due(clock, 60)
        clock.advance(60)
        [result] = await results(await runtime.resume("b-1"))
    assert (result["value"], result["attempts"]) == ("from cache", 3)
    assert shop.calls == {"lookup": 1, "cache": 2}


async def test_an_alternative_that_the_arguments_do_not_fit_is_left_out(place, clock, tools):
    async def other(number: int) -> str:
        raise AssertionError(number)

    policies = ToolPolicies(alternatives=["other", "cache"], retry="off", breaker="off")
    shop = tools.add("lookup", policies=policies).add("other", other).add("cache", policies=ONCE).open()
    shop.fails["lookup"] = 1
    async with opened(place, calling("lookup"), shop, clock) as runtime:
        [result] = await results(await runtime.start("busy", at="BUSY"))
    assert result["by"] == "cache"


# Circuit breaker


async def test_an_open_breaker_costs_no_attempt_and_goes_on_to_the_next(place, clock, tools):
    breaker = BreakerPolicy(failures_in_a_row=2, break_s=60)
    tools.add("lookup", policies=ToolPolicies(alternatives="cache", retry="off", breaker=breaker))
    shop = tools.add("cache", policies=ONCE).open()
    shop.fails["lookup"] = 2
    async with opened(place, calling(*["lookup"] * 3), shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        found = await results(agent)
        clock.advance(60)
        await agent.send("AGAIN")
        again = (await noted(agent, 2))[1][1]["result"]
    assert [each["attempts"] for each in found] == [2, 2, 1]
    assert [each["by"] for each in found] == ["cache"] * 3
    assert [each["breaker"] for each in found] == [""] * 3  # the cache has none
    assert [[each["by"], each["breaker"]] for each in again] == [["lookup", "CLOSED"]] * 3
    assert shop.calls["lookup"] == 5


async def test_an_open_breaker_is_a_failure_that_says_when_to_ask_again(place, clock, tools):
    breaker = BreakerPolicy(failures_in_a_row=1, break_s=60)
    shop = tools.add("lookup", policies=ToolPolicies(breaker=breaker, retry=Retry())).open()
    shop.fails["lookup"] = 9
    async with opened(place, calling("lookup"), shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await until_due(clock, 1)
        clock.advance(1)
        [result] = await results(agent)
    assert result["failure"][0] == "breaker open"
    assert "the breaker 'lookup' is OPEN until 2030-01-01 12:01:00 UTC: " in result["failure"][1]
    assert (result["breaker"], result["attempts"]) == ("OPEN", 1)


async def test_a_failure_of_the_caller_opens_no_breaker(place, clock, tools):
    async def refuse() -> None:
        raise ToolError("no such order", retry=False)

    breaker = BreakerPolicy(failures_in_a_row=1)
    shop = tools.add("lookup", refuse, policies=ToolPolicies(breaker=breaker)).open()
    async with opened(place, calling("lookup", "lookup"), shop, clock) as runtime:
        found = await results(await runtime.start("busy", at="BUSY"))
    assert [each["failure"][1] for each in found] == ["no such order"] * 2
    assert [each["breaker"] for each in found] == ["CLOSED"] * 2


async def test_a_result_tells_the_state_of_the_breaker_that_its_failure_opened(place, clock, tools):
    breaker = BreakerPolicy(failures_in_a_row=1)
    shop = tools.add("lookup", policies=ToolPolicies(breaker=breaker, retry="off")).open()
    shop.fails["lookup"] = 1
    async with opened(place, calling("lookup"), shop, clock) as runtime:
        [result] = await results(await runtime.start("busy", at="BUSY"))
    assert (result["failure"][0], result["breaker"]) == ("raised", "OPEN")


# Bulkhead


def gathering(name, count):
    async def call(context, work):
        return [told(each) for each in await asyncio.gather(*(work.call(name) for _ in range(count)))]

    return busy(Invoke(call, id="f"))


async def test_a_full_bulkhead_costs_no_attempt_and_goes_on_to_the_next(place, clock, tools):
    async def look() -> str:
        await asyncio.sleep(0)
        return "found"

    tools.add("lookup", look, policies=ToolPolicies(alternatives="cache", bulkhead=2, breaker="off"))
    shop = tools.add("cache", policies=ONCE).open()
    async with opened(place, gathering("lookup", 5), shop, clock) as runtime:
        found = await results(await runtime.start("busy", at="BUSY"))
    assert sorted(each["by"] for each in found) == ["cache"] * 3 + ["lookup"] * 2
    assert {each["attempts"] for each in found} == {1}


async def test_a_plain_tool_past_its_limit_keeps_its_place_until_its_thread_ends(place, clock, tools):
    def look() -> str:
        shop.thread.wait()
        return "late"

    policies = ToolPolicies(timeout_s=5, bulkhead=1, retry="off", breaker="off")
    shop = tools.add("lookup", look, policies=policies).open()
    graph = calling("lookup", "lookup")
    async with opened(place, graph, shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await until_due(clock, 5)
        clock.advance(5)
        found = await results(agent)
        assert [each["failure"][0] for each in found] == ["timed out", "bulkhead full"]
        assert found[1]["failure"][1] == "1 calls of 'lookup' are already running"
        shop.thread.set()
        await eventually(lambda: not core_of(runtime).gates.under_way("lookup"))
        await agent.send("AGAIN")
        assert (await noted(agent, 2))[1][1]["result"][0]["value"] == "late"


# Rate


async def test_no_more_calls_begin_than_the_rate_allows(place, clock, tools):
    shop = tools.add("lookup", policies=ToolPolicies(rate="2/10s", breaker="off")).open()
    async with opened(place, calling(*["lookup"] * 5), shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        for seconds in (10, 20):
            await until_due(clock, seconds)
            clock.at = NOON + timedelta(seconds=seconds)
        found = await results(agent)
    assert [at for _, at in shop.called] == [0, 0, 10, 10, 20]
    assert [each["waited_s"] for each in found] == [0, 0, 10, 0, 10]


async def test_a_call_that_cannot_wait_for_the_rate_goes_on_to_the_next(place, clock, tools):
    policies = ToolPolicies(rate="1/10s", total_s=5, alternatives="cache", breaker="off")
    shop = tools.add("lookup", policies=policies).add("cache", policies=ONCE).open()
    async with opened(place, calling("lookup", "lookup"), shop, clock) as runtime:
        found = await results(await runtime.start("busy", at="BUSY"))
    assert [each["by"] for each in found] == ["lookup", "cache"]


async def test_a_new_process_waits_only_for_the_rest_of_a_rate_and_counts_the_call_that_waits(place, clock, tools):
    shop = tools.add("lookup", policies=ToolPolicies(rate="1/10s", breaker="off")).open()
    graph = calling(*["lookup"] * 3)
    async with opened(place, graph, shop, clock) as runtime:
        await runtime.start("busy", at="BUSY", agent_id="b-1")
        await until_due(clock, 10)
    clock.advance(4)
    async with opened(place, graph, shop, clock) as runtime:
        for seconds in (10, 20):
            await until_due(clock, seconds)
            clock.at = NOON + timedelta(seconds=seconds)
        found = await results(await runtime.resume("b-1"))
    assert [at for _, at in shop.called] == [0, 10, 20]
    assert [each["waited_s"] for each in found] == [0, 10, 10]


async def test_the_limit_of_a_whole_call_counts_on_while_no_process_waits_for_the_rate(place, clock, tools):
    shop = tools.add("lookup", policies=ToolPolicies(rate="1/10s", total_s=15, breaker="off")).open()
    graph = calling("lookup", "lookup")
    async with opened(place, graph, shop, clock) as runtime:
        await runtime.start("busy", at="BUSY", agent_id="b-1")
        await until_due(clock, 10)
    clock.advance(16)
    async with opened(place, graph, shop, clock) as runtime:
        found = await results(await runtime.resume("b-1"))
    assert [each["failure"] and each["failure"][0] for each in found] == [None, "total limit"]
    assert shop.called == [("lookup", 0)]


def test_a_call_that_waits_for_its_rate_is_counted_once_whoever_tells_of_it():
    gates, rate = ToolGates(), Rate(2, 10)
    for seconds, key in ((12, "b"), (11, "a"), (12, "b"), (11, "a")):
        gates.count_again("lookup", rate, NOON + timedelta(seconds=seconds), key)
    waits = [gates.reserve("lookup", rate, NOON, 100, key) for key in "cde"]
    assert waits == [21, 22, 31]


@pytest.mark.parametrize("repeat", ["never", "safe"])
async def test_an_invoke_holds_no_place_while_a_call_waits_for_its_rate(place, clock, tools, repeat):
    shop = tools.add("lookup", repeat=repeat, policies=ToolPolicies(rate="1/10s", breaker="off")).open()
    limits = Limits(invokes=1)
    async with opened(place, calling("lookup", "lookup"), shop, clock, limits=limits) as runtime:
        first = await runtime.start("busy", at="BUSY")
        await until_due(clock, 10)
        second = await runtime.start("busy", at="BUSY")
        await eventually(lambda: clock.sleeping == 2)
        clock.at = NOON + timedelta(seconds=10)
        await results(first)
        for seconds in (20, 30):
            await until_due(clock, seconds)
            clock.at = NOON + timedelta(seconds=seconds)
        await results(second)
    assert [at for _, at in shop.called] == [0, 10, 20, 30]


# Layers


async def test_a_deployment_is_stronger_than_a_state_which_is_stronger_than_a_graph(place, clock, tools):
    shop = tools.add("lookup", policies=ToolPolicies(retry=Retry(attempts=9, first_s=0), breaker="off")).open()
    shop.fails["lookup"] = 99

    async def call(context, work):
        return told(await work.call("lookup"))["attempts"]

    def graph(version, of_graph, outer, inner):
        return StateTransitionGraph(
            "layers",
            version=version,
            context=Task,
            tools=of_graph,
            states=[State("AT", tools=outer, states=[State("WORK", tools=inner, invoke=Invoke(call, id="f"))])],
            transitions=[Transition(ANY, "done.invoke.f", actions=note)],
            entry_points=["WORK"],
        )

    def tries(attempts):
        return ToolPolicies(retry=Retry(attempts=attempts, first_s=0))

    cases = [
        (graph("1", None, None, None), None, 9),
        (graph("2", {"*": tries(8)}, None, None), None, 8),
        (graph("3", {"*": tries(8), "lookup": tries(7)}, None, None), None, 7),
        (graph("4", {"lookup": tries(7)}, {"*": tries(6)}, None), None, 6),
        (graph("5", {"lookup": tries(7)}, {"*": tries(6)}, {"lookup": tries(5)}), None, 5),
        (graph("6", {"lookup": tries(7)}, {"*": tries(6)}, {"lookup": tries(5)}), {"*": tries(4)}, 4),
        (graph("7", None, None, None), {"*": tries(4), "lookup": ToolPolicies(retry="off")}, 1),
    ]
    for each, deployed, attempts in cases:
        async with opened(place, each, shop, clock, tool_policies=deployed) as runtime:
            agent = await runtime.start("layers", at="WORK")
            assert (await noted(agent, 1))[0][1]["result"] == attempts


async def test_a_deployment_that_names_an_unknown_tool_is_refused(place, clock, tools):
    shop = tools.add("lookup").open()
    with pytest.raises(InvalidToolError, match="tool_policies: there is no tool 'lokup'; did you mean 'lookup'"):
        async with opened(place, busy(), shop, clock, tool_policies={"lokup": ONCE}):
            pass
    with pytest.raises(NoToolBoxError):
        async with opened(place, busy(), Services(), clock, tool_policies={"lookup": ONCE}):
            pass


async def test_a_graph_with_policies_for_an_unknown_tool_is_told_of_in_the_log(place, clock, tools, caplog):
    shop = tools.add("lookup").open()
    async with opened(place, busy(tools={"lokup": ONCE, "lookup": ONCE, "*": ONCE}), shop, clock):
        assert "policies for tools: graph 'busy': there is no tool 'lokup'; did you mean 'lookup'?" in caplog.text
        assert caplog.text.count("policies for tools") == 1


async def test_a_call_that_is_cancelled_gives_back_permit_and_place(place, clock, tools):
    breaker = BreakerPolicy(failures_in_a_row=1)
    shop = tools.add("lookup", hang, policies=ToolPolicies(bulkhead=1, breaker=breaker)).open()
    async with opened(place, calling("lookup"), shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await eventually(lambda: core_of(runtime).gates.under_way("lookup"))
        await agent.send("LEFT")
        await at_rest(runtime, clock)
        assert not core_of(runtime).gates.under_way("lookup")
        assert not core_of(runtime).breakers.records

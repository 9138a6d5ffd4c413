"""Tool calls of invokes: what is recorded of them, and how their policies compose."""

import asyncio
from datetime import UTC, datetime

import pytest
from pydantic import BaseModel, SecretStr

from gatechart import Retry, ToolBox, tool
from gatechart.graph.definition import Invoke
from gatechart.testing import VirtualClock
from gatechart.tools import FailureKind, ToolContext, ToolPolicies
from tests.runtime.busy_agents import Services, busy, noted, opened

pytestmark = pytest.mark.sqlite_is_enough

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
ONCE = ToolPolicies(retry="off", breaker="off")


@pytest.fixture
def clock():
    return VirtualClock(NOON)


@pytest.fixture
def services():
    return Services()


class Shop(Services):
    """Services with a tool box."""

    def __init__(self, *tools):
        super().__init__()
        self.tools = ToolBox(tools)


class Order(BaseModel):
    number: str
    pin: SecretStr = SecretStr("")


def lookup(**options):
    """A tool that calls `services.call`, which fails as often as it is told."""

    @tool(name="lookup", **options)
    async def made(context: ToolContext, order: str = "4711") -> Order:
        context.services.seen.append(context)
        context.services.call("lookup")
        return Order(number=order, pin=SecretStr("0815"))

    return made


def asked(function):
    """A graph whose state BUSY invokes the function, and tells how it ended."""
    return busy(Invoke(function, id="f"))


async def ended(place, clock, services, function, **more):
    """What the invoked function returned, or the payload of its failure."""
    async with opened(place, asked(function), services, clock, **more) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [[name, payload]] = await noted(agent, 1)
        return payload["result"] if name == "done.invoke.f" else payload


def told(result):
    """What tests look at of a result."""
    return [result.failure and result.failure.kind, result.attempts, result.answered_by]


# What is recorded


async def test_a_call_gives_the_tools_value_as_its_type(place, clock):
    async def call(context, work):
        result = await work.call("lookup", order="4711")
        assert isinstance(result.value, Order)
        assert result.unwrap() is result.value
        return [result.value.number, result.tool, result.attempts, result.waited_s, result.ok]

    assert await ended(place, clock, Shop(lookup()), call) == ["4711", "lookup", 1, 0, True]


@pytest.mark.parametrize("repeat", ["never", "safe", "keyed"])
async def test_a_repeat_of_the_invocation_gets_the_recorded_result(place, clock, repeat):
    shop = Shop(lookup(repeat=repeat))

    async def call(context, work):
        result = await work.call("lookup", order="4711")
        if work.services.call("run") == "run 1":
            raise OSError
        return [result.value.number, result.value.pin.get_secret_value(), result.attempts, result.call_id]

    graph = busy(Invoke(call, id="f", retry=Retry(attempts=2, first_s=0)))
    async with opened(place, graph, shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [[_, payload]] = await noted(agent, 1)
    assert payload["result"][:3] == ["4711", "0815", 1]
    assert shop.calls["lookup"] == 1
    assert shop.seen[0].call_id == payload["result"][3]


async def test_a_failure_is_asked_again_by_a_retry_of_the_invoke_and_is_kept_within_an_attempt(place, clock):
    shop = Shop(lookup(policies=ONCE))
    shop.fails["lookup"] = 1

    async def call(context, work):
        results = [await work.call("lookup", call_id="c1") for _ in range(2)]
        work.services.seen.append([told(each) for each in results])
        return [each.unwrap().number for each in results]

    graph = busy(Invoke(call, id="f", retry=Retry(attempts=2, first_s=0)))
    async with opened(place, graph, shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [[_, payload]] = await noted(agent, 1)
    assert payload == {"result": ["4711", "4711"]}
    assert shop.calls["lookup"] == 2
    assert shop.seen[1] == [[FailureKind.RAISED, 1, ""]] * 2


async def test_equal_calls_are_told_apart_by_their_order(place, clock):
    async def call(context, work):
        results = [await work.call("lookup", order=order) for order in ("1", "2", "1")]
        return len({each.call_id for each in results})

    shop = Shop(lookup())
    assert await ended(place, clock, shop, call) == 3
    assert shop.calls["lookup"] == 3


async def test_calls_under_one_id_are_one_call(place, clock):
    async def call(context, work):
        results = await asyncio.gather(*(work.call("lookup", order="1", call_id="c1") for _ in range(3)))
        return [each.call_id for each in results]

    shop = Shop(lookup())
    assert await ended(place, clock, shop, call) == ["c1", "c1", "c1"]
    assert shop.calls["lookup"] == 1


async def test_asking_something_else_under_a_recorded_id_is_an_error(place, clock):
    async def call(context, work):
        await work.call("lookup", order="1", call_id="c1")
        await work.call("lookup", order="2", call_id="c1")

    shop = Shop(lookup())
    failed = await ended(place, clock, shop, call)
    assert failed["type"] == "CallReusedError"
    assert "has called 'lookup' as 'c1', and asks something else under that id now" in failed["message"]
    assert shop.calls["lookup"] == 1


@pytest.mark.one_variant_is_enough
@pytest.mark.parametrize("call_id", ["", "x" * 201, "a\0"])
async def test_an_id_that_no_store_can_keep_is_refused(place, clock, call_id):
    async def call(context, work):
        await work.call("lookup", call_id=call_id)

    assert (await ended(place, clock, Shop(lookup()), call))["type"] == "PayloadError"


async def test_a_keyed_tool_has_the_key_of_its_business_object(place, clock):
    @tool(repeat="keyed", key="order")
    async def refund(context: ToolContext, order: str, amount: int) -> str:
        return context.idempotency_key

    async def call(context, work):
        keys = [(await work.call(refund, order, amount)).unwrap() for order, amount in (("1", 5), ("1", 6), ("2", 5))]
        return [len({*keys}), keys[0] == keys[1]]

    assert await ended(place, clock, Shop(refund), call) == [2, True]


async def test_without_a_key_each_call_has_its_own(place, clock):
    async def call(context, work):
        for _ in range(2):
            await work.call("lookup")
        return len({each.idempotency_key for each in work.services.seen})

    assert await ended(place, clock, Shop(lookup(repeat="keyed")), call) == 2


async def test_a_tool_tells_which_other_takes_its_call_back(place, clock):
    @tool
    def cancel(order: str) -> str:
        return f"cancelled {order}"

    async def call(context, work):
        result = await work.call("lookup", order="1")
        return (await work.call(result.undo, order="1")).unwrap()

    assert await ended(place, clock, Shop(lookup(undo=cancel), cancel), call) == "cancelled 1"


# What cannot be called


async def test_a_tool_that_there_is_not_and_arguments_that_do_not_fit_are_failures(place, clock):
    async def call(context, work):
        failures = [
            (await work.call("lookupp")).failure,
            (await work.call("lookup", colour="red")).failure,
            (await work.call("lookup", "1", "2")).failure,
            (await work.call("lookup", "1", order="2")).failure,
        ]
        return [[each.kind, each.message] for each in failures]

    assert await ended(place, clock, Shop(lookup()), call) == [
        ["unknown tool", "there is no tool 'lookupp': did you mean 'lookup'? There are 'lookup'"],
        ["invalid arguments", "colour: Extra inputs are not permitted"],
        ["invalid arguments", "there are 2, 1 at most"],
        ["invalid arguments", "order: it is given twice"],
    ]


async def test_a_failure_is_raised_by_unwrap(place, clock):
    async def call(context, work):
        (await work.call("lookup")).unwrap()

    shop = Shop(lookup(policies=ONCE))
    shop.fails["lookup"] = 1
    failed = await ended(place, clock, shop, call)
    assert failed["type"] == "ToolFailedError"
    assert "the tool 'lookup' gave no value (raised after 1 attempt): lookup is not there" in failed["message"]


async def test_services_without_a_tool_box_are_named(place, clock, services):
    async def call(context, work):
        await work.call("lookup")

    failed = await ended(place, clock, services, call)
    assert failed["type"] == "NoToolBoxError"
    assert failed["message"].startswith("the services are Services, without tools; give them")


async def test_the_services_may_be_a_mapping(place, clock):
    @tool
    def add(one: int, other: int) -> int:
        return one + other

    async def call(context, work):
        return (await work.call(add, 1, other=2)).unwrap()

    assert await ended(place, clock, {"tools": ToolBox(add)}, call) == 3


async def test_calls_for_an_agent_are_not_repeated_by_a_later_invocation(place, clock):
    async def call(context, work):
        ours = await work.for_agent("errands")
        return (await ours.call("lookup", call_id="c1")).attempts

    shop = Shop(lookup())
    async with opened(place, asked(call), shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        await noted(agent, 1)
        await agent.send("AGAIN")
        assert await noted(agent, 2) == [["done.invoke.f", {"result": 1}]] * 2
    assert shop.calls["lookup"] == 1


# What came of a call that nobody knows of


@pytest.mark.parametrize(("repeat", "calls", "kind"), [("never", 1, FailureKind.OUTCOME_UNKNOWN), ("safe", 2, None)])
async def test_an_answer_that_was_lost_is_asked_for_again_only_where_a_repeat_does_no_harm(
    place, clock, repeat, calls, kind
):
    shop = Shop()

    @tool(repeat=repeat, policies=ToolPolicies(retry=Retry(attempts=4, first_s=0), alternatives=["other"]))
    async def refund() -> str:
        if shop.call("refund") == "refund 1":
            raise ConnectionResetError
        return "done"

    @tool
    async def other() -> str:
        return shop.call("other")

    async def call(context, work):
        return (failure := (await work.call("refund")).failure) and failure.kind

    shop.tools = ToolBox([refund, other])
    assert await ended(place, clock, shop, call) == kind
    assert shop.calls == {"refund": calls}


# Secrets


@tool(repeat="safe")
async def log_in(user: str, pin: SecretStr) -> SecretStr:
    if user == "mallory":
        raise PermissionError(f"{user} may not, {pin}")
    return SecretStr(f"token of {pin.get_secret_value()}")


async def test_a_secret_survives_a_repeat_and_is_in_no_log_and_no_answer(place, clock, caplog):
    async def call(context, work):
        token = await work.call(log_in, "ada", pin=SecretStr("pin-0815"))
        refused = await work.call(log_in, "mallory", pin=SecretStr("pin-0815"))
        if work.services.call("run") == "run 1":
            raise OSError
        assert token.unwrap().get_secret_value() == "token of pin-0815"
        return [repr(token), str(refused.failure), token.value]

    policies = {"log_in": ToolPolicies(retry="off")}
    graph = busy(Invoke(call, id="f", retry=Retry(attempts=2, first_s=0)), tools=policies)
    shop = Shop(log_in)
    async with opened(place, graph, shop, clock) as runtime:
        agent = await runtime.start("busy", at="BUSY")
        [[name, payload]] = await noted(agent, 1)
        told = [str(payload["result"][:2]), caplog.text, str(await agent.history()), str(agent.snapshot.context)]
    assert name == "done.invoke.f", payload
    assert payload["result"][2] == {"$secret": "token of pin-0815"}  # for the agent, which has asked for it
    assert not any("pin-0815" in each for each in told)


async def test_a_step_gives_a_repeat_its_secret(place, clock, services):
    async def step(context, work):
        token = await work.step("token", _token)
        if work.services.call("run") == "run 1":
            raise OSError
        return token.get_secret_value() == "abc"

    graph = busy(Invoke(step, id="f", retry=Retry(attempts=2, first_s=0)))
    async with opened(place, graph, services, clock) as runtime:
        assert await noted(await runtime.start("busy", at="BUSY"), 1) == [["done.invoke.f", {"result": True}]]


def _token() -> SecretStr:
    return SecretStr("abc")

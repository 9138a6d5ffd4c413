"""Finding agents by the searchable fields of their contexts."""

from random import Random

import pytest

from gatechart import AgentContext, Handoff, HandoffPacket, Runtime, StateTransitionGraph, Transition
from gatechart.errors import InvalidGraphError, PayloadError, UnknownFieldError
from gatechart.graph.definition import ANY
from gatechart.values.agents import Status
from tests.homes import DATABASE_URLS


class Customer(AgentContext):
    name: str = ""
    vip: bool | None = None


class Order(AgentContext):
    customer: Customer = Customer()
    total: float | None = None
    tags: list[str] = []  # noqa: RUF012  pydantic copies it
    current_problem: str = ""


def change(context, event):
    context.customer = Customer(**event.payload.get("customer", {}))
    context.total = event.payload.get("total", context.total)


def order_graph(searchable=("customer.name", "customer.vip", "total", "current_problem"), version="1"):
    return StateTransitionGraph(
        "orders",
        version=version,
        context=Order,
        transitions=[Transition("OPEN", "CHANGED", actions=change), Transition(ANY, "ENDED", "CLOSED")],
        entry_points=["OPEN"],
        searchable=searchable,
    )


orders = order_graph()
lamps = StateTransitionGraph("lamps", transitions=[Transition("OFF", "SWITCHED", "ON")], entry_points=["OFF"])

NAMES = ["", "Ada", "Adam", "Bob", "Zoë", "ada"]
WISHES = [
    ({"customer.name": "Ada"}, lambda context: context.customer.name == "Ada"),
    ({"customer.name": ["Bob", "Zoë"]}, lambda context: context.customer.name in ("Bob", "Zoë")),
    ({"customer.name": {"prefix": "Ad"}}, lambda context: context.customer.name.startswith("Ad")),
    ({"customer.vip": True}, lambda context: context.customer.vip is True),
    ({"total": {"ge": 2, "lt": 5}}, lambda context: context.total is not None and 2 <= context.total < 5),
    ({"total": {"gt": -1.5, "le": 3}}, lambda context: context.total is not None and -1.5 < context.total <= 3),
    ({"total": [1, 4]}, lambda context: context.total in (1, 4)),
    (
        {"total": {"ge": 1}, "customer.name": {"gt": "Ada"}},
        lambda context: (context.total or 0) >= 1 and context.customer.name > "Ada",
    ),
    ({"current_problem": "late"}, lambda context: context.current_problem == "late"),
]


async def is_found_as_expected(runtime):
    """Compare what each wish finds with what a look at all agents finds."""
    everyone = [each async for each in runtime.agents(graph=orders)]
    for where, holds in WISHES:
        expected = [each.agent_id for each in everyone if holds(orders.context_of(each))]
        assert [each.agent_id async for each in runtime.agents(graph=orders, where=where)] == expected, where
        assert [each.agent_id async for each in runtime.agents(where=where)] == expected, where
    totals = [each.context["total"] async for each in runtime.agents(graph=orders, order="-total")]
    assert totals == sorted(each.context["total"] for each in everyone if each.context["total"] is not None)[::-1]


@pytest.fixture(params=DATABASE_URLS)
def url(request):
    """A database of each kind."""
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("seed", [1, 2])
async def test_what_is_found_is_what_a_look_at_every_agent_finds(place, seed):
    """Through turns, a handoff that starts an agent, rollbacks, stops, ends and erasures."""
    random = Random(seed)
    async with Runtime.open(place, graphs=[orders, lamps]) as runtime:
        for number in range(6):
            await runtime.start(orders, at="OPEN", agent_id=f"o-{number}")
        await runtime.start(lamps, at="OFF", agent_id="lamp")
        packet = HandoffPacket(current_problem="late")
        await runtime.handoff("lamp", Handoff("orders", at="OPEN", packet=packet))
        await (await runtime.resume("lamp")).until(ended=True)
        for number in range(12):
            agent_id = f"o-{random.randrange(6)}"
            name, vip = random.choice(NAMES), random.choice([None, True, False])
            payload = {"customer": {"name": name, "vip": vip}, "total": random.choice([None, -1.5, 1, 2, 3.5, 4, 5])}
            await runtime.send(agent_id, "CHANGED", payload)
            if number % 4 == 2:
                await runtime.rollback(agent_id, 1, reason="a test")
        await runtime.stop("o-0")
        await runtime.send("o-1", "ENDED")
        await is_found_as_expected(runtime)
        await runtime.erase("o-2")
        await runtime.erase("o-1")
        await is_found_as_expected(runtime)


async def test_pruning_leaves_what_is_found(url):
    async with Runtime.open(url, graphs=[orders]) as runtime:
        for number in range(4):
            agent = await runtime.start(orders, at="OPEN", agent_id=f"o-{number}")
            await agent.send("CHANGED", {"customer": {"name": NAMES[number]}, "total": number})
        await runtime.stop("o-1")
        await runtime.prune(keep_turns=1, ended_before="0s", ids_for="0s")
        assert (await runtime.find(where={"customer.name": "Ada"})).agents == ()
        await is_found_as_expected(runtime)


@pytest.mark.parametrize(
    ("wanted", "error", "told"),
    [
        ({"where": {"tags": "x"}}, UnknownFieldError, "cannot be found by 'tags': there are 'customer.name'"),
        ({"where": {"custmer.name": "x"}}, UnknownFieldError, "did you mean 'customer.name'"),
        ({"graph": "lamps", "where": {"total": 1}}, UnknownFieldError, "agents of 'lamps' cannot be found by 'total'"),
        ({"order": "-tags"}, UnknownFieldError, "'tags': there are 'started', 'changed', 'customer.name'"),
        ({"where": {"total": None}}, PayloadError, "on 'total' is None.*a text of up to 300 characters, a number"),
        ({"where": {"total": {"above": 1}}}, PayloadError, "or bounds of these, by ge, gt, le, lt or prefix"),
        ({"where": {"total": "x" * 301}}, PayloadError, "a text of up to 300 characters"),
    ],
)
async def test_what_cannot_be_sought_is_refused_with_what_can(wanted, error, told):
    async with Runtime.open("memory:", graphs=[orders, lamps]) as runtime:
        with pytest.raises(error, match=f"(?s){told}"):
            await runtime.find(**wanted)


@pytest.mark.parametrize(
    ("searchable", "told"),
    [
        ("custmer", "Order has no field 'custmer'; did you mean"),
        ("customer.nme", "Customer has no field 'nme'; did you mean 'name'"),
        ("customer", "its values are no texts, numbers or booleans; name a field inside"),
        ("tags", "its values are no texts, numbers or booleans"),
        ("total.x", "there is no 'x' in a value of this type"),
        (["total", "total"], "it is listed more than once"),
        (7, "this names no field"),
    ],
)
def test_a_field_that_cannot_be_searched_is_a_fault_of_the_graph(searchable, told):
    with pytest.raises(InvalidGraphError, match=told):
        order_graph([searchable] if searchable == 7 else searchable)


def test_searchable_fields_are_not_part_of_the_fingerprint():
    assert order_graph(()).fingerprint == orders.fingerprint


async def test_agents_from_before_are_found_once_the_owner_has_filled_the_field(url):
    async with Runtime.open(url, graphs=[order_graph(())]) as runtime:
        for number in range(5):
            agent = await runtime.start("orders", at="OPEN", agent_id=f"o-{number}")
            await agent.send("CHANGED", {"total": number})
    async with Runtime.open(url, graphs=[orders]) as runtime:
        while (page := await runtime.find(where={"total": {"ge": 3}})).incomplete:
            assert page.incomplete == ("total",)
        assert [each.agent_id for each in page.agents] == ["o-3", "o-4"]
        await is_found_as_expected(runtime)
        runtime.register(order_graph(["total", "customer.name"], version="2"))
        assert (await runtime.find(where={"total": 1})).agents[0].status is Status.ACTIVE

"""Finding agents by graph, state and status, a page at a time."""

import json
from functools import partial

import pytest

from gatechart import EntryPoint, Runtime, State, StateTransitionGraph, Status, Transition
from gatechart.charts import load
from gatechart.errors import (
    PayloadError,
    UnknownAgentError,
    UnknownFieldError,
    UnknownGraphError,
    UnknownPlaceError,
    UnknownStateError,
)
from tests.runtime.support import gated, parcel

pytestmark = pytest.mark.one_variant_is_enough

drafts = StateTransitionGraph(
    "drafts",
    states=["ON_ROAD", State("WRITTEN", final=True)],
    entry_points=["ON_ROAD", EntryPoint("WRITTEN", "written")],
)


@pytest.fixture
async def runtime(place):
    """Six agents: a in PACKING, b ON_ROAD, c AT_SEA, d DELIVERED, e ON_ROAD of another graph, f stopped ON_ROAD."""
    async with Runtime.open(place, graphs=[parcel, gated, drafts]) as runtime:
        for name in "abcd":
            agent = await runtime.start("parcel", at="PACKING", agent_id=name)
            for event in {"a": (), "b": ["SENT"], "c": ["SENT", "SHIPPED"], "d": ["SENT", "ARRIVED"]}[name]:
                await agent.send(event)
            await runtime.find()  # where that lags, agents are found in the order in which it heard of them
        await runtime.start("drafts", at="ON_ROAD", agent_id="e")
        await runtime.find()
        await (await runtime.start("parcel", at="PACKING", agent_id="f")).send("SENT")
        await runtime.stop("f")
        yield runtime


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        ({}, "abcdef"),
        ({"graph": "parcel"}, "abcdf"),
        ({"graph": "gated"}, ""),
        ({"state": "AT_SEA"}, "c"),
        ({"state": "ON_ROAD"}, "bef"),
        ({"state": "ON_ROAD", "graph": "parcel"}, "bf"),
        ({"state": "TRANSIT", "graph": "parcel"}, "bcf"),
        ({"state": "TRANSIT"}, "bcf"),
        ({"state": "RESTING"}, ""),
        ({"status": "done"}, "d"),
        ({"status": Status.STOPPED}, "f"),
        ({"status": Status.ACTIVE, "state": "TRANSIT", "graph": "parcel"}, "bc"),
        ({"after": "c"}, "def"),
        ({"after": "b", "graph": "parcel", "status": "active"}, "c"),
    ],
)
async def test_agents_are_found_by_graph_state_and_status(runtime, wanted, ids):
    page = await runtime.find(**wanted)
    assert "".join(snapshot.agent_id for snapshot in page.agents) == ids
    assert page.next is None
    assert [(await runtime.resume(each)).snapshot for each in ids] == list(page.agents)


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6])
async def test_pages_join_into_the_whole(runtime, limit):
    seen, after = [], None
    while True:
        page = await runtime.find(limit=limit, after=after)
        seen += [snapshot.agent_id for snapshot in page.agents]
        if page.next is None:
            break
        assert len(page.agents) == limit
        assert page.next == seen[-1]
        after = page.next
    assert "".join(seen) == "abcdef"


async def test_what_is_started_between_two_pages_is_on_the_later(runtime):
    first = await runtime.find(limit=4)
    await runtime.start("parcel", at="PACKING", agent_id="A")
    await runtime.stop("a")
    second = await runtime.find(limit=4, after=first.next)
    assert [snapshot.agent_id for snapshot in second.agents] == ["e", "f", "A"]


@pytest.mark.parametrize("limit", [1, 2, 6])
@pytest.mark.parametrize(
    ("order", "ids"), [("-started", "fedcba"), ("changed", "fedcba"), ("-changed", "abcdef"), ("started", "abcdef")]
)
async def test_agents_are_found_in_the_order_that_is_wanted(runtime, limit, order, ids):
    seen, page = "", await runtime.find(order=order, limit=limit)
    while page.next is not None:
        seen += "".join(snapshot.agent_id for snapshot in page.agents)
        page = await runtime.find(order=order, limit=limit, after=page.next)
    assert seen + "".join(snapshot.agent_id for snapshot in page.agents) == ids


async def test_an_agent_that_changes_comes_to_the_front(runtime):
    await runtime.send("b", "SHIPPED")
    assert [each.agent_id for each in (await runtime.find(order="changed", state="AT_SEA")).agents] == ["b", "c"]
    newest = await runtime.read("b")
    assert newest.started < newest.changed == (await runtime.history("b"))[-1].event.time
    assert newest.started == (await runtime.history("b"))[0].event.time


async def test_all_agents_are_gone_through_without_pages(runtime, monkeypatch):
    small = partial(runtime.find, limit=2)
    monkeypatch.setattr(runtime, "find", small)
    assert "".join([each.agent_id async for each in runtime.agents()]) == "abcdef"
    assert "".join([each.agent_id async for each in runtime.agents(graph=parcel, order="changed")]) == "fdcba"
    assert "".join([each.agent_id async for each in runtime.agents(state="TRANSIT", status="active")]) == "bc"


@pytest.mark.parametrize("order", ["started", "-started", "changed", "-changed"])
async def test_agents_that_are_erased_meanwhile_do_not_end_the_way_through_the_others(runtime, monkeypatch, order):
    monkeypatch.setattr(runtime, "find", partial(runtime.find, limit=2))
    seen = ""
    async for snapshot in runtime.agents(order=order):
        seen += snapshot.agent_id
        if len(seen) in (2, 4):
            for agent_id in seen[-2:]:
                await runtime.erase(agent_id)
    assert sorted(seen) == list("abcdef")


@pytest.mark.one_variant_is_enough
@pytest.mark.parametrize(
    ("wanted", "error", "told"),
    [
        ({"order": "-chnged"}, UnknownFieldError, "agents cannot be found by 'chnged': did you mean 'changed'"),
        ({"order": "changed", "after": "a"}, UnknownPlaceError, "'a' is not a position in the order 'changed'"),
        ({"order": "-started", "after": "nobody"}, UnknownAgentError, "there is no agent 'nobody'"),
        ({"graph": "parcle"}, UnknownGraphError, "did you mean 'parcel'"),
        ({"state": "AT_SEE"}, UnknownStateError, "no graph has a state 'AT_SEE': did you mean 'AT_SEA'"),
        ({"state": "AT_SEA", "graph": "drafts"}, UnknownStateError, "'drafts' has no state 'AT_SEA'"),
        ({"state": "*"}, UnknownStateError, r"no graph has a state '\*'"),
        (
            {"status": "asleep"},
            PayloadError,
            "status: Input should be 'active', 'done', 'failed', 'stopped'.*; status is 'asleep'",
        ),
        ({"limit": 0}, PayloadError, "limit: Input should be greater than or equal to 1; limit is 0"),
        ({"limit": -3}, PayloadError, "limit is -3"),
        ({"after": "nobody"}, UnknownAgentError, "there is no agent 'nobody'"),
    ],
)
async def test_what_cannot_be_asked_is_refused_with_what_can(runtime, wanted, error, told):
    with pytest.raises(error, match=told):
        await runtime.find(**wanted)


async def test_agents_are_counted_by_graph_status_and_state(runtime):
    counted = {each.graph: each for each in await runtime.counts()}
    assert counted["parcel"].statuses == {"active": 3, "done": 1, "stopped": 1}
    assert counted["parcel"].states == {"AT_SEA": 1, "DELIVERED": 1, "ON_ROAD": 1, "PACKING": 1}
    assert (counted["drafts"].agents, "gated" in counted) == (1, False)
    assert await runtime.counts(graph=drafts) == (counted["drafts"],)
    assert await runtime.counts(graph="gated") == ()
    with pytest.raises(UnknownGraphError, match="did you mean 'parcel'"):
        await runtime.counts(graph="parcle")


async def test_a_state_is_found_in_the_graphs_that_have_it():
    """A leaf under another graph's roof is another state, though it has the same name."""
    roofed = StateTransitionGraph(
        "roofed", states=[State("ROOF", states=["ROOM"])], entry_points=["ROOF"], transitions=[Transition("ROOM", "GO")]
    )
    open_air = StateTransitionGraph("open air", states=["ROOM"], entry_points=["ROOM"])
    async with Runtime.open("memory:", graphs=[roofed, open_air]) as runtime:
        await runtime.start("roofed", at="ROOF", agent_id="inside")
        await runtime.start("open air", at="ROOM", agent_id="outside")
        assert [agent.agent_id for agent in (await runtime.find(state="ROOM")).agents] == ["inside", "outside"]
        assert [agent.agent_id for agent in (await runtime.find(state="ROOF")).agents] == ["inside"]


async def test_an_agent_that_ended_in_regions_is_found_where_each_of_them_ended(place):
    regions = {
        name: {"states": {f"{name}1": {"on": {"GO": f"{name}2"}}, f"{name}2": {"type": "final"}}} for name in "lr"
    }
    chart = json.dumps({"type": "parallel", "states": regions})
    machine = load(chart, dialect="xstate", entry_points=["l"])
    async with Runtime.open(place, graphs=[machine]) as runtime:
        agent = await runtime.start(machine.name, at="l", agent_id="m-1")
        outcome = await agent.send("GO")
        assert (outcome.configuration, outcome.status) == (("l2", "r2"), Status.DONE)
        for state in ("l2", "r2", "r"):
            (found,) = (await runtime.find(state=state, status="done")).agents
            assert found.configuration == ("l2", "r2")
        assert (await agent.history())[-1].target == ("l2", "r2")

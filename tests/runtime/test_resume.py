"""Resuming: as if it had never stopped, with a graph that can go on; nothing runs."""

import gc
import logging
import weakref
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatechart import AgentContext, Limits, Runtime, State, StateTransitionGraph, Status, Transition
from gatechart.errors import ActionFailedError, IncompatibleGraphError, UnknownAgentError, UnknownGraphError
from gatechart.stores import MemoryStore
from gatechart.testing import VirtualClock
from tests.insides import host_of
from tests.runtime.support import Parcel, everything, gated, nothing_changes, parcel

pytestmark = pytest.mark.sqlite_is_enough

EVENTS = ["SENT", "SHIPPED", "LANDED", "ARRIVED", "STAMPED", "WEIGHED", "DROPPED"]


def variant(**changes):
    """The graph of the parcels, with something changed."""
    same = {
        "name": "parcel",
        "version": "1",
        "context": Parcel,
        "states": parcel.tree,
        "transitions": parcel.transitions,
        "entry_points": tuple(parcel.entry_points.values()),
    }
    return StateTransitionGraph(**same | changes)


async def kept(place, *events):
    """A parcel under way, in a runtime that is closed again."""
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        for event in events:
            await agent.send(event)
        return agent.snapshot


async def test_an_agent_is_resumed_as_it_was_committed(place):
    before = await kept(place, "SENT", "SHIPPED")
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.resume("p-1")
        assert agent.snapshot == before
        assert (agent.id, agent.configuration, agent.status) == ("p-1", ("AT_SEA",), Status.ACTIVE)
        assert agent.context == Parcel(stops=["entered"] * 2)
        assert [entry.version for entry in await agent.history()] == [1, 2, 3]
        assert (await agent.send("ARRIVED")).status is Status.DONE


async def test_resuming_runs_no_action(place):
    await kept(place, "SENT")
    for _ in range(3):
        async with Runtime.open(place, graphs=[parcel]) as runtime:
            async with nothing_changes(runtime):
                agent = await runtime.resume("p-1")
            assert agent.context.stops == ["entered", "entered"]


async def test_an_ended_agent_is_resumed_and_refuses(place):
    await kept(place, "SENT", "ARRIVED")
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.resume("p-1")
        assert agent.status is Status.DONE
        assert not (await agent.send("STAMPED")).applied


async def test_an_agent_that_ended_where_the_graph_has_no_state_any_more_is_resumed_all_the_same(place):
    """It does not go on, so nothing about it can be in a state in which no agent can be."""
    ended = await kept(place, "SENT", "ARRIVED")
    smaller = variant(states=[State("TRANSIT", states=["ON_ROAD"])], transitions=[], entry_points=["ON_ROAD"])
    assert not set(ended.configuration) & set(smaller.states)
    async with Runtime.open(place, graphs=[smaller]) as runtime:
        agent = await runtime.resume("p-1")
        assert (agent.status, agent.configuration) == (Status.DONE, ended.configuration)
        assert not (await agent.send("STAMPED")).applied


async def test_handles_of_an_agent_share_what_they_know(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        other, third = await runtime.resume("p-1"), await runtime.resume("p-1")
        await agent.send("SENT")
        assert other.snapshot is agent.snapshot is third.snapshot
        assert (await other.send("SHIPPED")).version == 3
        assert agent.configuration == ("AT_SEA",)


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_an_agent_that_is_no_longer_held_leaves_memory_and_can_be_resumed(place):
    async with Runtime.open(place, graphs=[parcel], limits=Limits(resident=1)) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        await agent.send("SENT")
        resident = weakref.ref(host_of(agent))
        del agent
        await runtime.start("parcel", at="PACKING", agent_id="p-2")
        gc.collect()
        assert resident() is None
        assert (await runtime.resume("p-1")).configuration == ("ON_ROAD",)


async def test_an_unknown_agent_is_not_resumed(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        with pytest.raises(UnknownAgentError, match="there is no agent 'p-1'"):
            await runtime.resume("p-1")
        with pytest.raises(UnknownAgentError, match="there is no agent 'p-1'"):
            await runtime.history("p-1")


@pytest.mark.one_variant_is_enough
@pytest.mark.parametrize("agent_id", ["", "\ud800", "p-1\x00", "P-1", "p_1", "%"])
async def test_an_id_that_no_agent_has_is_unknown_whatever_it_is(place, agent_id):
    await kept(place)
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        for call in (runtime.resume, runtime.history, runtime.stop, runtime.erase):
            with pytest.raises(UnknownAgentError):
                await call(agent_id)
        with pytest.raises(UnknownAgentError):
            await runtime.find(after=agent_id)
        assert len(await everything(runtime)) == 1


async def refused(place, graphs, error, told):
    """The agent is not resumed with these graphs; it stays as it was, to be resumed with its own."""
    async with Runtime.open(place, graphs=graphs) as runtime:
        async with nothing_changes(runtime):
            with pytest.raises(error, match=told):
                await runtime.resume("p-1")
            with pytest.raises(error, match=told):
                await runtime.stop("p-1")
        assert len(await runtime.history("p-1")) == 3
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        assert (await (await runtime.resume("p-1")).send("ARRIVED")).status is Status.DONE


async def test_an_agent_whose_graph_is_not_registered_is_not_resumed(place):
    await kept(place, "SENT", "SHIPPED")
    await refused(place, [gated], UnknownGraphError, "no graph is named 'parcel': there are 'gated'")


async def test_an_agent_of_another_version_is_not_resumed(place):
    await kept(place, "SENT", "SHIPPED")
    told = (
        "'p-1' cannot continue with the registered graph 'parcel': the agent has version '1', the graph has version '2'"
    )
    await refused(place, [variant(version="2")], IncompatibleGraphError, told)


@pytest.mark.not_on_restate("the service has graphs of its own, and migrates")
@pytest.mark.parametrize(
    "states",
    [
        [State("TRANSIT", states=["ON_ROAD"])],
        [State("TRANSIT", states=["ON_ROAD", State("AT_SEA", states=["ON_DECK"])])],
    ],
    ids=["a state is gone", "a state has children now"],
)
async def test_an_agent_in_a_state_that_is_no_leaf_any_more_is_not_resumed(place, states):
    await kept(place, "SENT", "SHIPPED")
    smaller = variant(states=states, transitions=[], entry_points=["ON_ROAD"])
    told = r"'AT_SEA' is not a leaf of version '1' \(the agent is in TRANSIT\.AT_SEA, version '1'\)"
    await refused(place, [smaller], IncompatibleGraphError, told)


@pytest.mark.parametrize("is_named_the_same", [True, False])
async def test_an_agent_whose_context_fits_no_more_is_not_resumed(place, is_named_the_same):
    class Crate(AgentContext):
        stops: list[str]
        content: str

    if is_named_the_same:
        Crate.__name__ = "Parcel"
    await kept(place, "SENT", "SHIPPED")
    stricter = variant(context=Crate, entry_points=["PACKING"])
    assert (stricter.fingerprint == variant(entry_points=["PACKING"]).fingerprint) == is_named_the_same
    await refused(place, [stricter], IncompatibleGraphError, "content: Field required")


async def test_a_graph_changed_under_the_same_version_goes_on_with_a_warning(place, caplog):
    await kept(place, "SENT", "SHIPPED")
    wider = variant(transitions=[*parcel.transitions, Transition("AT_SEA", "SUNK", "LOST")])
    async with Runtime.open(place, graphs=[wider]) as runtime:
        agent = await runtime.resume("p-1")
        [record] = [record for record in caplog.records if record.name.startswith("gatechart")]
        assert (record.levelno, record.getMessage()) == (logging.WARNING, "a graph was changed without a new version")
        assert (record.graph, record.agent_id, record.version) == ("parcel", "p-1", "1")
        assert (await agent.send("SUNK")).configuration == ("LOST",)
        assert agent.snapshot.fingerprint == wider.fingerprint != parcel.fingerprint
    caplog.clear()
    async with Runtime.open(place, graphs=[wider]) as runtime:
        await runtime.resume("p-1")
    assert caplog.records == []


async def test_an_agent_found_is_the_agent_resumed(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        [found] = (await runtime.find()).agents
        assert found == agent.snapshot == (await runtime.resume(found.agent_id)).snapshot


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(EVENTS), st.booleans()), max_size=12))
async def test_restoring_equals_never_having_stopped(steps):
    """Whatever the events and wherever the runtime is closed in between."""
    assert await lived(MemoryStore(), steps) == await lived(MemoryStore(), [(event, False) for event, _ in steps])


async def test_restoring_from_a_database_equals_never_having_stopped(sqlite_url):
    steps = [
        (event, True) for event in ["STAMPED", "SENT", "SENT", "SHIPPED", "DROPPED", "WEIGHED", "LANDED", "ARRIVED"]
    ]
    assert await lived(sqlite_url, steps) == await lived(MemoryStore(), [(event, False) for event, _ in steps])


async def lived(place, steps):
    """What the store holds of an agent, and what its sender was told, after steps: an event, and a restart or none."""
    told, clock = [], VirtualClock()
    parts = [[]]
    for event, stops in steps:
        parts[-1].append(event)
        if stops:
            parts.append([])
    async with Runtime.open(place, graphs=[parcel], clock=clock) as runtime:
        await runtime.start("parcel", at="PACKING", agent_id="p-1")
    for part in parts:
        async with Runtime.open(place, graphs=[parcel], clock=clock) as runtime:
            agent = await runtime.resume("p-1")
            for event in part:
                clock.advance(1)
                told.append(await answer(agent, event))
            [(snapshot, *entries)] = await everything(runtime)
    return snapshot, [replace(entry, took_us=0) for entry in entries], told


async def answer(agent, event):
    try:
        return await agent.send(event, {"weight": 12} if event == "WEIGHED" else None)
    except ActionFailedError as error:
        return str(error)

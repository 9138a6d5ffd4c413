"""Graphs that come while a runtime is open."""

import pytest

from gatechart import Migration, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import (
    AmbiguousEntryError,
    DuplicateGraphError,
    IncompatibleGraphError,
    NoGraphError,
    UnknownGraphError,
)
from gatechart.testing import VirtualClock
from gatechart.values.homes import Role
from tests.runtime.support import unchanged, waiting

pytestmark = [
    pytest.mark.not_on_restate("the service has graphs of its own, and migrates"),
    pytest.mark.sqlite_is_enough,
]


def door(version, target):
    return StateTransitionGraph(
        "door", version=version, transitions=[Transition("SHUT", "PUSHED", target)], entry_points=["SHUT"]
    )


async def test_a_graph_can_be_added_to_an_open_runtime(place):
    async with Runtime.open(place, graphs=[]) as runtime:
        with pytest.raises(UnknownGraphError):
            await runtime.start("door", at="SHUT")
        runtime.register(door("1", "OPEN"))
        assert (await (await runtime.start("door", at="SHUT")).send("PUSHED")).configuration == ("OPEN",)


async def test_an_agent_keeps_its_version_and_a_new_one_gets_the_newest(place):
    async with Runtime.open(place, graphs=[door("1", "OPEN")]) as runtime:
        old = await runtime.start("door", at="SHUT", agent_id="old")
        runtime.register(door("2", "AJAR"))
        new = await runtime.start("door", at="SHUT", agent_id="new")
        assert [agent.snapshot.graph_version for agent in (old, new)] == ["1", "2"]
        assert [(await agent.send("PUSHED")).configuration for agent in (old, new)] == [("OPEN",), ("AJAR",)]
        assert [graph.version for graph in runtime.graphs] == ["2"]


async def test_stored_agents_of_two_versions_go_on_side_by_side(sqlite_url):
    versions = [door("1", "OPEN"), door("2", "AJAR")]
    async with Runtime.open(sqlite_url, graphs=versions[:1]) as runtime:
        await runtime.start("door", at="SHUT", agent_id="old")
    async with Runtime.open(sqlite_url, graphs=versions) as runtime:
        assert (await (await runtime.resume("old")).send("PUSHED")).configuration == ("OPEN",)
    async with Runtime.open(sqlite_url, graphs=versions[1:]) as runtime:
        with pytest.raises(IncompatibleGraphError, match="has version '1'"):
            await runtime.resume("old")


async def test_what_is_registered_is_a_graph_and_registered_once(place):
    async with Runtime.open(place, graphs=door("1", "OPEN")) as runtime:
        with pytest.raises(DuplicateGraphError):
            runtime.register(door("1", "AJAR"))
        with pytest.raises(NoGraphError, match="'door' is not a graph"):
            runtime.register("door")
        assert [graph.version for graph in runtime.graphs] == ["1"]


def entered(name, at, version="1"):
    return StateTransitionGraph(
        name, version=version, transitions=[Transition(at, "PUSHED", "OPEN")], entry_points=[at]
    )


async def test_two_entry_points_of_one_name_in_the_directory_are_refused_and_both_are_named(place):
    both = [entered("a.b", "c"), entered("a", "b.c")]
    told = "'a.b.c' would name both the entry point 'c' of the graph 'a.b' and the entry point 'b.c' of the graph 'a'"
    with pytest.raises(AmbiguousEntryError, match=told):
        async with Runtime.open(place, graphs=both):
            pass
    async with Runtime.open(place, graphs=both[0]) as runtime:
        with pytest.raises(AmbiguousEntryError):
            runtime.register(both[1])
        assert runtime.graphs == (both[0],)


@pytest.mark.parametrize("names", [(0, 1), (1, 0)])
async def test_a_graph_with_the_name_of_another_graphs_entry_point_is_refused(place, names):
    both = [entered("orders", "REVIEWING"), entered("orders.REVIEWING", "OPEN")]
    told = "entry point 'REVIEWING' of the graph 'orders'"
    with pytest.raises(AmbiguousEntryError, match=told) as refused:
        async with Runtime.open(place, graphs=[both[each] for each in names]):
            pass
    assert "the graph 'orders.REVIEWING'" in str(refused.value)


async def test_a_name_that_a_newer_version_no_longer_has_is_free(place):
    graphs = [entered("a", "b.c"), entered("a", "b", "2"), entered("a.b", "c")]
    with pytest.raises(AmbiguousEntryError, match=r"the graph 'a\.b'"):
        async with Runtime.open(place, graphs=graphs):
            pass
    graphs[1] = entered("a", "d", "2")
    async with Runtime.open(place, graphs=graphs) as runtime:
        assert len(runtime.graphs) == 2


@pytest.fixture
def clock():
    return VirtualClock()


async def test_a_graph_that_a_runtime_that_only_reads_registers_is_written_nowhere(sqlite_url, clock, caplog):
    async with Runtime.open(sqlite_url, graphs=[waiting()], clock=clock):
        pass
    async with Runtime.open(sqlite_url, graphs=[waiting()], clock=clock, role=Role.READER) as runtime:
        runtime.register(waiting("2"))
        assert runtime.pending_work == 0
    assert caplog.records == []


@pytest.mark.not_on_restate("it is about what is inside an embedded runtime")
async def test_graphs_are_remembered_by_a_runtime_that_attends_to_nothing(place, clock):
    nested = StateTransitionGraph(
        "waiting", states=[State("OUTER", states=["WITHIN", "BESIDE"])], entry_points=["WITHIN"]
    )
    async with Runtime.open(place, graphs=[nested], clock=clock, role=Role.VISITOR) as runtime:
        await runtime.start("waiting", at="WITHIN", agent_id="a")
    graph = waiting("2", Migration("1", "2", unchanged))
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        (migration,) = [each async for each in runtime.migrate(dry_run=True)]
        assert "the agent is in OUTER.WITHIN" in migration.problem

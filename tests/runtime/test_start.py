"""Starting: checked at the door, whole or not at all."""

import asyncio
from enum import Enum
from functools import partial

import pytest

from gatechart import EntryPoint, Runtime, State, StateTransitionGraph, Status, Transition
from gatechart.errors import (
    ActionFailedError,
    AgentExistsError,
    AmbiguousTriggerError,
    ContextInvalidError,
    DuplicateGraphError,
    EntryGuardError,
    EntryRefusedError,
    MicrostepLimitError,
    PayloadError,
    ReadOnlyContextError,
    UnknownAgentError,
    UnknownGraphError,
    UnknownTriggerError,
)
from gatechart.testing import VirtualClock
from tests.runtime.support import Gate, Label, Parcel, burst, everything, gated, nothing_changes, parcel, soon

pytestmark = pytest.mark.sqlite_is_enough


def spoil(context, event):
    context.weight = "heavy"


def fail(context, event):
    raise LookupError("no guard is on duty")


async def fail_late(context, event):
    await asyncio.sleep(0)
    burst(context, event)


class Doors(Enum):
    AT_SEA = "AT_SEA"
    FOUND_ADRIFT = "FOUND_ADRIFT"
    PARCEL = "parcel"


broken = StateTransitionGraph(
    "broken",
    context=Parcel,
    states=[
        State("BURSTING", on_entry=burst),
        State("BURSTING_LATE", on_entry=fail_late),
        State("SPOILT", on_entry=spoil),
        State("HANDLING", on_entry=burst),
        "GUARDED",
    ],
    transitions=[Transition("HANDLING", "error.execution", "HANDLING")],
    entry_points=["BURSTING", "BURSTING_LATE", "SPOILT", "HANDLING", EntryPoint("GUARDED", guard=fail)],
)


@pytest.mark.needs("takes_a_clock")
async def test_an_agent_begins_at_the_entry_point_with_its_entry_actions_run(place):
    clock = VirtualClock()
    async with Runtime.open(place, graphs=[parcel], clock=clock) as runtime:
        agent = await runtime.start("parcel", at="AT_SEA", payload=Label(stops=["Porto"]), agent_id="p-1")
        assert (agent.id, agent.configuration, agent.status) == ("p-1", ("AT_SEA",), Status.ACTIVE)
        assert agent.context == Parcel(stops=["Porto", "entered"])
        assert (agent.snapshot.version, agent.snapshot.graph, agent.snapshot.graph_version) == (1, "parcel", "1")
        [entry] = await agent.history()
        assert (entry.version, entry.source, entry.target, entry.taken) == (1, (), ("AT_SEA",), ())
        assert (entry.event.name, entry.event.time) == ("agent.started.AT_SEA", clock.now())
        assert entry.event.payload == {"stops": ["Porto"], "weight": 1}
        assert entry.changed == {"stops": ["Porto", "entered"], "weight": 1}
        assert [snapshot for snapshot, *_ in await everything(runtime)] == [agent.snapshot]


async def test_a_payload_may_be_a_mapping(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="AT_SEA", payload={"stops": [], "weight": 9})
        assert agent.context == Parcel(stops=["entered"], weight=9)


async def test_a_field_of_a_context_cannot_be_set_outside_a_turn(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="AT_SEA", payload={"stops": []})
        with pytest.raises(ReadOnlyContextError, match=r"'weight' of a Parcel .* send an event"):
            agent.context.weight = 9
        assert agent.context == Parcel(stops=["entered"], weight=1)


async def test_an_agent_is_started_only_if_it_is_not_there(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        once = {"at": "AT_SEA", "agent_id": "p-1"}
        agent = await runtime.start_or_resume("parcel", payload={"stops": ["Porto"]}, **once)
        again = await runtime.start_or_resume(parcel, payload={"stops": ["Vigo"]}, **once)
        assert again.snapshot == agent.snapshot
        assert again.context.stops == ["Porto", "entered"]
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        found = await runtime.start_or_resume("parcel", at="NOWHERE", agent_id="p-1")
        assert found.snapshot == (await runtime.resume("p-1")).snapshot


async def test_callers_at_once_who_start_or_resume_an_agent_get_the_same(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        ask = partial(runtime.start_or_resume, "parcel", at="AT_SEA", payload={"stops": []}, agent_id="p-1")
        agents = await asyncio.gather(*(ask() for _ in range(5)))
        assert {agent.snapshot.version for agent in agents} == {1}
        assert len(await agents[0].history()) == 1


async def test_an_agent_of_another_graph_is_not_taken_for_the_one_to_resume(place):
    letter = StateTransitionGraph("letter", states=["WRITTEN"], transitions=[], entry_points=["WRITTEN"])
    async with Runtime.open(place, graphs=[parcel, letter]) as runtime:
        agent = await runtime.start(letter, at="WRITTEN", agent_id="p-1")
        with pytest.raises(AgentExistsError, match="'p-1' of the graph 'letter' already exists"):
            await runtime.start_or_resume("parcel", at="AT_SEA", payload={"stops": []}, agent_id="p-1")
        assert await runtime.read("p-1") == agent.snapshot


async def test_who_cannot_be_started_is_not_started_by_start_or_resume(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        with pytest.raises(EntryRefusedError, match="NOWHERE"):
            await runtime.start_or_resume("parcel", at="NOWHERE", agent_id="p-1")
        with pytest.raises(UnknownAgentError):
            await runtime.resume("p-1")


async def test_names_may_be_members_of_enums(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start(Doors.PARCEL, at=Doors.AT_SEA, payload={"stops": []})
        other = await runtime.start_on(Doors.FOUND_ADRIFT, {"stops": []})
        assert agent.configuration == other.configuration == ("AT_SEA",)


async def test_an_agent_without_an_id_is_given_one(place):
    ids = iter(["one", "two"])
    async with Runtime.open(place, graphs=[parcel], ids=lambda: next(ids)) as runtime:
        agents = [await runtime.start("parcel", at="PACKING") for _ in "ab"]
    assert [agent.id for agent in agents] == ["one", "two"]


async def test_ids_are_made_up_anew_by_default(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        ids = {(await runtime.start("parcel", at="PACKING")).id for _ in range(20)}
    assert len(ids) == 20
    assert {len(each) for each in ids} == {32}


async def test_an_agent_that_begins_in_a_final_state_is_done(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="DELIVERED")
        assert (agent.status, agent.snapshot.version) == (Status.DONE, 1)


async def test_an_agent_is_started_on_a_business_trigger(place):
    async with Runtime.open(place, graphs=[gated, parcel]) as runtime:
        agent = await runtime.start_on("FOUND_ADRIFT", {"stops": ["Porto"]}, agent_id="p-1")
        assert (agent.id, agent.snapshot.graph, agent.configuration) == ("p-1", "parcel", ("AT_SEA",))


async def test_a_trigger_that_opens_nothing_is_refused_with_those_that_do(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime, nothing_changes(runtime):
        with pytest.raises(UnknownTriggerError, match="did you mean 'FOUND_ADRIFT'"):
            await runtime.start_on("FOUND_ADRIFFT", {"stops": []})


async def test_a_trigger_that_opens_several_graphs_is_refused_and_names_them(place):
    another = StateTransitionGraph("another", entry_points=[EntryPoint("A", opens_on="FOUND_ADRIFT")], states=["A"])
    async with Runtime.open(place, graphs=[parcel, another]) as runtime, nothing_changes(runtime):
        with pytest.raises(AmbiguousTriggerError, match="opens entry points of 'parcel', 'another'"):
            await runtime.start_on("FOUND_ADRIFT", {"stops": []})


@pytest.mark.one_variant_is_enough
@pytest.mark.parametrize(
    ("graph", "at", "payload", "error", "told"),
    [
        ("parcle", "PACKING", None, UnknownGraphError, "no graph is named 'parcle': did you mean 'parcel'"),
        ("parcel", "ON_ROAD", None, EntryRefusedError, "its entry points are PACKING, DELIVERED, AT_SEA"),
        ("parcel", "NOWHERE", None, EntryRefusedError, "cannot be entered at 'NOWHERE'"),
        ("parcel", "PACKING", {"stops": []}, PayloadError, "it takes no payload"),
        ("parcel", "AT_SEA", None, PayloadError, r"stops: Field required.*Label\(stops: list\[str\], weight\?: int\)"),
        ("parcel", "AT_SEA", {"stops": "Porto"}, PayloadError, "stops: Input should be a valid list"),
        ("parcel", "AT_SEA", ["Porto"], PayloadError, "the whole: |it is a list"),
        ("parcel", "AT_SEA", {"stops": [], "weight": 10}, EntryGuardError, "its guard is_light said no"),
        ("broken", "GUARDED", None, EntryGuardError, "its guard fail raised LookupError: no guard is on duty"),
        ("broken", "BURSTING", None, ActionFailedError, r"burst \(on_entry of BURSTING\) raised RuntimeError"),
        ("broken", "BURSTING_LATE", None, ActionFailedError, r"fail_late \(on_entry of BURSTING_LATE\)"),
        ("broken", "SPOILT", None, ContextInvalidError, "left a Parcel that is not valid: weight: "),
        ("broken", "HANDLING", None, MicrostepLimitError, "did not settle within 100 microsteps"),
    ],
)
async def test_what_does_not_fit_starts_nothing_and_says_what_would(place, graph, at, payload, error, told):
    async with Runtime.open(place, graphs=[parcel, broken]) as runtime:
        await runtime.start("parcel", at="PACKING", agent_id="other")
        async with nothing_changes(runtime):
            with pytest.raises(error, match=told):
                await runtime.start(graph, at=at, payload=payload, agent_id="p-1")
        assert (await runtime.start("parcel", at="PACKING", agent_id="p-1")).snapshot.version == 1


@pytest.mark.parametrize("wrong", ["", 5, b"p-1", "a\x00b", "\ud800"])
async def test_an_id_that_cannot_be_one_is_refused(place, wrong):
    async with Runtime.open(place, graphs=[parcel]) as runtime, nothing_changes(runtime):
        with pytest.raises(PayloadError, match="does not fit id"):
            await runtime.start("parcel", at="PACKING", agent_id=wrong)


async def test_a_second_start_under_an_id_leaves_the_first_agent_as_it_is(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        await agent.send("STAMPED")
        async with nothing_changes(runtime, agent):
            with pytest.raises(AgentExistsError, match="agent 'p-1' already exists"):
                await runtime.start("parcel", at="DELIVERED", agent_id="p-1")
        assert (await agent.send("STAMPED")).version == 3


async def test_of_starts_under_one_id_at_the_same_instant_one_succeeds(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        starts = [runtime.start("parcel", at="PACKING", agent_id="p-1") for _ in range(6)]
        results = await asyncio.gather(*starts, return_exceptions=True)
        [agent] = [result for result in results if not isinstance(result, Exception)]
        assert [type(result) for result in results if result is not agent] == [AgentExistsError] * 5
        assert [snapshot for snapshot, *_ in await everything(runtime)] == [agent.snapshot]
        assert len(await agent.history()) == 1


async def test_of_starts_that_wait_in_their_entry_actions_one_succeeds(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        starts = [asyncio.ensure_future(runtime.start("gated", at="ENTERING", agent_id="g-1")) for _ in range(3)]
        await gate.reached()
        gate.opened.set()
        results = await soon(asyncio.gather(*starts, return_exceptions=True))
        assert sorted(type(result).__name__ for result in results) == ["Agent", "AgentExistsError", "AgentExistsError"]
        assert len(await everything(runtime)) == 1


@pytest.mark.not_on_restate("agents are found in the order in which they were projected")
async def test_many_agents_start_at_once(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agents = await asyncio.gather(*(runtime.start("parcel", at="PACKING", agent_id=f"p-{n}") for n in range(50)))
        found = (await runtime.find()).agents
        assert [snapshot.agent_id for snapshot in found] == [agent.id for agent in agents]


async def test_a_start_goes_on_when_its_caller_is_cancelled(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        starting = asyncio.ensure_future(runtime.start("gated", at="ENTERING", agent_id="g-1"))
        await gate.reached()
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        gate.opened.set()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        assert (await runtime.resume("g-1")).context.stops == ["agent.started.ENTERING"]


async def test_two_graphs_of_one_name_are_refused_before_anything_is_opened(sqlite_url, sqlite_path):
    namesake = StateTransitionGraph("parcel", states=["A"], entry_points=["A"])
    with pytest.raises(DuplicateGraphError, match="two graphs are named 'parcel'"):
        async with Runtime.open(sqlite_url, graphs=[parcel, namesake]):
            pass
    assert not sqlite_path.exists()


async def test_a_runtime_tells_its_graphs():
    async with Runtime.open("memory:", graphs=[parcel, gated]) as runtime:
        assert runtime.graphs == (parcel, gated)


async def test_memory_keeps_nothing():
    for _ in range(2):
        async with Runtime.open("memory:", graphs=[parcel]) as runtime:
            assert await everything(runtime) == []
            await runtime.start("parcel", at="PACKING", agent_id="p-1")


async def test_a_handle_shows_what_it_holds():
    async with Runtime.open("memory:", graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING", agent_id="p-1")
        assert repr(agent) == "<Agent 'p-1' of 'parcel', active in PACKING, version 1>"

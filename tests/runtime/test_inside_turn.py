"""Inside a turn nothing waits for a turn; what a turn leaves running may, once the turn has ended."""

import asyncio
from types import SimpleNamespace

import pytest

from gatechart import Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import ActionFailedError, InsideTurnError
from tests.runtime.support import Parcel, nothing_changes, parcel, soon

pytestmark = [pytest.mark.sample_on_restate, pytest.mark.sqlite_is_enough]


async def call_out(context, event, turn):
    context.stops.append("calling")
    await turn.services.call()


async def leave_behind(context, event, turn):
    turn.services.left = asyncio.ensure_future(turn.services.call())


async def ask_and_wait(context, event, turn):
    await asyncio.ensure_future(turn.services.call())


def leave_behind_at_once(context, event, turn):
    turn.services.left = asyncio.ensure_future(turn.services.call())


calling = StateTransitionGraph(
    "calling",
    context=Parcel,
    states=[State("CALLING", on_entry=call_out)],
    transitions=[
        Transition("A", "CALLED", actions=call_out),
        Transition("A", "ASKED", actions=ask_and_wait),
        Transition("A", "LEFT", actions=leave_behind),
        Transition("A", "NOTED"),
    ],
    entry_points=["A", "CALLING"],
)
leaving = StateTransitionGraph(
    "leaving",
    context=Parcel,
    transitions=[Transition("A", "LEFT", actions=leave_behind_at_once), Transition("A", "NOTED")],
    entry_points=["A"],
)


@pytest.fixture
def services():
    return SimpleNamespace(call=None, left=None)


@pytest.fixture
async def runtime(place, services):
    async with Runtime.open(place, graphs=[calling, leaving, parcel], services=services) as runtime:
        yield runtime


@pytest.mark.one_variant_is_enough
@pytest.mark.not_on_restate("the exception itself stays in the service")
@pytest.mark.parametrize("event", ["CALLED", "ASKED"])
@pytest.mark.parametrize(
    "name", ["send", "send to another", "start", "start_on", "resume", "stop", "erase", "until", "find", "history"]
)
async def test_a_call_that_could_wait_for_ever_is_an_error_inside_a_turn(runtime, services, name, event):
    agent = await runtime.start("calling", at="A", agent_id="c-1")
    other = await runtime.start("parcel", at="PACKING", agent_id="p-1")
    services.call = {
        "send": lambda: agent.send("NOTED"),
        "send to another": lambda: other.send("SENT"),
        "start": lambda: runtime.start("parcel", at="PACKING"),
        "start_on": lambda: runtime.start_on("FOUND_ADRIFT", {"stops": []}),
        "resume": lambda: runtime.resume("p-1"),
        "stop": lambda: runtime.stop("p-1"),
        "erase": lambda: runtime.erase("p-1"),
        "until": lambda: other.until("LOST"),
        "find": lambda: runtime.find(),
        "history": lambda: other.history(),
    }[name]
    async with nothing_changes(runtime, agent, other):
        with pytest.raises(ActionFailedError) as caught:
            await soon(agent.send(event))
    told = name.removeprefix("start_on") or "start"
    assert isinstance(caught.value.__cause__, InsideTurnError)
    assert f"{told.split()[0]}() was called by an action inside a turn of agent 'c-1'" in str(caught.value)
    assert "use turn.send" in str(caught.value)
    assert (await agent.send("NOTED")).version == 2


async def test_a_call_in_an_entry_action_is_an_error_too(runtime, services):
    other = await runtime.start("parcel", at="PACKING", agent_id="p-1")
    services.call = lambda: other.send("SENT")
    async with nothing_changes(runtime, other):
        with pytest.raises(ActionFailedError, match="inside a turn of agent 'c-1'"):
            await soon(runtime.start("calling", at="CALLING", agent_id="c-1"))


@pytest.mark.parametrize("graph", ["calling", "leaving"])
async def test_what_a_turn_leaves_running_may_send_once_the_turn_has_ended(runtime, services, graph):
    agent = await runtime.start(graph, at="A")
    ended = asyncio.Event()

    async def send_later():
        await ended.wait()
        return await agent.send("NOTED")

    services.call = send_later
    assert (await agent.send("LEFT")).version == 2
    ended.set()
    assert (await soon(services.left)).version == 3


async def test_who_is_called_while_another_has_a_turn_is_not_inside_it(runtime, services):
    agent = await runtime.start("calling", at="A")
    other = await runtime.start("calling", at="A")
    inside, done = asyncio.Event(), asyncio.Event()

    async def wait():
        inside.set()
        await done.wait()

    services.call = wait
    turn = asyncio.ensure_future(agent.send("CALLED"))
    await inside.wait()
    assert (await soon(other.send("NOTED"))).version == 2
    done.set()
    assert (await soon(turn)).version == 2

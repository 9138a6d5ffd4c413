"""Turns that fail: handled by the chart, or undone in memory as in the store."""

import asyncio

import pytest

from gatechart import Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import ActionFailedError, ContextInvalidError, MicrostepLimitError
from gatechart.testing import VirtualClock
from tests.runtime.support import Gate, Parcel, UntoldError, burst, gated, note, nothing_changes, parcel, soon

pytestmark = [pytest.mark.sample_on_restate, pytest.mark.sqlite_is_enough]


def spoil(context, event):
    context.stops.append("spoilt")
    context.weight = "heavy"


def keep_details(context, event):
    context.stops.append(str(event.payload))


async def lose_patience(context, event):
    waiting = asyncio.get_running_loop().create_future()
    waiting.cancel()
    await waiting


def note_late(context, event):
    context.stops.append("late")


failing = StateTransitionGraph(
    "failing",
    context=Parcel,
    states=[State("LATER", on_entry=note_late)],
    transitions=[
        Transition("A", "BURST", "LATER", actions=[note, burst]),
        Transition("A", "SPOILT", "LATER", actions=spoil),
        Transition("A", "CANCELLED", "LATER", actions=[note, lose_patience]),
        Transition("A", "NOTED", actions=note),
        Transition("B", "BURST", "C", actions=[note, burst, note]),
        Transition("C", "error.execution", "D", actions=keep_details),
        Transition("E", "BURST", "E", actions=burst),
        Transition("E", "error.execution", "E", actions=burst),
    ],
    entry_points=["A", "B", "E"],
)


async def begin(runtime, at):
    return await runtime.start("failing", at=at, agent_id="f-1")


@pytest.mark.parametrize(
    ("event", "error", "told"),
    [
        (
            "BURST",
            ActionFailedError,
            r"agent 'f-1': burst \(transition A --BURST--> LATER\) raised RuntimeError: the string",
        ),
        ("SPOILT", ContextInvalidError, "agent 'f-1': 'SPOILT' left a Parcel that is not valid: weight: Input should"),
        ("CANCELLED", ActionFailedError, r"lose_patience \(transition A --CANCELLED--> LATER\) raised CancelledError"),
    ],
)
async def test_a_turn_that_fails_is_undone_in_memory_as_in_the_store(place, event, error, told):
    async with Runtime.open(place, graphs=[failing]) as runtime:
        agent = await begin(runtime, "A")
        async with nothing_changes(runtime, agent):
            with pytest.raises(error, match=told):
                await soon(agent.send(event))
        assert (await soon(agent.send("NOTED"))).version == 2
        assert agent.context == Parcel(stops=["NOTED"])
    async with Runtime.open(place, graphs=[failing]) as runtime:
        assert (await runtime.resume("f-1")).context == Parcel(stops=["NOTED"])


@pytest.mark.not_on_restate("the exception itself stays in the service")
async def test_what_an_action_raised_is_the_cause_of_the_error(place):
    async with Runtime.open(place, graphs=[failing]) as runtime:
        agent = await begin(runtime, "A")
        with pytest.raises(ActionFailedError) as caught:
            await agent.send("BURST")
        assert isinstance(caught.value.__cause__, RuntimeError)
        assert caught.value.raised == "RuntimeError: the string broke"


async def test_a_handled_error_keeps_what_was_done_before_and_skips_the_rest(place):
    async with Runtime.open(place, graphs=[failing]) as runtime:
        agent = await begin(runtime, "B")
        outcome = await agent.send("BURST")
        assert outcome.applied
        assert outcome.taken == ("B --BURST--> C", "C --error.execution--> D")
        assert agent.configuration == ("D",)
        noted, broke, details = agent.context.stops
        assert (noted, broke) == ("BURST", "burst")
        for fact in ("RuntimeError", "the string broke", "burst", "B --BURST--> C"):
            assert fact in details
        assert (await agent.history())[-1].outcome == outcome


async def test_errors_that_call_for_themselves_end_in_an_error_that_names_the_cycle(place):
    async with Runtime.open(place, graphs=[failing]) as runtime:
        agent = await begin(runtime, "E")
        async with nothing_changes(runtime, agent):
            with pytest.raises(MicrostepLimitError, match=r"E --error.execution--> E → E --error.execution--> E;"):
                await agent.send("BURST")


async def test_a_failing_turn_takes_none_of_its_neighbours_with_it(place):
    async with Runtime.open(place, graphs=[parcel]) as runtime:
        agent = await runtime.start("parcel", at="PACKING")
        other = await runtime.start("parcel", at="PACKING")
        results = await asyncio.gather(
            agent.send("STAMPED", {"at": "1"}),
            other.send("STAMPED", {"at": "1"}),
            agent.send("DROPPED"),
            agent.send("WEIGHED", {"weight": "heavy"}),
            agent.send("WEIGHED"),
            other.send("STAMPED", {"at": "2"}),
            agent.send("STAMPED", {"at": "2"}),
            return_exceptions=True,
        )
        failed = [type(result) for result in results if isinstance(result, Exception)]
        assert failed == [ActionFailedError, ContextInvalidError, ActionFailedError]
        assert agent.context == other.context == Parcel(stops=["entered", "1", "2"])
        assert [entry.version for entry in await agent.history()] == [1, 2, 3]


async def test_a_turn_that_fails_late_is_undone_too(place):
    gate = Gate()
    async with Runtime.open(place, graphs=[gated], services=gate) as runtime:
        agent = await runtime.start("gated", at="RESTING")
        async with nothing_changes(runtime, agent):
            sending = asyncio.ensure_future(agent.send("BURST"))
            await gate.reached()
            gate.opened.set()
            with pytest.raises(ActionFailedError):
                await soon(sending)
        assert (await soon(agent.send("PASSED", {"at": "again"}))).version == 2
        assert agent.context.stops == ["again"]


@pytest.fixture
def clock():
    return VirtualClock()


def burst_untold(context, event):
    raise UntoldError


async def test_an_action_fails_by_an_exception_that_cannot_say_what_it_is_about(place, clock):
    graph = StateTransitionGraph(
        "bursting",
        transitions=[Transition("WHOLE", "DROPPED", actions=burst_untold), Transition("WHOLE", "error.*", "BROKEN")],
        entry_points=["WHOLE"],
    )
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        agent = await runtime.start("bursting", at="WHOLE")
        await agent.send("DROPPED")
        assert agent.configuration == ("BROKEN",)

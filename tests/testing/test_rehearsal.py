"""Rehearsals move the clock by durations, and until a state is active."""

import pytest

from gatechart import AgentContext, Invoke, Retry, State, StateTransitionGraph, Transition
from gatechart.errors import NoInvokeError, UndeclaredEventError, UnknownStateError
from gatechart.testing import rehearse

LATE = StateTransitionGraph(
    "late",
    version="1",
    context=AgentContext,
    states=[State("OPEN", after={"1h30m": "DUE"}), State("DUE", after={"P2D": "EXPIRED"}), State("EXPIRED")],
    transitions=[],
    entry_points=["OPEN"],
)


@pytest.mark.parametrize("by", ["1h30m", "PT90M", 5400])
async def test_the_clock_of_a_rehearsal_moves_by_any_duration(by):
    async with rehearse(LATE, "OPEN") as rehearsal:
        await rehearsal.advance("89m")
        assert rehearsal.leaves == ("OPEN",)
    async with rehearse(LATE, "OPEN") as rehearsal:
        await rehearsal.advance(by)
        assert rehearsal.leaves == ("DUE",)


async def test_a_rehearsal_goes_on_until_one_of_several_states_is_active_and_stops_at_that_moment():
    async with rehearse(LATE, "OPEN") as rehearsal:
        begun = rehearsal.clock.at
        snapshot = await rehearsal.until("EXPIRED", "DUE")
        assert snapshot.configuration == ("DUE",)
        assert (rehearsal.clock.at - begun).total_seconds() == 5400
        assert await rehearsal.until("DUE") == snapshot
        assert (await rehearsal.until("EXPIRED", within="2d")).configuration == ("EXPIRED",)


async def test_a_rehearsal_tells_where_the_agent_is_if_a_state_is_not_reached():
    async with rehearse(LATE, "OPEN") as rehearsal:
        with pytest.raises(AssertionError, match=r"'EXPIRED' is not active within 1d: .* active in DUE"):
            await rehearsal.until("EXPIRED", within="1d")
        with pytest.raises(UnknownStateError):
            await rehearsal.until("LOST")
        with pytest.raises(ValueError, match="'soon' is not a duration"):
            await rehearsal.until("EXPIRED", within="soon")


async def test_a_rehearsal_from_the_initial_state_knows_the_declared_events():
    closed = StateTransitionGraph(
        "closed",
        transitions=[Transition("OPEN", "DECIDED", "DONE")],
        entry_points=["OPEN"],
        events=["DECIDED"],
        events_closed=True,
    )
    async with rehearse(closed) as agent:
        with pytest.raises(UndeclaredEventError):
            await agent.send("DECIDEDD")
        assert (await agent.send("DECIDED")).applied


class Order(AgentContext):
    paid: bool = False


async def never(context, work):
    raise AssertionError("it runs")


ORDER = StateTransitionGraph(
    "order",
    context=Order,
    states=[State("PRINTING", invoke=Invoke(never, id="print", retry=Retry(attempts=2))), State("SHIPPED")],
    transitions=[
        Transition("UNPAID", "PAID", "PRINTING"),
        Transition("PRINTING", "done.invoke.print", "SHIPPED", actions=lambda context, event: None),
        Transition("PRINTING", "error.invoke.print", "UNPAID"),
    ],
    entry_points=["UNPAID"],
)


async def test_a_rehearsal_begins_in_any_state_with_any_context():
    async with rehearse(ORDER, "SHIPPED", context={"paid": True}) as agent:
        assert (agent.leaves, agent.context) == (("SHIPPED",), Order(paid=True))
    with pytest.raises(UnknownStateError):
        async with rehearse(ORDER, "LOST", context={}):
            pass


async def test_an_invoke_that_is_held_ends_as_the_test_says():
    async with rehearse(ORDER, "UNPAID", holds_invokes=True) as agent:
        await agent.send("PAID")
        assert agent.invokes == ("print",)
        await agent.end_invoke("print", {"number": 7})
        assert (agent.leaves, agent.invokes) == (("SHIPPED",), ())
        with pytest.raises(NoInvokeError):
            await agent.end_invoke("print")


async def test_an_invoke_that_is_held_and_fails_is_tried_again_as_it_says():
    async with rehearse(ORDER, "UNPAID", holds_invokes=True) as agent:
        await agent.send("PAID")
        await agent.end_invoke("print", error=OSError("no paper"))
        assert (agent.leaves, agent.invokes) == (("PRINTING",), ())
        await agent.advance("1m")
        assert agent.invokes == ("print",)
        await agent.end_invoke("print", error=OSError("no paper"))
        assert agent.leaves == ("UNPAID",)

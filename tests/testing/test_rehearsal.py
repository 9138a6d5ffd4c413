"""Rehearsals move the clock by durations, and until a state is active."""

import pytest

from gatechart import AgentContext, State, StateTransitionGraph, Transition
from gatechart.errors import UndeclaredEventError, UnknownStateError
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

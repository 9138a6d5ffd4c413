"""The ring of failing tools: with each way out closed in turn, an agent gets out by the next, or is with a person."""

import pytest
from rich.console import Console

from statecharts.tool_ring import CLOSED_WAYS, ring
from statecharts.tool_ring.__main__ import table
from statecharts.tool_ring.play import ENDS, WITH_A_PERSON, Situation, play, situations
from statecharts.tool_ring.ring import MOST_STEPS
from statecharts.tool_ring.tools import Chances

NEVER = Chances(db_tool=1.0, api_tool=0.0, alt_db_tool=0.0)
SPOILT = Chances(0.0, 0.0, 0.0, spoils=True)


async def alone(chances, closed=(), *, has_plan=True):
    """Where a single agent ends, after how many steps, and by which strategies."""
    played = await play(Situation("alone", chances, closed, has_plan), 1)
    (ended,) = (name for name, count in played.ends if count)
    return ended, played.steps[0], [name for name, _ in played.ways]


@pytest.mark.parametrize(
    ("chances", "closed", "ended", "ways"),
    [
        (NEVER, ("tool", "wait"), "FINISHED", ["reroute"]),
        (NEVER, ("tool",), "FINISHED", ["await_breaker", "reroute"]),
        (SPOILT, ("tool", "route"), "FINISHED", ["rollback"]),
        (NEVER, CLOSED_WAYS, WITH_A_PERSON, ["to_human"]),
    ],
)
async def test_it_gets_out_by_the_cheapest_way_that_is_open(chances, closed, ended, ways):
    found, steps, tried = await alone(chances, closed)
    assert (found, tried) == (ended, ways)
    assert steps < MOST_STEPS / 2


@pytest.mark.parametrize("chances", [NEVER, SPOILT])
async def test_without_a_plan_it_goes_round_until_it_is_exhausted(chances):
    assert await alone(chances, has_plan=False) == ("EXHAUSTED", MOST_STEPS, [])


@pytest.mark.parametrize("seed", range(3))
async def test_however_tools_fail_every_agent_ends_within_its_steps(seed):
    for situation in situations(seed):
        played = await play(situation, 4)
        ends = dict(played.ends)
        assert sum(ends[each] for each in ENDS) == 4
        assert played.steps[-1] <= MOST_STEPS
        if situation.has_plan:
            assert not ends["EXHAUSTED"], situation.name


def test_a_way_that_there_is_not_cannot_be_closed():
    with pytest.raises(ValueError, match="those that can be closed are tool, route, rollback, wait"):
        ring(closed=["tunnel"])


async def test_what_became_of_the_agents_is_shown_as_a_table():
    situation = Situation("no way", NEVER, CLOSED_WAYS)
    console = Console(width=200)
    with console.capture() as shown:
        console.print(table([(situation, await play(situation, 2))]))
    assert "to_human 2" in shown.get()

"""An agent's record of its escapes lasts, on every home: through all that operators do to the agent and to its home."""

from datetime import timedelta
from itertools import pairwise

import pytest

from gatechart import EscapePlan, Handoff, HandoffPacket, Runtime, State, StateTransitionGraph, ToolBox, Transition
from gatechart.errors import TakingBackError
from gatechart.escape import GiveUp, Nudge, Reroute, Restart
from gatechart.graph.definition import EntryPoint
from gatechart.graph.migration import Migration
from gatechart.graph.signals import Signal
from gatechart.hosting.limits import Limits
from gatechart.signals import Repeats
from gatechart.testing import VirtualClock
from gatechart.values.delays import Retry
from gatechart.values.escapes import NO_ESCAPES, CameTo
from gatechart.values.homes import Role
from gatechart.values.mail import MailStatus
from tests.runtime.handovers import rest
from tests.runtime.rings import CIRCLE, NOON
from tests.runtime.support import eventually
from tests.runtime.trip_agents import Desk, book_two, trip

PLAN = EscapePlan({"repeats": [Nudge(), Reroute()]}, cooldown="1h")
GIVER = StateTransitionGraph("giver", states=["HERE"], entry_points=["HERE"])


def ring(version="1", *, notices=True):
    noticing = {"signals": Signal(Repeats()), "escape": PLAN} if notices else {}
    before = [str(each) for each in range(1, int(version) + 1)]
    return StateTransitionGraph(
        "ring",
        version=version,
        states=[State("DONE", final=True), State("GAVE_UP", final=True, failed=True)],
        transitions=[
            *CIRCLE,
            Transition("E", "GO", "DONE"),
            *(Transition(each, "handoff.offered.A", "A") for each in "AB"),
        ],
        entry_points=[EntryPoint("A", takes=HandoffPacket), "B"],
        migrations=[Migration(one, other, lambda stored: stored) for one, other in pairwise(before)],
        **noticing,
    )


async def tried_once(runtime):
    """An agent that tried the first of its strategies."""
    agent = await runtime.start("ring", at="B", agent_id="a")
    await go_round(agent, 1)
    return agent


async def go_round(agent, attempts):
    """Send events until the agent has made so many attempts, and no more by way of these events."""
    for _ in range(20):
        if agent.snapshot.trail.escapes.count < attempts:
            await agent.send("GO")
            await eventually(lambda: not agent.snapshot.trail.escapes.is_due)


def kept(agent):
    """What no way back may take from an agent."""
    escapes = agent.snapshot.trail.escapes
    tried = [(each.number, each.finding, each.strategy) for each in escapes.tried]
    return escapes.count, escapes.findings, tried, [each.tried for each in escapes.open], escapes.day, escapes.today


async def check_goes_on(agent):
    """Check that what was tried is not tried again for the same finding."""
    await go_round(agent, 2)
    assert [each.strategy for each in agent.snapshot.trail.escapes.tried] == ["nudge", "give_up"]


@pytest.mark.sample_on_restate
async def test_an_operator_who_takes_an_agent_back_takes_nothing_from_its_record(place):
    async with Runtime.open(place, graphs=[ring()]) as runtime:
        agent = await tried_once(runtime)
        before = kept(agent)
        await agent.rollback(2, reason="to see")
        assert kept(agent) == before
        await check_goes_on(agent)


async def test_a_fork_begins_without_a_record_and_takes_none_from_the_agent(place):
    async with Runtime.open(place, graphs=[ring()]) as runtime:
        agent = await tried_once(runtime)
        before, version = kept(agent), agent.snapshot.version
        other = await runtime.fork("a", version)
        assert other.snapshot.trail.escapes == NO_ESCAPES
        await go_round(other, 1)
        assert [each.strategy for each in other.snapshot.trail.escapes.tried] == ["nudge"]
        assert kept(await runtime.resume("a")) == before


async def test_a_record_goes_along_to_other_versions_even_through_one_without_signals(place):
    async with Runtime.open(place, graphs=[ring()]) as runtime:
        before = kept(await tried_once(runtime))
    for version, notices in (("2", True), ("3", False), ("4", True)):
        async with Runtime.open(place, graphs=[ring(version, notices=notices)]) as runtime:
            agent = await runtime.resume("a")
            await agent.send("GO")
            assert (agent.snapshot.graph_version, kept(agent)) == (version, before)
    async with Runtime.open(place, graphs=[ring("4")]) as runtime:
        await check_goes_on(await runtime.resume("a"))


@pytest.mark.needs("prunes")
async def test_a_record_outlives_the_turns_of_which_it_tells(place):
    async with Runtime.open(place, graphs=[ring()]) as runtime:
        agent = await tried_once(runtime)
        before = kept(agent)
        await runtime.prune(keep_turns=1, ids_for=timedelta())
    async with Runtime.open(place, graphs=[ring()]) as runtime:
        agent = await runtime.resume("a")
        assert kept(agent) == before
        await check_goes_on(agent)


async def test_a_record_is_erased_with_its_agent(place):
    async with Runtime.open(place, graphs=[ring()]) as runtime:
        await tried_once(runtime)
        await runtime.erase("a")
        agent = await runtime.start("ring", at="B", agent_id="a")
        assert agent.snapshot.trail.escapes == NO_ESCAPES


async def test_an_agent_with_other_work_keeps_its_counts_and_forgets_what_was_found_in_the_work_before(place):
    async with Runtime.open(place, graphs=[ring(), GIVER], clock=VirtualClock(NOON)) as runtime:
        agent = await tried_once(runtime)
        count, findings, tried, _, *today = kept(agent)
        giver = await runtime.start("giver", at="HERE")
        await runtime.handoff(giver.id, Handoff("ring", at="A", agent="a"))
        await rest(runtime)
        agent = await runtime.resume("a")
        assert agent.snapshot.trail.entry_point == "A"
        assert kept(agent) == (count, findings, tried, [], *today)
        assert [each.came_to for each in agent.snapshot.trail.escapes.tried] == [CameTo.NOTHING]
        await go_round(agent, 2)
        assert agent.snapshot.trail.escapes.newest.finding == findings + 1


async def test_an_agent_restored_from_a_backup_has_its_record(backup):
    async with Runtime.open(backup.url, graphs=[ring()]) as runtime:
        before = kept(await tried_once(runtime))
        backup.take()
    async with Runtime.open(backup.restored_url, graphs=[ring()], role=Role.TAKE_OVER) as runtime:
        agent = await runtime.resume("a")
        assert kept(agent) == before
        await check_goes_on(agent)


# In the midst of taking calls back


async def undoing_version(agent):
    """The version at which the agent was taking calls back."""
    return next(turn.version for turn in await agent.history() if "UNDOING" in turn.target)


@pytest.mark.sample_on_restate
async def test_nobody_goes_back_to_where_calls_were_being_taken_back(place):
    async with Runtime.open(place, graphs=trip(book_two, Restart()), services=Desk()) as runtime:
        agent = await runtime.start("trip", at="BUYING")
        await agent.until("DONE", timeout=30)
        version, before = await undoing_version(agent), agent.snapshot
        with pytest.raises(TakingBackError, match=f"was compensating calls at version {version}"):
            await agent.rollback(version, reason="to see")
        with pytest.raises(TakingBackError):
            await runtime.fork(agent.id, version)
        assert agent.snapshot == before


async def test_an_agent_that_gave_up_as_calls_could_not_be_taken_back_goes_on_from_before_that(place):
    desk = Desk(breaks=True)
    async with Runtime.open(place, graphs=trip(book_two, Restart(), last=GiveUp()), services=desk) as runtime:
        agent = await runtime.start("trip", at="BUYING", agent_id="a")
        await agent.until("GAVE_UP", timeout=30)
        count = agent.snapshot.trail.escapes.count
        desk.fails = 0
        back = await runtime.retry_agent("a", reason="mended")
        assert back.configuration == ("CHECKING",)
        await agent.until("DONE", timeout=30)
        assert agent.snapshot.trail.escapes.count == count


class Breaking(Desk):
    """Services whose tools cannot be asked for once a call was taken back, so that no way out can be looked for."""

    @property
    def tools(self):
        if len(self.deeds) >= 4:
            raise RuntimeError("nobody knows the tools")
        return self._tools

    @tools.setter
    def tools(self, tools):
        self._tools = tools


ONCE = Limits(mail_retry=Retry(attempts=1))


@pytest.mark.not_on_restate("it tries such mail for as long as its service is told to")
async def test_an_agent_that_takes_calls_back_ends_if_the_mail_dies_by_which_it_asks_to_go_on(place):
    async with Runtime.open(place, graphs=trip(book_two, Restart()), services=Breaking(), limits=ONCE) as runtime:
        agent = await runtime.start("trip", at="BUYING", agent_id="a")
        await agent.until("GAVE_UP", timeout=30)
        [*_, last] = await agent.history()
        assert (last.event.name, last.source) == ("error.mail", ("UNDOING",))
        assert (last.event.payload["event"], last.event.payload["signal"]) == ("escape.due", "failing")
        assert "nobody knows the tools" in last.event.payload["reason"]
        assert not agent.snapshot.trail.escapes.is_due


class Unknown:
    """Services whose tools cannot be asked for, from when they break until they are mended."""

    is_mended = True

    @property
    def tools(self):
        if not self.is_mended:
            raise RuntimeError("nobody knows the tools")
        return ToolBox([])


@pytest.mark.not_on_restate("it tries such mail for as long as its service is told to")
async def test_an_agent_whose_mail_died_asks_for_a_way_out_again_when_its_signal_fires_again(place):
    services, clock = Unknown(), VirtualClock(NOON)
    async with Runtime.open(place, graphs=[ring()], services=services, limits=ONCE, clock=clock) as runtime:
        agent = await runtime.start("ring", at="B", agent_id="a")
        services.is_mended = False
        for _ in range(6):
            await agent.send("GO")
        await rest(runtime)
        [dead] = await runtime.mail(status=MailStatus.DEAD)
        assert (dead.event, agent.snapshot.trail.escapes.is_due) == ("escape.due", False)
        assert [each.tried for each in agent.snapshot.trail.escapes.open] == [()]
        services.is_mended = True
        await go_round(agent, 1)
        assert [(each.finding, each.strategy) for each in agent.snapshot.trail.escapes.tried] == [(1, "nudge")]


async def test_a_graph_whose_plans_take_no_calls_back_may_have_a_state_of_that_name(place):
    graph = StateTransitionGraph(
        "own",
        states=[State("LOST", final=True, failed=True)],
        transitions=[Transition("UNDOING", "GO", "HERE"), Transition("UNDOING", "LOSE", "LOST")],
        entry_points=["UNDOING", "HERE"],
    )
    async with Runtime.open(place, graphs=graph) as runtime:
        agent = await runtime.start("own", at="UNDOING", agent_id="a")
        await agent.send("GO")
        await agent.rollback(1, reason="to see")
        assert agent.snapshot.configuration == ("UNDOING",)
        await agent.send("LOSE")
        assert (await runtime.retry_agent("a", reason="to see")).configuration == ("UNDOING",)
        assert (await runtime.fork("a", 1)).snapshot.configuration == ("UNDOING",)

"""What came of chosen work, in the directory; places and closed entries; dry runs."""

import asyncio

import pytest

from gatechart import EntryPoint, Handoff, HandoffPacket, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import NoHandoffError, PayloadError, UnknownSelectorError
from gatechart.graph.handoff import Accepts
from gatechart.graph.selection import Best
from gatechart.handoff import SelectionTerms
from gatechart.stores import MemoryStore
from gatechart.values.agents import Status
from gatechart.values.directory import Ended, Mark
from gatechart.values.profiles import Needs, Profile
from tests.runtime.handovers import ACCEPTED, REJECTED, Talk, house, only, rest, statuses, target_of, worker
from tests.runtime.support import WrappedStore
from tests.runtime.test_choosing import asking, begun

pytestmark = pytest.mark.sqlite_is_enough

REFUNDS = Best(Needs(domains=("refunds",)), order=("tier",))
junior = worker("junior", profile=Profile(domains=("refunds",), tier=1))
senior = worker("senior", profile=Profile(domains=("refunds",), tier=3))
plain = worker("plain")
LETTER = HandoffPacket(user_id="ada", current_problem="my money, please")


async def entry_of(runtime, entry_id):
    await rest(runtime)
    (entry,) = await runtime.directory(entry_id)
    return entry


async def test_work_that_is_completed_counts_for_whoever_took_it(place):
    async with house(place, asking(REFUNDS, packet=lambda context, event: LETTER), senior) as runtime:
        agent = await begun(runtime)
        entry = await entry_of(runtime, "senior.WORKING")
        assert (entry.candidate.held, entry.completed, entry.outcomes) == (1, 0, ())
        await (await target_of(runtime, agent)).send("DONE")
        entry = await entry_of(runtime, "senior.WORKING")
        assert (entry.candidate.held, entry.completed, entry.candidate.performance) == (0, 1, 1.0)
        (outcome,) = entry.outcomes
        row = await only(runtime)
        assert (outcome.handoff, outcome.ended, outcome.user) == (row.id, Ended.COMPLETED, "ada")
        assert (outcome.source, outcome.kind, outcome.handed_on) == (agent.id, "refunds", 0)
        assert entry.candidate.users == ("ada",)


async def test_work_that_fails_lowers_the_performance(place):
    async with house(place, asking(REFUNDS), senior) as runtime:
        agent = await begun(runtime)
        await runtime.stop((await target_of(runtime, agent)).id)
        entry = await entry_of(runtime, "senior.WORKING")
        assert (entry.failed, round(entry.candidate.performance, 4)) == (1, 0.94)
        assert entry.candidate.users == ()


async def test_work_to_a_fixed_target_is_no_concern_of_the_directory(place):
    async with house(place, worker("asked", profile=Profile(domains=("refunds",))), plain) as runtime:
        await runtime.start("plain", at="WORKING")
        assert (await entry_of(runtime, "asked.WORKING")).outcomes == ()


async def test_what_is_kept_is_there_after_the_home_opened_again(place):
    async with house(place, asking(REFUNDS), senior) as runtime:
        agent = await begun(runtime)
        await (await target_of(runtime, agent)).send("DONE")
        before = await entry_of(runtime, "senior.WORKING")
    async with house(place, asking(REFUNDS), senior) as runtime:
        assert await entry_of(runtime, "senior.WORKING") == before


async def test_a_person_rates_the_work(place):
    async with house(place, asking(REFUNDS), senior) as runtime:
        agent = await begun(runtime)
        await (await target_of(runtime, agent)).send("DONE")
        await rest(runtime)
        row = await only(runtime)
        await runtime.rate_handoff(row.id, needed=True, in_time=False)
        await runtime.rate_handoff(row.id, quality=0.75)
        (outcome,) = (await entry_of(runtime, "senior.WORKING")).outcomes
        assert (outcome.needed, outcome.in_time, outcome.quality) == (True, False, 0.75)
        with pytest.raises(NoHandoffError):
            await runtime.rate_handoff("none", needed=True)
        for wrong in ({"quality": 2}, {}):
            with pytest.raises(PayloadError):
                await runtime.rate_handoff(row.id, **wrong)


async def test_a_closed_queue_is_offered_nothing(place):
    async with house(place, asking(REFUNDS), junior, senior) as runtime:
        await runtime.mark_entry("senior.WORKING", Mark.CLOSED)
        await begun(runtime)
        assert (await only(runtime)).target_graph == "junior"


async def test_a_queue_that_is_closed_rejects_what_names_it(place):
    async with house(place, worker("first"), junior) as runtime:
        await runtime.mark_entry("junior.WORKING", Mark.CLOSED, reason="stocktaking")
        agent = await runtime.start("first", at="WORKING")
        await runtime.handoff(agent.id, Handoff("junior", at="WORKING"))
        await rest(runtime)
        row = await only(runtime)
        assert (row.status, row.changes[-1].details) == (REJECTED, "closed: stocktaking")
        await runtime.mark_entry("junior.WORKING", Mark.CLOSED)
        again = await runtime.handoff(agent.id, Handoff("junior", at="WORKING"))
        await rest(runtime)
        (row,) = await runtime.handoffs(handoff_id=again)
        assert row.changes[-1].details == "closed: by an operator"


async def test_pinned_ones_go_first_and_excluded_ones_not_at_all(place):
    async with house(place, asking(REFUNDS), junior, senior) as runtime:
        await runtime.mark_entry("junior.WORKING", Mark.PINNED)
        await begun(runtime)
        assert (await only(runtime)).target_graph == "junior"
        await runtime.mark_entry("junior.WORKING", Mark.EXCLUDED)
        choice = await runtime.choose(needs=Needs(domains=("refunds",)))
        assert choice.candidate.id == "senior.WORKING"


@pytest.mark.parametrize("count", [1, 40])
async def test_a_registered_entry_takes_no_more_than_its_capacity(place, count):
    needs = Best(Needs(domains=("bills",)), order=("tier",))
    async with house(place, asking(needs), plain) as runtime:
        for name in ("anna", "bert"):
            await runtime.register_entry(
                name, plain, at="WORKING", profile=Profile(domains=("bills",)), is_person=True, capacity=10
            )
        agents = [await runtime.start("asking", at="TALKING") for _ in range(count)]
        await asyncio.gather(*(agent.send("ASK") for agent in agents))
        await rest(runtime)
        rows = await runtime.handoffs(limit=1000)
        taken = [row.packet["recipient"] for row in rows if row.status is ACCEPTED]
        assert len(taken) == min(count, 20)
        assert max(taken.count("anna"), taken.count("bert")) <= 10
        agents = [await runtime.read(row.target) for row in rows if row.status is ACCEPTED]
        for agent in agents[:1]:
            await runtime.send(agent.agent_id, "DONE")
        await rest(runtime)
        held = {each.id: each.candidate.held for each in await runtime.directory()}
        assert sum(held.values()) == len(taken) - 1


async def test_an_entry_with_a_capacity_of_its_own_stands_before_a_graph_without_one(place):
    limited = worker("limited", accepts=Accepts(capacity=2))
    async with house(place, limited) as runtime:
        with pytest.raises(PayloadError, match="a capacity of its own, 2"):
            await runtime.register_entry("anna", limited, at="WORKING", capacity=1)


async def test_a_dry_run_tells_whom_work_would_go_to_and_changes_nothing(place):
    refunding = Profile(domains=("refunds",), samples=("I want my money back", "refund my order"))
    shipping = Profile(domains=("parcels",), samples=("where is my parcel", "track the shipment"))
    async with house(place, worker("refund", profile=refunding), worker("ship", profile=shipping)) as runtime:
        choice = await runtime.choose(HandoffPacket(current_problem="please, where is the parcel?"))
        assert choice.candidate.id == "ship.WORKING"
        assert [each.id for each in choice.explanation.judged] == ["ship.WORKING", "refund.WORKING"]
        choice = await runtime.choose(needs=Needs(domains=("refunds",)))
        assert choice.candidate.id == "refund.WORKING"
        nobody = await runtime.choose(HandoffPacket(current_problem="a fridge to mend"))
        assert nobody.candidate is None
        assert await statuses(runtime) == []
        assert (await runtime.find(graph="gatechart.directory")).agents == ()
        with pytest.raises(UnknownSelectorError, match="no filter is named 'strange': there are 'person', 'local'"):
            await runtime.choose(HandoffPacket(selection=SelectionTerms(filters=("strange",))))
        for needs, told in ((Needs(tier=-1), "tier=-1 is no tier"), (Needs(("a\0",)), "it has the character NUL")):
            with pytest.raises(PayloadError, match=f"does not fit choose: needs: .*{told}"):
                await runtime.choose(needs=needs)


@pytest.mark.parametrize(("group", "reads"), [("", 0), ("east", 1)])
async def test_a_choice_reads_what_failed_before_only_where_candidates_fail_together(group, reads):
    east = worker("east", profile=Profile(domains=("refunds",), group=group))
    store = CountsHandoffsRead(MemoryStore())
    async with Runtime.open(store, graphs=[asking(REFUNDS), east]) as runtime:
        agent = await runtime.start("asking", at="TALKING")
        store.reads = 0
        packet = HandoffPacket(source_agent=agent.id, source_graph="asking")
        assert (await runtime.choose(packet, needs=Needs(domains=("refunds",)))).candidate.graph == "east"
        assert store.reads == reads


class CountsHandoffsRead(WrappedStore):
    """A store that counts how often handoffs are read."""

    reads = 0

    async def handoffs(self, query):
        self.reads += 1
        return await self.store.handoffs(query)


async def test_a_registered_entry_never_outranks_a_local_one_unless_allowed(place):
    async with house(place, asking(REFUNDS), junior, plain) as runtime:
        await runtime.register_entry("bot", plain, at="WORKING", profile=Profile(domains=("refunds",), tier=9))
        agent = await begun(runtime)
        assert (await only(runtime)).target_graph == "junior"
        assert agent.status is Status.DONE


async def test_a_user_is_forgotten_and_the_numbers_stay(place):
    async with house(place, asking(REFUNDS, packet=lambda context, event: LETTER), senior) as runtime:
        agent = await begun(runtime)
        await (await target_of(runtime, agent)).send("DONE")
        await rest(runtime)
        await runtime.forget_user("bert")
        assert (await entry_of(runtime, "senior.WORKING")).candidate.users == ("ada",)
        await runtime.forget_user("ada")
        entry = await entry_of(runtime, "senior.WORKING")
        assert (entry.candidate.users, entry.outcomes, entry.completed) == ((), (), 1)


async def test_an_agent_that_is_erased_is_forgotten_by_the_directory(place):
    async with house(place, asking(REFUNDS), senior) as runtime:
        agent = await begun(runtime)
        await (await target_of(runtime, agent)).send("DONE")
        assert [each.source for each in (await entry_of(runtime, "senior.WORKING")).outcomes] == [agent.id]
        await runtime.erase(agent.id)
        assert (await entry_of(runtime, "senior.WORKING")).outcomes == ()


async def test_the_outcome_of_work_that_was_handed_on_again_reaches_whoever_had_it_before(place):
    other = StateTransitionGraph(
        "middle",
        context=Talk,
        transitions=[
            Transition("TALKING", "ASK", "WAITING", actions=Handoff(Best(Needs(domains=("bills",)), order=("tier",)))),
            Transition("WAITING", "LEAVE", "TALKING"),
        ],
        entry_points=[EntryPoint("TALKING", profile=Profile(domains=("refunds",)))],
    )
    last = worker("last", profile=Profile(domains=("bills",)))
    async with house(place, asking(REFUNDS), other, last) as runtime:
        agent = await begun(runtime)
        middle = await target_of(runtime, agent)
        await middle.send("ASK")
        assert (await entry_of(runtime, "middle.TALKING")).outcomes == ()  # its work goes on elsewhere
        await (await target_of(runtime, middle)).send("DONE")
        (own,) = (await entry_of(runtime, "last.WORKING")).outcomes
        (before,) = (await entry_of(runtime, "middle.TALKING")).outcomes
        assert [(each.ended, each.handed_on) for each in (own, before)] == [(Ended.COMPLETED, 0), (Ended.COMPLETED, 1)]


async def test_work_that_comes_back_counts_as_that_once(place):
    def give_back(context, event, turn):
        (taken,) = turn.handoffs
        turn.handoff("giver", at="BACK", agent=taken.peer, achieved="looked into it")

    giver = StateTransitionGraph(
        "giver",
        context=Talk,
        states=["TALKING", "WAITING", "BACK", State("OVER", final=True)],
        transitions=[
            Transition("TALKING", "ASK", "WAITING", actions=Handoff(REFUNDS)),
            Transition("WAITING", "handoff.accepted", "WAITING"),
            Transition("WAITING", "handoff.offered.BACK", "BACK"),
            Transition("BACK", "DONE", "OVER"),
        ],
        entry_points=["TALKING", "BACK"],
    )
    returner = StateTransitionGraph(
        "returner",
        context=Talk,
        transitions=[
            Transition("WORKING", "RETURN", "RETURNING", actions=give_back),
            Transition("RETURNING", "handoff.rejected", "WORKING"),
        ],
        entry_points=[EntryPoint("WORKING", profile=Profile(domains=("refunds",)))],
    )
    async with house(place, giver, returner) as runtime:
        agent = await begun(runtime, "giver")
        await (await target_of(runtime, agent)).send("RETURN")
        assert [each.ended for each in (await entry_of(runtime, "returner.WORKING")).outcomes] == [Ended.CAME_BACK]
        await agent.send("DONE")
        entry = await entry_of(runtime, "returner.WORKING")
        assert (entry.came_back, entry.completed, round(entry.candidate.performance, 4)) == (1, 0, 0.94)
        assert await runtime.mail(status="refused") == []

"""What choices learn from earlier ones: what is kept of each, on every home, and what follows from it."""

import asyncio

import pytest

from gatechart import EntryPoint, HandoffPacket, State, StateTransitionGraph, Transition
from gatechart.graph.selection import Best
from gatechart.hosting.directory_graph import entry_context
from gatechart.runtime import Choosing
from gatechart.selection import Exploring, Learned, terms_of
from gatechart.values.directory import Ended
from gatechart.values.profiles import Needs, Profile
from tests.runtime.handovers import house, only, pass_time, rest, target_of, worker
from tests.runtime.test_choosing import asking, begun

pytestmark = pytest.mark.sqlite_is_enough

BY_TEXT = Best(scorers={"text": 1.0})
LEARNING = Best(scorers={"learned": 1.0})
RECORDING = Choosing(learned=Learned())
refund = worker("refund", profile=Profile(domains=("refunds",), samples=("I want my money back", "refund my order")))
parcel = worker("parcel", profile=Profile(domains=("parcels",), samples=("where is my parcel", "track my order")))
LETTER = HandoffPacket(user_id="ada", current_problem="please refund my order")


def asks(best, letter=LETTER):
    return asking(best, packet=lambda context, event: letter)


async def kept_of(runtime, entry_id):
    await rest(runtime)
    return entry_context(await runtime.read(f"directory:{entry_id}"))


async def handed(runtime):
    """Hand the letter to whoever is chosen, and return its agent."""
    return await target_of(runtime, await begun(runtime))


async def test_nothing_is_kept_of_choices_unless_that_is_wished(place):
    async with house(place, asks(BY_TEXT), refund, parcel) as runtime:
        await (await handed(runtime)).send("DONE")
        assert (await kept_of(runtime, "refund.WORKING")).choices == []


async def test_a_choice_is_kept_with_its_text_and_joined_by_what_came_of_it(place):
    async with house(place, asks(BY_TEXT), refund, parcel, choosing=RECORDING) as runtime:
        target = await handed(runtime)
        (chosen,) = (await kept_of(runtime, "refund.WORKING")).choices
        row = await only(runtime)
        assert (chosen.handoff, chosen.user, chosen.outcome, chosen.departs) == (row.id, "ada", None, False)
        assert [each[:2] for each in chosen.ranked] == [("refund.WORKING", "refund"), ("parcel.WORKING", "parcel")]
        assert [each[3] for each in chosen.ranked] == [1.0, 0.0]
        await target.send("DONE")
        (chosen,) = (await kept_of(runtime, "refund.WORKING")).choices
        assert (chosen.ended, chosen.observation().reward) == (Ended.COMPLETED, 1.0)


@pytest.mark.parametrize(
    ("entries", "rival"),
    [
        ((), "refund.WORKING"),
        ("parcel.WORKING", ""),
        (("parcel.WORKING", "refund.WORKING"), "refund.WORKING"),
    ],
)
async def test_who_was_not_named_for_the_work_was_not_nearly_chosen(place, entries, rival):
    best = Best(Needs(domains=("parcels",)), entries=entries, scorers={"text": 1.0})
    async with house(place, asks(best), refund, parcel, choosing=RECORDING) as runtime:
        await handed(runtime)
        (chosen,) = (await kept_of(runtime, "parcel.WORKING")).choices
        assert chosen.rival == rival


async def test_what_people_say_of_the_work_changes_its_reward(place):
    async with house(place, asks(BY_TEXT), refund, parcel, choosing=RECORDING) as runtime:
        await (await handed(runtime)).send("DONE")
        await rest(runtime)
        await runtime.rate_handoff((await only(runtime)).id, quality=0.5)
        (chosen,) = (await kept_of(runtime, "refund.WORKING")).choices
        assert chosen.observation().reward == 0.75


def measured(cost):
    """A graph whose work should cost 2 at most, take no more than a minute, and costs so much."""
    return StateTransitionGraph(
        "measured",
        states=["WORKING", State("FINISHED", final=True, data=lambda context, event: {"cost": cost})],
        transitions=[Transition("WORKING", "DONE", "FINISHED")],
        entry_points=[EntryPoint("WORKING", profile=Profile(samples=("refund my order",), cost=2.0, expected_s=60))],
    )


@pytest.mark.parametrize(("cost", "reward"), [(2, 1.0), (2.5, 0.8), ("dear", 1.0), (None, 1.0)])
async def test_work_that_cost_more_than_its_profile_says_is_worth_less(place, cost, reward):
    async with house(place, asks(BY_TEXT), measured(cost), choosing=RECORDING) as runtime:
        await (await handed(runtime)).send("DONE")
        (chosen,) = (await kept_of(runtime, "measured.WORKING")).choices
        assert (chosen.cost, chosen.observation().reward) == (cost if isinstance(cost, int | float) else None, reward)


@pytest.mark.not_on_restate("its clock cannot be moved")
@pytest.mark.parametrize(("seconds", "reward"), [(60, 1.0), (61, 0.8)])
async def test_work_that_took_longer_than_its_profile_says_is_worth_less(place, seconds, reward):
    async with house(place, asks(BY_TEXT), measured(1), choosing=RECORDING) as runtime:
        target = await handed(runtime)
        await pass_time(runtime, seconds)
        await target.send("DONE")
        (chosen,) = (await kept_of(runtime, "measured.WORKING")).choices
        assert (chosen.took_s, chosen.observation().reward) == (seconds, reward)


@pytest.mark.parametrize("forgotten", ["user", "agent"])
async def test_what_is_kept_of_choices_is_forgotten_with_the_user_and_with_the_agent_that_asked(place, forgotten):
    async with house(place, asks(BY_TEXT), refund, parcel, choosing=RECORDING) as runtime:
        await (await handed(runtime)).send("DONE")
        await rest(runtime)
        row = await only(runtime)
        await (runtime.forget_user("ada") if forgotten == "user" else runtime.erase(row.source))
        kept = await kept_of(runtime, "refund.WORKING")
        assert (kept.choices, kept.outcomes, kept.completed) == ([], [], 1)
        assert await runtime.handoffs() == ([row] if forgotten == "user" else [])


async def test_what_is_kept_of_choices_is_there_after_the_home_opened_again(place):
    async with house(place, asks(BY_TEXT), refund, parcel, choosing=RECORDING) as runtime:
        target = await handed(runtime)
        before = await kept_of(runtime, "refund.WORKING")
    async with house(place, asks(BY_TEXT), refund, parcel) as runtime:
        assert await kept_of(runtime, "refund.WORKING") == before
        await runtime.send(target.id, "DONE")
        (chosen,) = (await kept_of(runtime, "refund.WORKING")).choices
        assert chosen.ended is Ended.COMPLETED


async def test_a_drawn_choice_is_recorded_with_its_probability(place):
    always = Choosing(exploring=Exploring(share=1.0, among=2))
    async with house(place, asks(BY_TEXT), refund, parcel, choosing=always) as runtime:
        await begun(runtime)
        await rest(runtime)
        row = await only(runtime)
        assert row.choice["probability"] == 0.5
        (chosen,) = (await kept_of(runtime, row.packet["recipient"])).choices
        assert [each[3] for each in chosen.ranked] == [0.5, 0.5]


async def failing(runtime, times):
    for _ in range(times):
        await runtime.stop((await handed(runtime)).id)
        await rest(runtime)


@pytest.mark.needs("chooses_alike")
async def test_what_failed_again_and_again_is_learned_once_learning_is_trusted(place):
    trusted = Choosing(learned=Learned(trusted=True))
    async with house(place, asks(LEARNING), refund, parcel, choosing=trusted) as runtime:
        choice = await runtime.choose(asking_for(LEARNING))
        assert choice.candidate.id == "refund.WORKING"
        await failing(runtime, 2)
        choice = await runtime.choose(asking_for(LEARNING))
        assert choice.candidate.id == "parcel.WORKING"
        parts = {each.id: dict(each.parts) for each in choice.explanation.judged}
        assert parts["refund.WORKING"]["learned"] < 0 == parts["parcel.WORKING"]["learned"]


async def test_what_was_learned_decides_whom_work_goes_to(place):
    trusted = Choosing(learned=Learned(trusted=True))
    async with house(place, asks(LEARNING), refund, parcel, choosing=trusted) as runtime:
        async with asyncio.timeout(30):
            while (target := await handed(runtime)).snapshot.graph == "refund":
                await runtime.stop(target.id)
        row = next(each for each in await runtime.handoffs(limit=1000) if each.target == target.id)
        parts = {each["id"]: dict(each["parts"]) for each in row.choice["judged"]}
        assert parts["refund.WORKING"]["learned"] < 0 == parts["parcel.WORKING"]["learned"]


@pytest.mark.needs("chooses_alike")
async def test_until_learning_is_trusted_text_scores_decide(place):
    async with house(place, asks(LEARNING), refund, parcel, choosing=RECORDING) as runtime:
        await failing(runtime, 3)
        assert (await runtime.choose(asking_for(LEARNING))).candidate.id == "refund.WORKING"
        assert len((await kept_of(runtime, "refund.WORKING")).choices) == 3


async def test_work_that_went_well_draws_similar_work(place):
    letter = HandoffPacket(current_problem="the voucher of my aunt does not work")
    past = asks(Best(Needs(domains=("parcels",)), scorers={"tier": 1}), letter)
    async with house(place, past, refund, parcel, choosing=RECORDING) as runtime:
        await (await handed(runtime)).send("DONE")
        await rest(runtime)
        by_history = asking_for(Best(scorers={"history": 1.0}), "my aunt has a voucher that does not work")
        choice = await runtime.choose(by_history)
        assert choice.candidate.id == "parcel.WORKING"
        assert dict(choice.explanation.judged[0].scores)["history"] > 0.5


async def test_performance_is_that_for_this_kind_of_problem(place):
    both = Profile(domains=("refunds", "parcels"))
    first, second = worker("first", profile=both), worker("second", profile=both)
    refunds = Best(Needs(domains=("refunds",)), scorers={"performance": 1.0})
    async with house(place, asks(refunds), first, second) as runtime:
        await runtime.mark_entry("first.WORKING", "pinned")
        await failing(runtime, 1)
        await runtime.mark_entry("first.WORKING", "none")
        scores = {}
        for domain in ("refunds", "parcels"):
            choice = await runtime.choose(asking_for(Best(Needs(domains=(domain,)), scorers={"performance": 1.0})))
            scores[domain] = {each.id: each.total for each in choice.explanation.judged}
        assert scores["refunds"] == {"second.WORKING": 1.0, "first.WORKING": 0.94}
        assert (await runtime.directory("first.WORKING"))[0].candidate.performance == 0.94
        assert (await kept_of(runtime, "first.WORKING")).performance.kinds == (("refunds", 0.94),)


def asking_for(best, problem=LETTER.current_problem):
    packet = HandoffPacket(current_problem=problem)
    return packet.model_copy(update={"selection": terms_of(best, packet)})


async def test_work_that_the_likeliest_cannot_take_does_not_depart_from_text_scores(place):
    for_parcels = Best(needs=Needs(domains=("parcels",)), scorers={"learned": 1.0})
    async with house(place, asks(for_parcels), refund, parcel, choosing=RECORDING) as runtime:
        await handed(runtime)
        (chosen,) = (await kept_of(runtime, "parcel.WORKING")).choices
        assert not chosen.departs

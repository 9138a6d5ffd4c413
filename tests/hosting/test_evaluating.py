"""What recorded choices and ratings say: whether learning is better, and when to hand work on."""

import pytest

from gatechart import Handoff, HandoffPacket, State, StateTransitionGraph, Transition
from gatechart.errors import SelectionAnswerError
from gatechart.graph.definition import ANY
from gatechart.graph.selection import Best
from gatechart.graph.signals import Signal
from gatechart.hosting.directory_graph import entry_context
from gatechart.hosting.evaluating import evaluate_directory
from gatechart.hosting.kept_choices import MOST_BYTES, MOST_CHOICES, told_of, with_choice
from gatechart.hosting.timeliness import Retimed, Timeliness, TimeRating
from gatechart.runtime import Choosing
from gatechart.selection import Exploring, Learned
from gatechart.selection.evaluation import Comparison
from gatechart.testing import VirtualClock
from gatechart.values.profiles import Profile
from tests.insides import store_of
from tests.noticing import Moves, go_round
from tests.runtime.choosing_agents import asking, begun
from tests.runtime.handovers import house, only, rest, target_of, worker
from tests.runtime.learning_agents import asking_for

BY_TEXT = Best(scorers={"text": 1.0})
LEARNING = Best(scorers={"learned": 1.0})
refund = worker("refund", profile=Profile(samples=("I want my money back", "refund my order")))
parcel = worker("parcel", profile=Profile(samples=("where is my parcel", "track my order")))
LETTER = HandoffPacket(user_id="ada", current_problem="please refund my order")
CHOSEN = {"prior": 1.0, "departs": False, "user": "", "source": "a"}


def asks(best=BY_TEXT):
    return asking(best, packet=lambda context, event: LETTER)


async def choices(runtime, times, is_right):
    """Have work handed on; it is completed by whoever is right, and fails at others."""
    for _ in range(times):
        target = await target_of(runtime, await begun(runtime))
        await (target.send("DONE") if target.snapshot.graph == is_right else runtime.stop(target.id))
        await rest(runtime)


@pytest.mark.parametrize(
    ("is_right", "verdict"), [("parcel", Comparison.BETTER), ("refund", Comparison.UNKNOWN)], ids=["wrong", "right"]
)
async def test_learning_is_better_where_texts_mislead(is_right, verdict):
    exploring = Choosing(exploring=Exploring(share=0.5, among=2))
    async with house("memory:", asks(), refund, parcel, choosing=exploring, clock=VirtualClock()) as runtime:
        await choices(runtime, 120, is_right)
        told = (await evaluate_directory(runtime, Learned())).learning
        assert (told.verdict, told.choices) == (verdict, 90)


async def test_draws_that_fail_do_not_hold_learning_back():
    exploring = Choosing(learned=Learned(loss=0.002, deficit=0.001, trusted=True), exploring=Exploring(0.5, among=2))
    async with house("memory:", asks(LEARNING), refund, parcel, choosing=exploring, clock=VirtualClock()) as runtime:
        await choices(runtime, 40, "refund")
        kept = entry_context(await runtime.read("directory:parcel.WORKING")).choices
        assert len(kept) > 2
        assert {(each.departs, each.departed) for each in kept} == {(True, False)}
        judged = {each.id: dict(each.parts) for each in (await runtime.choose(asking_for(LEARNING))).explanation.judged}
        assert judged["refund.WORKING"]["learned"] > 0


async def test_nothing_can_be_told_where_nothing_was_recorded():
    async with house("memory:", asks(), refund, parcel) as runtime:
        await choices(runtime, 2, "refund")
        told = await evaluate_directory(runtime)
        assert (told.learning.verdict, told.learning.choices, told.timeliness) == (Comparison.UNKNOWN, 0, ())


async def test_a_reward_that_is_no_number_is_refused_and_named():
    async with house("memory:", asks(), refund, parcel, choosing=Choosing(learned=Learned())) as runtime:
        await choices(runtime, 1, "refund")
        with pytest.raises(
            SelectionAnswerError, match="reward= returned nan for an outcome; it must return a number from 0 to 1"
        ):
            await evaluate_directory(runtime, reward=lambda outcome: float("nan"))


async def test_ratings_are_counted_by_what_led_to_the_handoff():
    async with house("memory:", asks(), refund, parcel) as runtime:
        await choices(runtime, 1, "refund")
        await runtime.rate_handoff((await only(runtime)).id, needed=False)
        told = await evaluate_directory(runtime)
        assert told.timeliness == (Timeliness("", "", "", needless=1),)


def test_what_is_kept_of_choices_is_bounded():
    kept = []
    for number in range(MOST_CHOICES + 5):
        told = {"handoff": str(number), "features": "", "ranked": [["a", "", 1.0, 1.0]], **CHOSEN}
        kept = with_choice(kept, told, VirtualClock().now())
    assert [kept[0].handoff, kept[-1].handoff, len(kept)] == ["5", "204", MOST_CHOICES]
    assert with_choice(kept, told, VirtualClock().now()) == kept


def test_of_long_names_fewer_candidates_are_told():
    many = [("x" * 199 + str(number), "y" * 200, 0.5, 0.1) for number in range(20)]
    told = told_of("h", "f" * 512, many, **CHOSEN)
    assert 1 < len(told["ranked"]) < 10
    assert len(str(told)) < MOST_BYTES


async def test_ratings_are_counted_by_signal_and_threshold():
    answered = Transition(ANY, "signal.moves", "REST", actions=Handoff(BY_TEXT, packet=lambda context, event: LETTER))
    noticing = go_round(answered, signals=Signal(Moves(3), "moves"))
    async with house("memory:", noticing, refund, parcel) as runtime:
        agent = await runtime.start("round", at="HERE")
        await agent.send("GO")
        await agent.send("GO")
        await rest(runtime)
        await (await target_of(runtime, agent)).send("DONE")
        await rest(runtime)
        await runtime.rate_handoff((await only(runtime)).id, needed=True, in_time=False)
        told = await evaluate_directory(runtime)
        assert told.timeliness == (Timeliness("moves", "Moves", "", late=1),)


async def test_whoever_took_the_work_says_in_its_result_whether_that_was_right():
    def said(needed, in_time=None):
        return State("DONE", final=True, data=lambda context, event: {"needed": needed, "in_time": in_time})

    def taker(name, end):
        return StateTransitionGraph(
            name, states=[end], transitions=[Transition("WORKING", "END", "DONE")], entry_points=["WORKING"]
        )

    takers = [taker("glad", said(needed=True, in_time=True)), taker("idle", said(needed=False))]
    givers = [asking(each.name, name=f"to_{each.name}", at="WORKING") for each in takers]
    async with house("memory:", *givers, *takers) as runtime:
        for giver in givers:
            await (await target_of(runtime, await begun(runtime, giver.name))).send("END")
        await rest(runtime)
        assert (await evaluate_directory(runtime)).timeliness == (Timeliness("", "", "", needless=1, in_time=1),)
        (row,) = [each for each in await runtime.handoffs() if each.target_graph == "idle"]
        await runtime.rate_handoff(row.id, needed=True)
        told = (await evaluate_directory(runtime)).timeliness
        assert told == (Timeliness("", "", "", needed=1, in_time=1),)  # a rating counts before a result


def going_round(most):
    answered = Transition(ANY, "signal.moves", "REST", actions=Handoff(BY_TEXT, packet=lambda context, event: LETTER))
    return go_round(answered, signals=Signal(Moves(most), "moves"))


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (3, [Retimed("moves", TimeRating.NEEDLESS, same=1), Retimed("moves", TimeRating.LATE, same=1)]),
        (2, [Retimed("moves", TimeRating.NEEDLESS, sooner=1), Retimed("moves", TimeRating.LATE, sooner=1)]),
        (4, [Retimed("moves", TimeRating.NEEDLESS, later=1), Retimed("moves", TimeRating.LATE, later=1)]),
    ],
)
async def test_histories_tell_when_another_threshold_would_have_handed_on(most, expected):
    async with house("memory:", going_round(3), refund, parcel) as runtime:
        for answers in ({"needed": False}, {"in_time": False}):
            agent = await runtime.start("round", at="HERE")
            await agent.send("GO")
            await agent.send("GO")
            await rest(runtime)
            (row,) = await runtime.handoffs(source=agent.id)
            await runtime.rate_handoff(row.id, **answers)
        told = await evaluate_directory(runtime, store=store_of(runtime), graphs=[going_round(most), refund, parcel])
        assert sorted(told.retimed, key=lambda each: each.said) == sorted(expected, key=lambda each: each.said)


async def test_a_history_that_is_pruned_or_of_a_graph_that_is_gone_tells_nothing():
    async with house("memory:", going_round(3), refund, parcel) as runtime:
        agent = await runtime.start("round", at="HERE")
        await agent.send("GO")
        await agent.send("GO")
        await rest(runtime)
        await runtime.rate_handoff((await only(runtime)).id, needed=False)
        told = await evaluate_directory(runtime, store=store_of(runtime), graphs=[refund, parcel])
        assert told.retimed == (Retimed("moves", TimeRating.NEEDLESS, unknown=1),)

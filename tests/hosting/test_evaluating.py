"""What recorded choices and ratings say: whether learning is better, and when to hand work on."""

import pytest

from gatechart import Choosing, Handoff, HandoffPacket, Transition
from gatechart.graph import ANY, Best, Signal
from gatechart.hosting.evaluating import Timeliness, evaluate_directory
from gatechart.hosting.kept_choices import MOST_BYTES, MOST_CHOICES, told_of, with_choice
from gatechart.selection import Exploring, Learned
from gatechart.selection.evaluation import Verdict
from gatechart.testing import VirtualClock
from gatechart.values import Profile
from tests.noticing import Moves, go_round
from tests.runtime.handovers import house, only, rest, target_of, worker
from tests.runtime.test_choosing import asking, begun

BY_TEXT = Best(scorers={"text": 1.0})
refund = worker("refund", profile=Profile(samples=("I want my money back", "refund my order")))
parcel = worker("parcel", profile=Profile(samples=("where is my parcel", "track my order")))
LETTER = HandoffPacket(user_id="ada", current_problem="please refund my order")
CHOSEN = {"prior": 1.0, "departs": False, "user": "", "source": "a"}


def asks():
    return asking(BY_TEXT, packet=lambda context, event: LETTER)


async def choices(runtime, times, is_right):
    """Have work handed on; it is completed by whoever is right, and fails at others."""
    for _ in range(times):
        target = await target_of(runtime, await begun(runtime))
        await (target.send("DONE") if target.snapshot.graph == is_right else runtime.stop(target.id))
        await rest(runtime)


@pytest.mark.parametrize(
    ("is_right", "verdict"), [("parcel", Verdict.BETTER), ("refund", Verdict.UNKNOWN)], ids=["wrong", "right"]
)
async def test_learning_is_better_where_texts_mislead(is_right, verdict):
    exploring = Choosing(exploring=Exploring(share=0.5, among=2))
    async with house("memory:", asks(), refund, parcel, choosing=exploring, clock=VirtualClock()) as runtime:
        await choices(runtime, 120, is_right)
        told = (await evaluate_directory(runtime, Learned())).learning
        assert (told.verdict, told.choices) == (verdict, 60)


async def test_nothing_can_be_told_where_nothing_was_recorded():
    async with house("memory:", asks(), refund, parcel) as runtime:
        await choices(runtime, 2, "refund")
        told = await evaluate_directory(runtime)
        assert (told.learning.verdict, told.learning.choices, told.timeliness) == (Verdict.UNKNOWN, 0, ())


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

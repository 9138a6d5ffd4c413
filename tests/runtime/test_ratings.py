"""What people say of handoffs: of any that is stored, whoever took it, while the work goes on and after its end."""

import pytest

from gatechart.errors import NoHandoffError, NoWorkError, PayloadError, UnknownEntryError
from gatechart.hosting.directory_graph import MOST_RATINGS, RATE, entry_context
from gatechart.hosting.evaluating import evaluate_directory
from gatechart.hosting.own_agents import own_agents_of
from gatechart.values.directory import Mark
from gatechart.values.profiles import Profile
from tests.runtime.choosing_agents import NOBODY, Waiting, asking, begun
from tests.runtime.directory_entries import LETTER, REFUNDS, entry_of, senior
from tests.runtime.handovers import ACCEPTED, REJECTED, house, only, rest, target_of, worker

giving = asking("plain", at="WORKING", packet=lambda context, event: LETTER)
plain = worker("plain")


async def kept_of(runtime, entry_id):
    """What is kept of an entry point, in the directory or not."""
    return entry_context(await runtime.read(f"directory:{entry_id}"))


async def test_a_handoff_that_names_its_target_is_rated_like_any_other(place):
    async with house(place, giving, plain) as runtime:
        agent = await begun(runtime)
        row = await only(runtime)
        await runtime.rate_handoff(row.id, needed=False)
        await runtime.rate_handoff(row.id, quality=0.5)
        (rating,) = (await kept_of(runtime, "plain.WORKING")).ratings
        assert rating.answers == {"needed": False, "quality": 0.5}
        assert (rating.handoff, rating.user, rating.source) == (row.id, "ada", agent.id)
        await rest(runtime)
        assert await runtime.directory() == ()  # it has no profile


async def test_what_is_said_while_the_work_goes_on_stands_with_what_comes_of_it(place):
    async with house(place, asking(REFUNDS), senior) as runtime:
        agent = await begun(runtime)
        await runtime.rate_handoff((await only(runtime)).id, needed=True, in_time=False)
        await (await target_of(runtime, agent)).send("DONE")
        (outcome,) = (await entry_of(runtime, "senior.WORKING")).outcomes
        assert (outcome.needed, outcome.in_time, outcome.quality) == (True, False, None)
        await runtime.rate_handoff(outcome.handoff, in_time=True, quality=1.0)
        (outcome,) = (await entry_of(runtime, "senior.WORKING")).outcomes
        assert (outcome.needed, outcome.in_time, outcome.quality) == (True, True, 1.0)


async def test_a_rating_is_forgotten_with_the_user_and_with_the_agent_that_handed_on(place):
    async with house(place, giving, plain) as runtime:
        await begun(runtime)
        await runtime.rate_handoff((await only(runtime)).id, needed=True)
        await rest(runtime)
        await runtime.forget_user("ada")
        assert (await kept_of(runtime, "plain.WORKING")).ratings == []
        second = await begun(runtime)
        await runtime.rate_handoff((await runtime.handoffs(source=second.id))[0].id, needed=True)
        await rest(runtime)
        await runtime.erase(second.id)
        await rest(runtime)
        assert (await kept_of(runtime, "plain.WORKING")).ratings == []


async def test_of_what_nobody_was_right_for_it_is_said_whether_it_was_needed_and_not_how_good_the_work_was(
    place,
):
    async with house(place, asking(NOBODY), plain) as runtime:
        agent = await begun(runtime)
        row = await only(runtime)
        with pytest.raises(NoWorkError, match="no work was done") as caught:
            await runtime.rate_handoff(row.id, needed=True, quality=0.5)
        assert "needed or in_time" in str(caught.value)
        assert (await runtime.find(graph="gatechart.directory")).agents == ()
        await runtime.rate_handoff(row.id, needed=True)
        await runtime.rate_handoff(row.id, in_time=False)
        (rating,) = (await kept_of(runtime, "asking")).ratings
        assert (rating.handoff, rating.source, rating.answers) == (row.id, agent.id, {"needed": True, "in_time": False})
        assert await runtime.directory() == ()
        (told,) = (await evaluate_directory(runtime)).timeliness
        assert (told.signal, told.late) == ("", 1)


@pytest.mark.not_on_restate("the choice is held up in the runtime")
async def test_a_handoff_whose_target_is_being_chosen_cannot_be_rated_yet(place):
    async with house(place, asking(REFUNDS), senior) as runtime:
        chooser = Waiting(runtime)
        await (await runtime.start("asking", at="TALKING")).send("ASK")
        await chooser.begun.wait()
        row = await only(runtime)
        with pytest.raises(NoHandoffError, match="it is 'choosing'"):
            await runtime.rate_handoff(row.id, needed=True)
        chooser.go_on.set()
        await rest(runtime)
        await runtime.rate_handoff(row.id, needed=True)
        assert [each.needed for each in (await kept_of(runtime, "senior.WORKING")).ratings] == [True]


@pytest.mark.parametrize(
    "said", [{"quality": True}, {"quality": "1"}, {"quality": 1.5}, {"needed": 1}, {"needed": "no"}, {"in_time": "yes"}]
)
async def test_a_rating_of_another_kind_is_refused_and_keeps_nothing(place, said):
    async with house(place, giving, plain) as runtime:
        await begun(runtime)
        with pytest.raises(PayloadError, match=next(iter(said))):
            await runtime.rate_handoff((await only(runtime)).id, **said)
        assert (await runtime.find(graph="gatechart.directory")).agents == ()
        await runtime.rate_handoff((await only(runtime)).id, quality=1)
        assert [each.quality for each in (await kept_of(runtime, "plain.WORKING")).ratings] == [1.0]


async def test_only_the_newest_ratings_of_an_entry_point_are_kept():
    async with house("memory:", giving, plain) as runtime:
        await begun(runtime)
        await runtime.rate_handoff((await only(runtime)).id, needed=True)
        for number in range(MOST_RATINGS):
            await own_agents_of(runtime).send(
                "directory:plain.WORKING", RATE, {"handoff": f"h{number}", "needed": False}
            )
        kept = (await kept_of(runtime, "plain.WORKING")).ratings
        assert [kept[0].handoff, kept[-1].handoff, len(kept)] == ["h0", f"h{MOST_RATINGS - 1}", MOST_RATINGS]


async def test_the_queue_of_an_entry_point_without_a_profile_is_closed_and_opened_again(place):
    async with house(place, giving, plain) as runtime:
        closed = await runtime.mark_entry("plain.WORKING", Mark.CLOSED, reason="stocktaking")
        assert (closed.id, closed.unavailable) == ("plain.WORKING", "closed: stocktaking")
        assert [each.id for each in await runtime.directory()] == ["plain.WORKING"]
        await begun(runtime)
        assert (await only(runtime)).status is REJECTED
        assert (await runtime.choose()).explanation.judged == ()  # no selection finds it
        opened = await runtime.mark_entry("plain.WORKING", Mark.NONE)
        assert (opened.id, opened.unavailable, opened.candidate.held) == ("plain.WORKING", "", 0)
        await rest(runtime)
        await begun(runtime)
        opened = await runtime.mark_entry("plain.WORKING", Mark.NONE)
        assert opened.candidate.held == 1
        assert await runtime.directory() == ()
        assert (await runtime.handoffs(source=(await begun(runtime)).id))[0].status is ACCEPTED


@pytest.mark.parametrize("mark", [Mark.PINNED, Mark.EXCLUDED])
async def test_what_no_selection_finds_is_neither_pinned_nor_excluded(place, mark):
    async with house(place, giving, plain, worker("other", profile=Profile(domains=("refunds",)))) as runtime:
        with pytest.raises(PayloadError, match="has no profile, so selections never choose it"):
            await runtime.mark_entry("plain.WORKING", mark)
        with pytest.raises(UnknownEntryError):
            await runtime.mark_entry("plain.NOWHERE", mark)
        assert (await runtime.find(graph="gatechart.directory")).agents == ()

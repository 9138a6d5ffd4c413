"""How a home chooses whom work is handed to: by what the packet says, and by what candidates are for."""

import re

import pytest

from gatechart import EntryPoint, HandoffPacket, Runtime, StateTransitionGraph, Transition
from gatechart.errors import (
    InvalidChoosingError,
    SelectionAnswerError,
    SelectionFunctionError,
    StoreUnreachableError,
    UnknownSelectorError,
)
from gatechart.handoff import Message, SelectionTerms
from gatechart.hosting.choosing import check_choosing
from gatechart.runtime import Choosing
from gatechart.selection import Exploring, Learned, Profile
from gatechart.selection.asking import words_of_packet
from gatechart.testing import VirtualClock
from tests.insides import core_of

BY_TEXT = SelectionTerms(weights={"text": 1.0})


def desk(name, *samples):
    return StateTransitionGraph(
        name,
        transitions=[Transition("ASKED", "DONE", "OVER")],
        entry_points=[EntryPoint("ASKED", profile=Profile(samples=samples))],
    )


REFUNDS = desk("refunds", "I want my money back", "refund my order")
FRIDGES = desk("fridges", "my fridge is broken", "repair the freezer")


class Counted:
    """Embeds texts by what they have of a few letters, and counts them."""

    def __init__(self):
        self.texts = []

    def __call__(self, texts):
        self.texts += texts
        return [[each.lower().count(letter) for letter in "mfro"] for each in texts]


async def chosen(packet, choosing=None, graphs=(REFUNDS, FRIDGES)):
    clock = VirtualClock()
    async with Runtime.open("memory:", graphs=graphs, clock=clock, choosing=choosing or Choosing()) as runtime:
        return await core_of(runtime).chooser.choose(packet, clock.now())


def packet(problem="", selection=BY_TEXT, **more):
    return HandoffPacket(handoff_id="h", source_graph="refunds", current_problem=problem, selection=selection, **more)


async def test_what_the_problem_says_decides():
    choice = await chosen(packet("the freezer does not work, who repairs it?"))
    assert choice.candidate.id == "fridges.ASKED"
    scores = {each.id: dict(each.scores).get("text") for each in choice.explanation.judged}
    assert scores["fridges.ASKED"] > 0.1


async def test_what_was_said_last_stands_for_a_problem_that_nobody_wrote_down():
    said = (Message(role="user", content="give me my money back"), Message(role="agent", content="my fridge is broken"))
    assert (await chosen(packet(conversation=said))).candidate.id == "refunds.ASKED"


async def test_the_whole_packet_is_compared_if_that_is_wished():
    silent = packet("please", initial_query="repair the freezer")
    assert (await chosen(silent)).candidate is None
    assert (await chosen(silent, Choosing(says=words_of_packet))).candidate.id == "fridges.ASKED"


async def test_what_nobody_is_for_matches_nobody():
    choice = await chosen(packet("what is the capital of Mongolia"))
    assert choice.candidate is None
    assert all(each.fell.startswith("text") for each in choice.explanation.judged)


async def test_people_of_whom_nothing_is_said_do_not_make_strange_work_match_others():
    clock = VirtualClock()
    people = desk("people")
    async with Runtime.open("memory:", graphs=[REFUNDS, FRIDGES, people], clock=clock) as runtime:
        for name in ("anna", "bert", "cleo"):
            await runtime.register_entry(name, people, at="ASKED", is_person=True)
        choice = await core_of(runtime).chooser.choose(packet("where can I buy my hat"), clock.now())
        assert (choice.candidate, {each.fell.split(":")[0] for each in choice.explanation.judged}) == (None, {"text"})


async def test_texts_are_not_compared_if_no_scorer_asks():
    embed = Counted()
    await chosen(packet("fridge", SelectionTerms(weights={"tier": 1.0}, tier=1)), Choosing(embed=embed))
    assert embed.texts == []


async def test_vectors_of_candidates_are_made_once():
    embed, clock = Counted(), VirtualClock()
    async with Runtime.open(
        "memory:", graphs=[REFUNDS, FRIDGES], clock=clock, choosing=Choosing(embed=embed, least=0.1)
    ) as runtime:
        for problem in ("mmm", "fff"):
            await core_of(runtime).chooser.choose(packet(problem), clock.now())
        assert embed.texts.count("my fridge is broken") == 1
        runtime.register(desk("parcels", "where is my parcel"))
        choice = await core_of(runtime).chooser.choose(packet("rrrr"), clock.now())
        assert embed.texts.count("my fridge is broken") == embed.texts.count("where is my parcel") == 1
        assert "parcels.ASKED" in {each.id for each in choice.explanation.judged}


@pytest.mark.parametrize(
    ("choosing", "message"),
    [
        (
            Choosing(load=lambda _: "busy"),
            "load= returned 'busy' for 'fridges.ASKED'; it must return a number from 0 to 1",
        ),
        (Choosing(load=lambda _: float("nan")), "load= returned nan for 'fridges.ASKED'"),
        (Choosing(says=lambda _: None), "says= returned None; it must return the text"),
    ],
)
async def test_a_function_that_answers_something_else_is_named(choosing, message):
    async with Runtime.open("memory:", graphs=[REFUNDS, FRIDGES], choosing=choosing) as runtime:
        with pytest.raises(SelectionAnswerError, match=message):
            await runtime.choose(packet("fridge"))


async def answering_later(_given):
    return 0.5


class AnsweringLater:
    async def __call__(self, given):
        return 0.5


@pytest.mark.parametrize("name", ["embed", "says", "load", "reward"])
@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (answering_later, "answering_later is async; answer at once"),
        (AnsweringLater(), "AnsweringLater is async; answer at once"),
        (lambda: None, r"<lambda> does not take \("),
        (0.5, "cannot be called"),
    ],
)
async def test_a_function_that_could_not_answer_is_refused_when_the_home_is_opened(name, given, problem):
    with pytest.raises(InvalidChoosingError, match=f"{name}=.*{problem}"):
        async with Runtime.open("memory:", graphs=[REFUNDS], choosing=Choosing(**{name: given})):
            pass


async def test_all_faults_of_choosing_are_told_at_once():
    wrong = Choosing(says=None, least=2, learned=True, exploring=0.2)
    with pytest.raises(InvalidChoosingError) as refused:
        async with Runtime.open("memory:", graphs=[REFUNDS], choosing=wrong):
            pass
    places = ("says=", "least=2", "learned=True is not a valid Learned", "exploring=0.2 is not a valid Exploring")
    assert all(each in str(refused.value) for each in places)
    with pytest.raises(InvalidChoosingError, match="is not a Choosing"):
        async with Runtime.open("memory:", graphs=[REFUNDS], choosing=answering_later):
            pass


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (Choosing(exploring=Exploring(20)), "exploring: share=20 is not valid; pass a number from 0 to 1"),
        (Choosing(exploring=Exploring(-0.1)), "exploring: share=-0.1 is not valid"),
        (
            Choosing(exploring=Exploring(among=2.5)),
            "exploring: among=2.5 is not valid; pass a whole number of 1 or more",
        ),
        (Choosing(learned=Learned(loss=8)), "learned: loss=8 is not valid"),
        (Choosing(learned=Learned(deficit=float("nan"))), "learned: deficit=nan is not valid"),
        (Choosing(learned=Learned(ridge=0)), "learned: ridge=0 is not valid; pass a number above 0"),
        (Choosing(learned=Learned(exploration=-1)), "learned: exploration=-1 is not valid"),
        (Choosing(learned=Learned(trusted="yes")), "learned: trusted='yes' is not valid; pass True or False"),
    ],
)
def test_numbers_that_learning_and_exploring_cannot_go_by_are_refused(wrong, told):
    with pytest.raises(InvalidChoosingError, match=re.escape(told)):
        check_choosing(wrong)


async def test_a_dry_run_with_an_unknown_scorer_is_refused():
    async with Runtime.open("memory:", graphs=[REFUNDS, FRIDGES]) as runtime:
        with pytest.raises(
            UnknownSelectorError, match=r"no scorer is named 'nearness': .* There are 'text', 'history'"
        ):
            await runtime.choose(packet("fridge", SelectionTerms(order=("nearness",))))


@pytest.mark.parametrize("error", [StoreUnreachableError("memory:", "away"), SystemExit(1), ValueError("no")])
async def test_what_a_function_of_the_application_raises_is_not_taken_for_the_stores(error):
    def embed(_texts):
        raise error

    with pytest.raises(SelectionFunctionError, match=f"embed= raised {type(error).__name__}"):
        await chosen(packet("fridge"), Choosing(embed=embed))


def breaking(*_given):
    raise KeyError("seats")


@pytest.mark.parametrize("name", ["embed", "says", "load"])
async def test_a_function_that_raises_is_named(name):
    async with Runtime.open("memory:", graphs=[REFUNDS], choosing=Choosing(**{name: breaking})) as runtime:
        with pytest.raises(SelectionFunctionError, match=f"^{name}= raised KeyError: 'seats'; fix that function$"):
            await runtime.choose(packet("fridge"))
        if name == "load":
            with pytest.raises(SelectionFunctionError, match="load= raised KeyError"):
                await runtime.directory()

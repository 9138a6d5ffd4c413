"""Two agents whose model chooses the next step: as it should, and without ever leaving the loop."""

import pytest

from gatechart import Runtime
from gatechart.checks import check
from gatechart.values.transfers import count_of
from statecharts.transfers import Scripted, Services, Stubborn, research, review
from statecharts.transfers.__main__ import main
from statecharts.transfers.context import Draft, Question

pytestmark = [pytest.mark.sample_on_restate, pytest.mark.sqlite_is_enough]


async def researched(place, model):
    async with Runtime.open(place, graphs=[research], services=Services(model)) as runtime:
        agent = await runtime.start(research, at="deep_searcher", payload=Question(question="tides"))
        await agent.until("published", timeout=60)
        return agent


async def reviewed(place, model, text="The tides"):
    async with Runtime.open(place, graphs=[review], services=Services(model)) as runtime:
        agent = await runtime.start(review, at="check", payload=Draft(text=text))
        await agent.until("approve", "escalate", timeout=60)
        return agent


@pytest.mark.parametrize("graph", [research, review])
def test_nothing_is_found_in_the_charts(graph):
    assert check(graph) == ()


async def test_research_is_repeated_until_the_model_finds_it_enough(place):
    model = Scripted("transfer_to_deep_searcher", "transfer_to_doc_generator")
    agent = await researched(place, model)
    assert agent.context.document == "tides: tides\ntides: moons"
    assert agent.context.gap == "remark 1"
    assert "Status of the task: 2 findings on 'tides'" in model.told[1]
    assert "deep_searcher: chosen at" in model.told[1]


async def test_research_ends_though_the_model_never_finds_it_enough(place):
    agent = await researched(place, Stubborn())
    assert count_of(agent.snapshot.transfers, "progress_checker").taken == 5
    assert len(agent.context.findings) == 6


async def test_a_draft_is_fixed_and_approved(place):
    agent = await reviewed(place, Scripted("transfer_to_fix", "transfer_to_approve"))
    assert agent.configuration == ("approve",)
    assert agent.context.text == "The tides (remark 1 is fixed)"


async def test_a_draft_that_is_never_good_enough_comes_to_a_person(place):
    agent = await reviewed(place, Stubborn())
    assert agent.configuration == ("escalate",)
    assert agent.context.remarks == ["remark 1", "remark 2", "remark 3"]


async def test_an_empty_draft_cannot_be_approved(place):
    model = Scripted("transfer_to_approve")
    agent = await reviewed(place, model, text=" ")
    assert agent.configuration == ("escalate",)
    assert "approve is not possible now: the draft is empty." in model.told[0]
    assert model.told[1].endswith("Offered are: transfer_to_fix.")


async def test_another_draft_is_reviewed_anew(place):
    async with Runtime.open(place, graphs=[review], services=Services(Stubborn())) as runtime:
        agent = await runtime.start(review, at="check", payload=Draft(text="The tides"))
        await agent.until("escalate", timeout=60)
        await agent.send("DRAFT_REPLACED", {"text": "The moons"})
        assert count_of(agent.snapshot.transfers, "check").taken == 0
        await agent.until("escalate", timeout=60)
        assert len(agent.context.remarks) == 6


async def test_the_demonstration_plays_both_with_both_models(capsys):
    await main()
    told = capsys.readouterr().out
    assert "research, stubborn model" in told
    assert told.count("escalate") == 1

"""The chart of agents that hand a conversation to each other, without conversations."""

from __future__ import annotations

import pytest

from gatechart import HandoffStatus, RefusalReason, Runtime
from gatechart.checks import check_all
from gatechart.desk import human_desk
from gatechart.kernel import accepted_events
from statecharts.service_desk.context import Request
from statecharts.service_desk.moves.chart import kind_of, services
from statecharts.service_desk.scenarios import CONCERTS, RESTAURANTS

GRAPHS = (*services([CONCERTS.name, RESTAURANTS.name]), human_desk)
TO_A_TABLE = {
    "graph": kind_of(RESTAURANTS.name),
    "service": RESTAURANTS.model_dump(mode="json"),
    "intent": "FindRestaurant",
}
AWAY = ("HANDING_ON", "AWAY", "CALLING_PERSON", "WITH_PERSON", "ENDED")


@pytest.mark.parametrize("graph", GRAPHS[:-1], ids=lambda graph: graph.name)
def test_only_an_agent_that_has_the_conversation_can_give_it_away(graph) -> None:
    leaves = [state for state in graph.states if graph.leaves(state) == (state,)]
    having = {state for state in leaves if "USER_MOVED_ON" in accepted_events(graph, (state,))}
    assert having == set(leaves) - set(AWAY)


async def test_the_same_wish_to_the_former_owner_makes_no_second_one(url: str) -> None:
    async with Runtime.open(url, graphs=GRAPHS) as runtime:
        request = Request(service=CONCERTS, intent="FindConcert", slots={"city": "Lisbon"})
        agent = await runtime.start("concerts", at="ELICITING_CRITERIA", payload=request)
        assert (await agent.send("USER_MOVED_ON", TO_A_TABLE, id="first")).applied
        await agent.until("AWAY")
        again = await agent.send("USER_MOVED_ON", TO_A_TABLE, id="second")
        assert again.refusal is not None
        assert again.refusal.reason is RefusalReason.NO_TRANSITION
        (handoff,) = await runtime.handoffs()
        assert handoff.status is HandoffStatus.ACCEPTED
        owner = await runtime.resume(handoff.target)
        assert owner.configuration == ("SEARCHING",)  # Lisbon is known from the concerts


async def test_a_wish_that_the_other_service_does_not_have_goes_nowhere(url: str) -> None:
    async with Runtime.open(url, graphs=GRAPHS) as runtime:
        agent = await runtime.start(
            "concerts", at="ELICITING_CRITERIA", payload=Request(service=CONCERTS, intent="FindConcert")
        )
        outcome = await agent.send("USER_MOVED_ON", {**TO_A_TABLE, "intent": "Fly"})
        assert outcome.refusal is not None
        assert outcome.refusal.guards == ("is_service_known",)
        assert agent.configuration == ("ELICITING_CRITERIA",)


def test_checks_find_no_second_owner() -> None:
    assert "GC504" not in {finding.code for found in check_all(GRAPHS).values() for finding in found}

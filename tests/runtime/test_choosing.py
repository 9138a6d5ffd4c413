"""Work is handed to whoever is best for it: chosen once, outside the turn, with the reasons, or to nobody."""

import pytest

from gatechart import Handoff, State, StateTransitionGraph, Transition
from gatechart.graph import Accepts, Best, Fallbacks, Human, Invoke, OtherGraph
from gatechart.selection import explanation_of
from gatechart.values import CHOOSING as CHOOSING_MAIL
from gatechart.values import Needs, Profile, Status
from tests.runtime.handovers import (
    ACCEPTED,
    ALL,
    CHOOSING,
    COMPLETED,
    PENDING,
    REJECTED,
    Talk,
    house,
    note,
    only,
    rest,
    statuses,
    target_of,
    worker,
)

pytestmark = pytest.mark.not_on_restate("a choice is made in an embedded runtime")

REFUNDS = Best(Needs(domains=("refunds",)))
NOBODY = Best(Needs(domains=("moon",)))
plain = worker("plain", profile=Profile(domains=("refunds",)))
senior = worker("senior", profile=Profile(domains=("refunds",), tier=3))
full = worker("full", accepts=Accepts(capacity=0), profile=Profile(domains=("refunds",), tier=9))
choosy = worker("choosy", accepts=Accepts(policy=lambda packet: "no"), profile=Profile(domains=("refunds",), tier=5))
HIGHEST = Best(Needs(domains=("refunds",)), order=("tier",))


def told(agent):
    return [(each["name"], each.get("reason", "")) for each in agent.context.told]


async def asked_best(runtime, best=REFUNDS, **wanted):
    """An agent that has its work handed to the best, from outside, once all is at rest."""
    agent = await runtime.start("first", at="TALKING")
    await agent.send("ASK", {"to": "second", "agent": (await runtime.start("second", at="RESTING")).id})
    return agent


def asking(best, name="asking", **more):
    """A graph whose agents hand on what they do, to whoever is best."""
    return StateTransitionGraph(
        name,
        context=Talk,
        transitions=[
            Transition("TALKING", "ASK", "WAITING", actions=Handoff(best, **more)),
            Transition("WAITING", "LEAVE", "TALKING"),
            Transition("WAITING", "handoff.completed", "TALKING", actions=note),
            Transition("WAITING", "handoff.failed", "FAILED", actions=note),
            Transition("WAITING", "handoff.rejected", "REFUSED", actions=note),
            Transition("WAITING", "handoff.expired", "LATE", actions=note),
            Transition("WAITING", "handoff.accepted", guard=lambda context, event: event.payload["mode"] == "delegate"),
        ],
        entry_points=["TALKING"],
    )


async def begun(runtime, graph="asking"):
    """An agent that has asked for the best, once all is at rest."""
    agent = await runtime.start(graph, at="TALKING")
    await agent.send("ASK")
    await rest(runtime)
    return agent


def why(row):
    return explanation_of(row.choice)


async def test_the_target_is_chosen_once_and_kept_with_the_reasons(place):
    async with house(place, asking(HIGHEST), plain, senior) as runtime:
        agent = await begun(runtime)
        row = await only(runtime)
        assert (row.status, row.target_graph, row.entry_point, row.is_new) == (ACCEPTED, "senior", "WORKING", True)
        assert [change.status for change in row.changes] == [CHOOSING, PENDING, ACCEPTED]
        assert [each.id for each in why(row).judged] == ["senior.WORKING", "plain.WORKING"]
        assert why(row).seed == row.id
        assert row.changes[1].details == why(row).details
        assert row.packet["recipient"] == "senior.WORKING"
        assert agent.status is Status.DONE
        target = await target_of(runtime, agent)
        assert (target.configuration, target.context.entered) == (("WORKING",), 1)
        entry = next(each for each in await agent.history() if each.event.name == CHOOSING_MAIL)
        assert (entry.event.id, entry.event.sender) == (row.id, agent.id)


async def test_a_delegation_to_the_best_comes_back(place):
    async with house(place, asking(HIGHEST, mode="delegate"), plain, senior) as runtime:
        agent = await begun(runtime)
        assert agent.configuration == ("WAITING",)
        (standing,) = agent.snapshot.handoffs
        assert (standing.recipient, standing.is_choosing, standing.is_accepted) == ("senior.WORKING", False, True)
        await (await target_of(runtime, agent)).send("DONE")
        await rest(runtime)
        assert (agent.configuration, await statuses(runtime)) == (("TALKING",), [COMPLETED])


async def test_an_offer_that_is_rejected_is_made_to_the_next_best(place):
    async with house(place, asking(HIGHEST), plain, senior, choosy, full) as runtime:
        await begun(runtime)
        rejected, taken = await runtime.handoffs()
        assert [(each.target_graph, each.status) for each in (rejected, taken)] == [
            ("choosy", REJECTED),
            ("senior", ACCEPTED),
        ]
        assert taken.request == rejected.request == rejected.id
        fallen = {each.id: each.fell for each in why(taken).judged if each.fell}
        assert fallen["choosy.WORKING"].startswith("refused")
        assert fallen["full.WORKING"].startswith("place")


async def test_nobody_is_an_outcome_with_its_evidence(place):
    async with house(place, asking(NOBODY), plain) as runtime:
        agent = await begun(runtime)
        row = await only(runtime)
        assert (agent.configuration, row.status) == (("FAILED",), REJECTED)
        assert (row.target, row.target_graph) == (agent.id, "asking")
        assert [each.fell for each in why(row).judged] == ["domain: not moon"]
        assert row.changes[-1].details == f"no match: {why(row).details}"
        (failed,) = agent.context.told
        assert (failed["name"], failed["reason"], failed["details"]) == ("handoff.failed", "no match", why(row).details)
        (attempt,) = failed["attempts"]
        assert (attempt["graph"], attempt["agent"], attempt["obstacle"]) == ("", "", "no match")


async def test_a_person_who_gets_what_matched_nobody_is_told_so(place):
    people = Fallbacks(Human("desk", at="WORKING"))
    async with house(place, asking(NOBODY, fallbacks=people), *ALL, plain) as runtime:
        await begun(runtime)
        nobody, taken = await runtime.handoffs()
        assert (nobody.status, taken.status, taken.target_graph) == (REJECTED, ACCEPTED, "desk")
        assert (taken.reason, taken.packet["evidence"]) == ("no match", why(nobody).details)
        assert (taken.choice, taken.packet["selection"]) == (None, None)


async def test_the_best_is_a_fallback_like_others(place):
    steps = Fallbacks(NOBODY, OtherGraph("nowhere", at="WORKING"), HIGHEST)
    async with house(place, asking("picky", at="WORKING", fallbacks=steps), *ALL, plain, senior) as runtime:
        await begun(runtime)
        rows = await runtime.handoffs()
        assert [(each.target_graph, each.status) for each in rows] == [
            ("picky", REJECTED),
            ("asking", REJECTED),
            ("nowhere", REJECTED),
            ("senior", ACCEPTED),
        ]
        assert len({each.request for each in rows}) == 1


async def test_an_invoke_delegates_to_the_best(place):
    caller = StateTransitionGraph(
        "caller",
        states=[State("CALLING", invoke=Invoke(agent=HIGHEST, id="help"))],
        transitions=[
            Transition("CALLING", "done.invoke.help", "HELPED"),
            Transition("CALLING", "error.invoke.help", "LEFT_ALONE"),
        ],
        entry_points=["CALLING"],
    )
    async with house(place, caller, plain, senior) as runtime:
        agent = await runtime.start("caller", at="CALLING")
        await rest(runtime)
        await (await target_of(runtime, agent)).send("DONE")
        await rest(runtime)
        assert agent.configuration == ("HELPED",)
    lonely = StateTransitionGraph(
        "lonely",
        states=[State("CALLING", invoke=Invoke(agent=NOBODY))],
        transitions=[Transition("CALLING", "error.invoke.best", "LEFT_ALONE")],
        entry_points=["CALLING"],
    )
    async with house("memory:", lonely) as runtime:
        agent = await runtime.start("lonely", at="CALLING")
        await rest(runtime)
        assert agent.configuration == ("LEFT_ALONE",)

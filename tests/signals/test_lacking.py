"""What is asked of an agent that lacks the domain or the capability for it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatechart import EntryPoint, Runtime, State, StateTransitionGraph, Transition
from gatechart.graph.definition import ANY, Invoke
from gatechart.graph.selection import NeedRule
from gatechart.signals import Lacks, Signal, handing_on
from gatechart.turn.mail import take_mail
from gatechart.values.agents import Event
from gatechart.values.commits import TurnRecord
from gatechart.values.handoffs import Reason
from gatechart.values.profiles import Needs, Profile
from tests.signals.looks import Player, evidence, found, notes, says
from tests.support import NOW, started

pytestmark = pytest.mark.sqlite_is_enough

ABOUT_REFUNDS = NeedRule(Needs(domains=("退款管理",)), reason=Reason.KNOWLEDGE_GAP, mentions=("退款", "refund"))
ABOUT_ORDERS = NeedRule(Needs(domains=("订单管理",)), reason=Reason.KNOWLEDGE_GAP, mentions=("订单", "order"))
CANCELLING = NeedRule(Needs(capabilities=("cancel_order",)), reason=Reason.OUT_OF_SCOPE, mentions="取消订单")
CHANGING = NeedRule(
    Needs(capabilities=("query_order", "modify_order")), reason=Reason.OUT_OF_SCOPE, mentions=("订单", "order")
)
FAILING = NeedRule(Needs(domains=("高级订单管理",)), reason=Reason.TOOL_FAILURE, mentions=("订单", "order"))
RULES = (FAILING, CANCELLING, CHANGING, ABOUT_REFUNDS, ABOUT_ORDERS)
ORDER_AGENT = Profile(capabilities=("query_order", "track_shipping"), domains=("订单管理",))


def domain(**more: Any) -> Lacks:
    return Lacks("domain", RULES, **more).of_entry_point(ORDER_AGENT)


def capability(**more: Any) -> Lacks:
    return Lacks("capability", RULES, **more).of_entry_point(ORDER_AGENT)


@pytest.mark.parametrize(
    ("text", "lacks_domain", "lacks_capability"),
    [
        ("我要退款", True, False),
        ("How about a REFUND?", True, False),
        ("我的订单在哪里", False, False),
        ("where is my order", False, False),
        ("我想取消订单", False, True),
        ("hello", False, False),
        ("", False, False),
    ],
)
def test_what_a_text_needs_is_compared_with_what_the_entry_point_has(
    text: str, lacks_domain: bool, lacks_capability: bool
) -> None:
    assert found(domain(), says([text])) == [lacks_domain]
    assert found(capability(), says([text])) == [lacks_capability]


def test_a_domain_is_a_knowledge_gap_and_a_capability_is_out_of_scope() -> None:
    told = {each.name: each.reason for each in (Signal(domain()), Signal(capability()))}
    assert told == {"lacks_domain": Reason.KNOWLEDGE_GAP, "lacks_capability": Reason.OUT_OF_SCOPE}


def test_it_tells_what_is_needed_and_what_is_there() -> None:
    assert evidence(capability(), says(["我想取消订单"])) == {
        "what": "capability",
        "needs": ["cancel_order"],
        "has": ["query_order", "track_shipping"],
    }


def test_one_of_several_will_do_unless_all_are_needed() -> None:
    either = NeedRule(Needs(domains=("订单管理", "taxes")), mentions="invoice")
    both = NeedRule(Needs(domains=("订单管理", "taxes"), all=True), mentions="invoice")
    assert found(Lacks("domain", either, has="订单管理"), says(["my invoice"])) == [False]
    assert evidence(Lacks("domain", both, has="订单管理"), says(["my invoice"]))["needs"] == ["taxes"]  # type: ignore[index]


def test_it_ceases_when_something_else_is_asked_and_is_found_anew_when_it_is_asked_again() -> None:
    looks = says(["我要退款", "我要退款", "where is my order", "hello"])
    assert found(domain(), looks) == [True, True, False, False]
    assert [domain().finds_anew(look) for look in looks] == [True, True, False, False]


def test_an_invoke_notes_what_is_needed() -> None:
    player = Player()
    looks = [
        *notes([0.8], "domain:退款管理", player),
        *notes([0.9], "confidence", player),
        *notes([0.4], "domain:taxes", player),
        *notes([0.9], "capability:cancel_order", player),
        *notes([0.9], "domain: 订单管理", player),
    ]
    assert found(domain(), looks) == [True, True, True, True, False]
    assert [domain().finds_anew(look) for look in looks] == [True, False, False, False, False]


def test_an_entry_point_without_a_profile_lacks_nothing_and_one_whose_profile_names_nothing_lacks_everything() -> None:
    assert found(Lacks("domain", RULES).of_entry_point(None), says(["我要退款"])) == [False]
    assert found(Lacks("domain", RULES).of_entry_point(Profile()), says(["我要退款"])) == [True]
    assert found(Lacks("domain", RULES, has=()).of_entry_point(ORDER_AGENT), says(["my order"])) == [True]


@pytest.mark.parametrize("what", ["domains", "", None])
def test_it_is_about_domains_or_capabilities(what: Any) -> None:
    with pytest.raises(ValueError, match="pass 'domain' or 'capability'"):
        Lacks(what)


def test_rules_that_name_none_of_them_are_refused() -> None:
    with pytest.raises(ValueError, match="no rule needs a domain; pass one that does"):
        Lacks("domain", CANCELLING)


def test_the_preset_notices_what_its_rules_name() -> None:
    def names(*rules: NeedRule) -> list[str]:
        return [each.name for each in handing_on(rules=rules) if each.name.startswith("lacks")]

    assert names() == []
    assert names(CANCELLING) == ["lacks_capability"]
    assert names(*RULES) == ["lacks_domain", "lacks_capability"]


words = st.sampled_from(["退款", "refund", "order", "订单", "取消订单", "hello", " "])
known = st.sets(st.sampled_from(["退款管理", "订单管理", "高级订单管理"]))


@given(st.lists(words, max_size=6).map(" ".join), known)
def test_whoever_has_more_lacks_less(text: str, has: set[str]) -> None:
    (lacking,) = found(Lacks("domain", RULES, has=has), says([text]))
    for other in ("退款管理", "订单管理"):
        (still,) = found(Lacks("domain", RULES, has={*has, other}), says([text]))
        assert lacking or not still
    assert found(Lacks("domain", RULES, has=("退款管理", "订单管理")), says([text])) == [False]


async def answer(context: Any, work: Any) -> str:
    await work.note("domain:taxes", 1.0)
    return "done"


def desk() -> StateTransitionGraph[Any]:
    """Refunds are a gap of one door and not of the other."""
    return StateTransitionGraph(
        "desk",
        states=[State("ANSWERING", invoke=Invoke(answer))],
        transitions=[
            Transition("LISTENING", "HEARD", actions=lambda context, event: None),
            Transition("REFUNDING", "HEARD", actions=lambda context, event: None),
            Transition("LISTENING", "ASKED", "ANSWERING"),
            Transition(ANY, "signal.lacks_domain", "HANDED_ON"),
            Transition("HANDED_ON", "HEARD", actions=lambda context, event: None),
        ],
        entry_points=["LISTENING", EntryPoint("REFUNDING", profile=Profile(domains=("退款管理",)))],
        profile=Profile(domains=("订单管理",), tier=1),
        signals=Lacks("domain", RULES),
    )


@pytest.mark.parametrize(("at", "is_lacking"), [("LISTENING", True), ("REFUNDING", False)])
async def test_each_entry_point_is_asked_by_its_own_profile(at: str, is_lacking: bool) -> None:
    graph = desk()
    record = await started(graph, at)
    taken = await take_mail(graph, record.snapshot, Event("HEARD", {"text": "我要退款"}, NOW))
    assert isinstance(taken, TurnRecord)
    assert (taken.fired is not None) == is_lacking
    assert taken.snapshot.configuration == (("HANDED_ON",) if is_lacking else ("REFUNDING",))


async def test_an_agent_asked_for_what_it_lacks_answers_in_the_same_turn(place: Any) -> None:
    async with Runtime.open(place, graphs=[desk()]) as runtime:
        agent = await runtime.start("desk", at="LISTENING")
        await agent.send("HEARD", {"text": "where is my order?"})
        assert agent.snapshot.configuration == ("LISTENING",)
    async with Runtime.open(place, graphs=[desk()]) as runtime:
        agent = await runtime.resume(agent.id)
        outcome = await agent.send("HEARD", {"text": "I want a refund"})
        assert outcome.configuration == ("HANDED_ON",)
        (fired,) = [turn.fired for turn in await agent.history() if turn.fired]
        assert (fired.signal, fired.reason, fired.evidence[0]["needs"]) == (
            "lacks_domain",
            Reason.KNOWLEDGE_GAP,
            ["退款管理"],
        )


async def test_an_invoke_that_notes_a_need_is_answered(place: Any) -> None:
    async with Runtime.open(place, graphs=[desk()]) as runtime:
        agent = await runtime.start("desk", at="LISTENING")
        await agent.send("ASKED")
        await agent.until("HANDED_ON")

"""Findings about selections: what nobody can do, rules that never apply, samples that stand twice, lost payloads."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from gatechart import ConversationContext, HandoffPacket, Runtime
from gatechart.checks import Allow, check, check_all, report
from gatechart.context import AgentContext
from gatechart.graph.definition import EntryPoint, Invoke, State, Transition
from gatechart.graph.graph import AnyGraph, StateTransitionGraph
from gatechart.graph.handoff import Fallbacks, Handoff
from gatechart.graph.selection import Best, NeedRule
from gatechart.graph.signals import answered
from gatechart.graph.transfers import To, Transfers
from gatechart.signals import Lacks, handing_on
from gatechart.stores import MemoryStore
from gatechart.values.handoffs import Reason
from gatechart.values.profiles import Candidate, Needs, Profile

REFUNDS = Profile(domains=("refunds",), capabilities=("process_refund",), tier=2, samples=("I want a refund",))
ORDERS = Profile(domains=("orders",), capabilities=("query_order",))


class Claiming(AgentContext):
    claim: str = ""
    amount: int = 0


def target(profile: Profile | None, name: str = "refunds", **more: Any) -> AnyGraph:
    door = EntryPoint("REVIEWING", profile=profile, **more)
    return StateTransitionGraph(name, context=Claiming, states=[State("REVIEWING", final=True)], entry_points=[door])


def asking(best: Best, **more: Any) -> AnyGraph:
    handoff = Handoff(best, **{key: more.pop(key) for key in ("reason", "packet", "fallbacks") if key in more})
    transitions = [
        Transition("TALKING", "ASKED", "WAITING", actions=handoff),
        Transition("WAITING", "handoff", "TALKING"),
    ]
    return StateTransitionGraph("desk", transitions=transitions, entry_points=["TALKING"], **more)


def problems(code: str, graph: AnyGraph, *others: AnyGraph) -> list[str]:
    found = report(graph, among=(graph, *others)).findings
    return [f"{each.place}: {each.problem}" for each in found if each.code == code]


HERE = "transition 'TALKING --ASKED--> WAITING'"


# GC801


def test_a_name_that_no_profile_has_is_found_with_the_one_that_was_meant() -> None:
    graph = asking(Best(Needs(domains=("refund",))))
    assert problems("GC801", graph, target(REFUNDS)) == [f"{HERE}: no profile has the domain 'refund'"]
    (finding,) = [each for each in check_all([graph, target(REFUNDS)])["desk"] if each.code == "GC801"]
    assert "did you mean 'refunds'?" in finding.remedy


def test_names_of_rules_and_of_fallbacks_are_looked_up_too() -> None:
    best = Best(rules=[NeedRule(Needs(capabilities=("cancel_order",)), mentions="cancel")])
    told = "no profile has the capability 'cancel_order'"
    assert problems("GC801", asking(best), target(REFUNDS)) == [f"{HERE}: {told}"]
    graph = asking(Best(), fallbacks=Fallbacks(best))
    assert problems("GC801", graph, target(REFUNDS)) == [f"{HERE}: {told}"]


def test_an_id_that_nobody_in_the_directory_has_is_found_with_the_one_that_was_meant() -> None:
    graph = asking(Best(entries=("refunds.REVIEWNIG", "anna")))
    unnamed = [f"{HERE}: nobody in the directory has the id {each!r}" for each in ("refunds.REVIEWNIG", "anna")]
    assert problems("GC801", graph, target(REFUNDS)) == unnamed
    anna = Candidate("anna", "desk", "TALKING", is_local=False)
    found = report(graph, among=(graph, target(REFUNDS)), registered=[anna]).findings
    (finding,) = [each for each in found if each.code == "GC801"]
    assert "did you mean 'refunds.REVIEWING'?" in finding.remedy
    assert problems("GC801", asking(Best(entries="refunds.REVIEWING")), target(REFUNDS)) == []


@pytest.mark.parametrize(
    ("needs", "told"),
    [
        (Needs(domains=("refunds",), capabilities=("query_order",)), "has query_order, refunds together"),
        (Needs(domains=("refunds",), tier=3), "has refunds, tier 3 together"),
        (Needs(domains=("refunds", "orders"), all=True), "has refunds and orders together"),
        (Needs(domains=("german",), languages=("de-CH",)), "has german, de-CH together"),
        (Needs(tier=9), "has tier 9"),
    ],
)
def test_what_nobody_can_do_together_is_found(needs: Needs, told: str) -> None:
    others = target(REFUNDS), target(ORDERS, "orders"), target(Profile(domains=("german",), languages=("de-AT",)), "at")
    assert problems("GC801", asking(Best(needs)), *others) == [f"{HERE}: no entry point {told}"]


def test_a_language_that_nobody_speaks_is_found() -> None:
    graph, german = asking(Best(Needs(languages=("fr",)))), target(Profile(languages=("de",)), "german")
    assert problems("GC801", graph, german) == [f"{HERE}: no entry point speaks fr"]


@pytest.mark.parametrize(
    "best",
    [
        Best(),
        Best(Needs(domains=("refunds",), tier=2)),
        Best(Needs(domains=("refunds", "orders"))),
        Best(Needs(languages=("de",))),
        Best(lambda packet: Needs(domains=("unknown",))),
        Best(Needs(tier=2), rules=[NeedRule(Needs(domains=("refunds",)))]),
    ],
)
def test_what_somebody_can_do_is_not_found(best: Best) -> None:
    assert problems("GC801", asking(best), target(REFUNDS), target(ORDERS, "orders")) == []


def test_a_selection_among_graphs_without_profiles_finds_nobody() -> None:
    (told,) = problems("GC801", asking(Best()), target(None))
    assert "'best' finds nobody: no entry point of the application has a profile" in told


def test_the_same_selection_is_found_once_however_many_signals_it_answers() -> None:
    best = Best(Needs(domains=("taxes",)))
    graph = asking(Best(), signals=answered(handing_on(), Handoff(best), otherwise="TALKING"))
    assert len(problems("GC801", graph, target(REFUNDS))) == 1


def work(context: Any, work: Any) -> None: ...


def test_transfers_and_invoked_agents_are_looked_at() -> None:
    best = Best(Needs(domains=("taxes",)))
    states = [
        State("TALKING", invoke=Invoke(agent=best)),
        State("CHOOSING", invoke=Invoke(work), transfers=Transfers([To(best), To("TALKING")], otherwise="TALKING")),
    ]
    graph = StateTransitionGraph(
        "desk",
        states=states,
        transitions=[Transition("TALKING", "GO", "CHOOSING")],
        entry_points=["TALKING"],
    )
    assert len(problems("GC801", graph, target(REFUNDS))) == 1


def test_it_is_only_judged_if_the_graphs_are_known() -> None:
    graph = asking(Best(Needs(domains=("taxes",))), allow=Allow("GC801", HERE, "people register"))
    assert [each.code for each in check(graph) if each.code in ("GC801", "GC401")] == []
    assert problems("GC801", graph, target(REFUNDS)) == []
    (allowed,) = report(graph, among=[graph, target(REFUNDS)]).allowed
    assert allowed.reason == "people register"


BILLS = Candidate("anna", "people", "HELPING", profile=Profile(domains=("bills",)), is_local=False)


def codes(graph: AnyGraph, *registered: Candidate) -> list[str]:
    return [each.code for each in report(graph, among=(graph, target(REFUNDS)), registered=registered).findings]


def test_what_somebody_can_who_is_registered_is_no_finding() -> None:
    graph = asking(Best(Needs(domains=("bills",))))
    assert ("GC801" in codes(graph), "GC801" in codes(graph, BILLS)) == (True, False)


def test_a_handoff_to_where_the_work_of_somebody_registered_begins_is_no_finding() -> None:
    moved = Transition("TALKING", "ASKED", "WAITING", actions=Handoff("people", at="HELPING"))
    graph = StateTransitionGraph("desk", transitions=[moved], states=["WAITING"], entry_points=["TALKING"])
    assert ("GC503" in codes(graph), "GC503" in codes(graph, BILLS)) == (True, False)


def test_an_allowance_is_kept_for_the_time_when_nobody_is_registered() -> None:
    allowed = Allow("GC801", HERE, reason="people for bills come and go")
    graph = asking(Best(Needs(domains=("bills",))), allow=[allowed])
    for found in (codes(graph), codes(graph, BILLS)):
        assert {"GC801", "GC401"}.isdisjoint(found)


# GC802

CANCEL = NeedRule(Needs(domains=("refunds",)), mentions="取消订单")
ORDER = NeedRule(Needs(domains=("orders",)), mentions=("订单", "order"))
ANY = NeedRule(Needs(tier=2))


def rules(*listed: NeedRule, **more: Any) -> list[str]:
    return problems("GC802", asking(Best(rules=listed), **more), target(REFUNDS))


def test_a_rule_behind_one_that_mentions_its_words_never_applies() -> None:
    assert rules(CANCEL, ORDER, ANY) == []
    (told,) = rules(ORDER, CANCEL)
    assert "the rule for '取消订单' never applies: the one for '订单' or 'order' stands before it" in told
    (told,) = rules(ANY, ORDER)
    assert "the one for any text stands before it" in told


def test_a_rule_for_another_reason_or_with_one_more_word_applies() -> None:
    gap = NeedRule(Needs(domains=("orders",)), reason=Reason.KNOWLEDGE_GAP, mentions="order")
    more = NeedRule(Needs(domains=("orders",)), mentions=("orders", "parcel"))
    assert rules(gap, ORDER) == []
    assert rules(ORDER, more) == []
    assert len(rules(ORDER, gap)) == 1


def test_a_rule_for_a_reason_for_which_nothing_is_handed_on_never_applies() -> None:
    gap = NeedRule(Needs(domains=("orders",)), reason=Reason.KNOWLEDGE_GAP, mentions="order")
    assert rules(gap) == []
    assert rules(gap, reason=Reason.KNOWLEDGE_GAP) == []
    (told,) = rules(gap, reason=Reason.TIMEOUT)
    assert told.endswith("the rule for 'order' (knowledge gap) never applies: the work is handed on for timeout")
    fallbacks = Fallbacks(Best(rules=gap))
    graph = asking(Best(rules=gap), reason=Reason.TIMEOUT, signals=Lacks("domain", gap), fallbacks=fallbacks)
    assert problems("GC802", graph) == []


def test_rules_that_answer_several_signals_apply_for_one_of_them() -> None:
    listed = [
        NeedRule(Needs(domains=("orders",)), reason=Reason.TOOL_FAILURE, mentions="order"),
        NeedRule(Needs(tier=2), reason=Reason.USER_ESCALATION),
    ]
    signals = answered(handing_on(), Handoff(Best(rules=listed)), otherwise="TALKING")
    assert problems("GC802", asking(Best(), signals=signals)) == []


def test_rules_of_a_signal_are_looked_at_as_it_counts_them() -> None:
    assert problems("GC802", asking(Best(), signals=Lacks("domain", [ANY, CANCEL, ORDER]))) == []
    (told,) = problems("GC802", asking(Best(), signals=Lacks("domain", [ORDER, CANCEL])))
    assert told.startswith("signals, lacks_domain: the rule for '取消订单' never applies")


# GC803


def test_a_sample_that_stands_twice_is_found_at_each_of_its_places() -> None:
    other = target(Profile(samples=("i want  a REFUND", "where is it")), "orders")
    assert problems("GC803", target(REFUNDS), other) == [
        "entry point 'REVIEWING': the sample 'I want a refund' also stands at entry point 'REVIEWING' of 'orders'"
    ]
    assert problems("GC803", target(Profile(samples=("a", "b", "A")))) == [
        "entry point 'REVIEWING': the sample 'a' stands twice",
        "entry point 'REVIEWING': the sample 'A' stands twice",
    ]


def test_a_sample_of_the_graph_stands_once_for_all_its_entry_points() -> None:
    graph = StateTransitionGraph("g", states=["A", "B"], entry_points=["A", "B"], profile=REFUNDS)
    assert problems("GC803", graph) == []


# GC804


class Claim(BaseModel):
    claim: str
    amount: int = 0


class Asking(AgentContext):
    order: str = ""


def test_a_payload_that_no_packet_fills_is_found_at_its_entry_point() -> None:
    refunds = target(REFUNDS, takes=Claim)
    assert problems("GC804", refunds, asking(Best(), context=Asking)) == [
        "entry point 'REVIEWING': selections find it, but the context of 'desk' has no claim"
    ]
    assert problems("GC804", refunds, asking(Best(Needs(domains=("refunds",))), context=Asking)) != []
    assert problems("GC804", refunds, asking(Best(entries="refunds.REVIEWING"), context=Asking)) != []


@pytest.mark.parametrize(
    "graph",
    [
        asking(Best(), context=Claiming),
        asking(Best(), context=ConversationContext),
        asking(Best(), context=Asking, packet=lambda context, event: HandoffPacket()),
        asking(Best(Needs(domains=("orders",))), context=Asking),
        asking(Best(entries="orders.REVIEWING"), context=Asking),
    ],
)
def test_a_payload_that_a_packet_may_fill_or_that_nobody_brings_is_not_found(graph: AnyGraph) -> None:
    assert problems("GC804", target(REFUNDS, takes=Claim), graph) == []


def test_a_packet_and_a_payload_with_defaults_are_always_filled() -> None:
    class Optional(BaseModel):
        claim: str = ""

    for takes in (HandoffPacket, Optional, None):
        assert problems("GC804", target(REFUNDS, takes=takes), asking(Best(), context=Asking)) == []
    assert problems("GC804", target(None, takes=Claim), asking(Best(), context=Asking)) == []


# GC805

BY_RULES = Best(rules=[NeedRule(Needs(domains=("refunds",)), mentions="refund")])


@pytest.mark.parametrize("best", [Best(), BY_RULES, Best(order=("learned", "load"))])
def test_a_selection_by_words_is_found_where_the_context_tells_none(best: Best) -> None:
    assert problems("GC805", asking(best, context=Asking), target(REFUNDS)) == [
        f"{HERE}: 'best' goes by words, but the context Asking tells none"
    ]


@pytest.mark.parametrize(
    "graph",
    [
        asking(Best(), context=ConversationContext),
        asking(Best(), context=Asking, packet=lambda context, event: HandoffPacket(current_problem=context.order)),
        asking(Best(Needs(domains=("refunds",))), context=Asking),
        asking(Best(lambda packet: Needs(tier=2)), context=Asking),
        asking(Best(order=("tier", "load")), context=Asking),
        asking(Best(entries="refunds.REVIEWING"), context=Asking),
        asking(Best(scorers={"tier": 1}), context=Asking),
        asking(Best(rules=[NeedRule(Needs(tier=2), reason=Reason.TOOL_FAILURE)]), context=Asking),
    ],
)
def test_a_selection_that_has_words_or_needs_none_is_not_found(graph: AnyGraph) -> None:
    assert problems("GC805", graph, target(REFUNDS)) == []


def test_the_words_of_a_transfer_are_those_of_the_model() -> None:
    state = State("CHOOSING", invoke=Invoke(work), transfers=Transfers([To(Best()), To("DONE")], otherwise="DONE"))
    graph = StateTransitionGraph("desk", states=[state, State("DONE", final=True)], entry_points=["CHOOSING"])
    assert problems("GC805", graph, target(REFUNDS)) == []


async def test_what_is_found_matches_nobody() -> None:
    async with Runtime.open(MemoryStore(), graphs=[asking(BY_RULES, context=Asking), target(REFUNDS)]) as runtime:
        agent = await runtime.start("desk", at="TALKING")
        await agent.send("ASKED")
        (handoff,) = await runtime.handoffs()
        assert handoff.is_to_nobody


# GC701


def lacking(*rules: NeedRule, **more: Any) -> list[str]:
    return problems("GC701", asking(Best(), signals=Lacks("domain", rules), **more))


def test_what_no_entry_point_can_lack_is_found() -> None:
    assert lacking(ORDER) == ["signals, lacks_domain: no entry point with this signal has a profile"]
    assert lacking(ORDER, profile=REFUNDS) == []
    assert lacking(ORDER, profile=ORDERS) == [
        "signals, lacks_domain: each entry point has every domain that the rules name"
    ]

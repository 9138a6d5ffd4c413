"""What work needs, by declared rules over reason, problem and suggested action."""

from __future__ import annotations

import pytest

from gatechart import HandoffPacket
from gatechart.graph.selection import FILTERS, SCORERS, WEIGHTS
from gatechart.handoff import Reason
from gatechart.selection import Best, NeedRule, Needs, terms_of
from gatechart.selection.filters import ON_REQUEST
from gatechart.selection.needs import needs_of
from gatechart.selection.scorers import BUILT_IN

CANCEL = NeedRule(
    Needs(capabilities=("cancel",)), reason=Reason.OUT_OF_SCOPE, mentions=("cancel the order", "取消订单")
)
ORDERS = NeedRule(Needs(domains=("orders",)), mentions=("order", "订单"))


@pytest.mark.parametrize(
    ("word", "text", "is_mentioned"),
    [
        ("Refund", "two REFUNDS are missing", True),
        ("refund", "a prefunded card", False),
        ("refund", "我的refund在哪", True),
        ("订单", "我的订单在哪", True),
        ("ÜBER", "übermorgen", True),
        ("über", "darüber", False),
        ("cancel the order", "please cancel the order", True),
        ("c++", "a C++ program", True),
        ("", "anything", True),
    ],
)
def test_a_word_is_mentioned_where_a_word_begins_with_it_and_anywhere_without_spaces(
    word: str, text: str, is_mentioned: bool
) -> None:
    assert NeedRule(Needs(), mentions=word).applies(Reason.OTHER, text) is is_mentioned


def test_the_first_rule_that_applies_is_joined_with_the_declared_needs() -> None:
    best = Best(Needs(tier=2), rules=(CANCEL, ORDERS))
    asked = HandoffPacket(reason=Reason.OUT_OF_SCOPE, current_problem="我要取消订单")
    assert needs_of(best, asked) == Needs(capabilities=("cancel",), tier=2)
    other = HandoffPacket(reason=Reason.TIMEOUT, suggested_action="look for the order")
    assert needs_of(best, other) == Needs(domains=("orders",), tier=2)


def test_needs_may_be_a_function_of_the_packet() -> None:
    def spoken(packet: HandoffPacket) -> Needs:
        return Needs(languages=(packet.metadata.locale,))

    packet = HandoffPacket(metadata={"locale": "de"}, current_problem="an order")
    assert needs_of(Best(spoken, rules=ORDERS), packet) == Needs(domains=("orders",), languages=("de",))


def test_terms_hold_what_was_declared_and_survive_json_in_a_packet() -> None:
    def own(packet: HandoffPacket, candidate: object) -> float:
        return 0.0

    best = Best(Needs(("a",), ("b",), 2, ("de",), True), scorers={"text": 2, own: 1.5}, filters="person", least=0.2)
    terms = terms_of(best, HandoffPacket())
    assert terms.needs == best.needs
    assert (terms.weights, terms.filters, terms.least) == ({"text": 2.0, "own": 1.5}, ("person",), 0.2)
    packet = HandoffPacket(selection=terms, recipient="a.A")
    assert HandoffPacket.model_validate_json(packet.model_dump_json()) == packet


def test_terms_say_whether_no_rule_applies() -> None:
    nothing = HandoffPacket(current_problem="a fridge")
    assert terms_of(Best(rules=ORDERS), nothing).no_rule
    assert not terms_of(Best(rules=ORDERS), HandoffPacket(current_problem="an order")).no_rule
    assert not terms_of(Best(), nothing).no_rule


def test_weights_and_an_order_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="not both"):
        Best(scorers={"text": 1.0}, order=("text",))


def test_the_names_that_graphs_may_use_are_those_that_there_are() -> None:
    assert set(SCORERS) == set(BUILT_IN)
    assert set(FILTERS) == set(ON_REQUEST)
    assert set(WEIGHTS) <= set(SCORERS)

"""Whom work is handed to in a team of five agents, by the team's rules."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gatechart import HandoffPacket, Runtime
from gatechart.checks import check
from gatechart.graph.graph import AnyGraph
from gatechart.handoff import Attempt, Reason
from gatechart.results import Candidate
from gatechart.selection import Needs, choose, terms_of
from gatechart.selection.needs import needs_of
from gatechart.testing import VirtualClock
from gatechart.values.frozen import replaced
from gatechart.values.handoffs import Obstacle
from statecharts.support_team import CASCADE, SPECIALIST, candidates, reception, team
from statecharts.support_team.__main__ import chosen

NOW = datetime(2026, 3, 30, 10, tzinfo=UTC)
GAP, SCOPE = Reason.KNOWLEDGE_GAP, Reason.OUT_OF_SCOPE
TOOL, ESCALATION = Reason.TOOL_FAILURE, Reason.USER_ESCALATION


def packet(reason: Reason, problem: str, suggested: str = "") -> HandoffPacket:
    return HandoffPacket(reason=reason, current_problem=problem, suggested_action=suggested)


@pytest.mark.parametrize(
    ("reason", "problem", "needs"),
    [
        (GAP, "退款政策是什么？", Needs(domains=("退款管理",))),
        (GAP, "我的订单在哪里？", Needs(domains=("订单管理",))),
        (GAP, "这个订单能退款吗？", Needs(domains=("退款管理",))),
        (SCOPE, "请帮我取消订单", Needs(capabilities=("cancel_order",))),
        (SCOPE, "我想修改个人信息", Needs(capabilities=("update_profile",))),
        (SCOPE, "查一下我的订单", Needs(capabilities=("query_order", "modify_order"))),
        (TOOL, "特殊订单查询失败", Needs(domains=("高级订单管理",))),
        (ESCALATION, "转人工", Needs(tier=2)),
        (SCOPE, "冰箱坏了，谁能修？", Needs()),
        (TOOL, "退款系统没有响应", Needs()),
    ],
)
def test_reason_and_words_say_what_the_work_needs(reason: Reason, problem: str, needs: Needs) -> None:
    assert needs_of(SPECIALIST, packet(reason, problem)) == needs
    assert needs_of(SPECIALIST, packet(reason, "", suggested=problem)) == needs


@pytest.mark.parametrize(
    ("reason", "problem", "expected", "asked"),
    [
        (GAP, "退款政策是什么？", "RefundAgent.SERVING", 1),
        (TOOL, "特殊订单查询失败", "AdvancedOrderAgent.SERVING", 1),
        (SCOPE, "请帮我取消订单", "AdvancedOrderAgent.SERVING", 1),
        (SCOPE, "查一下我的订单", "OrderAgent.SERVING", 1),
        (ESCALATION, "转人工", "HumanAgent_Tier3.SERVING", 1),
        (SCOPE, "冰箱坏了，谁能修？", "HumanAgent_Tier3.SERVING", 2),
        (SCOPE, "我想修改个人信息", "HumanAgent_Tier3.SERVING", 2),
    ],
)
def test_the_one_whom_the_work_belongs_to_is_chosen(reason: Reason, problem: str, expected: str, asked: int) -> None:
    choices = chosen(packet(reason, problem), NOW)
    assert len(choices) == asked
    assert choices[-1].candidate is not None
    assert choices[-1].candidate.id == expected


def test_what_nobody_knows_is_no_match_with_its_evidence_before_a_generalist_takes_it() -> None:
    first, second = chosen(packet(SCOPE, "冰箱坏了，谁能修？"), NOW)
    assert first.candidate is None
    assert first.explanation.details == "none of 5 fits; left out by rule 5"
    assert second.explanation.details.startswith("HumanAgent_Tier3.SERVING is the only one that fits")


def test_where_no_generalist_is_free_somebody_of_the_highest_tier_is_asked() -> None:
    def without_domains(each: Candidate) -> Candidate:
        return replaced(each, profile=replaced(each.profile, domains=()))

    doors = [without_domains(each) for each in candidates()]
    asked = packet(SCOPE, "冰箱坏了，谁能修？")
    found = [choose(asked, terms_of(best, asked), doors, now=NOW, seed="s").candidate for best in CASCADE]
    assert [each and each.id for each in found] == [None, None, "HumanAgent_Tier3.SERVING"]


def test_of_several_that_can_the_higher_tier_then_the_better_work_then_the_less_busy_goes_first() -> None:
    free = Candidate("A.SERVING", "A", "SERVING", profile=candidates()[1].profile, performance=0.9)
    busy, better = replaced(free, id="B.SERVING", held=3), replaced(free, id="C.SERVING", held=3, performance=0.95)
    higher = replaced(busy, id="D.SERVING", profile=replaced(free.profile, tier=3), performance=0.1)
    asked = packet(GAP, "退款政策是什么？")

    def first_of(*some: Candidate) -> str:
        found = choose(asked, terms_of(SPECIALIST, asked), some, now=NOW, seed="s").candidate
        assert found is not None
        return found.id

    assert first_of(busy, free) == "A.SERVING"
    assert first_of(busy, free, better) == "C.SERVING"
    assert first_of(busy, free, better, higher) == "D.SERVING"


def test_who_rejected_it_is_not_asked_again() -> None:
    attempt = Attempt(graph="HumanAgent_Tier3", entry_point="SERVING", agent="h-1", obstacle=Obstacle.OVERLOAD)
    asked = packet(ESCALATION, "转人工").model_copy(update={"attempts": (attempt,), "handoff_id": "h-2"})
    (choice,) = chosen(asked, NOW)
    assert choice.explanation.tied == (
        "AdvancedOrderAgent.SERVING",
        "RefundAgent.SERVING",
        "TechSupportAgent.SERVING",
    )


@pytest.mark.parametrize(
    ("reason", "problem", "expected", "statuses"),
    [
        (GAP, "退款政策是什么？", "RefundAgent", ["accepted"]),
        (TOOL, "特殊订单查询失败", "AdvancedOrderAgent", ["accepted"]),
        (ESCALATION, "转人工", "HumanAgent_Tier3", ["accepted"]),
        (SCOPE, "冰箱坏了，谁能修？", "HumanAgent_Tier3", ["rejected", "accepted"]),
    ],
)
async def test_the_reception_hands_on_to_the_one_whom_it_belongs_to(
    url: str, reason: Reason, problem: str, expected: str, statuses: list[str]
) -> None:
    async with Runtime.open(url, graphs=(reception, *team), clock=VirtualClock(NOW)) as runtime:
        agent = await runtime.start(reception, at="LISTENING")
        await agent.send("GOT_STUCK", {"problem": problem, "reason": reason.value})
        await agent.until("HANDED_ON")
        handoffs = await runtime.handoffs(source=agent.id)
        assert [each.status.value for each in handoffs] == statuses
        assert handoffs[-1].target_graph == expected
        assert all(each.choice for each in handoffs)


@pytest.mark.parametrize("graph", [reception, *team], ids=lambda graph: graph.name)
def test_the_team_has_no_findings(graph: AnyGraph) -> None:
    assert check(graph) == ()

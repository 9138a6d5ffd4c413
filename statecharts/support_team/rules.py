"""What work needs, by its reason and by words about it, and whom to ask one after another.

The first rule that applies counts, so that 取消订单, to cancel an order, stands above 订单, an order.
"""

from __future__ import annotations

from typing import Final

from gatechart.handoff import Reason
from gatechart.selection import Best, NeedRule, Needs

HIGH_TIER: Final = 2
HIGHEST_TIER: Final = 3

ORDER: Final = ("tier", "performance", "load")
"""The higher tier first, among equals the one whose work went better, among those the one that is less busy."""


RULES: Final = (
    NeedRule(Needs(domains=("退款管理",)), reason=Reason.KNOWLEDGE_GAP, mentions="退款"),
    NeedRule(Needs(domains=("订单管理",)), reason=Reason.KNOWLEDGE_GAP, mentions="订单"),
    NeedRule(Needs(capabilities=("cancel_order",)), reason=Reason.OUT_OF_SCOPE, mentions="取消订单"),
    NeedRule(Needs(capabilities=("update_profile",)), reason=Reason.OUT_OF_SCOPE, mentions="修改个人信息"),
    NeedRule(Needs(capabilities=("query_order", "modify_order")), reason=Reason.OUT_OF_SCOPE, mentions="订单"),
    NeedRule(Needs(domains=("高级订单管理",)), reason=Reason.TOOL_FAILURE, mentions="订单"),
    NeedRule(Needs(tier=HIGH_TIER), reason=Reason.USER_ESCALATION),
)

SPECIALIST: Final = Best(rules=RULES, order=ORDER, name="specialist")
"""Whoever can do what the rules say."""

GENERALIST: Final = Best(Needs(domains=("通用客服",), tier=HIGH_TIER), order=ORDER, name="generalist")
"""Somebody of a high tier who takes anything."""

TOP: Final = Best(Needs(tier=HIGHEST_TIER), order=ORDER, name="top tier")
"""Somebody of the highest tier: people."""

CASCADE: Final = (SPECIALIST, GENERALIST, TOP)
"""Whom to ask, one after another: the next only if nobody matches."""

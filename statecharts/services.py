"""What the example charts need from outside, given to `Runtime.open(services=...)`."""

from __future__ import annotations

from dataclasses import dataclass

from gatechart import ToolBox
from statecharts.customer_service.knowledge_base import SHELF, KnowledgeBase
from statecharts.online_shop.shop import BOOKS, Shop
from statecharts.online_shop.tools import TOOLS


@dataclass(frozen=True, slots=True)
class Services:
    """The outside world of all example charts."""

    knowledge_base: KnowledgeBase = SHELF
    shop: Shop = BOOKS
    tools: ToolBox = TOOLS

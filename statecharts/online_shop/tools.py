"""The tools of the shop: whom its agents ask to make something, each call recorded and on the trail of its agent."""

from __future__ import annotations

from typing import Final

from gatechart import ToolBox, tool
from gatechart.tools import ToolContext, ToolPolicies

ONCE: Final = ToolPolicies(retry="off", breaker="off")
"""The charts ask again, and hand on by signals where that is in vain."""


@tool(policies=ONCE)
async def ask_workshop(context: ToolContext, wish: str) -> str:
    """Order something as the customer wishes from the shop's own workshop; return the number of that order."""
    number: str = await context.services.shop.order_special("workshop", wish)
    return number


@tool(policies=ONCE)
async def ask_manufacturer(context: ToolContext, wish: str) -> str:
    """Order something as the customer wishes from whoever makes the goods; return the number of that order."""
    number: str = await context.services.shop.order_special("manufacturer", wish)
    return number


TOOLS: Final = ToolBox([ask_workshop, ask_manufacturer])

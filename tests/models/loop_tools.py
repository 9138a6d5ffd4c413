"""A tool for model loops."""

from gatechart import tool
from gatechart.tools import ToolContext, ToolPolicies


@tool(repeat="safe", policies=ToolPolicies(retry="off"))
async def lookup(context: ToolContext, order: str) -> str:
    """Look an order up."""
    context.services.calls["lookup"] += 1
    if order == "none":
        raise LookupError("there is no such order")
    return f"{order} was shipped"

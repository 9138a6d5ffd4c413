"""Tools: functions with a schema and policies, called from an invoke as recorded steps and offered to models."""

from gatechart.secrets import MASK, masked
from gatechart.tools.arguments import ArgumentsMisfitError, Described, Signature, Takes
from gatechart.tools.breaker import Breaker, breaker_snapshot
from gatechart.tools.breaker_chart import BreakerContext, breaker_graph
from gatechart.tools.definition import USUAL, AnyTool, Repeat, Tool, ToolContext, ToolMaker, ToolOptions, tool
from gatechart.tools.naming import LONGEST_TOOL_NAME, model_name
from gatechart.tools.results import FailureKind, ToolFailure, ToolResult
from gatechart.tools.retries import (
    MOST_RETRY_AFTER_S,
    RetryOn,
    ToolError,
    is_in_doubt,
    is_passing,
    is_worth_retrying,
    next_try_s,
    retry_after_s,
)
from gatechart.tools.schemas import (
    anthropic_tool,
    anthropic_tools,
    mcp_tool,
    openai_tool,
    openai_tools,
    without_nulls,
)
from gatechart.tools.toolbox import ToolBox

__all__ = [
    "LONGEST_TOOL_NAME",
    "MASK",
    "MOST_RETRY_AFTER_S",
    "USUAL",
    "AnyTool",
    "ArgumentsMisfitError",
    "Breaker",
    "BreakerContext",
    "Described",
    "FailureKind",
    "Repeat",
    "RetryOn",
    "Signature",
    "Takes",
    "Tool",
    "ToolBox",
    "ToolContext",
    "ToolError",
    "ToolFailure",
    "ToolMaker",
    "ToolOptions",
    "ToolResult",
    "anthropic_tool",
    "anthropic_tools",
    "breaker_graph",
    "breaker_snapshot",
    "is_in_doubt",
    "is_passing",
    "is_worth_retrying",
    "masked",
    "mcp_tool",
    "model_name",
    "next_try_s",
    "openai_tool",
    "openai_tools",
    "retry_after_s",
    "tool",
    "without_nulls",
]

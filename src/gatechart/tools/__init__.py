"""Tools: functions that models and agents call, their results and failures, and circuit breakers."""

from gatechart.tools.arguments import ArgumentsMisfitError
from gatechart.tools.breaker import Breaker
from gatechart.tools.breaker_chart import BreakerContext, breaker_graph
from gatechart.tools.definition import AnyTool, Repeat, Tool, ToolContext, ToolOptions, tool
from gatechart.tools.results import FailureKind, ToolFailure, ToolResult
from gatechart.tools.retries import RetryOn, ToolError
from gatechart.tools.schemas import anthropic_tool, anthropic_tools, mcp_tool, openai_tool, openai_tools
from gatechart.tools.toolbox import ToolBox
from gatechart.values.breakers import BreakerPolicy
from gatechart.values.tool_policies import Capability, ToolPolicies

__all__ = [
    "AnyTool",
    "ArgumentsMisfitError",
    "Breaker",
    "BreakerContext",
    "BreakerPolicy",
    "Capability",
    "FailureKind",
    "Repeat",
    "RetryOn",
    "Tool",
    "ToolBox",
    "ToolContext",
    "ToolError",
    "ToolFailure",
    "ToolOptions",
    "ToolPolicies",
    "ToolResult",
    "anthropic_tool",
    "anthropic_tools",
    "breaker_graph",
    "mcp_tool",
    "openai_tool",
    "openai_tools",
    "tool",
]

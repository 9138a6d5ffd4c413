"""A set of tools: found by name and capability, and shown to models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from gatechart.errors.definition import Fault
from gatechart.errors.root import suggestion
from gatechart.errors.tools import InvalidToolError
from gatechart.tools.definition import USUAL, AnyTool, Tool
from gatechart.tools.naming import by_model_name
from gatechart.tools.schemas import anthropic_tools, mcp_tool, openai_tools
from gatechart.values.tool_policies import Capability, PoliciesByTool, ToolPolicies, effective_policies


class ToolBox:
    """The tools of a runtime: `Runtime.open(..., services=Services(tools=ToolBox([lookup_order, refund])))`.

    Raises InvalidToolError for an object that is not a tool, for two tools with the same name, and for a tool that
    names one that the box lacks.
    """

    def __init__(self, tools: Iterable[AnyTool] | AnyTool = ()) -> None:
        given = (tools,) if isinstance(tools, Tool) else tuple(tools)
        faults = tuple(_faults(given))
        if faults:
            raise InvalidToolError(faults)
        self._tools = MappingProxyType({tool.name: tool for tool in given})
        self._by_model_name = by_model_name(self._tools)
        self.has_escapes = any(tool.escape is not None for tool in given)

    def __repr__(self) -> str:
        return f"<ToolBox {', '.join(self._tools)}>"

    def __iter__(self) -> Iterator[AnyTool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the tools, in their original order."""
        return tuple(self._tools)

    def get(self, name: str) -> AnyTool | None:
        """Return the tool with this name, its own or its name for models; None without one."""
        return self._tools.get(name) or self._tools.get(self._by_model_name.get(name, ""))

    def only(self, names: Iterable[str]) -> ToolBox:
        """Return a box of some of the tools. It may lack alternatives and `undo` tools of these. Raises KeyError."""
        fewer = ToolBox()
        fewer._tools = MappingProxyType({name: self._tools[name] for name in names})
        fewer._by_model_name = by_model_name(fewer._tools)
        return fewer

    def policies(self, tool: AnyTool, layers: Iterable[PoliciesByTool] = ()) -> ToolPolicies:
        """Return the policies of a tool's calls. layers: policies that override the tool's own, the weakest first."""
        return effective_policies(tool.name, tool.policies.over(USUAL), layers)

    def alternatives(self, tool: AnyTool, policies: ToolPolicies) -> tuple[AnyTool, ...]:
        """Return the tools to call if this one fails, in order, without duplicates."""
        listed = () if policies.alternatives in (None, "off") else policies.alternatives
        matches = [match for alternative in listed or () for match in self._matches(alternative)]
        return tuple(match for match in dict.fromkeys(matches) if match is not tool)

    def _matches(self, alternative: str | Capability) -> Iterator[AnyTool]:
        if isinstance(alternative, Capability):
            yield from (tool for tool in self if alternative.name in tool.capabilities)
        elif alternative in self._tools:
            yield self._tools[alternative]

    def openai(self) -> list[dict[str, Any]]:
        """Return the tools in the shape of OpenAI's chat completions."""
        return openai_tools(self)

    def anthropic(self) -> list[dict[str, Any]]:
        """Return the tools in the shape of Anthropic's messages."""
        return anthropic_tools(self)

    def mcp(self) -> list[dict[str, Any]]:
        """Return the tools in MCP's shape."""
        return [mcp_tool(tool) for tool in self]

    def policy_faults(self, place: str, policies: Mapping[str, ToolPolicies]) -> Iterator[Fault]:
        """Yield a fault for each tool that has policies, or is named as an alternative, and is missing in the box."""
        for name, policy in policies.items():
            yield from self._unknown(place, (*(() if name == "*" else (name,)), *_named(policy)))

    def _unknown(self, place: str, names: Iterable[str]) -> Iterator[Fault]:
        for name in names:
            if name not in self._tools:
                yield Fault(place, f"there is no tool {name!r}", suggestion(name, self.names))


def _named(policies: ToolPolicies) -> tuple[str, ...]:
    listed = () if policies.alternatives in (None, "off") else policies.alternatives
    return tuple(alternative for alternative in listed or () if isinstance(alternative, str))


def _faults(given: tuple[Any, ...]) -> Iterator[Fault]:
    tools = [item for item in given if isinstance(item, Tool)]
    listed = [tool.name for tool in tools]
    names = tuple(dict.fromkeys(listed))
    yield from (
        Fault("tool box", f"{item!r} is not a tool", "decorate the function with @tool")
        for item in given
        if not isinstance(item, Tool)
    )
    for name in (name for name in names if listed.count(name) > 1):
        yield Fault("tool box", f"two tools are named {name!r}", "give one of them another name")
    for tool in tools:
        for other in (*_named(tool.policies), *((tool.undo,) if tool.undo else ())):
            if other not in names:
                yield Fault(f"tool {tool.name!r}", f"there is no tool {other!r}", suggestion(other, names))

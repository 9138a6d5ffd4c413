"""The tools in a server's list. Invalid ones are replaced, because the SDK would refuse the whole list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcp.shared.inbound import find_invalid_x_mcp_header
from mcp.types.methods import validate_server_result
from mcp.types.version import LATEST_MODERN_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from gatechart.context import problems_of

PROBLEM: Final = "gatechart/problem"
"""Key in the `_meta` of a tool that replaces an invalid one. The value is the problem of the replaced tool."""

_PAGE: Final = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def readable_tools(tools: list[Any], version: str) -> list[Any]:
    """Return the tools of a page. A tool with the same name and the problem replaces an invalid one.

    Tools without a name are omitted. version: of the protocol; "" for the newest.
    """
    readable = (_readable(tool, version or LATEST_MODERN_VERSION) for tool in tools)
    return [tool for tool in readable if tool is not None]


def _readable(tool: Any, version: str) -> Any:
    name = tool.get("name") if isinstance(tool, Mapping) else None
    if not isinstance(name, str):
        return None
    problem = _problem(tool, version)
    return {"name": name, "inputSchema": {"type": "object"}, "_meta": {PROBLEM: problem}} if problem else tool


def _problem(tool: Mapping[str, Any], version: str) -> str:
    try:
        validate_server_result("tools/list", version, {"tools": [tool], **_PAGE})
    except ValidationError as error:
        return "; ".join(problem.removeprefix("tools.0.") for problem in problems_of(error))
    except KeyError:  # a version that the SDK does not check
        return ""
    if version not in MODERN_PROTOCOL_VERSIONS:
        return ""
    header = find_invalid_x_mcp_header(tool["inputSchema"])
    return f"its x-mcp-header is invalid: {header}" if header else ""

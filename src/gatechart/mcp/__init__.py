"""Tools of MCP servers. This package needs the extra `gatechart[mcp]`."""

from gatechart.errors.extras import needing

with needing("mcp", "the tools of MCP servers"):
    from gatechart.mcp.servers import HttpServer, McpServer, StdioServer
from gatechart.mcp.pins import ToolPins
from gatechart.mcp.tools import McpTools, WithheldTool

__all__ = ["HttpServer", "McpServer", "McpTools", "StdioServer", "ToolPins", "WithheldTool"]

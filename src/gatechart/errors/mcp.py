"""Errors of MCP servers."""

from __future__ import annotations

from dataclasses import dataclass

from gatechart.errors.root import OutsideError


@dataclass(eq=False)
class McpServerError(OutsideError):
    """An MCP server cannot be used. Nothing was called."""

    server: str
    problem: str

    def __str__(self) -> str:
        return (
            f"the MCP server {self.server!r} cannot be used ({self.problem}); check that it runs, that its name is "
            "right, and that it offers the required tools"
        )


@dataclass(eq=False)
class McpPinsError(OutsideError):
    """The file with the digests of accepted tools cannot be read or written. No tool was loaded."""

    path: str
    problem: str

    def __str__(self) -> str:
        return (
            f"the digests of accepted tools in {self.path} cannot be used ({self.problem}); "
            "use a file that can be read and written, or delete it to accept all tools again"
        )

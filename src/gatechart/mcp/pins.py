"""A file with the accepted tools of MCP servers and the digests of their definitions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from filelock import FileLock

from gatechart.context import canonical_json
from gatechart.errors.mcp import McpPinsError


def digest_of(definition: Mapping[str, Any]) -> str:
    """Return the digest of a tool's definition in MCP's shape: its name, description, schemas and hints.

    >>> digest_of({"name": "add", "inputSchema": {}})[:23]
    'sha256:a609111e95e0d7c4'
    """
    return f"sha256:{sha256(canonical_json(definition).encode()).hexdigest()}"


class ToolPins:
    """The digests of accepted tools, in a JSON file: `{"<server>": {"<tool>": "sha256:..."}}`.

    A tool is accepted when it is first seen. If its server changes the definition later, the tool is withheld from
    models and agents. After a review, an operator accepts the new definition: delete the tool's line, or write the new
    digest there. Keep the file under version control beside the program, so that changes of it are reviewed.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def accept(self, server: str, found: Mapping[str, str]) -> Mapping[str, str]:
        """Accept the new tools. Return the accepted digests of the changed tools, by name.

        found: current digests by tool name. Raises McpPinsError if the file cannot be read or written.
        """
        try:
            with FileLock(f"{self._path}.lock"):
                return self._accept(server, found)
        except (OSError, ValueError) as error:
            raise McpPinsError(str(self._path), str(error)) from error

    def _accept(self, server: str, current: Mapping[str, str]) -> Mapping[str, str]:
        pins = self._read()
        accepted = pins.setdefault(server, {})
        new = {name: digest for name, digest in current.items() if name not in accepted}
        if new:
            accepted.update(new)
            self._write(pins)
        return {name: accepted[name] for name, digest in current.items() if accepted[name] != digest}

    def _read(self) -> dict[str, dict[str, str]]:
        if not self._path.exists():
            return {}
        pins = json.loads(self._path.read_text("utf-8"))
        if not isinstance(pins, dict) or not all(isinstance(digests, dict) for digests in pins.values()):
            raise ValueError("it does not contain digests by server and tool")
        return pins

    def _write(self, pins: Mapping[str, Mapping[str, str]]) -> None:
        """Replace the whole file, so that a crash leaves the old one or the new one."""
        new = self._path.with_name(f"{self._path.name}.new")
        new.write_text(json.dumps(pins, indent=2, sort_keys=True) + "\n", "utf-8")
        new.replace(self._path)

"""The tools of MCP servers that were accepted, by the digests of what they said of themselves, in a file."""

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

    A tool is accepted when it is first seen. If a server describes it in another way later, it is withheld from models
    and agents until somebody has looked at it: delete its line, or put the new digest there. Keep the file beside the
    program, under version control, so that a change of it is a change that somebody reviews.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def accept(self, server: str, found: Mapping[str, str]) -> Mapping[str, str]:
        """Accept the tools that were never seen; return the accepted digest of each that has changed, by its name.

        found: digests by the names of the tools. Raises McpPinsError if the file cannot be read or written.
        """
        try:
            with FileLock(f"{self._path}.lock"):
                return self._accept(server, found)
        except (OSError, ValueError) as error:
            raise McpPinsError(str(self._path), str(error)) from error

    def _accept(self, server: str, found: Mapping[str, str]) -> Mapping[str, str]:
        pins = self._read()
        known = pins.setdefault(server, {})
        new = {name: digest for name, digest in found.items() if name not in known}
        if new:
            known.update(new)
            self._write(pins)
        return {name: known[name] for name, digest in found.items() if known[name] != digest}

    def _read(self) -> dict[str, dict[str, str]]:
        if not self._path.exists():
            return {}
        pins = json.loads(self._path.read_text("utf-8"))
        if not isinstance(pins, dict) or not all(isinstance(each, dict) for each in pins.values()):
            raise ValueError("it holds no digests by server and tool")
        return pins

    def _write(self, pins: Mapping[str, Mapping[str, str]]) -> None:
        """Replace the file as a whole, so that a crash leaves the old one or the new one."""
        new = self._path.with_name(f"{self._path.name}.new")
        new.write_text(json.dumps(pins, indent=2, sort_keys=True) + "\n", "utf-8")
        new.replace(self._path)

"""Names of tools that every model accepts. They are distinct, and can be mapped back to the tools' own names."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final

LONGEST_TOOL_NAME: Final = 200
"""Maximum length of a tool's own name, in characters."""

MODEL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""The tool names that both OpenAI and Anthropic accept."""

_MCP_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]{1,128}")  # specification of 2025-11-25, server/tools
_DERIVED: Final = re.compile(r".*--[a-v0-9]{20}", re.ASCII)
_OTHER: Final = re.compile(r"[^a-zA-Z0-9_]+")
_DIGEST_BYTES: Final = 12  # in 20 digits of 5 bits
_KEPT: Final = 64 - 22


def model_name(name: str) -> str:
    """Return a tool's name for models: its own if they accept it, otherwise its readable characters and a digest.

    A name that looks like a derived one gets a digest, too, so that different names stay different. The result depends
    only on the name: a conversation keeps its names when other tools are added or removed.

    >>> model_name("lookup_order"), model_name("Überweisung prüfen")
    ('lookup_order', 'berweisung-pr-fen--1j100qpme4epdbh0fvq0')
    """
    if MODEL_NAME.fullmatch(name) and not _DERIVED.fullmatch(name):
        return name
    readable = _OTHER.sub("-", name)[:_KEPT].strip("-") or "tool"
    digest = blake2b(name.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).digest()
    return f"{readable}--{base64.b32hexencode(digest).decode().lower()[:20]}"


def mcp_name(name: str) -> str:
    """Return the name of a tool for clients of an MCP server: its own if MCP allows it.

    >>> mcp_name("shop.lookup_order")
    'shop.lookup_order'
    """
    return name if _MCP_NAME.fullmatch(name) else model_name(name)


def by_model_name(names: Iterable[str]) -> Mapping[str, str]:
    """Return the tools' own names by their names for models.

    >>> by_model_name(["lookup_order"])
    {'lookup_order': 'lookup_order'}
    """
    return {model_name(name): name for name in names}

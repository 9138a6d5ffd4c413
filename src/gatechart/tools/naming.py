"""Names of tools as every model accepts them: distinct, and turned back into the names that the tools have here."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final

LONGEST_TOOL_NAME: Final = 200
"""Maximum length of a tool's name here, in characters."""

MODEL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What OpenAI and Anthropic both accept as the name of a tool."""

_MCP_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]{1,128}")  # of the specification of 2025-11-25, server/tools
_MADE: Final = re.compile(r".*--[a-v0-9]{20}", re.ASCII)
_OTHER: Final = re.compile(r"[^a-zA-Z0-9_]+")
_DIGEST_BYTES: Final = 12  # in 20 digits of 5 bits
_KEPT: Final = 64 - 22


def model_name(name: str) -> str:
    """Return the name by which models know a tool: its own where they accept it, else what is readable, and a digest.

    A name that looks like one that was made here gets a digest, too, so that different names stay different. The name
    depends on nothing else: a conversation keeps its names when other tools come and go.

    >>> model_name("lookup_order"), model_name("Überweisung prüfen")
    ('lookup_order', 'berweisung-pr-fen--1j100qpme4epdbh0fvq0')
    """
    if MODEL_NAME.fullmatch(name) and not _MADE.fullmatch(name):
        return name
    readable = _OTHER.sub("-", name)[:_KEPT].strip("-") or "tool"
    digest = blake2b(name.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).digest()
    return f"{readable}--{base64.b32hexencode(digest).decode().lower()[:20]}"


def mcp_name(name: str) -> str:
    """Return the name of a tool for clients of an MCP server: its own where MCP allows it.

    >>> mcp_name("shop.lookup_order")
    'shop.lookup_order'
    """
    return name if _MCP_NAME.fullmatch(name) else model_name(name)


def by_model_name(names: Iterable[str]) -> Mapping[str, str]:
    """Return the tools' own names by those that models know them by.

    >>> by_model_name(["lookup_order"])
    {'lookup_order': 'lookup_order'}
    """
    return {model_name(name): name for name in names}

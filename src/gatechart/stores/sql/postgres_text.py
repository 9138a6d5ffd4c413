"""Text encoded for PostgreSQL, which refuses the character NUL that text from elsewhere may contain."""

from __future__ import annotations

import re
from typing import Any, Final

ESCAPE: Final = "\x1a"  # "substitute", the escape character; doubled where the text itself contains it
_NUL: Final = f"{ESCAPE}0"
_TWICE: Final = ESCAPE * 2
_IN_JSON: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u00(00|1a)")
_KINDS: Final = ("text", "varchar")


def encoded(text: str) -> bytes:
    r"""Return the bytes that the server is sent for a text. Different texts always have different bytes.

    >>> encoded("a door"), encoded("a\0b")
    (b'a door', b'a\x1a0b')
    """
    if "\0" in text or ESCAPE in text:
        text = text.replace(ESCAPE, _TWICE).replace("\0", _NUL)
    return text.encode()


def escaped_json(text: str) -> str:
    r"""Return JSON text whose strings are escaped as `encoded` does.

    >>> print(escaped_json(r'["a\u0000b", "c\\u0000"]'))
    ["a\u001a0b", "c\\u0000"]
    """
    return _IN_JSON.sub(_in_json, text) if "\\u00" in text else text


def _in_json(found: re.Match[str]) -> str:
    before, code = found.groups()
    return rf"{before}\u001a0" if code == "00" else rf"{before}\u001a\u001a"


def decoded(kept: bytes) -> str:
    r"""Return the text of bytes that `encoded` returned.

    >>> decoded(encoded("a\0b\x1a\x1a0")) == "a\0b\x1a\x1a0"
    True
    """
    text = kept.decode()
    if ESCAPE in text:
        text = ESCAPE.join(part.replace(_NUL, "\0") for part in text.split(_TWICE))
    return text


async def keep_every_text(connection: Any) -> None:
    """Make an asyncpg connection encode and decode text this way."""
    for kind in _KINDS:
        await connection.set_type_codec(kind, schema="pg_catalog", encoder=encoded, decoder=decoded, format="binary")

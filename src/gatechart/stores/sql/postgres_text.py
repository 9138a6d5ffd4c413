"""Text as PostgreSQL keeps it: it refuses the character NUL, which text that came from elsewhere may have."""

from __future__ import annotations

import re
from typing import Any, Final

ESCAPE: Final = "\x1a"  # "substitute", which stands in for a character that cannot be; written twice where it is meant
_NUL: Final = f"{ESCAPE}0"
_TWICE: Final = ESCAPE * 2
_IN_JSON: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u00(00|1a)")
_KINDS: Final = ("text", "varchar")


def encoded(text: str) -> bytes:
    r"""The bytes that the server is sent for a text. Two texts that differ never have the same.

    >>> encoded("a door"), encoded("a\0b")
    (b'a door', b'a\x1a0b')
    """
    if "\0" in text or ESCAPE in text:
        text = text.replace(ESCAPE, _TWICE).replace("\0", _NUL)
    return text.encode()


def escaped_json(text: str) -> str:
    r"""JSON text in which the texts are as `encoded` makes them.

    >>> print(escaped_json(r'["a\u0000b", "c\\u0000"]'))
    ["a\u001a0b", "c\\u0000"]
    """
    return _IN_JSON.sub(_in_json, text) if "\\u00" in text else text


def _in_json(found: re.Match[str]) -> str:
    before, code = found.groups()
    return rf"{before}\u001a0" if code == "00" else rf"{before}\u001a\u001a"


def decoded(kept: bytes) -> str:
    r"""The text of such bytes.

    >>> decoded(encoded("a\0b\x1a\x1a0")) == "a\0b\x1a\x1a0"
    True
    """
    text = kept.decode()
    if ESCAPE in text:
        text = ESCAPE.join(part.replace(_NUL, "\0") for part in text.split(_TWICE))
    return text


async def keep_every_text(connection: Any) -> None:
    """Lets one of asyncpg's connections encode and decode so."""
    for kind in _KINDS:
        await connection.set_type_codec(kind, schema="pg_catalog", encoder=encoded, decoder=decoded, format="binary")

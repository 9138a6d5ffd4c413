"""Text that JSON can hold."""

from __future__ import annotations


def readable(text: str) -> str:
    r"""The text with lone surrogates, which an exception's may have, written as escapes.

    >>> readable("ünï" + chr(0xD800))
    'ünï\\ud800'
    """
    return text.encode(errors="backslashreplace").decode()

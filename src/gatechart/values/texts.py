"""Texts in any language: case folding and normalisation, unspaced scripts, combining marks, and shortening."""

from __future__ import annotations

import unicodedata
from functools import cache
from itertools import chain
from typing import Final

UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # kana, ideographs
)
"""Characters of scripts without spaces between words, as the content of a character class."""


def folded(text: str) -> str:
    """Return a text in a form that ignores case, width and how accents are encoded (NFKC of the case-folded text).

    The Turkish letters `İ` and `ı` become `i`, because their case cannot be folded otherwise.

    >>> folded("Cafe\u0301 ＩＤ") == folded("CAFÉ id"), folded("KIRMIZI") == folded("kırmızı")
    (True, True)
    """
    if text.isascii():
        return text.lower()
    form = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return form.replace("i\u0307", "i").replace("ı", "i")


@cache
def marks() -> str:
    r"""Return all combining marks, as the content of a character class. `\w` does not include them."""
    ranges: list[list[int]] = []
    for code in chain(range(0x300, 0xFFFF), range(0x10000, 0x1F000), range(0xE0100, 0xE01F0)):
        if unicodedata.category(chr(code))[0] != "M":
            continue
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


def shortened(text: str, length: int) -> str:
    """Return at most `length` characters of a text. A letter is not separated from its combining marks."""
    while 0 < length < len(text) and unicodedata.category(text[length])[0] == "M":
        length -= 1
    return text[:length]

"""Images, audio and documents on their way to and from providers."""

from __future__ import annotations

import base64
import re
from binascii import Error as Base64Error
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from gatechart.handoff.media import described
from gatechart.handoff.packet import MediaPart

IMAGES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The images that OpenAI and Anthropic take."""

_DATA_URL: Final = re.compile(r"data:(?P<type>[^;,]*)(?:;[^,;]+)*;base64,", re.IGNORECASE)


def media_from_url(url: str, otherwise: str) -> MediaPart:
    """Return the part that a URL locates; a data URL holds its bytes. otherwise: its type, if the URL has none.

    >>> media_from_url("data:image/png;base64,AA==", "image/*")
    MediaPart(media_type='image/png', name='', url='', data='AA==', digest='', agent='', journal='', size=0)
    """
    match = _DATA_URL.match(url)
    if match is None:
        return MediaPart(media_type=otherwise, url=url)
    return MediaPart(media_type=match["type"] or otherwise, data=url[match.end() :])


def data_url(part: MediaPart) -> str:
    """Return the URL of a part: its own, or a data URL with its bytes."""
    return part.url or f"data:{part.media_type};base64,{part.data}"


def is_accepted(part: MediaPart, accepts: Iterable[str]) -> bool:
    """Return whether a model takes a part. accepts: media types, "image/*" for all of a kind.

    A part with only a digest is not accepted: the caller has to load its bytes first.

    >>> is_accepted(MediaPart(media_type="image/png", url="https://example.com/a"), ["image/*"])
    True
    """
    if not part.url and not part.data:
        return False
    kind = part.media_type.lower().partition(";")[0].strip()
    major = kind.removesuffix("*") if kind.endswith("/*") else ""
    return any(fnmatchcase(kind, pattern) or (major and pattern.startswith(major)) for pattern in accepts)


def text_in(part: MediaPart) -> str | None:
    """Return the text of a text file; None for any other part, and for bytes that are not UTF-8."""
    kind = part.media_type.lower()
    if not part.data or not kind.startswith(("text/", "application/json")):
        return None
    try:
        return base64.b64decode(part.data, validate=True).decode()
    except (Base64Error, ValueError):
        return None


def stand_in(part: MediaPart) -> str:
    """Return the text that takes the place of a part that a model is not shown.

    >>> stand_in(MediaPart(media_type="audio/wav", name="call.wav", data="AAAA"))
    '[A file that you cannot be shown: audio/wav, call.wav, 3 bytes]'
    """
    return f"[A file that you cannot be shown: {described(part)[1:-1]}]"

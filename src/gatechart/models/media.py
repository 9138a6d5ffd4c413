"""Images, audio and documents on their way to and from providers."""

from __future__ import annotations

import re
from typing import Final

from gatechart.handoff import MediaPart

_DATA_URL: Final = re.compile(r"data:(?P<type>[^;,]*)(?:;[^,;]+)*;base64,", re.IGNORECASE)


def media_from_url(url: str, otherwise: str) -> MediaPart:
    """Return the part that a URL locates; a data URL holds its bytes. otherwise: its type, if the URL has none.

    >>> media_from_url("data:image/png;base64,AA==", "image/*")
    MediaPart(media_type='image/png', name='', url='', data='AA==', digest='')
    """
    match = _DATA_URL.match(url)
    if match is None:
        return MediaPart(media_type=otherwise, url=url)
    return MediaPart(media_type=match["type"] or otherwise, data=url[match.end() :])


def data_url(part: MediaPart) -> str:
    """Return the URL of a part: its own, or a data URL with its bytes."""
    return part.url or f"data:{part.media_type};base64,{part.data}"

"""Ids of the calls of a transcript, replaced calls included.

Some models count their calls from the start again ("call_1"). A call under the id of an earlier one would have its
idempotency key, so it gets another id.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from typing import Final

_SIZE: Final = 4  # bytes of a digest; an id that has another's digest is replaced, which harms nothing


class KnownIds:
    """A set of ids as digests: about five characters for each in its text."""

    def __init__(self, digests: Iterable[bytes]) -> None:
        self._digests = frozenset(digests)

    @classmethod
    def of(cls, ids: Iterable[str], *texts: str) -> KnownIds:
        """Return the set of these ids and of those in the texts of other sets."""
        return cls((*map(_digest, ids), *(each for text in texts for each in _read(text))))

    def __contains__(self, call_id: object) -> bool:
        return isinstance(call_id, str) and _digest(call_id) in self._digests

    @property
    def text(self) -> str:
        """The set as text: base64 of the digests, in order."""
        return b64encode(b"".join(sorted(self._digests))).decode()


@lru_cache(maxsize=8192)  # each request asks for the ids of all calls before it
def _digest(call_id: str) -> bytes:
    return blake2b(call_id.encode(errors="surrogatepass"), digest_size=_SIZE).digest()


def _read(text: str) -> list[bytes]:
    data = b64decode(text)
    return [data[at : at + _SIZE] for at in range(0, len(data), _SIZE)]

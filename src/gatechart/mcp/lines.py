"""The lines of a server over stdio: UTF-8, each of bounded length.

The SDK reads a server's output by the encoding that it is given, and keeps a line until it ends, however long it is.
This encoding is UTF-8 whose decoder ends the connection at a line that is too long.
"""

from __future__ import annotations

import codecs
from typing import Final

from gatechart.mcp.bounds import Meter

BOUNDED_UTF_8: Final = "gatechart_bounded_utf_8"
"""Name of the encoding. Bytes that are not UTF-8 become U+FFFD, if the error handler is `replace`."""


class LineTooLongError(ConnectionError):
    """A server wrote a line above the bounds. The SDK takes it for a broken connection."""


class _Decoder(codecs.IncrementalDecoder):
    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        self._inner = codecs.getincrementaldecoder("utf-8")(errors)
        self._meter = Meter(by_line=True)

    def decode(self, chunk: bytes, final: bool = False) -> str:  # type: ignore[override]
        if problem := self._meter.problem(chunk):
            raise LineTooLongError(problem)
        return self._inner.decode(chunk, final)


def _found(name: str) -> codecs.CodecInfo | None:
    if name != BOUNDED_UTF_8:
        return None
    plain = codecs.lookup("utf-8")
    return codecs.CodecInfo(plain.encode, plain.decode, incrementaldecoder=_Decoder, name=BOUNDED_UTF_8)


codecs.register(_found)

"""The lines of a server over stdio: UTF-8 with a bounded length.

The SDK decodes a server's output with a given encoding, and buffers a line until its end, regardless of its length.
This encoding is UTF-8 with a decoder that cuts off a line above the limits. The connection stays open, because the SDK
would otherwise wait for the end of the server's output.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Final

from gatechart.mcp.bounds import Meter

BOUNDED_UTF_8: Final = "gatechart_bounded_utf_8"
"""Name of the encoding. Bytes that are not UTF-8 become U+FFFD, if the error handler is `replace`."""


CUT_OFF: Final = "\N{REPLACEMENT CHARACTER}[cut off] "
"""Text after the kept part of a line. The limit that the line exceeds follows it."""


class _Decoder(codecs.IncrementalDecoder):
    def __init__(self, errors: str = "strict") -> None:
        super().__init__(errors)
        self._inner = codecs.getincrementaldecoder("utf-8")(errors)
        self._meter = Meter(by_line=False)
        self._is_cut = False

    def decode(self, chunk: bytes, final: bool = False) -> str:  # type: ignore[override]
        return self._inner.decode(b"\n".join(self._pieces(chunk)), final)

    def _pieces(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the pieces of lines in a chunk, without the rest of a line that was cut off."""
        for number, piece in enumerate(chunk.split(b"\n")):
            if number:
                self._meter, self._is_cut = Meter(by_line=False), False
            problem = "" if self._is_cut else self._meter.problem(piece)
            kept = b"" if self._is_cut else piece
            self._is_cut = self._is_cut or bool(problem)
            yield f"{CUT_OFF}{problem}".encode() if problem else kept


def _bounded_codec(name: str) -> codecs.CodecInfo | None:
    if name != BOUNDED_UTF_8:
        return None
    plain = codecs.lookup("utf-8")
    return codecs.CodecInfo(plain.encode, plain.decode, incrementaldecoder=_Decoder, name=BOUNDED_UTF_8)


codecs.register(_bounded_codec)

"""Connections that can be cut off: one whose peer does not read would else be kept until the peer leaves."""

from __future__ import annotations

from typing import Final

from starlette.types import Receive, Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_ABORT: Final = "gatechart.abort"


class Connection(HttpToolsProtocol):
    """uvicorn's, which shows the application how to cut it off."""

    def on_message_begin(self) -> None:
        """See the parser's callbacks."""
        super().on_message_begin()
        self.scope["state"][_ABORT] = self.transport.abort


async def cut_off(scope: Scope, receive: Receive) -> bool:
    """Ends the connection of a request, with what was written and not read; False where it cannot be done.

    It returns when the server knows, which else would miss the end of an answer.
    """
    abort = scope.get("state", {}).get(_ABORT)
    if abort is None:
        return False
    abort()
    await disconnected(receive)
    return True


async def disconnected(receive: Receive) -> None:
    """Returns when there is no connection any more."""
    while (await receive())["type"] != "http.disconnect":
        pass

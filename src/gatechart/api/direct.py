"""The verbs of a runtime that is here, as those of one that is elsewhere."""

from __future__ import annotations

from typing import TypeVar, cast

from gatechart.api.calls import Call
from gatechart.api.documents import Document
from gatechart.api.performing import Performer, perform, perform_once
from gatechart.api.verbs import Verbs

D = TypeVar("D", bound=Document)


class Direct(Verbs):
    """Has calls carried out by a runtime in this process, for those who do not care where it is.

    request: the id of a request that was made before, and may have been carried out.
    """

    def __init__(self, host: Performer, request: str | None = None) -> None:
        self._host = host
        self._request = request

    async def _call(self, call: Call, answer: type[D]) -> D:  # noqa: ARG002  it is of that kind
        if self._request is None:
            return cast("D", await perform(self._host, call))
        return cast("D", await perform_once(self._host, call, self._request))

"""The verbs of a runtime that is here, as those of one that is elsewhere."""

from __future__ import annotations

from typing import TypeVar, cast

from gatechart.wire.calls import Call
from gatechart.wire.documents import Document
from gatechart.wire.performing import Performer, perform
from gatechart.wire.verbs import Verbs

D = TypeVar("D", bound=Document)


class Direct(Verbs):
    """Has calls carried out by a runtime in this process, for those who do not care where it is."""

    def __init__(self, host: Performer) -> None:
        self._host = host

    async def _call(self, call: Call, answer: type[D]) -> D:
        return cast("D", await perform(self._host, call))

"""The request to continue a rollback once its calls are undone, as the agent's record and its mail store it."""

from __future__ import annotations

from gatechart.values.escapes import EnterAt, GoBack
from gatechart.values.frozen import value
from gatechart.values.names import Payload, StateName
from gatechart.values.payloads import read


@value
class StoredRoute:
    """The route of a rollback or a restart, and the strategy that chose it."""

    strategy: str = ""
    version: int | None = None  # to roll back to; None for a restart
    entry_point: str = ""
    payload: Payload | None = None
    keep: tuple[str, ...] = ()

    def route(self) -> GoBack | EnterAt:
        """Return the route."""
        if self.version is not None:
            return GoBack(self.version, self.keep)
        return EnterAt(self.entry_point, self.payload, is_fresh=True, keep=self.keep)


@value
class Resumption:
    """The part of the request that continues a rollback; the rest is the payload of the signal."""

    signal: str = ""
    finding: int = 0
    leaves: tuple[StateName, ...] = ()  # active before the calls were undone
    problem: str = ""  # why a call was not undone
    goes_on: Payload | None = None  # see StoredRoute

    @property
    def stored_route(self) -> StoredRoute:
        """The route, as stored."""
        return read(StoredRoute, self.goes_on or {})


def resumption(payload: Payload) -> Resumption:
    """Read the request."""
    return read(Resumption, payload)


def route_json(strategy: str, route: GoBack | EnterAt) -> Payload:
    """Return the JSON values of a StoredRoute."""
    if isinstance(route, GoBack):
        return {"strategy": strategy, "version": route.version, "keep": list(route.keep)}
    return {
        "strategy": strategy,
        "entry_point": route.entry_point,
        "payload": route.payload,
        "keep": list(route.keep),
    }

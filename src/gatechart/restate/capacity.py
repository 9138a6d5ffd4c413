"""Inbox capacity, counted when callers reserve room before they post.

Posted mail may still wait in the engine's own queue while the agent is busy. So each piece of mail gets a place,
numbered from 1, and the agent records the highest place that has arrived. Mail with a higher place is still on its way.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, Final

from restate import ObjectContext, ObjectSharedContext, VirtualObject
from restate.serde import BytesSerde, JsonSerde, Serde

from gatechart.api import ErrorDocument
from gatechart.errors import InboxFullError
from gatechart.restate.options import patience
from gatechart.restate.state import STATE
from gatechart.restate.terms import ServiceConfig, Terms
from gatechart.values import MailStatus

LOST_S: Final = 600.0
"""Seconds after which an unused place no longer counts: its caller died before it posted."""

BYTES: Final[Serde[Any]] = BytesSerde()
COUNTS: Final[Serde[Any]] = JsonSerde()
HANDOFFS: Final[Serde[Any]] = JsonSerde()


@dataclass
class Counts:
    """The places given so far, and the waiting mail at the last check."""

    places: int = 0
    bytes: int = 0  # size of the mail in all places
    at: float = 0.0  # when the newest place was given, in seconds since 1970
    arrived: tuple[int, int] = (0, 0)  # the highest place that has arrived, and the bytes up to it
    waiting: tuple[int, int] = (0, 0)  # number of pieces, and the bytes of the agent's state

    def is_full(self, size: int, terms: Terms) -> bool:
        """Tell whether there may be no room for mail of this size."""
        count = self.waiting[0] + self.places - self.arrived[0]
        total = self.waiting[1] + self.bytes - self.arrived[1]
        return count >= terms.inbox or total + size > terms.inbox_bytes


def inbox_object(config: ServiceConfig) -> VirtualObject:
    """Build the object that gives places in an agent's inbox; its key is the agent's id."""
    inboxes = VirtualObject(config.names.inbox, **patience(config.terms.turn_s))

    @inboxes.handler("enter")
    async def enter(ctx: ObjectContext, asked: dict[str, Any]) -> Any:
        """Give a place, or answer that the inbox is full."""
        counts, size = Counts(**(await ctx.get("counts", COUNTS) or {})), int(asked["bytes"])
        now = await ctx.time()
        if counts.is_full(size, config.terms):
            room = json.loads(await ctx.generic_call(config.names.agent, "room", b"{}", ctx.key()))
            counts.arrived, counts.waiting = tuple(room["arrived"]), tuple(room["waiting"])
            # No place was given for so long that unused ones belong to callers that died.
            if now - counts.at > LOST_S:
                counts.arrived = counts.places, counts.bytes
        if counts.is_full(size, config.terms):
            ctx.set("counts", asdict(counts), COUNTS)
            error = InboxFullError(ctx.key(), config.terms.inbox)
            return {"error": ErrorDocument.of(error).model_dump(mode="json")}
        counts.places, counts.bytes, counts.at = counts.places + 1, counts.bytes + size, now
        ctx.set("counts", asdict(counts), COUNTS)
        return {"place": [counts.places, counts.bytes]}

    return inboxes


async def room(ctx: ObjectSharedContext, _: dict[str, Any]) -> Any:
    """Return how much mail has arrived at an agent, and how much of it waits."""
    text = await ctx.get("agent", BYTES)
    if not text:
        return {"arrived": [0, 0], "waiting": [0, 0]}
    state = STATE.validate_json(text)
    waiting = [
        mail for mail in state.mail if mail.status is MailStatus.WAITING and mail.state is None and mail.key is None
    ]
    aside = sum(payload.bytes for payload in state.large.values())
    return {"arrived": list(state.arrived), "waiting": [len(waiting), len(text) + aside]}


def capacity_object(config: ServiceConfig) -> VirtualObject:
    """Build the object that tracks which handoffs hold a slot of a graph; its key is the graph's name."""
    places = VirtualObject(config.names.capacity, **patience(config.terms.turn_s))

    @places.handler("reserve")
    async def reserve(ctx: ObjectContext, asked: dict[str, Any]) -> bool:
        held: list[str] = await ctx.get("held", HANDOFFS) or []
        if asked["handoff"] in held:
            return True
        if len(held) >= asked["most"]:
            return False
        ctx.set("held", [*held, asked["handoff"]])
        return True

    @places.handler("release")
    async def release(ctx: ObjectContext, asked: dict[str, Any]) -> None:
        held: list[str] = await ctx.get("held", HANDOFFS) or []
        if asked["handoff"] in held:
            ctx.set("held", [each for each in held if each != asked["handoff"]])

    return places

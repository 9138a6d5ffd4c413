"""The objects beside an agent's own object, and the options for declaring all objects.

They keep large payloads, count the mail sent to an agent, and count the slots of a graph.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any, Final

from restate import InvocationRetryPolicy, ObjectContext, ObjectSharedContext, RunOptions, VirtualObject
from restate.serde import BytesSerde, JsonSerde, Serde

from gatechart.api.errors import ErrorDocument
from gatechart.errors.operation import InboxFullError
from gatechart.restate.state import STATE
from gatechart.restate.terms import Names, ServiceConfig, Terms
from gatechart.values.mail import MailStatus
from gatechart.values.names import AgentId

MARGIN: Final = timedelta(seconds=60)  # on top of the longest time that a handler works without contact to the engine
BYTES: Final[Serde[Any]] = BytesSerde()
AS_BYTES: Final[RunOptions[bytes]] = RunOptions(serde=BYTES, type_hint=bytes)
FOREVER: Final = InvocationRetryPolicy(
    initial_interval=timedelta(milliseconds=100),
    exponentiation_factor=2.0,
    max_interval=timedelta(seconds=10),
    max_attempts=2**31 - 1,  # without it, the engine's own limit pauses an agent for good after minutes
)
"""Retry policy for failures caused only by an unavailable service or engine: retry until success."""
LOST_S: Final = 600.0
"""Seconds after which an unused place no longer counts: its caller died before it posted."""
NOTHING: Final = b"{}"
COUNTS: Final[Serde[Any]] = JsonSerde()
HANDOFFS: Final[Serde[Any]] = JsonSerde()


def patience(longest_s: float) -> dict[str, Any]:
    """Return options that keep the engine from repeating an invocation that merely takes long."""
    return {
        "inactivity_timeout": timedelta(seconds=longest_s) + MARGIN,
        "abort_timeout": MARGIN,
        "journal_retention": timedelta(0),
        "idempotency_retention": timedelta(minutes=10),
        "invocation_retry_policy": FOREVER,
    }


def payload_object(config: ServiceConfig) -> VirtualObject:
    """Build the object that keeps one payload per key, for one piece of an agent's mail.

    The engine sends a service the whole state of an agent with each call, and all of it must fit into one message. A
    payload that is set aside travels only to the run that needs it. Calls from one agent to one object arrive in the
    order made, so a payload is kept before any read of it.
    """
    payloads = VirtualObject(config.names.payloads, **patience(config.terms.turn_s))

    @payloads.handler("keep", input_serde=BYTES)
    async def keep(ctx: ObjectContext, payload: bytes) -> None:
        ctx.set("payload", payload, BYTES)

    # Not shared: a shared handler would not wait for `keep`.
    @payloads.handler("read", output_serde=BYTES)
    async def read(ctx: ObjectContext) -> bytes:
        return await ctx.get("payload", BYTES) or NOTHING

    @payloads.handler("drop")
    async def drop(ctx: ObjectContext) -> None:
        ctx.clear("payload")

    return payloads


def keep_payload(ctx: ObjectContext, names: Names, number: int, payload: bytes) -> None:
    """Set the payload of a piece of mail aside, replacing an earlier one."""
    ctx.generic_send(names.payloads, "keep", payload, _key(ctx, number))


async def read_payloads(
    ctx: ObjectContext | ObjectSharedContext, names: Names, numbers: Iterable[int]
) -> dict[int, bytes]:
    """Return payloads that were set aside, as JSON text, by the number of their mail."""
    # All are requested before the first answer is awaited: one after another, a thousand would take many seconds.
    requests = {number: ctx.generic_call(names.payloads, "read", b"", _key(ctx, number)) for number in numbers}
    return {number: await answer for number, answer in requests.items()}


def drop_payload(ctx: ObjectContext, names: Names, number: int) -> None:
    """Delete a payload that was set aside."""
    ctx.generic_send(names.payloads, "drop", b"", _key(ctx, number))


def _key(ctx: ObjectContext | ObjectSharedContext, number: int) -> str:
    return f"{ctx.key()}/{number}"


@dataclass
class SlotCounts:
    """The places reserved so far, and the waiting mail at the last check."""

    places: int = 0
    bytes: int = 0  # size of the mail in all places
    at: float = 0.0  # time of the newest place, in seconds since 1970
    arrived: tuple[int, int] = (0, 0)  # the highest place that has arrived, and the bytes up to it
    waiting: tuple[int, int] = (0, 0)  # number of pieces, and the bytes of the agent's state

    def is_full(self, size: int, terms: Terms) -> bool:
        """Return whether there may be no room for mail of this size."""
        return self._count >= terms.inbox or self._total + size > terms.inbox_bytes

    def fullness(self, agent_id: AgentId, size: int, terms: Terms) -> InboxFullError:
        """Return the error for mail of this size, which names the limit that it would exceed."""
        if self._count >= terms.inbox:
            return InboxFullError(agent_id, terms.inbox)
        return InboxFullError(agent_id, 0, terms.inbox_bytes, self._total + size)

    @property
    def _count(self) -> int:
        return self.waiting[0] + self.places - self.arrived[0]

    @property
    def _total(self) -> int:
        return self.waiting[1] + self.bytes - self.arrived[1]


def inbox_object(config: ServiceConfig) -> VirtualObject:
    """Build the object that reserves places in an agent's inbox; its key is the agent's id.

    Posted mail may still wait in the engine's own queue while the agent is busy. So each piece of mail gets a place,
    numbered from 1, and the agent records the highest place that has arrived. Mail with a higher place is on its way.
    """
    inboxes = VirtualObject(config.names.inbox, **patience(config.terms.turn_s))

    @inboxes.handler("enter")
    async def enter(ctx: ObjectContext, request: dict[str, Any]) -> Any:
        """Reserve a place, or answer that the inbox is full."""
        counts, size = SlotCounts(**(await ctx.get("counts", COUNTS) or {})), int(request["bytes"])
        now = await ctx.time()
        if counts.is_full(size, config.terms):
            room = json.loads(await ctx.generic_call(config.names.agent, "room", b"{}", ctx.key()))
            counts.arrived, counts.waiting = tuple(room["arrived"]), tuple(room["waiting"])
            # No place was reserved for so long that unused ones belong to callers that died.
            if now - counts.at > LOST_S:
                counts.arrived = counts.places, counts.bytes
        if counts.is_full(size, config.terms):
            ctx.set("counts", asdict(counts), COUNTS)
            error = counts.fullness(ctx.key(), size, config.terms)
            return {"error": ErrorDocument.of(error).model_dump(mode="json")}
        counts.places, counts.bytes, counts.at = counts.places + 1, counts.bytes + size, now
        ctx.set("counts", asdict(counts), COUNTS)
        return {"place": [counts.places, counts.bytes]}

    return inboxes


async def room(ctx: ObjectSharedContext, _: dict[str, Any]) -> Any:
    """Return the amounts of mail that has arrived at an agent, and of mail that waits there."""
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
    """Build the object that tracks the handoffs that hold a slot of a graph; its key is the graph's name."""
    places = VirtualObject(config.names.capacity, **patience(config.terms.turn_s))

    @places.handler("reserve")
    async def reserve(ctx: ObjectContext, request: dict[str, Any]) -> bool:
        handoffs: list[str] = await ctx.get("held", HANDOFFS) or []
        if request["handoff"] in handoffs:
            return True
        if len(handoffs) >= request["most"]:
            return False
        ctx.set("held", [*handoffs, request["handoff"]])
        return True

    @places.handler("release")
    async def release(ctx: ObjectContext, request: dict[str, Any]) -> None:
        handoffs: list[str] = await ctx.get("held", HANDOFFS) or []
        if request["handoff"] in handoffs:
            ctx.set("held", [handoff for handoff in handoffs if handoff != request["handoff"]])

    return places

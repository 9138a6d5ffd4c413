"""Large payloads of mail, each in its own object.

The engine sends a service the whole state of an agent with each call, and all of it must fit into one message. A
payload that is set aside travels only to the run that needs it. Calls from one agent to one object arrive in the order
made, so a payload is kept before it is read.
"""

from __future__ import annotations

from restate import ObjectContext, ObjectSharedContext, VirtualObject

from gatechart.restate.options import BYTES, patience
from gatechart.restate.terms import Names, ServiceConfig

NOTHING = b"{}"


def payload_object(config: ServiceConfig) -> VirtualObject:
    """Build the object that keeps one payload per key."""
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
    """Set a mail's payload aside, replacing an earlier one."""
    ctx.generic_send(names.payloads, "keep", payload, _key(ctx, number))


async def read_payload(ctx: ObjectContext | ObjectSharedContext, names: Names, number: int) -> bytes:
    """Return a payload that was set aside, as JSON text."""
    return await ctx.generic_call(names.payloads, "read", b"", _key(ctx, number))


def drop_payload(ctx: ObjectContext, names: Names, number: int) -> None:
    """Delete a payload that was set aside."""
    ctx.generic_send(names.payloads, "drop", b"", _key(ctx, number))


def _key(ctx: ObjectContext | ObjectSharedContext, number: int) -> str:
    return f"{ctx.key()}/{number}"

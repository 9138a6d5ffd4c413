"""The virtual objects of the engine: one for each agent, one for the places that each graph has."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Final

from pydantic_core import to_json
from restate import InvocationRetryPolicy, ObjectContext, ObjectSharedContext, RunOptions, VirtualObject, select
from restate.serde import BytesSerde, JsonSerde, Serde

from gatechart.restate.handlers import VERBS, decide
from gatechart.restate.journal_entry import JournalEntry, Order, unpacked
from gatechart.restate.migration.arrival import standing, terms_for
from gatechart.restate.state import MAIL, MAILS, SNAPSHOT, STATE, TURNS, UnderWay, plain
from gatechart.restate.terms import Names, ServiceConfig

MARGIN: Final = timedelta(seconds=60)  # beyond the longest that a handler works without a word to the engine
BYTES: Final[Serde[Any]] = BytesSerde()
WAIT: Final[Serde[Any]] = JsonSerde()
AS_BYTES: Final[RunOptions[bytes]] = RunOptions(serde=BYTES, type_hint=bytes)
FOREVER: Final = InvocationRetryPolicy(
    initial_interval=timedelta(milliseconds=100),
    exponentiation_factor=2.0,
    max_interval=timedelta(seconds=10),
    max_attempts=2**31 - 1,  # left out, the engine's own bound holds, and it pauses an agent after minutes for good
)
"""For what only a service that is down, or its engine, can make fail: it is tried until it goes on."""


def agent_object(config: ServiceConfig) -> VirtualObject:
    """The object that hosts one agent under each key."""
    agents = VirtualObject(config.names.agent, **patience(config.terms.turn_s))
    for verb in VERBS:
        agents.handler(verb)(_handler(config, verb))
    agents.handler("look", kind="shared")(_look)
    agents.handler("mails", kind="shared")(_mails)
    agents.handler("lift", kind="shared")(_lift)
    agents.handler("turns", kind="shared")(_turns)
    agents.handler("standing", kind="shared")(_standing)
    agents.handler("terms", kind="shared")(_terms(config))
    return agents


def patience(longest_s: float) -> dict[str, Any]:
    """What an object is declared with, so that the engine does not run again what only takes long."""
    return {
        "inactivity_timeout": timedelta(seconds=longest_s) + MARGIN,
        "abort_timeout": MARGIN,
        "journal_retention": timedelta(0),
        "idempotency_retention": timedelta(minutes=10),
        "invocation_retry_policy": FOREVER,
    }


def _handler(config: ServiceConfig, verb: str) -> Callable[[ObjectContext, dict[str, Any]], Awaitable[Any]]:
    async def handle(ctx: ObjectContext, argument: dict[str, Any]) -> Any:
        return await _handled(ctx, config, verb, argument)

    handle.__name__ = verb
    return handle


async def _handled(ctx: ObjectContext, config: ServiceConfig, verb: str, argument: dict[str, Any]) -> Any:
    """The answer to the verb. All that decides is in journaled runs; the rest only carries out what they say."""
    state, ids = await ctx.get("agent", BYTES), await ctx.get("ids", BYTES)
    granted: dict[str, bool] = {}
    lifted = 0
    while True:
        run = partial(_run, config, ctx.key(), state, ids, verb, argument, dict(granted), lifted)
        entry = unpacked(await ctx.run_typed(verb, run, AS_BYTES))
        if entry.place is not None:
            asked = to_json(entry.place)
            answer = await ctx.generic_call(config.names.capacity, "reserve", asked, entry.place["graph"])
            granted[entry.place["handoff"]] = json.loads(answer)
            continue
        state, ids = await _carried_out(ctx, config.names, entry) or state, entry.ids or ids
        if not entry.following:
            return entry.answer
        verb = entry.following
        lifted = await _waited(ctx, entry) if entry.wait_s else 0


async def _waited(ctx: ObjectContext, entry: JournalEntry) -> int:
    """Waits for what was decided. Returns the number of the mail if its wait was ended before, else 0.

    A run of before such waits could be ended is repeated as its journal has it: it only sleeps.
    """
    wait = timedelta(seconds=entry.wait_s)
    if not entry.waits_for:
        await ctx.sleep(wait)
        return 0
    name, ended = ctx.awakeable(type_hint=bool)
    ctx.set("wait", {"mail": entry.waits_for, "ends": name}, WAIT)
    how, _ = await select(slept=ctx.sleep(wait), ended=ended)
    ctx.clear("wait")
    return entry.waits_for if how == "ended" else 0


async def _run(
    config: ServiceConfig,
    agent_id: str,
    state: bytes | None,
    ids: bytes | None,
    verb: str,
    argument: dict[str, Any],
    granted: dict[str, bool],
    lifted: int,
) -> bytes:
    return (await decide(config, agent_id, state, ids, verb, argument, granted=granted, lifted=lifted)).packed()


async def _carried_out(ctx: ObjectContext, names: Names, entry: JournalEntry) -> bytes | None:
    """What is kept from now on; None where that is as it was."""
    begun = [await _begun(ctx, names, order) for order in entry.orders if order["do"] == "call"]
    state = entry.state if not begun or entry.state is None else _with_ids(entry.state, begun)
    if any(order["do"] == "forget" for order in entry.orders):
        ctx.clear_all()
    if state is not None:
        ctx.set("agent", state, BYTES)
    if entry.ids is not None:
        ctx.set("ids", entry.ids, BYTES)
    for version, turn in entry.turns:
        ctx.set(_place(version), turn, BYTES)
    for order in entry.orders:
        _do(ctx, names, order)
    return state


async def _begun(ctx: ObjectContext, names: Names, order: Order) -> str:
    """The engine's id of an invocation that is begun."""
    told = order["running"] | {"steps": order.get("steps", {})}
    return await ctx.generic_send(names.invokes, "run", to_json(told)).invocation_id()


def _with_ids(state: bytes, begun: list[str]) -> bytes:
    known, ids = STATE.validate_json(state), iter(begun)
    known.calls = [each if each.engine_id else UnderWay(each.running, next(ids)) for each in known.calls]
    return STATE.dump_json(known)


def _do(ctx: ObjectContext, names: Names, order: Order) -> None:
    match order["do"]:
        case "cancel":
            ctx.cancel_invocation(order["engine_id"])
        case "clear":
            for version in range(order["first"], order["last"] + 1):
                ctx.clear(_place(version))
        case "release":
            ctx.generic_send(names.capacity, "release", to_json({"handoff": order["handoff"]}), order["graph"])
        case _:
            _send(ctx, names, order)


def _send(ctx: ObjectContext, names: Names, order: Order) -> None:
    after = timedelta(seconds=order.get("after_s", 0.0)) or None
    match order["do"]:
        case "deliver":
            told = to_json({"mail": order["mail"]}, inf_nan_mode="constants")
            ctx.generic_send(names.agent, "deliver", told, order["to"])
        case "postpone":
            told = to_json(order["argument"], inf_nan_mode="constants")
            ctx.generic_send(names.agent, "deliver", told, ctx.key(), send_delay=after)
        case "wake":
            told = to_json({"number": order["number"]})
            ctx.generic_send(names.agent, "wake", told, ctx.key(), send_delay=after)
        case "drain":
            ctx.generic_send(names.agent, "drain", b"{}", ctx.key(), send_delay=after)
        case "project":
            ctx.generic_send(names.projection, "project", b"{}", ctx.key(), send_delay=after)
        case "unproject":
            ctx.generic_send(names.projection, "forget", b"{}", ctx.key())


def _place(version: int) -> str:
    """Under which name a turn is kept until it is projected."""
    return f"turn:{version}"


async def _look(ctx: ObjectSharedContext, _: dict[str, Any]) -> Any:
    """The newest snapshot, and how far the projection is."""
    text = await ctx.get("agent", BYTES)
    state = STATE.validate_json(text) if text else None
    if state is None or state.snapshot is None:
        return None
    return {"snapshot": plain(SNAPSHOT, state.snapshot), "projected": state.projected, "life": state.life}


async def _mails(ctx: ObjectSharedContext, _: dict[str, Any]) -> Any:
    """All mail that waits, was refused, or is dead."""
    text = await ctx.get("agent", BYTES)
    return plain(MAILS, STATE.validate_json(text).mail) if text else []


async def _lift(ctx: ObjectSharedContext, asked: dict[str, Any]) -> Any:
    """Ends the wait before another attempt at mail, and tells the mail; nothing if nobody waits for that."""
    wait = await ctx.get("wait", WAIT)
    if wait is None or wait["mail"] != asked["number"]:
        return None
    state = STATE.validate_json(await ctx.get("agent", BYTES) or b"{}")
    mail = state.numbered(asked["number"])
    if mail is None:
        return None
    ctx.resolve_awakeable(wait["ends"], value=True)
    return {"mail": plain(MAIL, replace(mail, retry_at=None))}


async def _turns(ctx: ObjectSharedContext, _: dict[str, Any]) -> Any:
    """The turns that are not projected, in order, and whose they are."""
    text = await ctx.get("agent", BYTES)
    if not text:
        return None
    state = STATE.validate_json(text)
    if state.snapshot is None:
        return None
    found = [await ctx.get(_place(each), BYTES) for each in range(state.projected + 1, state.snapshot.version + 1)]
    turns = [TURNS.validate_json(b"[" + bytes(each) + b"]")[0] for each in found if each]
    return {"life": state.life, "turns": plain(TURNS, turns)}


async def _standing(ctx: ObjectSharedContext, _: dict[str, Any]) -> Any:
    """What an agent that moves here is compared by."""
    return standing(await ctx.get("agent", BYTES), await ctx.get("ids", BYTES))


def _terms(config: ServiceConfig) -> Callable[[ObjectSharedContext, dict[str, Any]], Awaitable[Any]]:
    async def terms(_: ObjectSharedContext, asked: dict[str, Any]) -> Any:
        """On which terms agents are taken in, whoever is asked."""
        return terms_for(config, asked["graphs"])

    return terms

"""The virtual object that hosts an agent."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Final, TypeAlias

from pydantic_core import to_json
from restate import ObjectContext, ObjectSharedContext, VirtualObject, select
from restate.serde import JsonSerde, Serde

from gatechart.restate.auxiliary_objects import (
    AS_BYTES,
    BYTES,
    NOTHING,
    drop_payload,
    keep_payload,
    patience,
    read_payloads,
)
from gatechart.restate.choices import choice_for
from gatechart.restate.escapes import engine_answer
from gatechart.restate.handlers import VERBS, decide
from gatechart.restate.journals import adopt_journals, forget_journals
from gatechart.restate.migration.arrival import standing, terms_for
from gatechart.restate.process_breakers import ALL
from gatechart.restate.state import (
    MAIL,
    MAILS,
    SNAPSHOT,
    STATE,
    TURNS,
    AgentState,
    HandlerResult,
    Order,
    UnderWay,
    plain,
    unpacked,
    with_payload,
)
from gatechart.restate.terms import Names, ServiceConfig
from gatechart.turn.mail import shown
from gatechart.values.mail import Mail

WAIT: Final[Serde[Any]] = JsonSerde()
Reader: TypeAlias = Callable[[ObjectSharedContext, dict[str, Any]], Awaitable[Any]]


def agent_object(config: ServiceConfig) -> VirtualObject:
    """Build the object that hosts agents; its key is the agent's id."""
    agents = VirtualObject(config.names.agent, **patience(config.terms.turn_s))
    for verb in VERBS:
        agents.handler(verb)(_handler(config, verb))
    agents.handler("look", kind="shared")(_look)
    # For invokes, which may start before their turn has stored its state: this handler waits for the turn's end.
    agents.handler("look_next")(_look)
    agents.handler("mails", kind="shared")(_mails(config))
    agents.handler("lift", kind="shared")(_lift(config.names))
    agents.handler("turns", kind="shared")(_turns)
    agents.handler("standing", kind="shared")(_standing(config.names))
    agents.handler("terms", kind="shared")(_terms(config))
    return agents


def _handler(config: ServiceConfig, verb: str) -> Callable[[ObjectContext, dict[str, Any]], Awaitable[Any]]:
    async def handle(ctx: ObjectContext, argument: dict[str, Any]) -> Any:
        return await _handled(ctx, config, verb, argument)

    handle.__name__ = verb
    return handle


async def _handled(ctx: ObjectContext, config: ServiceConfig, verb: str, argument: dict[str, Any]) -> Any:
    """Return the answer to a verb. All decisions are made in journaled runs; the other code only carries them out."""
    state, ids = await ctx.get("agent", BYTES), await ctx.get("ids", BYTES)
    granted: dict[str, dict[str, Any]] = {}
    choices: dict[str, dict[str, Any]] = {}
    payloads: dict[int, bytes] = {}
    facts: dict[str, Any] = {}
    lifted = 0
    while True:
        known: dict[str, Any] = {"granted": dict(granted), "choices": choices, "facts": dict(facts)}
        known |= {"lifted": lifted, "payloads": dict(payloads)}
        run = partial(_run, config, ctx.key(), state, ids, verb, argument, known)
        entry = unpacked(await ctx.run_typed(verb, run, AS_BYTES))
        if entry.needs:
            payloads |= await read_payloads(ctx, config.names, entry.needs)
            continue
        if entry.place is not None:
            request = to_json(entry.place)
            answer = await ctx.generic_call(config.names.capacity, "reserve", request, entry.place["graph"])
            granted[entry.place["handoff"]] = {**entry.place, "granted": json.loads(answer)}
            continue
        if entry.choice is not None:
            choices = {entry.choice["packet"]["handoff_id"]: await journaled_choice(ctx, config, entry.choice)}
            continue
        if entry.question is not None:
            facts[entry.question["what"]] = await engine_answer(ctx, config.names, entry.question)
            continue
        # Nothing is stored or sent before the run is final: a repeated run starts from the same state.
        state, ids = await carry_out(ctx, config.names, entry) or state, entry.ids or ids
        if not entry.following:
            return entry.answer
        verb, payloads, choices, facts = entry.following, {}, {}, {}
        lifted = await _waited(ctx, entry) if entry.wait_s else 0


async def journaled_choice(ctx: ObjectContext, config: ServiceConfig, request: dict[str, Any]) -> dict[str, Any]:
    """Return the choice that an entry requests. It is made in a separate run, so later runs see the same choice."""
    broken: list[str] = []
    if request["asks_breakers"]:
        records = json.loads(await ctx.generic_call(config.names.breaker_list, "read", NOTHING, ALL))
        broken = [record["name"] for record in records]
    run = partial(choice_for, config, request, broken)
    text = await ctx.run_typed("choice", run, AS_BYTES)
    choice: dict[str, Any] = json.loads(text)
    return choice


async def _waited(ctx: ObjectContext, entry: HandlerResult) -> int:
    """Wait before the next run. Return the number of the mail if its wait was ended early, else 0.

    Journals of older releases, where no wait could be ended, are replayed unchanged, with a plain sleep.
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
    known: Mapping[str, Any],
) -> bytes:
    return (await decide(config, agent_id, state, ids, verb, argument, **known)).packed()


async def carry_out(ctx: ObjectContext, names: Names, entry: HandlerResult) -> bytes | None:
    """Carry out an entry. Return the new state; None if it is unchanged."""
    # Started first, because the state stored below holds the engine's ids of the invocations.
    engine_ids = [await start_invocation(ctx, names, order) for order in entry.orders if order["do"] == "call"]
    state = entry.state if not engine_ids or entry.state is None else _with_ids(entry.state, engine_ids)
    if any(order["do"] == "forget" for order in entry.orders):
        ctx.clear_all()
    if state is not None:
        ctx.set("agent", state, BYTES)
    if entry.ids is not None:
        ctx.set("ids", entry.ids, BYTES)
    for number in entry.cleared:
        drop_payload(ctx, names, number)
    for number, payload in entry.payloads:
        keep_payload(ctx, names, number, payload)
    for version, turn in entry.turns:
        ctx.set(_turn_key(version), turn, BYTES)
    for order in entry.orders:
        _do(ctx, names, order)
    return state


async def start_invocation(ctx: ObjectContext, names: Names, order: Order) -> str:
    """Start an invocation and return its id in the engine."""
    argument = order["running"] | {"steps": order.get("steps", {})}
    return await ctx.generic_send(names.invokes, "run", to_json(argument)).invocation_id()


def _with_ids(state: bytes, engine_ids: list[str]) -> bytes:
    known, ids = STATE.validate_json(state), iter(engine_ids)
    known.calls = [each if each.engine_id else UnderWay(each.running, next(ids)) for each in known.calls]
    return STATE.dump_json(known)


def _do(ctx: ObjectContext, names: Names, order: Order) -> None:
    match order["do"]:
        case "cancel":
            ctx.cancel_invocation(order["engine_id"])
        case "clear":
            for version in range(order["first"], order["last"] + 1):
                ctx.clear(_turn_key(version))
        case "journals":
            adopt_journals(ctx, names, order["entries"])
        case "forget_journals":
            forget_journals(ctx, names)
        case "release":
            ctx.generic_send(names.capacity, "release", to_json({"handoff": order["handoff"]}), order["graph"])
        case _:
            _send(ctx, names, order)


def _send(ctx: ObjectContext, names: Names, order: Order) -> None:
    after = timedelta(seconds=order.get("after_s", 0.0)) or None
    match order["do"]:
        case "deliver":
            argument = to_json({"mail": order["mail"]}, inf_nan_mode="constants")
            ctx.generic_send(names.agent, "deliver", argument, order["to"])
        case "postpone":
            argument = to_json(order["argument"], inf_nan_mode="constants")
            ctx.generic_send(names.agent, "deliver", argument, ctx.key(), send_delay=after)
        case "begin":
            ctx.generic_send(names.agent, "begin", to_json(order["told"], inf_nan_mode="constants"), order["to"])
        case "wake":
            argument = to_json({"number": order["number"]})
            ctx.generic_send(names.agent, "wake", argument, ctx.key(), send_delay=after)
        case "drain":
            ctx.generic_send(names.agent, "drain", b"{}", ctx.key(), send_delay=after)
        case "project":
            ctx.generic_send(names.projection, "project", b"{}", ctx.key(), send_delay=after)
        case "unproject":
            ctx.generic_send(names.projection, "forget", b"{}", ctx.key())


def _turn_key(version: int) -> str:
    """Return the key of the state that holds a turn until it is projected."""
    return f"turn:{version}"


async def _look(ctx: ObjectSharedContext, _: dict[str, Any]) -> Any:
    """Return the newest snapshot and the newest projected version."""
    text = await ctx.get("agent", BYTES)
    state = STATE.validate_json(text) if text else None
    if state is None or state.snapshot is None:
        return None
    return {"snapshot": plain(SNAPSHOT, state.snapshot), "projected": state.projected, "life": state.life}


def _mails(config: ServiceConfig) -> Reader:
    async def mails(ctx: ObjectSharedContext, _: dict[str, Any]) -> Any:
        """Return all waiting, refused and dead mail."""
        state = await _state(ctx, config.names)
        if state is None:
            return []
        snapshot = state.snapshot
        graph = None if snapshot is None else config.registry.same_version(snapshot)
        if snapshot is None or graph is None:
            return plain(MAILS, state.mail)
        return plain(MAILS, [shown(graph, snapshot, mail, config.now()) for mail in state.mail])

    return mails


async def _state(ctx: ObjectSharedContext, names: Names) -> AgentState | None:
    """Return the stored state of the agent, with all payloads; None if there is none."""
    text = await ctx.get("agent", BYTES)
    if not text:
        return None
    state = STATE.validate_json(text)
    state.mail = await _full(ctx, names, state, state.mail)
    return state


async def _full(ctx: ObjectSharedContext, names: Names, state: AgentState, mails: Sequence[Mail]) -> list[Mail]:
    """Return mail with its payloads."""
    payloads = await read_payloads(ctx, names, [mail.number for mail in mails if state.is_set_aside(mail)])
    return [with_payload(mail, payloads[mail.number]) if mail.number in payloads else mail for mail in mails]


def _lift(names: Names) -> Reader:
    async def lift(ctx: ObjectSharedContext, request: dict[str, Any]) -> Any:
        """End the wait before another attempt at mail, and return the mail; None if no run waits for it."""
        wait = await ctx.get("wait", WAIT)
        if wait is None or wait["mail"] != request["number"]:
            return None
        state = STATE.validate_json(await ctx.get("agent", BYTES) or b"{}")
        mail = state.numbered(request["number"])
        if mail is None:
            return None
        ctx.resolve_awakeable(wait["ends"], value=True)
        (full,) = await _full(ctx, names, state, (mail,))
        return {"mail": plain(MAIL, replace(full, retry_at=None))}

    return lift


async def _turns(ctx: ObjectSharedContext, _: dict[str, Any]) -> Any:
    """Return the turns that are not projected yet, in order, and the life of their agent."""
    text = await ctx.get("agent", BYTES)
    if not text:
        return None
    state = STATE.validate_json(text)
    if state.snapshot is None:
        return None
    texts = [
        await ctx.get(_turn_key(version), BYTES) for version in range(state.projected + 1, state.snapshot.version + 1)
    ]
    turns = [TURNS.validate_json(b"[" + bytes(text) + b"]")[0] for text in texts if text]
    return {"life": state.life, "turns": plain(TURNS, turns)}


def _standing(names: Names) -> Reader:
    async def stands(ctx: ObjectSharedContext, _: dict[str, Any]) -> Any:
        """Return the data for comparing a migrating agent."""
        return standing(await _state(ctx, names), await ctx.get("ids", BYTES))

    return stands


def _terms(config: ServiceConfig) -> Reader:
    async def terms(_: ObjectSharedContext, request: dict[str, Any]) -> Any:
        """Return the service's terms for arriving agents; they are the same under every key."""
        return terms_for(config, request["graphs"])

    return terms

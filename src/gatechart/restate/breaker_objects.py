"""The objects of circuit breakers: one per breaker, which keeps its state and issues permits, and a list of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from pydantic_core import to_json
from restate import ObjectContext, ObjectSharedContext, VirtualObject
from restate.serde import JsonSerde, Serde

from gatechart.restate.auxiliary_objects import patience
from gatechart.restate.process_breakers import ADMISSION, ALL, PERMIT, POLICY, RECORD
from gatechart.restate.terms import ServiceConfig
from gatechart.tools.breaker import Breaker
from gatechart.values.breakers import Admission, BreakerState

TEXT: Final[Serde[Any]] = JsonSerde()

Argument: TypeAlias = Mapping[str, Any]
Change: TypeAlias = Callable[[Breaker, Argument, datetime], Admission | None]


def breaker_object(config: ServiceConfig) -> VirtualObject:
    """Build the object of a circuit breaker; its key is the breaker's name.

    Processes count the calls through a closed breaker themselves. The object records the changes of state, and issues
    the permits when half-open. Each handler answers with the breaker's record and the count of its changes.
    """
    breakers = VirtualObject(config.names.breakers, **patience(config.terms.turn_s))
    for name in _CHANGES:
        breakers.handler(name)(_handler(config, name))

    @breakers.handler("adopt")
    async def adopt(ctx: ObjectContext, argument: Argument) -> None:
        """Store the state that a database had of a moved breaker, unless the breaker has been used here already."""
        if await ctx.get("breaker", TEXT) is not None:
            return
        ctx.set("breaker", Breaker(ctx.key(), RECORD.validate_python(argument)).write(), TEXT)
        await ctx.generic_call(config.names.breaker_list, "note", to_json(argument), ALL)

    return breakers


def _handler(config: ServiceConfig, call: str) -> Callable[[ObjectContext, Argument], Awaitable[Any]]:
    async def handle(ctx: ObjectContext, argument: Argument) -> Any:
        text = await ctx.get("breaker", TEXT)
        breaker = Breaker(ctx.key()) if text is None else Breaker.read(ctx.key(), text)
        before = breaker.entry
        answer = changed(breaker, call, argument, datetime.fromtimestamp(await ctx.time(), UTC))
        ctx.set("breaker", breaker.write(), TEXT)
        if breaker.entry != before:  # awaited, so that a caller who has seen the change finds it in the list
            await ctx.generic_call(config.names.breaker_list, "note", to_json(answer["record"]), ALL)
        return answer

    return handle


def changed(breaker: Breaker, call: str, argument: Argument, now: datetime) -> Argument:
    """Carry out a call of a breaker's object, and return its answer."""
    admission = _CHANGES[call](breaker, argument, now)
    shown = None if admission is None else ADMISSION.dump_python(admission, mode="json")
    return {
        "record": RECORD.dump_python(breaker.record, mode="json"),
        "entry": breaker.entry,
        "admission": shown,
    }


def _ask(breaker: Breaker, argument: Argument, now: datetime) -> Admission:
    return breaker.ask(POLICY.validate_python(argument["policy"]), now)


def _trip(breaker: Breaker, argument: Argument, now: datetime) -> None:
    breaker.trip(argument["entry"], POLICY.validate_python(argument["policy"]), now, argument["reason"])


def _succeed(breaker: Breaker, argument: Argument, now: datetime) -> None:
    breaker.succeed(PERMIT.validate_python(argument["permit"]), now)


def _fail(breaker: Breaker, argument: Argument, now: datetime) -> None:
    breaker.fail(PERMIT.validate_python(argument["permit"]), now, argument["reason"])


def _release(breaker: Breaker, argument: Argument, now: datetime) -> None:
    breaker.release(PERMIT.validate_python(argument["permit"]), now)


def _isolate(breaker: Breaker, argument: Argument, now: datetime) -> None:
    breaker.isolate(now, argument["reason"])


def _close(breaker: Breaker, _told: Argument, now: datetime) -> None:
    breaker.close(now)


_CHANGES: Final[dict[str, Change]] = {
    "ask": _ask,
    "trip": _trip,
    "succeed": _succeed,
    "fail": _fail,
    "release": _release,
    "isolate": _isolate,
    "close": _close,
}


def breaker_list_object(config: ServiceConfig) -> VirtualObject:
    """Build the object that lists the circuit breakers that are not closed."""
    listed = VirtualObject(config.names.breaker_list, **patience(config.terms.turn_s))

    @listed.handler("note")
    async def note(ctx: ObjectContext, argument: Argument) -> None:
        name = argument["name"]
        if argument["state"] == BreakerState.CLOSED:
            ctx.clear(name)
        else:
            ctx.set(name, argument, TEXT)

    @listed.handler("read", kind="shared")
    async def read(ctx: ObjectSharedContext, _: Argument) -> Any:
        return [await ctx.get(name, TEXT) for name in sorted(await ctx.state_keys())]

    return listed

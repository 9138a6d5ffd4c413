"""Hand-built mail and effects, and queries for a store's pending work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from gatechart.ports import Store
from gatechart.testing.records import COMMITTED, NOON, commit_each, started, verdicts
from gatechart.values.commits import Posting, TurnRecord, Verdict
from gatechart.values.effects import Effect, StartInvoke, Timer
from gatechart.values.mail import ActiveInvocation, Invocation, Mail
from gatechart.values.queries import MailQuery

REPEATED, REUSED = Verdict.REPEATED, Verdict.REUSED


def letter(
    store: Store, recipient: str, event: str = "TOLD", payload: dict[str, Any] | None = None, **more: Any
) -> Mail:
    """Build mail with the next number, as if accepted from outside."""
    return Mail(store.numbers(1), recipient, event, payload or {}, NOON, **more)


async def posted(store: Store, *letters: Mail) -> None:
    """Commit mail in one batch."""
    assert await verdicts(store, *map(Posting, letters)) == [COMMITTED] * len(letters)


def acting(store: Store, turn: TurnRecord, *effects: Effect, consumes: Mail | None = None) -> TurnRecord:
    """Add effects to a turn, and number the mail among them."""
    number = None if consumes is None else consumes.number
    return replace(turn, effects=effects).numbered(partial(store.numbers, 1), number)


def minutes(count: int, event: str = "RANG", **more: Any) -> Timer:
    """Build a timer that is due `count` minutes after noon."""
    return Timer(event, NOON + timedelta(minutes=count), {}, **more)


async def calling(store: Store, agent_id: str, *invokes: str, state: str = "A", **more: Any) -> TurnRecord:
    """Start an agent that has these invocations, and return its turn."""
    turn = acting(store, started(agent_id, target=state, **more), *(StartInvoke(state, invoke) for invoke in invokes))
    await commit_each(store, turn)
    return turn


def call_of(turn: TurnRecord, invoke: str, state: str = "A") -> Invocation:
    """Return the invocation that a turn started."""
    return Invocation(turn.snapshot.agent_id, state, turn.snapshot.version, invoke)


async def kept(store: Store, recipient: str | None = None) -> Sequence[Mail]:
    """Return all mail, of one agent or of all."""
    return await store.mail(MailQuery(recipient, limit=1000))


async def events(store: Store, recipient: str | None = None) -> list[str]:
    """Return the events of all mail, in order, for one agent or for all."""
    return [mail.event for mail in await kept(store, recipient)]


async def under_way(store: Store) -> list[ActiveInvocation]:
    """Return all active invocations."""
    return [running for _, running in await store.running(after=0, limit=1000)]


async def invoked(store: Store) -> list[str]:
    """Return the ids of all active invocations."""
    return [running.invocation.invoke for running in await under_way(store)]

"""The projection of turns from the engine into a searchable store: in order, once each, after they are committed."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Final

from pydantic_core import to_json
from restate import ObjectContext, RunOptions, VirtualObject

from gatechart.errors.event import UnknownAgentError
from gatechart.hosting.group_commit import Committer
from gatechart.ports import Store
from gatechart.restate.auxiliary_objects import patience
from gatechart.restate.escapes import add_readers
from gatechart.restate.migration.departure import past_of
from gatechart.restate.state import TURNS, CommittedTurn
from gatechart.restate.terms import ServiceConfig
from gatechart.turn.rollback import stopped
from gatechart.values.agents import Snapshot, Status
from gatechart.values.commits import MailEnd, Posting, RejectionReport, TurnRecord, Verdict
from gatechart.values.effects import ChangeHandoff, Effect, Offer
from gatechart.values.handoffs import HandoffChange, HandoffQuery, HandoffRecord, HandoffStatus, Side
from gatechart.values.mail import Mail
from gatechart.values.names import OFFERED, AgentId

logger = logging.getLogger(__name__)

FORGETS: Final = 20  # attempts to erase an agent from the projection
UNTAKEN: Final = ("rejected", "expired", "cancelled")
"""Final statuses of a handoff that was never accepted."""


def projection_object(config: ServiceConfig, store: Store) -> VirtualObject:
    """Build the object that projects turns; its key is the agent's id."""
    committer = Committer(store)
    projection = VirtualObject(config.names.projection, **patience(config.terms.turn_s))

    @projection.handler("project")
    async def project(ctx: ObjectContext, _: dict[str, Any]) -> None:
        answer = await ctx.generic_call(config.names.agent, "turns", b"{}", ctx.key())
        summary = json.loads(answer) if answer else None
        if summary is None:  # the agent was erased in the meantime
            return
        turns = TURNS.validate_python(summary["turns"])
        version = await ctx.run_typed(
            "project", partial(_project, store, committer, ctx.key(), turns), RunOptions(type_hint=int)
        )
        done = {"version": version, "life": summary["life"]}
        behind = bool(turns) and version < turns[-1].snapshot.version
        pause = timedelta(seconds=config.terms.look_again_s) if behind else None
        ctx.generic_send(config.names.agent, "projected", to_json(done), ctx.key(), send_delay=pause)

    @projection.handler("forget")
    async def forget(ctx: ObjectContext, _: dict[str, Any]) -> None:
        for _attempt in range(FORGETS):
            if await ctx.run_typed("forget", partial(_forget, config, store, ctx.key()), RunOptions(type_hint=bool)):
                return
            await ctx.sleep(timedelta(seconds=config.terms.look_again_s))
        logger.error("the projection keeps an erased agent, because it was offered work", extra={"agent_id": ctx.key()})

    @projection.handler("bring")
    async def bring(ctx: ObjectContext, argument: dict[str, Any]) -> int:
        """Store turns from before the agent moved here, starting at any version."""
        turns = TURNS.validate_python(argument["turns"])
        brought = partial(_bring, store, committer, ctx.key(), turns)
        return await ctx.run_typed("bring", brought, RunOptions(type_hint=int))

    @projection.handler("brought")
    async def brought(ctx: ObjectContext, argument: dict[str, Any]) -> dict[str, Any]:
        """Summarise the agent's turns in the store, for comparison by the sender."""
        reading = partial(past_of, store, ctx.key(), int(argument["after"]))
        return await ctx.run_typed("brought", reading, RunOptions(type_hint=dict))

    add_readers(projection, store)
    return projection


async def _bring(store: Store, committer: Committer, agent_id: AgentId, turns: list[CommittedTurn]) -> int:
    """Store turns and update known handoffs. Return the newest version in the store."""
    new = [replace(turn, offers=await _unknown(store, turn.offers)) for turn in turns]
    return await _project(store, committer, agent_id, new, begins=True)


async def _unknown(store: Store, offers: Sequence[HandoffRecord]) -> tuple[HandoffRecord, ...]:
    unknown = []
    for offer in offers:
        stored = await store.handoffs(HandoffQuery(id=offer.id))
        if not stored:
            unknown.append(offer)
        for change in offer.changes[len(stored[0].changes) :] if stored else ():
            await _change(store, offer, change)
    return tuple(unknown)


async def _change(store: Store, handoff: HandoffRecord, change: HandoffChange) -> None:
    """Record a change of a handoff with its original time: as an answer to mail, which has a separate time."""
    number, before = store.numbers(2), handoff.changes[handoff.changes.index(change) - 1].status
    offer = Mail(number, handoff.target, OFFERED, {}, change.time)
    reply = Mail(number + 1, handoff.source, OFFERED, {}, change.time)
    result = handoff.result if change is handoff.changes[-1] else None
    settle = ChangeHandoff(handoff.id, before, change.status, change.details, result)
    await store.commit((Posting(offer), RejectionReport(settle, change.time, number, reply), MailEnd(number + 1)))


async def _project(
    store: Store, committer: Committer, agent_id: AgentId, turns: list[CommittedTurn], *, begins: bool = False
) -> int:
    """Store new turns and return the newest version in the store. begins: accept any version as the first."""
    try:
        previous: Snapshot | None = await store.load(agent_id)
    except UnknownAgentError:
        previous = None
    for turn in turns:
        standing = previous.version if previous else turns[0].snapshot.version - 1 if begins else 0
        if turn.snapshot.version <= standing:
            continue
        if turn.snapshot.version != standing + 1:
            logger.error("turns are missing", extra={"agent_id": agent_id, "version": standing + 1})
            return standing
        if not await _written(committer, previous, turn, store):
            return standing
        previous = turn.snapshot
    return previous.version if previous else 0


async def _written(committer: Committer, previous: Snapshot | None, turn: CommittedTurn, store: Store) -> bool:
    """Store a turn and return whether it was stored. A turn whose handoff is not stored yet is retried later."""
    untaken = await _untaken(store, previous, turn)
    effects: tuple[Effect, ...] = (*(Offer(each) for each in turn.offers), *turn.settles, *turn.chosen, *untaken)
    facts = previous, turn.snapshot, turn.event, turn.taken, turn.took_us, turn.guard_errors, effects
    record = TurnRecord(*facts, fired=turn.fired)
    if not (turn.offers or turn.chosen):
        return await committer.commit(record) is Verdict.COMMITTED
    numbered = record.numbered(partial(store.numbers, 1))
    # The engine delivers the offers itself, so their mail is deleted in the same commit.
    verdicts = await store.commit((numbered, *(MailEnd(mail.number) for mail in numbered.mail)))
    return verdicts[0] is Verdict.COMMITTED


async def _untaken(store: Store, previous: Snapshot | None, turn: CommittedTurn) -> tuple[ChangeHandoff, ...]:
    """Derive the end of a handoff that was never accepted. Only the turn that reports it to the source shows it."""
    payload, open_ids = turn.event.payload, {each.id for each in turn.snapshot.handoffs}
    if previous is None or turn.event.sender is None or payload.get("status") not in UNTAKEN:
        return ()
    over = [each for each in previous.handoffs if each.id not in open_ids and each.peer == turn.event.sender]
    waited = next((each for each in over if each.side is Side.ASKED and not each.is_accepted), None)
    rows = () if waited is None else await store.handoffs(HandoffQuery(id=waited.id))
    if not rows or rows[0].status is not HandoffStatus.PENDING:
        return ()
    why = [each for each in (payload.get("obstacle") or payload.get("reason"), payload.get("details")) if each]
    return (
        ChangeHandoff(rows[0].id, HandoffStatus.PENDING, HandoffStatus(payload["status"]), ": ".join(map(str, why))),
    )


async def _forget(config: ServiceConfig, store: Store, agent_id: AgentId) -> bool:
    """Erase the agent from the store; return False if a stored offer to it prevents that for now."""
    try:
        known = await store.load(agent_id)
        if known.status is Status.ACTIVE:  # open work would prevent its erasure
            await store.commit((await _ended(store, stopped(known, config.now())),))
        return await store.erase(agent_id)
    except UnknownAgentError:
        return True


async def _ended(store: Store, turn: TurnRecord) -> TurnRecord:
    """Reduce the turn to changes that fit the store; the engine has notified the other agents already."""
    unchosen = await store.handoffs(HandoffQuery(source=turn.snapshot.agent_id, status=HandoffStatus.CHOOSING))
    settles = [each for each in turn.effects if isinstance(each, ChangeHandoff)]
    settles += [ChangeHandoff(each.id, each.status, HandoffStatus.CANCELLED, "withdrawn") for each in unchosen]
    stand = {each.handoff: await store.handoffs(HandoffQuery(id=each.handoff)) for each in settles}
    fit = tuple(each for each in settles if [row.status for row in stand[each.handoff]] == [each.before])
    return replace(turn, effects=fit)

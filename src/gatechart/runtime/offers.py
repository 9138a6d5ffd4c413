"""Offers of handoffs on their way to agents: reserve a slot, answer, send lost offers again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from time import time_ns
from typing import Final

from gatechart.errors.operation import RuntimeClosedError, UnwritableError
from gatechart.errors.root import OutsideError
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.directory import slot_of
from gatechart.hosting.transcripts import journals_wanted, with_transcripts
from gatechart.runtime.core import Core
from gatechart.runtime.handoff_facts import facts_of_packet, facts_of_record
from gatechart.turn.choices import asks_for_choice, unchosen
from gatechart.turn.handoff_acceptance import RejectedOffer, Void, rejected
from gatechart.values.agents import Event
from gatechart.values.commits import MailEnd, Posting, RejectionReport, ReserveSlot, TurnRecord, Verdict
from gatechart.values.handoffs import HandoffQuery, HandoffRecord, HandoffStatus, Obstacle
from gatechart.values.mail import Mail, MailStatus
from gatechart.values.names import CHOOSING, HIGHEST_NUMBER, OFFERED, AgentId
from gatechart.values.queries import MailQuery

logger = logging.getLogger(__name__)

PAGE: Final = 1000


async def with_transcripts_of(core: Core, graph: AnyGraph, turn: TurnRecord) -> TurnRecord:
    """Return a turn whose offers include the messages of the agent's model loops. Raises the store's errors."""
    wanted = journals_wanted(graph, turn)
    if not wanted:
        return turn
    return with_transcripts(
        graph, turn, {name: await core.store.journal(turn.snapshot.agent_id, name) for name in wanted}
    )


async def no_place(core: Core, graph: AnyGraph, event: Event) -> RejectedOffer | None:
    """Reserve a slot for the handoff; return a rejection if all are held, or an operator closed the entry.

    The slot belongs to the graph, or to the chosen entry of the directory.
    event: an agent's offer. Raises RuntimeClosedError if the runtime closes before the store answers.
    """
    whose, most = graph.name, graph.accepts.capacity
    if core.entries is not None:
        entry = event.payload.get("recipient") or f"{graph.name}.{event.name.removeprefix(OFFERED)}"
        gate = await core.entries.gate(entry)
        if gate.closed:
            return rejected(event, core.packet_migrations, Obstacle.CLOSED, gate.closed)
        if gate.most is not None:
            whose, most = slot_of(entry), gate.most
    if most is None:
        return None
    verdict = await core.persist(ReserveSlot(event.id or "", whose, most))
    if verdict is None:
        raise RuntimeClosedError("handoff")
    if verdict is not Verdict.STALE:
        return None
    return rejected(event, core.packet_migrations, Obstacle.OVERLOAD, f"{most} are under way")


async def answer(
    core: Core, agent_id: AgentId, decision: RejectedOffer | Void, consumes: int, accept: Callable[[Mail], None]
) -> None:
    """End mail about a handoff without a turn, and reply to the agent that asked. accept: takes the reply."""
    if isinstance(decision, RejectedOffer):
        now, start_ns = core.clock.now(), time_ns()
        reply = Mail(0, decision.asked_by, decision.event, decision.told, now, sender=agent_id)
        verdict = await core.persist_mail(RejectionReport(decision.settle, now, consumes, reply), accept)
        if verdict is Verdict.COMMITTED:
            await _tell(core, decision, start_ns)
        if verdict is not Verdict.STALE:
            return
    await core.persist(MailEnd(consumes))


async def give_up(core: Core, mail: Mail, accept: Callable[[Mail], None]) -> bool:
    """Reject an offer after every attempt failed, either to deliver it or to choose its target.

    Return False if even the rejection cannot be written.
    """
    event = mail.happens(core.clock.now())
    if asks_for_choice(mail, mail.recipient):
        decision = unchosen(event, core.packet_migrations, mail.reason)
    else:
        decision = rejected(event, core.packet_migrations, Obstacle.FAILURE, mail.reason)
    try:
        await answer(core, mail.recipient, decision, mail.number, accept)
    except UnwritableError:
        logger.exception("an offer cannot be rejected", extra={"agent_id": mail.recipient, "handoff": mail.id})
        return False
    return True


async def erase(
    core: Core, agent_id: AgentId, stop: Callable[[], Awaitable[object]], accept: Callable[[Mail], None]
) -> None:
    """Delete an agent after notifying all agents that wait for it, including agents that started to wait meanwhile.

    stop: ends the agent, so that it takes no more mail. Raises RuntimeClosedError if the runtime closes first.
    """
    if core.entries is not None:
        await core.entries.disown(agent_id)
    while not await core.store.erase(agent_id):
        if not core.is_open:
            raise RuntimeClosedError("erase")
        await stop()
        await _refuse_pending(core, agent_id, accept)
    core.erasures += 1
    await core.forget_troubles(agent_id)
    if core.entries is not None:
        core.entries.forget(agent_id)
    if core.lessons is not None:
        core.lessons.forget(agent_id)


async def _refuse_pending(core: Core, agent_id: AgentId, accept: Callable[[Mail], None]) -> None:
    """Reject the pending offers to an agent that is about to be erased."""
    rows = await core.store.handoffs(HandoffQuery(target=agent_id, status=HandoffStatus.PENDING, limit=HIGHEST_NUMBER))
    mails = await core.store.mail(MailQuery(agent_id, MailStatus.WAITING, limit=HIGHEST_NUMBER)) if rows else ()
    offers = {mail.id: mail for mail in mails if mail.event.startswith(OFFERED)}
    await asyncio.gather(*(_refuse(core, row, offers.get(row.id), accept) for row in rows))


async def _refuse(core: Core, row: HandoffRecord, offer: Mail | None, accept: Callable[[Mail], None]) -> None:
    """Reject an offer to an agent that is being erased. offer: its mail; None if that no longer exists."""
    rebuilt = _offer_of(core, row)
    mail = offer or replace(rebuilt, id=None)
    if offer is None:  # an answer must consume mail
        await core.persist(Posting(mail))
    decision = rejected(
        rebuilt.happens(rebuilt.accepted), core.packet_migrations, Obstacle.ENDED, "the agent was erased"
    )
    await answer(core, row.target, decision, mail.number, accept)


async def send_again(core: Core, accept: Callable[[Mail], None]) -> None:
    """Send pending offers again if their mail is missing, also offers that wait for a choice of their target.

    Offers whose mail still waits are not sent twice. Call it before any turn starts. Raises the store's exceptions.
    """
    for status in (HandoffStatus.PENDING, HandoffStatus.CHOOSING):
        after = 0
        while page := await core.store.handoffs(HandoffQuery(status=status, after=after, limit=PAGE)):
            after = page[-1].number
            await asyncio.gather(*(_send_again(core, record, accept) for record in page))


async def _send_again(core: Core, offered: HandoffRecord, accept: Callable[[Mail], None]) -> None:
    mail = _offer_of(core, offered)
    if await core.committer.commit(Posting(mail), partial(accept, mail)) is Verdict.COMMITTED:
        logger.warning("an offer was lost, and is sent again", extra={"handoff": offered.id})


def _offer_of(core: Core, offered: HandoffRecord) -> Mail:
    is_choosing = offered.status is HandoffStatus.CHOOSING
    event = CHOOSING if is_choosing else f"{OFFERED}{offered.entry_point}"
    number, now = core.store.numbers(1), core.clock.now()
    return Mail(number, offered.target, event, offered.packet, now, offered.id, offered.source)


async def is_pending(core: Core, mail: Mail) -> bool:
    """Return whether the offer is still pending."""
    page = await core.store.handoffs(HandoffQuery(id=mail.id))
    return bool(page) and page[0].status is HandoffStatus.PENDING


async def waits(core: Core, mail: Mail) -> bool:
    """Return whether the mail is still waiting in the store."""
    page = await core.store.mail(MailQuery(mail.recipient, MailStatus.WAITING, mail.number - 1, 1))
    return any(candidate.number == mail.number for candidate in page)


async def _tell(core: Core, rejection: RejectedOffer, start_ns: int) -> None:
    """Report an answered offer to telemetry, with facts from the store if the packet could not be read."""
    obstacle, packet = (
        rejection.told.get("obstacle", ""),
        rejection.told.get("packet", {"handoff_id": rejection.settle.handoff}),
    )
    facts = facts_of_packet(packet)
    if obstacle in ("", Obstacle.UNREADABLE):
        try:
            records = await core.store.handoffs(HandoffQuery(id=rejection.settle.handoff))
        except OutsideError:  # the report has the known facts
            logger.debug("a handoff could not be read", extra={"handoff": rejection.settle.handoff}, exc_info=True)
            records = ()
        if records:
            facts, packet = facts_of_record(records[0]), records[0].packet
    core.telemetry.answered(facts, rejection.settle, obstacle, packet, start_ns)

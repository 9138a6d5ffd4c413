"""Inboxes: accepted mail on its way to its recipients, in the order accepted."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Final, assert_never

from gatechart.errors.event import UnknownGraphError
from gatechart.errors.outside import StaleAgentError, StoreCorruptError
from gatechart.errors.root import OutsideError
from gatechart.graph.graph import AnyGraph
from gatechart.handoff.packet import HandoffPacket
from gatechart.hosting.group_commit import NOBODY_CAN_WRITE
from gatechart.hosting.registry import Registry
from gatechart.hosting.turn_guard import in_turn
from gatechart.runtime.agent_directory import AgentDirectory, AgentSlot, SlotState
from gatechart.runtime.core import Core
from gatechart.runtime.delivery import take
from gatechart.runtime.live_agent import LiveAgent
from gatechart.runtime.offers import answer, no_place
from gatechart.turn.handoff_acceptance import RejectedOffer, begin_with_offer, readable, rejection, withdrawn
from gatechart.turn.mail import graph_offered, in_order, is_about_handoff
from gatechart.values.agents import Event
from gatechart.values.commits import TurnRecord, Verdict
from gatechart.values.handoffs import HandoffQuery, HandoffStatus, Obstacle
from gatechart.values.mail import Mail, MailStatus
from gatechart.values.names import WITHDRAWN, AgentId
from gatechart.values.queries import MailQuery

logger = logging.getLogger(__name__)

PAGE: Final = 1000
PAUSE_S: Final = 1.0


class Inboxes:
    """Delivers mail to agents, which it loads from the store if they are not in memory.

    Mail for an agent that does not exist yet, or whose graph is not registered, stays in the store until it can be
    collected.
    """

    def __init__(
        self, core: Core, registry: Registry, directory: AgentDirectory, accept: Callable[[Mail], None]
    ) -> None:
        """accept: routes mail with a later due time to the timers, and other mail to `deliver`."""
        self._core = core
        self._registry = registry
        self._directory = directory
        self._accept = accept
        self._slots = directory.slots
        self._unread: dict[AgentId, None] = {}  # agents with held mail, in reading order
        self._is_reading = True  # also True until recovery is complete, so that no read starts earlier
        self._collecting = asyncio.Lock()

    def deliver(self, mail: Mail) -> None:
        """Send the mail to its recipient, after everything delivered to it before."""
        agent_id = mail.recipient
        slot = self._slots.of(agent_id)
        slot.waiting += 1
        match slot.state:
            case SlotState.OPEN:
                agent = self._directory.known(agent_id)
                if agent is None:
                    self._hold(slot, mail)
                else:
                    agent.put(mail)
            case SlotState.BEING_READ:
                self._hold(slot, mail)
            case SlotState.OFFERED:
                assert slot.offered is not None
                slot.offered.append(mail)
            case SlotState.COLLECTING:
                assert slot.late is not None
                slot.late.append(mail)
            case SlotState.UNHOSTED:
                self._trust_store((mail,))
                # It will be collected with the rest. Handoff mail may create the agent, so it is collected now.
                if is_about_handoff(mail):
                    self._core.spawn(self.collect(agent_id), "collect mail")
            case never:
                assert_never(never)

    def expect(self, agent_id: AgentId) -> None:
        """Accept offers to an agent that a turn has just named, without a read: the store cannot know it yet."""
        slot = self._slots.of(agent_id)
        if slot.state is SlotState.OPEN and self._directory.known(agent_id) is None:
            self._offer(agent_id, slot, deque())

    def _hold(self, slot: AgentSlot, mail: Mail) -> None:
        """Hold mail until its recipient has been read, and make sure that it is read."""
        if slot.held is None:
            slot.held = []
            self._unread[mail.recipient] = None
        slot.held.append(mail)
        if not self._is_reading:
            self.begin()

    def _release(self, agent_id: AgentId, slot: AgentSlot) -> Sequence[Mail]:
        """Return the mail held for the agent, in order, and stop holding it.

        A recovery first holds mail without a due time, then mail that became due.
        """
        self._unread.pop(agent_id, None)
        held, slot.held = slot.held, None
        return in_order(held) if held else ()

    def amend(self, mail: Mail) -> bool:
        """Replace mail that was delivered but not taken yet; return False if there is none."""
        agent = self._directory.known(mail.recipient)
        return agent is not None and agent.amend(mail)

    def drop(self, agent_id: AgentId, is_over: Callable[[Mail], bool]) -> None:
        """Cancel mail that was delivered but not taken yet."""
        agent = self._directory.known(agent_id)
        if agent is not None:
            agent.drop(is_over)

    def forget(self, agent_id: AgentId, *, had_timers: bool) -> None:
        """Forget the mail of an erased agent. Mail accepted after the erasure is read from the store again."""
        slot = self._slots.of(agent_id)
        is_known = slot.waiting > 0
        if slot.late is None:
            slot.is_unhosted = False
        else:  # a running collection will find mail accepted since the erasure
            slot.late.clear()
        self._release(agent_id, slot)
        slot.is_called = False
        if is_known or had_timers:
            slot.is_unhosted = True
            self._core.spawn(self.collect(agent_id), "collect mail")
        self._slots.clear(agent_id)

    def hand_over(self, agent: LiveAgent) -> None:
        """Pass an agent that was just loaded its held mail, before anything else reaches it."""
        agent_id = agent.snapshot.agent_id
        if not self._core.attends:
            self._call(agent_id)
        slot = self._slots.known(agent_id) if self._unread else None
        if slot is not None and not slot.is_unhosted:
            for mail in self._release(agent_id, slot):
                agent.put(mail)

    def _call(self, agent_id: AgentId) -> None:
        """Collect an agent's mail, once, in a runtime without background work.

        Such a runtime has recovered nothing, so new mail must follow the mail that waits in the store.
        """
        slot = self._slots.of(agent_id)
        if not slot.is_called:
            slot.is_called = slot.is_unhosted = True
            self._release(agent_id, slot)  # the store holds it, with the earlier mail

    async def collect(self, agent_id: AgentId) -> None:
        """Deliver the stored mail of an agent that did not exist or could not be hosted."""
        if self._is_unhosted(agent_id):
            async with self._collecting:
                if self._is_unhosted(agent_id):  # otherwise another task has just collected it
                    await self._collect(agent_id)

    def _is_unhosted(self, agent_id: AgentId) -> bool:
        slot = self._slots.known(agent_id)
        return slot is not None and slot.is_unhosted

    async def _collect(self, agent_id: AgentId) -> None:
        slot = self._slots.of(agent_id)
        late = slot.late = []
        try:
            waiting = await self._waiting_for(agent_id)
        finally:
            slot.late = None
        slot.is_unhosted = False
        slot.waiting = 0  # all of it is delivered again, and counted again
        waiting |= {mail.number: mail for mail in late if mail.number not in waiting}
        for mail in in_order(waiting.values()):
            self._accept(mail)
        self._slots.tidy(agent_id)

    async def _waiting_for(self, agent_id: AgentId) -> dict[int, Mail]:
        """Return all waiting mail of an agent by number, in the order accepted."""
        waiting: dict[int, Mail] = {}
        after, erasures = 0, self._core.erasures
        while page := await self._core.ask(partial(self._core.store.mail, _waiting(agent_id, after))):
            waiting |= {mail.number: mail for mail in page}
            after = page[-1].number
        # An erasure while reading may have removed mail that was already read.
        return waiting if erasures == self._core.erasures else await self._waiting_for(agent_id)

    async def collect_all(self) -> None:
        """Collect the mail of every recipient that could not be hosted so far."""
        for agent_id in self._slots.unhosted():
            await self.collect(agent_id)

    async def recover(self) -> None:
        """Deliver mail that was accepted earlier and not finished, in the order accepted. It is held until `begin`."""
        after = 0
        while page := await self._core.store.waiting(after=after, limit=PAGE):
            after = page[-1].number
            for mail in page:
                self.deliver(mail)

    def begin(self) -> None:
        """Start reading the agents with held mail, and hand it over."""
        self._is_reading = True
        self._core.spawn(self._read_recipients(), "read the recipients of mail")

    async def _read_recipients(self) -> None:
        try:
            while self._unread and self._core.is_open:
                await self._read_some(list(islice(self._unread, PAGE)))
        finally:
            self._is_reading = False

    async def _read_some(self, agent_ids: list[AgentId]) -> None:
        try:
            hosted = await self._directory.get_many(agent_ids)  # this reference keeps them in memory
        except StoreCorruptError:
            if len(agent_ids) > 1:  # any of them may be damaged, and the others must not wait for it
                for agent_id in agent_ids:
                    await self._read_some([agent_id])
                return
            logger.exception("an agent with mail is damaged: %s", agent_ids[0], extra={"agent_id": agent_ids[0]})
            hosted = ()
        except OutsideError:
            logger.exception("agents with mail cannot be read; retrying")
            await self._core.pause(PAUSE_S)
            return
        logger.debug("agents with mail were read", extra={"agents": len(hosted)})
        for agent_id in agent_ids:
            agent = self._directory.known(agent_id)
            if agent is not None:
                self.hand_over(agent)
            slot = self._slots.of(agent_id)
            self._leave(agent_id, slot, self._release(agent_id, slot))

    def _leave(self, agent_id: AgentId, slot: AgentSlot, mails: Sequence[Mail]) -> None:
        """Leave mail in the store until a recipient can take it. An offer may create its agent, so it is taken now."""
        if any(map(is_about_handoff, mails)):
            self._offer(agent_id, slot, deque(mails))
        elif mails:
            slot.is_unhosted = True
            self._trust_store(mails)
        self._slots.tidy(agent_id)

    def _offer(self, agent_id: AgentId, slot: AgentSlot, mails: deque[Mail]) -> None:
        slot.offered = mails
        self._core.spawn(self._bring_up(agent_id, mails), "offer a handoff to a new agent")

    async def _bring_up(self, agent_id: AgentId, mails: deque[Mail]) -> None:
        """Take offers to an agent that does not exist yet; once it does, deliver the rest of its mail.

        mails: the slot's offered mail; more may arrive meanwhile.
        """
        new = NewAgent(self._core, agent_id, self._registry, self._directory, self._accept)
        rest: list[Mail] = []
        try:
            while mails and self._directory.known(agent_id) is None:
                mail = mails.popleft()
                if not is_about_handoff(mail) or await new.leaves(mail):
                    rest.append(mail)
                elif not await take(new, mail):  # the next runtime takes it, and all mail behind it
                    return
                elif new.is_born or self._directory.known(agent_id) is None:
                    self._slots.finished(agent_id)
                else:  # an agent was started under this id: the mail is for that agent
                    rest.append(mail)
        finally:
            self._end_offers(agent_id, [*rest, *mails])

    def _end_offers(self, agent_id: AgentId, rest: Sequence[Mail]) -> None:
        """Deliver the rest of the mail to the new agent, or leave it in the store if there is none."""
        slot = self._slots.of(agent_id)
        slot.offered = None
        agent = self._directory.known(agent_id)
        if agent is not None:
            for mail in rest:
                agent.put(mail)
        elif rest:
            slot.is_unhosted = True
            self._trust_store(rest)
        self._slots.tidy(agent_id)

    def _trust_store(self, mails: Sequence[Mail]) -> None:
        """Forget any doubt about mail that stays in the store: it is delivered only if it is found there."""
        self._core.doubted.difference_update(mail.number for mail in mails)


def _waiting(agent_id: AgentId, after: int) -> MailQuery:
    return MailQuery(agent_id, MailStatus.WAITING, after, PAGE)


class NewAgent:
    """Takes offers for an agent that starts with the offer it accepts. Fulfils Recipient."""

    def __init__(
        self,
        core: Core,
        agent_id: AgentId,
        registry: Registry,
        directory: AgentDirectory,
        accept: Callable[[Mail], None],
    ) -> None:
        self.core = core
        self.accept = accept
        self._agent_id = agent_id
        self._registry = registry
        self._directory = directory
        self._in_doubt: tuple[AnyGraph, TurnRecord] | None = None
        self.is_born = False

    @property
    def is_live(self) -> bool:
        """See Recipient."""
        return False

    @property
    def position(self) -> bool:
        """See Recipient."""
        return self.is_born

    def passes(self, _mail: Mail) -> bool:
        """See Recipient. Offers are never deferred."""
        return False

    def holds(self, _mail: Mail) -> bool:
        """See Recipient. Another caller may have started this agent, or resumed it after a commit in doubt."""
        return self._in_doubt is not None or (not self.is_born and self._directory.known(self._agent_id) is None)

    def graph_of(self, mail: Mail) -> str:
        """See Recipient."""
        return graph_offered(mail)

    def lose(self) -> None:
        """See Recipient. No caller waits for an agent that does not exist."""

    async def apply(self, mail: Mail, _dead: Mail | None) -> TurnRecord | None:
        """See Recipient. The mail is an offer, or its withdrawal."""
        if self._in_doubt is not None:
            await self._refresh(*self._in_doubt)
        if not self.holds(mail):
            return None
        event = mail.happens(self.core.clock.now())
        decided = await self._decide(event)
        if isinstance(decided, RejectedOffer):
            await answer(self.core, self._agent_id, decided, mail.number, self.accept)
            return None
        graph, turn = decided
        with self._directory.holding((self._agent_id,)), self.core.telemetry.begin(turn, mail.number) as traced:
            numbered = traced.numbered(self.core.number, mail.number)
            await self._write(graph, numbered)
        return numbered

    async def _refresh(self, graph: AnyGraph, turn: TurnRecord) -> None:
        """Determine whether a commit that raised has created the agent."""
        if await self.core.committer.is_written(turn):
            self._settle(graph, turn)
        self._in_doubt = None

    async def leaves(self, mail: Mail) -> bool:
        """Return whether to leave the mail to the agent, which accepted the handoff but cannot be hosted now."""
        if mail.event != WITHDRAWN:
            return False
        query = HandoffQuery(id=mail.payload.get("handoff", ""), status=HandoffStatus.ACCEPTED)
        return bool(await self.core.ask(lambda: self.core.store.handoffs(query)))

    async def _write(self, graph: AnyGraph, turn: TurnRecord) -> None:
        try:
            verdict = await self.core.committer.commit(turn)
        except NOBODY_CAN_WRITE:
            raise
        except OutsideError:
            self._in_doubt = graph, turn
            raise
        if verdict is Verdict.STALE:
            await self._directory.get_many((self._agent_id,))  # started by another caller: the mail is for that agent
            raise StaleAgentError(self._agent_id, 0)
        self._settle(graph, turn)

    def _settle(self, graph: AnyGraph, turn: TurnRecord) -> None:
        self.is_born = True
        agent = self._directory.settle(graph, turn.snapshot)
        agent.tell(turn)

    async def _decide(self, event: Event) -> tuple[AnyGraph, TurnRecord] | RejectedOffer:
        if event.name == WITHDRAWN:
            return withdrawn(event)
        packet = readable(event, self.core.packet_migrations)
        if isinstance(packet, RejectedOffer):
            return packet
        graph = self._graph(packet)
        if isinstance(graph, RejectedOffer):
            return graph
        full = await no_place(self.core, graph, event)
        if full is not None:
            return full
        starting = begin_with_offer(graph, self._agent_id, event, packet, self.core.services)
        turn = await in_turn(graph, self._agent_id, event.name, starting, self.core.limits.turn_s)
        return turn if isinstance(turn, RejectedOffer) else (graph, turn)

    def _graph(self, packet: HandoffPacket) -> AnyGraph | RejectedOffer:
        if not packet.is_new:
            return rejection(packet, Obstacle.UNKNOWN_GRAPH, f"there is no agent {self._agent_id!r} to take it")
        try:
            return self._registry.graph(packet.target_graph)
        except UnknownGraphError as error:
            return rejection(packet, Obstacle.UNKNOWN_GRAPH, str(error))

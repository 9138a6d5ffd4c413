"""Recipients of handoffs to agents that do not exist yet."""

from __future__ import annotations

from collections.abc import Callable

from gatechart.errors import OutsideError, StaleAgentError, UnknownGraphError
from gatechart.graph import AnyGraph
from gatechart.handoff import HandoffPacket
from gatechart.hosting.group_commit import NOBODY_CAN_WRITE
from gatechart.hosting.registry import Registry
from gatechart.hosting.turn_guard import in_turn
from gatechart.runtime.agent_directory import AgentDirectory
from gatechart.runtime.core import Core
from gatechart.runtime.offers import answer, no_place
from gatechart.turn import Rejection, begin_with_offer, readable, rejection, unchanged, withdrawn
from gatechart.values import (
    WITHDRAWN,
    AgentId,
    Event,
    HandoffQuery,
    HandoffStatus,
    Mail,
    Obstacle,
    Outcome,
    TurnRecord,
    Verdict,
)


class NewAgent:
    """Takes offers for an agent that begins with the offer it accepts. Fulfils Recipient."""

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

    def newest(self, mail: Mail) -> Mail:
        """See Recipient."""
        return mail

    def holds(self, _mail: Mail) -> bool:
        """See Recipient. Another caller may have started this agent, or resumed it after a commit in doubt."""
        return self._in_doubt is not None or (not self.is_born and self._directory.known(self._agent_id) is None)

    def is_over(self, _mail: Mail) -> bool:
        """See Recipient."""
        return False

    async def refresh(self) -> None:
        """Settle whether a commit that raised has created the agent."""
        if self._in_doubt is not None:
            graph, turn = self._in_doubt
            if await self.core.committer.is_written(turn):
                self._settle(graph, turn)
            self._in_doubt = None

    async def leaves(self, mail: Mail) -> bool:
        """Return whether the mail is left to the agent, which accepted the handoff but cannot be hosted now."""
        if mail.event != WITHDRAWN:
            return False
        query = HandoffQuery(id=mail.payload.get("handoff", ""), status=HandoffStatus.ACCEPTED)
        return bool(await self.core.ask(lambda: self.core.store.handoffs(query)))

    async def process(self, event: Event, consumes: int) -> Outcome:
        """Process an offer, or its withdrawal."""
        decided = await self._decide(event)
        if isinstance(decided, Rejection):
            await answer(self.core, self._agent_id, decided, consumes, self.accept)
            return unchanged(event)
        graph, turn = decided
        turn = self.core.numbered(turn, consumes)
        with self._directory.holding((self._agent_id,)):
            await self._commit(graph, turn)
        return turn.outcome

    async def _commit(self, graph: AnyGraph, turn: TurnRecord) -> None:
        with self.core.telemetry.begin(turn) as traced:
            await self._write(graph, traced)

    async def _write(self, graph: AnyGraph, turn: TurnRecord) -> None:
        try:
            verdict = await self.core.committer.commit(turn)
        except NOBODY_CAN_WRITE:
            raise
        except OutsideError:
            self._in_doubt = graph, turn
            raise
        if verdict is Verdict.STALE:
            raise StaleAgentError(self._agent_id, 0)
        self._settle(graph, turn)

    def _settle(self, graph: AnyGraph, turn: TurnRecord) -> None:
        self.is_born = True
        agent = self._directory.settle(graph, turn.snapshot)
        agent.tell(turn)

    async def _decide(self, event: Event) -> tuple[AnyGraph, TurnRecord] | Rejection:
        if event.name == WITHDRAWN:
            return withdrawn(event)
        packet = readable(event, self.core.packet_migrations)
        if isinstance(packet, Rejection):
            return packet
        graph = self._graph(packet)
        if isinstance(graph, Rejection):
            return graph
        full = await no_place(self.core, graph, event)
        if full is not None:
            return full
        begun = begin_with_offer(graph, self._agent_id, event, packet, self.core.services)
        turn = await in_turn(graph, self._agent_id, event.name, begun, self.core.limits.turn_s)
        return turn if isinstance(turn, Rejection) else (graph, turn)

    def _graph(self, packet: HandoffPacket) -> AnyGraph | Rejection:
        if not packet.is_new:
            return rejection(packet, Obstacle.UNKNOWN_GRAPH, f"there is no agent {self._agent_id!r} that could take it")
        try:
            return self._registry.graph(packet.target_graph)
        except UnknownGraphError as error:
            return rejection(packet, Obstacle.UNKNOWN_GRAPH, str(error))

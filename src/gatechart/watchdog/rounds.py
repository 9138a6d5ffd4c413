"""The rounds of the watchdog: a look, what is new of it told and kept, and what is to be done about it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from gatechart.api.home import AgentHome
from gatechart.errors.event import AgentExistsError
from gatechart.errors.operation import RuntimeClosedError
from gatechart.errors.outside import OwnershipLostError
from gatechart.errors.root import GatechartError, OutsideError
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.own_agents import OwnAgents, check_own
from gatechart.hosting.registry import Registry
from gatechart.kernel.select import Configuration, awaited_events, matches
from gatechart.values.findings import FOUND, HealthFinding, has_lasted
from gatechart.values.framework import WATCHDOG_AGENT, WATCHDOG_GRAPH
from gatechart.values.names import AgentId
from gatechart.watchdog.examining import Examiner
from gatechart.watchdog.graph import ACTED, LOOKED, OpenFinding, WatchdogContext
from gatechart.watchdog.home import Watchdog
from gatechart.watchdog.terms import Act

logger = logging.getLogger(__name__)

_NEW: Final = "the watchdog found %(kind)s: %(subject)s: %(text)s"


class WatchRounds:
    """Goes its rounds on one home."""

    def __init__(
        self,
        home: AgentHome,
        own: OwnAgents,
        registry: Registry,
        examiner: Examiner,
        watchdog: Watchdog,
        count: Callable[[HealthFinding, int], None],
    ) -> None:
        """Bind to a home. count: counts a finding that is new, by 1, or has ceased, by -1."""
        self._home = home
        self._own = own
        self._registry = registry
        self._examiner = examiner
        self._watchdog = watchdog
        self._count = count
        self._known: dict[str, HealthFinding] = {}

    async def go_on(self, sleep: Callable[[float], Awaitable[None]]) -> None:
        """Look again and again, until the home closes. A round that fails is logged, and the next one comes."""
        with suppress(OwnershipLostError, RuntimeClosedError):
            while True:
                try:
                    await self.go_once()
                except (OwnershipLostError, RuntimeClosedError):
                    raise
                except GatechartError:
                    logger.warning("the watchdog could not look; it tries again", exc_info=True)
                await sleep(self._watchdog.every_s)

    async def go_once(self) -> Sequence[HealthFinding]:
        """Look once, tell of what is new, and act on it. Return what was found."""
        found = await self._examiner.look()
        self._report({each.key: each for each in found})
        with suppress(AgentExistsError):
            await self._own.start(WATCHDOG_GRAPH, at="WATCHING", agent_id=WATCHDOG_AGENT)
        kept = await self._kept()
        told = {each.key for each in found if each.key in kept and kept[each.key].lasts(each.evidence)}
        if len(told) < len(found) or kept.keys() != told:
            documents = [await self._document(each, is_new=each.key not in told) for each in found]
            await self._own.send(WATCHDOG_AGENT, LOOKED, {"found": documents})
            kept = await self._kept()
        await self._act(kept)
        return found

    def _report(self, found: dict[str, HealthFinding]) -> None:
        """Log and count what is new in this process. What ceased is counted, too."""
        known = self._known
        lasting = {key for key in found.keys() & known.keys() if has_lasted(known[key].evidence, found[key].evidence)}
        for key, each in found.items():
            if key not in lasting:
                facts = {"kind": each.kind.value, "subject": each.subject, "text": each.text, "remedy": each.remedy}
                logger.warning(_NEW, facts, extra=facts)
                self._count(each, 1)
        for key, each in known.items():
            if key not in lasting:
                self._count(each, -1)
        self._known = found

    async def _kept(self) -> Mapping[str, OpenFinding]:
        kept = await self._home.read(WATCHDOG_AGENT)
        check_own(kept)
        return WatchdogContext.model_validate(kept.context).open

    async def _document(self, found: HealthFinding, *, is_new: bool) -> dict[str, Any]:
        tells = is_new and bool(found.agent_id) and await self._hears(found.agent_id, f"{FOUND}{found.kind.value}")
        return {"key": found.key, "agent_id": found.agent_id, "tells": tells, **found.document()}

    async def _hears(self, agent_id: AgentId, event: str) -> bool:
        """Tell whether the agent takes the event where it is. False for one that this home cannot read or host."""
        hosted = await self._hosted(agent_id)
        awaited = () if hosted is None else awaited_events(*hosted)
        return any(matches(each, event) for each in awaited if each != "*")

    async def _hosted(self, agent_id: AgentId) -> tuple[AnyGraph, Configuration] | None:
        """Return the graph of an agent and where it is; None if this home cannot read it, or lacks its graph."""
        try:
            snapshot = await self._home.read(agent_id)
            return self._registry.graph_for(snapshot), snapshot.configuration
        except GatechartError:
            return None

    async def _act(self, kept: Mapping[str, OpenFinding]) -> None:
        """Do what is to be done about findings that nobody has acted on; what fails is tried in the next round."""
        done = [key for key, each in kept.items() if not each.is_acted_on and await self._acted(key, each)]
        if done:
            await self._own.send(WATCHDOG_AGENT, ACTED, {"keys": done})

    async def _acted(self, key: str, each: OpenFinding) -> bool:
        """Act on a finding. Return whether something was to be done, and was."""
        acts = self._watchdog.acts_on(each.found["kind"])
        agent_id = each.found["agent_id"]
        # An agent without a host stands still for that reason alone. A restart would wait as mail until it has one, and
        # would then undo its work.
        if not acts or not agent_id or await self._hosted(agent_id) is None:
            return False
        try:
            for act in acts:
                await self._do(act, agent_id, f"watchdog:{key}:{each.number}")
        except OutsideError:
            raise
        except GatechartError as error:
            facts = {"finding": key, "problem": str(error)}
            logger.warning("the watchdog could not act on %(finding)s: %(problem)s", facts, extra=facts)
        return True

    async def _do(self, act: Act, agent_id: AgentId, key: str) -> None:
        match act:
            case Act.WAKE:
                await self._home.resume(agent_id)  # which has its waiting mail looked at again
            case Act.RESTART:
                pass  # the turn asks for it that notes that the finding was acted on
            case Act.ESCALATE:
                assert self._watchdog.escalate_to is not None  # or it could not be configured
                await self._home.handoff(agent_id, self._watchdog.escalate_to, idempotency_key=key)

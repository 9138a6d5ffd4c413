"""The watchdog's rounds: check the home, report and store new findings, and act on them."""

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
    """Runs the watchdog's rounds on one home."""

    def __init__(
        self,
        home: AgentHome,
        own: OwnAgents,
        registry: Registry,
        examiner: Examiner,
        watchdog: Watchdog,
        count: Callable[[HealthFinding, int], None],
    ) -> None:
        """Bind to a home. count: counts a new finding as 1, and one that has ceased as -1."""
        self._home = home
        self._own = own
        self._registry = registry
        self._examiner = examiner
        self._watchdog = watchdog
        self._count = count
        self._known: dict[str, HealthFinding] = {}

    async def go_on(self, sleep: Callable[[float], Awaitable[None]]) -> None:
        """Run rounds until the home closes. A failed round is logged; the next one runs as scheduled."""
        with suppress(OwnershipLostError, RuntimeClosedError):
            while True:
                try:
                    await self.go_once()
                except (OwnershipLostError, RuntimeClosedError):
                    raise
                except GatechartError:
                    logger.warning("a round of the watchdog failed; it retries in the next round", exc_info=True)
                await sleep(self._watchdog.every_s)

    async def go_once(self) -> Sequence[HealthFinding]:
        """Check once, report new findings, and act on them. Return all findings of the check."""
        findings = await self._examiner.look()
        by_key = {finding.key: finding for finding in findings}
        self._report(by_key)
        with suppress(AgentExistsError):
            await self._own.start(WATCHDOG_GRAPH, at="WATCHING", agent_id=WATCHDOG_AGENT)
        stored = await self._open_findings()
        known = {key for key in by_key.keys() & stored.keys() if stored[key].lasts(by_key[key].evidence)}
        if len(known) < len(findings) or stored.keys() != known:
            documents = [await self._document(finding, is_new=finding.key not in known) for finding in findings]
            await self._own.send(WATCHDOG_AGENT, LOOKED, {"found": documents})
            stored = await self._open_findings()
        await self._act(stored)
        return findings

    def _report(self, current: dict[str, HealthFinding]) -> None:
        """Log and count the findings that are new to this process. Count ceased findings."""
        known = self._known
        shared = current.keys() & known.keys()
        lasting = {key for key in shared if has_lasted(known[key].evidence, current[key].evidence)}
        for key, new in current.items():
            if key not in lasting:
                facts = {"kind": new.kind.value, "subject": new.subject, "text": new.text, "remedy": new.remedy}
                logger.warning(_NEW, facts, extra=facts)
                self._count(new, 1)
        for key, ceased in known.items():
            if key not in lasting:
                self._count(ceased, -1)
        self._known = current

    async def _open_findings(self) -> Mapping[str, OpenFinding]:
        snapshot = await self._home.read(WATCHDOG_AGENT)
        check_own(snapshot)
        return WatchdogContext.model_validate(snapshot.context).open

    async def _document(self, finding: HealthFinding, *, is_new: bool) -> dict[str, Any]:
        agent_id = finding.agent_id
        is_sent = is_new and bool(agent_id) and await self._takes(agent_id, f"{FOUND}{finding.kind.value}")
        return {"key": finding.key, "agent_id": agent_id, "tells": is_sent, **finding.document()}

    async def _takes(self, agent_id: AgentId, event: str) -> bool:
        """Return whether the agent's current state takes the event; False if this home cannot read or host it."""
        hosted = await self._hosted(agent_id)
        awaited = () if hosted is None else awaited_events(*hosted)
        return any(matches(descriptor, event) for descriptor in awaited if descriptor != "*")

    async def _hosted(self, agent_id: AgentId) -> tuple[AnyGraph, Configuration] | None:
        """Return an agent's graph and configuration; None if this home cannot read the agent, or lacks its graph."""
        try:
            snapshot = await self._home.read(agent_id)
            return self._registry.graph_for(snapshot), snapshot.configuration
        except GatechartError:
            return None

    async def _act(self, stored: Mapping[str, OpenFinding]) -> None:
        """Act on findings that are not yet handled. After an OutsideError, the next round retries them."""
        handled = [
            key for key, finding in stored.items() if not finding.is_acted_on and await self._acted(key, finding)
        ]
        if handled:
            await self._own.send(WATCHDOG_AGENT, ACTED, {"keys": handled})

    async def _acted(self, key: str, finding: OpenFinding) -> bool:
        """Act on a finding. Return whether it had an action, and the action was attempted."""
        acts = self._watchdog.acts_on(finding.found["kind"])
        agent_id = finding.found["agent_id"]
        # An agent without a host only waits for one. A restart would stay in its inbox until then, and undo its work.
        if not acts or not agent_id or await self._hosted(agent_id) is None:
            return False
        try:
            for act in acts:
                await self._do(act, agent_id, f"watchdog:{key}:{finding.number}")
        except OutsideError:
            raise
        except GatechartError as error:
            facts = {"finding": key, "problem": str(error)}
            logger.warning("the watchdog could not act on %(finding)s: %(problem)s", facts, extra=facts)
        return True

    async def _do(self, act: Act, agent_id: AgentId, key: str) -> None:
        match act:
            case Act.WAKE:
                await self._home.resume(agent_id)  # retries its waiting mail
            case Act.RESTART:
                pass  # the turn that marks the finding as handled requests it
            case Act.ESCALATE:
                assert self._watchdog.escalate_to is not None  # Watchdog refuses ESCALATE without it
                await self._home.handoff(agent_id, self._watchdog.escalate_to, idempotency_key=key)

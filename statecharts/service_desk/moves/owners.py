"""Who had a conversation when, told from what a store keeps: handoffs, and the histories of agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from gatechart import Runtime
from gatechart.handoff import HandoffStatus, Mode
from gatechart.results import HandoffRecord, HistoryEntry

Histories = Mapping[str, Sequence[HistoryEntry]]  # by agent
Said = tuple[str, Mapping[str, Any]]  # an event and its payload
PAGE = 1000


@dataclass(frozen=True, slots=True)
class Tenure:
    """An agent has the conversation: after the turn that got it, until the turn that learnt that another one has."""

    agent: str
    since: int  # the agent's version
    until: int | None = None  # None: it has it still
    taken_by: HandoffRecord | None = None  # None: it began with it


@dataclass(frozen=True, slots=True)
class Ledger:
    """All that a store keeps of one conversation. root: the agent that it began with."""

    root: str
    handoffs: tuple[HandoffRecord, ...]
    histories: Histories

    @property
    def transfers(self) -> tuple[HandoffRecord, ...]:
        """Those that were taken, in their order."""
        return tuple(each for each in self.handoffs if each.mode is Mode.TRANSFER and accepted(each))

    def tenures(self) -> Iterator[Tenure]:
        """One after the other. Raises LookupError where a turn about a handoff is missing."""
        now = Tenure(self.root, 1)
        for each in self.transfers:
            lost = self._turn(each.source, "handoff.accepted", each.id)
            yield Tenure(now.agent, now.since, lost, now.taken_by)
            took = next(turn.version for turn in self.histories[each.target] if turn.event.id == each.id)
            now = Tenure(each.target, took, None, each)
        yield now

    def acts(self) -> Iterator[tuple[str, HistoryEntry]]:
        """Every turn that somebody outside made: which agent heard it."""
        agents = {self.root, *(each.target for each in self.transfers)}
        for agent in sorted(agents):
            for turn in self.histories[agent]:
                if turn.event.sender is None and turn.source:
                    yield agent, turn

    def problems(self, said: Sequence[Said]) -> list[str]:
        """List contradictions to the claim that one agent had the conversation at every moment.

        said: all that was told to an agent and not refused, in this order.
        """
        try:
            tenures = list(self.tenures())
            return [
                *self._broken_chain(),
                *self._unowned(tenures),
                *self._out_of_order(tenures, said),
                *self._talked_over(),
            ]
        except LookupError as error:
            return [f"{self.root}: {error}"]

    def _broken_chain(self) -> Iterator[str]:
        owner = self.root
        for each in self.transfers:
            if each.source != owner:
                yield f"{each.id}: {each.source} gave away what {owner} had"
            owner = each.target

    def _unowned(self, tenures: Sequence[Tenure]) -> Iterator[str]:
        """List turns of agents that did not have the conversation, by their versions and by the clock."""
        for agent, turn in self.acts():
            having = [each for each in tenures if each.agent == agent and _covers(each, turn.version)]
            if len(having) != 1:
                yield f"{agent} heard {turn.event.name} in version {turn.version}, with {len(having)} tenures"
            elif turn.event.time.timestamp() < _time_of(having[0]):
                yield f"{agent} heard {turn.event.name} in version {turn.version}, before it had the conversation"

    def _out_of_order(self, tenures: Sequence[Tenure], said: Sequence[Said]) -> Iterator[str]:
        """Along the tenures everything is heard once, in the order in which it was said."""
        acts = list(self.acts())
        heard: list[Said] = [
            (turn.event.name, turn.event.payload)
            for tenure in tenures
            for agent, turn in acts
            if agent == tenure.agent and _covers(tenure, turn.version)
        ]
        if heard != list(said):
            yield f"of {len(said)} events said in turn, {len(heard)} were heard: {heard}"
        for one, other in pairwise(tenures):
            if _time_of(one) > _time_of(other):
                yield f"{other.agent} took it before {one.agent}"

    def _talked_over(self) -> Iterator[str]:
        """While a person helps, nobody else is told anything."""
        helped = [each for each in self.handoffs if each.mode is Mode.DELEGATE and accepted(each)]
        for each in helped:
            first = self._turn(each.source, "handoff.accepted", each.id)
            last = self._turn(each.source, "handoff.completed", each.request)
            if any(agent == each.source and first < turn.version < last for agent, turn in self.acts()):
                yield f"{each.id}: something was said to {each.source} while it waited for the result"

    def _turn(self, agent: str, event: str, handoff: str) -> int:
        turns = self.histories[agent]
        found = [one for one in turns if one.event.name == event and one.event.payload.get("handoff") == handoff]
        if len(found) != 1:
            raise LookupError(f"{agent} has {len(found)} turns with {event} of {handoff}")
        return found[0].version


def accepted(handoff: HandoffRecord) -> bool:
    """Whether it was taken, whatever came of it then."""
    return any(change.status is HandoffStatus.ACCEPTED for change in handoff.changes)


async def all_handoffs(runtime: Runtime) -> list[HandoffRecord]:
    """Everything that was handed on, in its order."""
    found: list[HandoffRecord] = []
    while page := await runtime.handoffs(after=found[-1].number if found else 0, limit=PAGE):
        found += page
    return found


async def ledgers(runtime: Runtime, roots: Sequence[str]) -> list[Ledger]:
    """Read the conversations that began with these agents from the runtime's store."""
    by_session: dict[str, list[HandoffRecord]] = {}
    for each in await all_handoffs(runtime):
        by_session.setdefault(str(each.packet["session_id"]), []).append(each)
    return [await _ledger(runtime, root, by_session.get(root, [])) for root in roots]


async def _ledger(runtime: Runtime, root: str, handoffs: list[HandoffRecord]) -> Ledger:
    agents = {root: None} | {agent: None for each in handoffs for agent in (each.source, each.target)}
    return Ledger(root, tuple(handoffs), {agent: await runtime.history(agent) for agent in agents})


def _covers(tenure: Tenure, version: int) -> bool:
    return tenure.since < version and (tenure.until is None or version < tenure.until)


def _time_of(tenure: Tenure) -> float:
    """When it began, in seconds; 0 where it began with the conversation."""
    if tenure.taken_by is None:
        return 0.0
    return next(each.time for each in tenure.taken_by.changes if each.status is HandoffStatus.ACCEPTED).timestamp()

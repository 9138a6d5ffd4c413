"""What strategies look at: where the agent is, what was found, what it did before, and how its tools are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from gatechart.escape.calls import CALLED, CallsMade
from gatechart.graph import UNDOING, AnyGraph
from gatechart.values import CALLED as CALLS
from gatechart.values import (
    ESCAPE,
    NO_LESSONS,
    REFUSED,
    STARTED,
    TRAIL,
    BreakerState,
    Called,
    Event,
    Finding,
    Lessons,
    PastTurn,
    Payload,
    Reason,
    Snapshot,
    StateName,
    entries_in,
)
from gatechart.values.frozen import value

_OWN: Final = ("agent.", ESCAPE, TRAIL)  # turns that made no move of the chart


@value
class ToolFacts:
    """A tool as things stand."""

    repeat: str = "never"
    undo: str = ""  # name of the tool that takes a call back
    alternatives: tuple[str, ...] = ()  # tools that may be called in its place, the best first
    breaker: BreakerState = BreakerState.CLOSED
    open_since: datetime | None = None  # when the breaker opened first since it was closed last, if that is known
    retry_at: datetime | None = None  # when an open breaker lets the next call through
    capabilities: tuple[str, ...] = ()  # what it can do


UNKNOWN_TOOL: Final = ToolFacts()
"""What is assumed of a tool that the services do not have: that no call of it may be repeated."""


@value
class Scene:
    """An agent in need of a way out."""

    graph: AnyGraph
    snapshot: Snapshot
    context: Any  # the agent's; strategies read it and never write
    event: Event  # of the attempt; its time is now
    finding: Finding
    evidence: Payload  # payload of the signal: `signal`, `reason`, `evidence`, `others`
    tools: Mapping[str, ToolFacts]
    past: Sequence[PastTurn] = ()  # oldest first; empty unless a strategy looks back
    lessons: Lessons = NO_LESSONS

    @property
    def leaves(self) -> tuple[StateName, ...]:
        """Where the agent is, or was before its calls were taken back, as far as the graph still has these states."""
        return known_states(self.graph, self.evidence.get("leaves", ())) or self.snapshot.configuration

    @property
    def is_undoing(self) -> bool:
        """Whether the agent is in the state in which its calls were taken back."""
        return UNDOING in self.snapshot.configuration and UNDOING in self.graph.escape_states

    @property
    def found(self) -> Sequence[Mapping[str, Any]]:
        """What each detector found."""
        found: Sequence[Mapping[str, Any]] = self.evidence.get("evidence", ())
        return found

    @property
    def block(self) -> Sequence[Mapping[str, Any]]:
        """The repeated moves and calls; empty if nothing was repeated."""
        return block_in(self.evidence)

    @property
    def is_loop(self) -> bool:
        """Whether the agent goes round in circles."""
        return self.evidence.get("reason") == Reason.LOOP_DETECTED.value

    @property
    def failed_tools(self) -> tuple[str, ...]:
        """Tools that failed or were called again and again."""
        return failed_tools(self.evidence)

    @property
    def refused_tools(self) -> tuple[str, ...]:
        """Tools with calls in the agent's trail that ended with the refusal of a circuit breaker."""
        try:
            entries = entries_in(self.snapshot.trail.text, CALLS)
        except ValueError:  # damaged, which the signals report
            return ()
        return tuple(dict.fromkeys(each.tool for each in entries if isinstance(each, Called) and each.ended_refused))

    def error_of(self, tool: str) -> str:
        """Return the type of the error with which a tool failed; empty if none is told."""
        parts = (part for each in self.found for part in (each, *each.get("block", ())))
        return next((part["error"] for part in parts if part.get("tool") == tool and part.get("error")), "")

    @property
    def failed_states(self) -> tuple[StateName, ...]:
        """States between which the repeated block moves, or where the agent is in the region that failed."""
        return moved_between(self.block) or where_found(self.graph, self.leaves, self.evidence) or self.leaves

    def tool(self, name: str) -> ToolFacts:
        """Return how a tool is."""
        return self.tools.get(name, UNKNOWN_TOOL)

    @property
    def before_block(self) -> int | None:
        """Version of the agent before what was found began; None if its past does not go back so far.

        Before as many moves as were repeated; where calls failed, before the agent came to where the first of them did;
        otherwise before it came to where it is.
        """
        repeated = next((each for each in self.found if each.get("block") and "period" in each), None)
        if repeated is not None:
            return self._before_moves(repeated["period"] * repeated["times"])
        failures = [each for each in self.past if each.event == CALLED and self._is_failure(each)]
        counted = next((each.get("failures", 0) for each in self.found if each.get("tool")), 0)
        first = failures[-counted] if 0 < counted <= len(failures) else None
        leaves, at = (self.leaves, self.snapshot.version) if first is None else (first.configuration, first.version)
        return self.last_version(lambda turn: turn.version < at and turn.configuration != leaves)

    @property
    def first_call(self) -> PastTurn | None:
        """The call with which the repeated block began, or the failures; None if moves were repeated.

        Only of calls in the states where the agent is.
        """
        if any("period" in each for each in self.found):
            return None
        here = [each for each in self.past if each.event == CALLED and self._is_here(each)]
        repeated = next((each for each in self.found if each.get("block") and "times" in each), None)
        if repeated is None:
            meant = [each for each in here if self._is_failure(each)]
            number = next((each.get("failures", 0) for each in self.found if each.get("tool")), 0)
        else:
            asked = [(each.get("tool"), each.get("arguments")) for each in repeated["block"]]
            meant = [each for each in here if (each.payload["tool"], each.payload["arguments"]) in asked]
            number = repeated["times"] * len(asked)
        return meant[-number] if 0 < number <= len(meant) else None

    def _is_here(self, told: PastTurn) -> bool:
        return (told.payload.get("state"), told.payload.get("epoch")) in self.snapshot.entered

    def _is_failure(self, call: PastTurn) -> bool:
        told = call.payload
        is_refused = told.get("error") == REFUSED and not told.get("attempts", 1)
        return not told["ok"] and not is_refused and told["tool"] in self.failed_tools

    def _before_moves(self, number: int) -> int | None:
        moves = [each.version for each in self._moves()]
        if self.past and self.past[0].version == 1:  # where the agent began counts as a move, as detectors see it
            moves = [*dict.fromkeys((1, *moves))]
        block = moves[-number:]
        if len(block) < max(number, 2):
            return None
        return (block[0] if block[0] > 1 else block[1]) - 1  # there is nothing before its beginning

    def last_version(self, is_meant: Callable[[PastTurn], bool]) -> int | None:
        """Return the newest version at which the agent was as meant; None if it never was, as far as is known."""
        undoing = {UNDOING} & self.graph.escape_states
        past = (each for each in reversed(self.past) if undoing.isdisjoint(each.configuration))
        return next((each.version for each in past if is_meant(each)), None)

    @property
    def began_at(self) -> str:
        """Entry point at which the agent began, as its past tells; empty if that does not go back so far."""
        return next((each.event.removeprefix(STARTED) for each in self.past if each.event.startswith(STARTED)), "")

    def calls_since(self, version: int, entered: Collection[tuple[StateName, int]] = ()) -> CallsMade:
        """Return the calls that the agent made after a version, or in entries of states that begin again with it.

        As far as its past is known. entered: states with the versions of these entries.
        """
        return CallsMade(
            each
            for each in self.past
            if each.version > version or (each.payload.get("state"), each.payload.get("epoch")) in entered
        )

    def kept_by(self, version: int, calls: CallsMade, allowed: Sequence[str] = ()) -> str:
        """Return what keeps the agent from going back to a version; empty if nothing does.

        A call that must not be repeated does, unless it can be taken back, or is allowed by name. So does a past that
        is not known as far as that version. calls: those that it would go back over. allowed: names of tools.
        """
        if not self.tools:
            return ""
        repeats = {name: each.repeat for name, each in self.tools.items()}
        if not looks_back(self.graph):
            must_not = [name for name, repeat in repeats.items() if repeat == "never" and name not in allowed]
            return f"no plan looks back, so it is not known whether it called {', '.join(must_not)}" if must_not else ""
        if not self.past or self.past[0].version > version + 1:
            return f"it is not known what it called since version {version}"
        return calls.kept_by(repeats, allowed)

    def _moves(self) -> Iterator[PastTurn]:
        """Yield the turns that moved the agent by the chart, oldest first."""
        names = {each.get("event") for each in self.block}
        before: tuple[StateName, ...] = ()
        for turn in self.past:
            if not turn.event.startswith(_OWN) and (turn.configuration != before or turn.event in names):
                yield turn
            before = turn.configuration


def looks_back(graph: AnyGraph) -> bool:
    """Whether agents of a graph may look back at their calls to get out. Found out once."""
    key = ("escapes look back",)
    found: bool | None = graph.memo.get(key)
    if found is None:
        plans = (*(node.escape for node in graph.nodes.values()), graph.escape)
        found = graph.memo[key] = any(each.looks_back for plan in plans if plan is not None for each in plan.every)
    return found


def known_states(graph: AnyGraph, names: Sequence[StateName]) -> tuple[StateName, ...]:
    """Return those of some states that the graph has, to which the agent may have migrated since."""
    return tuple(name for name in names if name in graph.nodes)


def block_in(evidence: Payload) -> Sequence[Mapping[str, Any]]:
    """Return the repeated moves and calls, by the payload of a signal; empty if nothing was repeated."""
    found: Sequence[Mapping[str, Any]] = evidence.get("evidence", ())
    return next((each["block"] for each in found if each.get("block")), ())


def moved_between(block: Sequence[Mapping[str, Any]]) -> tuple[StateName, ...]:
    """Return the states between which repeated moves lead: not those in which another region stands all the while."""
    moves = [each["states"] for each in block if each.get("states")]
    states = dict.fromkeys(state for each in moves for state in each)
    moved = tuple(state for state in states if any(state not in each for each in moves))
    return moved or tuple(states)


def where_found(graph: AnyGraph, leaves: Sequence[StateName], evidence: Payload) -> tuple[StateName, ...]:
    """Return those of the active leaves in whose regions it happened that is to be got out of; empty if none is known.

    evidence: payload of the signal, with the state whose invoke told of it as `state`.
    """
    states = {*moved_between(block_in(evidence)), evidence.get("state")}
    return tuple(leaf for leaf in leaves if not states.isdisjoint((leaf, *graph.nodes[leaf].ancestors)))


def failed_tools(evidence: Payload) -> tuple[str, ...]:
    """Return the tools that failed or were called again and again, by the payload of a signal."""
    found: Sequence[Mapping[str, Any]] = evidence.get("evidence", ())
    parts = (part for each in found for part in (each, *each.get("block", ())))
    return tuple(dict.fromkeys(part["tool"] for part in parts if part.get("tool")))

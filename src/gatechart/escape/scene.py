"""The input of strategies: the agent's state and past, the finding, and the condition of its tools."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from gatechart.escape.calls import CALLED, CallsMade, RecordedCall, recorded_call
from gatechart.graph.escape import UNDOING
from gatechart.graph.graph import AnyGraph
from gatechart.values.agents import Event, Snapshot
from gatechart.values.breakers import BreakerState
from gatechart.values.escapes import ESCAPE, PastTurn, SignalFinding
from gatechart.values.frozen import value
from gatechart.values.handoffs import Reason
from gatechart.values.lessons import NO_LESSONS, Lessons
from gatechart.values.names import STARTED, TRAIL, Payload, StateName
from gatechart.values.signal_reports import RepeatedEntry, SignalReport, parts_of
from gatechart.values.trail import CALLED as CALLS
from gatechart.values.trail import REFUSED, Called, entries_in

_OWN: Final = ("agent.", ESCAPE, TRAIL)  # event prefixes of turns without a move of the chart


@value
class ToolFacts:
    """The current condition of a tool."""

    repeat: str = "never"
    undo: str = ""  # name of the tool that undoes a call
    alternatives: tuple[str, ...] = ()  # tools that may be called in its place, the best first
    breaker: BreakerState = BreakerState.CLOSED
    open_since: datetime | None = None  # when the breaker first opened after it was last closed; None if unknown
    retry_at: datetime | None = None  # when an open breaker admits the next call
    capabilities: tuple[str, ...] = ()


UNKNOWN_TOOL: Final = ToolFacts()
"""Facts of a tool that the services do not have: no call of it may be repeated."""


@value
class Scene:
    """An agent that needs an escape."""

    graph: AnyGraph
    snapshot: Snapshot
    context: Any  # the agent's; strategies read it and never write
    event: Event  # of the attempt; its time is now
    finding: SignalFinding
    evidence: Payload  # payload of the signal: `signal`, `reason`, `evidence`, `others`
    report: SignalReport  # read from this payload
    tools: Mapping[str, ToolFacts]
    past: Sequence[PastTurn] = ()  # oldest first; empty unless a strategy looks back
    lessons: Lessons = NO_LESSONS

    @property
    def leaves(self) -> tuple[StateName, ...]:
        """The active leaves, or the leaves before its calls were undone, if the graph still has these states."""
        return known_states(self.graph, self.report.leaves) or self.snapshot.configuration

    @property
    def is_undoing(self) -> bool:
        """Whether the agent is in the state for undoing its calls."""
        return UNDOING in self.snapshot.configuration and UNDOING in self.graph.escape_states

    @property
    def is_loop(self) -> bool:
        """Whether the agent goes in circles."""
        return self.report.reason == Reason.LOOP_DETECTED.value

    @property
    def failed_tools(self) -> tuple[str, ...]:
        """Tools that failed or were called repeatedly."""
        return self.report.failed_tools

    @property
    def refused_tools(self) -> tuple[str, ...]:
        """Tools with calls in the agent's trail that ended with a circuit breaker's refusal."""
        try:
            entries = entries_in(self.snapshot.trail.text, CALLS)
        except ValueError:  # damaged, which the signals report
            return ()
        calls = (entry for entry in entries if isinstance(entry, Called) and entry.ended_refused)
        return tuple(dict.fromkeys(call.tool for call in calls))

    def error_of(self, tool: str) -> str:
        """Return the type of a tool's error; empty if the evidence has none."""
        return next((part.error for part in parts_of(self.report.evidence) if part.tool == tool and part.error), "")

    @property
    def failed_states(self) -> tuple[StateName, ...]:
        """States of the repeated moves; without any, the active leaves in the region that failed."""
        return moved_between(self.report.block) or where_found(self.graph, self.leaves, self.report) or self.leaves

    def tool(self, name: str) -> ToolFacts:
        """Return the facts of a tool; `UNKNOWN_TOOL` if the services do not have it."""
        return self.tools.get(name, UNKNOWN_TOOL)

    @property
    def before_block(self) -> int | None:
        """Version of the agent before the problem started; None if its known past is too short.

        For repeated moves, the version before them; for failed calls, the version before the agent entered the states
        of the first one; otherwise the version before it entered its current states.
        """
        repeated = next((found for found in self.report.evidence if found.block and found.period), None)
        if repeated is not None:
            return self._before_moves(repeated.period * repeated.times)
        failures = [turn for turn in self.past if turn.event == CALLED and self._is_failure(recorded_call(turn))]
        counted = self._failures
        first = failures[-counted] if 0 < counted <= len(failures) else None
        leaves, at = (self.leaves, self.snapshot.version) if first is None else (first.configuration, first.version)
        return self.last_version(lambda turn: turn.version < at and turn.configuration != leaves)

    @property
    def first_call(self) -> PastTurn | None:
        """The first call of the repeated block, or of the failures; None if moves were repeated.

        Only calls from the current entries of the active states count.
        """
        evidence = self.report.evidence
        if any(found.period for found in evidence):
            return None
        calls = [(turn, recorded_call(turn)) for turn in self.past if turn.event == CALLED]
        current = [(turn, call) for turn, call in calls if (call.state, call.epoch) in self.snapshot.entered]
        repeated = next((found for found in evidence if found.block and found.times), None)
        if repeated is None:
            matching = [turn for turn, call in current if self._is_failure(call)]
            number = self._failures
        else:
            block = [(entry.tool, entry.arguments) for entry in repeated.block]
            matching = [turn for turn, call in current if (call.tool, call.arguments) in block]
            number = repeated.times * len(block)
        return matching[-number] if 0 < number <= len(matching) else None

    @property
    def _failures(self) -> int:
        """Number of failures of the tool that failed first in the evidence; 0 if unknown."""
        return next((found.failures for found in self.report.evidence if found.tool), 0)

    def _is_failure(self, call: RecordedCall) -> bool:
        is_refused = call.error == REFUSED and not call.attempts
        return not call.ok and not is_refused and call.tool in self.failed_tools

    def _before_moves(self, number: int) -> int | None:
        moves = [turn.version for turn in self._moves()]
        if self.past and self.past[0].version == 1:  # the agent's start counts as a move, as in the detectors
            moves = [*dict.fromkeys((1, *moves))]
        block = moves[-number:]
        if len(block) < max(number, 2):
            return None
        return (block[0] if block[0] > 1 else block[1]) - 1  # there is no version before the start

    def last_version(self, matches: Callable[[PastTurn], bool]) -> int | None:
        """Return the version of the newest matching turn; None if the known past has none."""
        undoing = {UNDOING} & self.graph.escape_states
        past = (turn for turn in reversed(self.past) if undoing.isdisjoint(turn.configuration))
        return next((turn.version for turn in past if matches(turn)), None)

    @property
    def began_at(self) -> str:
        """Entry point where the agent started; empty if its known past is too short."""
        return next((turn.event.removeprefix(STARTED) for turn in self.past if turn.event.startswith(STARTED)), "")

    def calls_since(self, version: int, entered: Collection[tuple[StateName, int]] = ()) -> CallsMade:
        """Return the calls in the known past after a version, or in entries of states that a rollback to it restores.

        entered: states with the versions of these entries.
        """
        return CallsMade(turn for turn in self.past if turn.version > version or _is_within(turn, entered))

    def kept_by(self, version: int, calls: CallsMade, allowed: Sequence[str] = ()) -> str:
        """Return why the agent must not roll back to a version; empty if it may.

        The reason is a call that must not be repeated, unless it can be undone or its tool is allowed; or a known past
        that does not reach that version. calls: the calls after the version. allowed: names of tools.
        """
        if not self.tools:
            return ""
        repeats = {name: tool.repeat for name, tool in self.tools.items()}
        if not looks_back(self.graph):
            must_not = [name for name, repeat in repeats.items() if repeat == "never" and name not in allowed]
            return f"no plan looks back, so it is not known whether it called {', '.join(must_not)}" if must_not else ""
        if not self.past or self.past[0].version > version + 1:
            return f"it is not known what it called since version {version}"
        return calls.kept_by(repeats, allowed)

    def _moves(self) -> Iterator[PastTurn]:
        """Yield the turns that moved the agent by the chart, oldest first."""
        names = {entry.event for entry in self.report.block}
        before: tuple[StateName, ...] = ()
        for turn in self.past:
            if not turn.event.startswith(_OWN) and (turn.configuration != before or turn.event in names):
                yield turn
            before = turn.configuration


def looks_back(graph: AnyGraph) -> bool:
    """Return whether a strategy of a graph depends on the past calls of its agents. Computed once."""
    key = ("escapes look back",)
    cached: bool | None = graph.memo.get(key)
    if cached is None:
        plans = (*(node.escape for node in graph.nodes.values()), graph.escape)
        strategies = (strategy for plan in plans if plan is not None for strategy in plan.every)
        cached = graph.memo[key] = any(strategy.looks_back for strategy in strategies)
    return cached


def known_states(graph: AnyGraph, names: Sequence[StateName]) -> tuple[StateName, ...]:
    """Return the states that the graph has. The agent may have migrated to it since the names were stored."""
    return tuple(name for name in names if name in graph.nodes)


def _is_within(turn: PastTurn, entered: Collection[tuple[StateName, int]]) -> bool:
    """Return whether a turn recorded a call that an entry of a state made."""
    return (turn.payload.get("state"), turn.payload.get("epoch")) in entered


def moved_between(block: Sequence[RepeatedEntry]) -> tuple[StateName, ...]:
    """Return the states that repeated moves enter and leave, without the constant states of other regions."""
    moves = [entry.states for entry in block if entry.states]
    states = dict.fromkeys(state for move in moves for state in move)
    moved = tuple(state for state in states if any(state not in move for move in moves))
    return moved or tuple(states)


def where_found(graph: AnyGraph, leaves: Sequence[StateName], report: SignalReport) -> tuple[StateName, ...]:
    """Return the active leaves in the regions of the problem; empty if unknown."""
    states = {*moved_between(report.block), report.state}
    return tuple(leaf for leaf in leaves if not states.isdisjoint((leaf, *graph.nodes[leaf].ancestors)))

"""Let agents of flat charts react to events."""

from __future__ import annotations

from collections.abc import Sequence

from gatechart.errors import ActionFailedError, MicrostepLimitError
from gatechart.graph.graph import StateTransitionGraph
from gatechart.turn.turns import take_turn
from gatechart.values.agents import Outcome, Snapshot
from gatechart.values.commits import TurnRecord
from tests.support import at_once, happened


def react(graph: StateTransitionGraph, at: Snapshot, event: str) -> TurnRecord | Outcome | type[Exception]:
    """The record, the refusal, or the error that undid the turn."""
    try:
        return at_once(take_turn(graph, at, happened(event)))
    except (ActionFailedError, MicrostepLimitError) as error:
        return type(error)


def play(graph: StateTransitionGraph, at: Snapshot, happening: Sequence[str]) -> Snapshot:
    """Where the agent is when all of it has happened."""
    for event in happening:
        decided = react(graph, at, event)
        at = decided.snapshot if isinstance(decided, TurnRecord) else at
    return at

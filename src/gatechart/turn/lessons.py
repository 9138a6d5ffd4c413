"""Report each escape attempt and its outcome to the agent that keeps the graph's lessons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final

from gatechart.escape import Scene
from gatechart.values import (
    LEARN,
    Called,
    CameTo,
    Escapes,
    Moved,
    Payload,
    Send,
    Snapshot,
    StateName,
    Tried,
    entries_in,
)
from gatechart.values.framework import LESSONS_AGENT

_MOST_TOLD: Final = 20  # names of each kind in one lesson
_LONGEST_NAME: Final = 120  # characters


def attempt_told(scene: Scene) -> Send:
    """Return the lesson of an attempt: the calls that failed recently, and the states of the agent's loop."""
    called = (entry for entry in _entries(scene.snapshot.trail.text) if isinstance(entry, Called))
    calls = [call for call in called if not call.is_refused]  # a refusal is no evidence about the tool
    tools = _tallied((call.tool, call.ok) for call in calls)
    errors = _tallied((f"{call.tool} {call.error}", False) for call in calls if not call.ok and call.error)
    failed = scene.failed_states
    block = (move for move in scene.block if move.get("event"))
    moves = (f"{move['event']} --> {state}" for move in block for state in move["states"] if state in failed)
    places = _tallied((name, False) for name in dict.fromkeys((*failed, *moves)))
    able = [(call, can) for call in calls for can in scene.tool(call.tool).capabilities]
    kinds = ((f"{can} {call.error}", False) for call, can in able if not call.ok and call.error)
    capabilities = _tallied((*((can, call.ok) for call, can in able), *kinds))
    told = {"tools": tools, "errors": errors, "places": places, "capabilities": capabilities}
    return _send(scene.snapshot, f"tried:{scene.snapshot.version}", told)


def judgements(previous: Snapshot, after: Escapes, trail: str, leaves: Sequence[StateName]) -> Iterator[Send]:
    """Yield the lessons for attempts whose outcome this turn decided.

    after: the record after the turn. trail: text of the agent's trail since its newest attempt. leaves: its active
    leaves.
    """
    pending = {attempt.number for attempt in previous.trail.escapes.tried if attempt.came_to is CameTo.PENDING}
    if pending:
        for attempt in after.tried:
            if attempt.number in pending and attempt.came_to is not CameTo.PENDING:
                yield _judged(attempt, previous, trail, leaves)


def _judged(attempt: Tried, agent: Snapshot, trail: str, leaves: Sequence[StateName]) -> Send:
    is_good = attempt.came_to is CameTo.PROGRESS
    moves = [entry for entry in _entries(trail) if isinstance(entry, Moved)]
    judged = moves if is_good else moves[:1]  # a failed attempt is evidence only about its own move
    names = (name for move in judged for state in move.states for name in (state, f"{move.event} --> {state}"))
    places: Iterable[StateName] = (*names, *(leaves if is_good else ()))
    told = {
        "strategies": _tallied([(f"{attempt.signal} {attempt.strategy}", is_good)]),
        "places": _tallied((name, is_good) for name in dict.fromkeys(places)),
    }
    return _send(agent, f"judged:{attempt.number}", told)


def _send(agent: Snapshot, what: str, told: Payload) -> Send:
    """Address a lesson. Its id is unique to this agent."""
    return Send(f"{LESSONS_AGENT}{agent.graph}", LEARN, told, f"{what}:{life_of(agent)}")


def life_of(agent: Snapshot) -> str:
    """Return 24 hexadecimal digits that distinguish an agent from a later one with the same id."""
    return sha256(f"{agent.agent_id} {agent.started}".encode(errors="surrogatepass")).hexdigest()[:24]


def _tallied(found: Iterable[tuple[str, bool]]) -> dict[str, list[int]]:
    """Count successes and failures by name, for at most the first `_MOST_TOLD` names."""
    counts: dict[str, list[int]] = {}
    for name, is_good in found:
        if name in counts or len(counts) < _MOST_TOLD:
            counts.setdefault(name[:_LONGEST_NAME], [0, 0])[not is_good] += 1
    return counts


def _entries(text: str) -> Sequence[object]:
    try:
        return entries_in(text)
    except ValueError:  # damaged: the signals report it, and nothing is learned
        return ()

"""Report each escape attempt and its outcome to the agent that keeps the graph's lessons."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final

from gatechart.escape.scene import Scene
from gatechart.values.agents import Snapshot
from gatechart.values.effects import Send
from gatechart.values.escapes import CameTo, Escapes, Tried
from gatechart.values.framework import LESSONS_AGENT
from gatechart.values.lessons import LEARN
from gatechart.values.names import Payload, StateName
from gatechart.values.trail import Called, Moved, entries_in

_MOST_TOLD: Final = 20  # names of each kind in one lesson
_LONGEST_NAME: Final = 120  # characters


def attempt_lesson(scene: Scene) -> Send:
    """Return the lesson of an attempt: the calls that failed recently, and the states of the agent's loop."""
    recorded = (call for call in _entries(scene.snapshot.trail.text) if isinstance(call, Called))
    calls = [call for call in recorded if not call.is_refused]  # a refusal is no evidence about the tool
    tools = _tally((call.tool, call.ok) for call in calls)
    errors = _tally((f"{call.tool} {call.error}", False) for call in calls if not call.ok and call.error)
    failed = scene.failed_states
    block = (step for step in scene.report.block if step.event)
    moves = (f"{step.event} --> {state}" for step in block for state in step.states if state in failed)
    places = _tally((name, False) for name in dict.fromkeys((*failed, *moves)))
    uses = [(call, capability) for call in calls for capability in scene.tool(call.tool).capabilities]
    failures = ((f"{capability} {call.error}", False) for call, capability in uses if not call.ok and call.error)
    capabilities = _tally((*((capability, call.ok) for call, capability in uses), *failures))
    lesson = {"tools": tools, "errors": errors, "places": places, "capabilities": capabilities}
    return _lesson(scene.snapshot, f"tried:{scene.snapshot.version}", lesson)


def judgements(previous: Snapshot, after: Escapes, trail: str, leaves: Sequence[StateName]) -> Iterator[Send]:
    """Yield the lessons for attempts whose outcome this turn decided.

    after: the record after the turn. trail: text of the agent's trail since its newest attempt. leaves: active leaves.
    """
    pending = {attempt.number for attempt in previous.trail.escapes.tried if attempt.came_to is CameTo.PENDING}
    if pending:
        for attempt in after.tried:
            if attempt.number in pending and attempt.came_to is not CameTo.PENDING:
                yield _judgement(attempt, previous, trail, leaves)


def _judgement(attempt: Tried, agent: Snapshot, trail: str, leaves: Sequence[StateName]) -> Send:
    is_good = attempt.came_to is CameTo.PROGRESS
    moves = [move for move in _entries(trail) if isinstance(move, Moved)]
    leading = moves if is_good else moves[:1]  # a failed attempt is judged only by its first move
    names = (name for move in leading for state in move.states for name in (state, f"{move.event} --> {state}"))
    places: Iterable[StateName] = (*names, *(leaves if is_good else ()))
    lesson = {
        "strategies": _tally([(f"{attempt.signal} {attempt.strategy}", is_good)]),
        "places": _tally((name, is_good) for name in dict.fromkeys(places)),
    }
    return _lesson(agent, f"judged:{attempt.number}", lesson)


def _lesson(agent: Snapshot, subject: str, lesson: Payload) -> Send:
    """Address a lesson. Its id is unique to this agent."""
    return Send(f"{LESSONS_AGENT}{agent.graph}", LEARN, lesson, f"{subject}:{life_of(agent)}")


def life_of(agent: Snapshot) -> str:
    """Return 24 hexadecimal digits that distinguish an agent from a later one with the same id."""
    return sha256(f"{agent.agent_id} {agent.started}".encode(errors="surrogatepass")).hexdigest()[:24]


def _tally(results: Iterable[tuple[str, bool]]) -> dict[str, list[int]]:
    """Count successes and failures by name, for the first `_MOST_TOLD` names."""
    counts: dict[str, list[int]] = {}
    for name, is_good in results:
        if name in counts or len(counts) < _MOST_TOLD:
            counts.setdefault(name[:_LONGEST_NAME], [0, 0])[not is_good] += 1
    return counts


def _entries(text: str) -> Sequence[object]:
    try:
        return entries_in(text)
    except ValueError:  # a damaged trail: the signals report it, and the agent learns nothing
        return ()

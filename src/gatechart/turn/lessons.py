"""What the keeper of a graph's lessons is told: of each attempt to get out, and what it came to."""

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


def attempt_told(scene: Scene) -> Send:
    """Return what tells of an attempt: which calls failed lately, and where the agent went round."""
    called = (each for each in _entries(scene.snapshot.trail.text) if isinstance(each, Called))
    calls = [each for each in called if not each.is_refused]  # a refusal says nothing of the tool
    tools = _tallied((each.tool, each.ok) for each in calls)
    errors = _tallied((f"{each.tool} {each.error}", False) for each in calls if not each.ok and each.error)
    failed = scene.failed_states
    block = (entry for entry in scene.report.block if entry.event)
    moves = (f"{entry.event} --> {state}" for entry in block for state in entry.states if state in failed)
    places = _tallied((name, False) for name in dict.fromkeys((*failed, *moves)))
    able = [(each, can) for each in calls for can in scene.tool(each.tool).capabilities]
    kinds = ((f"{can} {each.error}", False) for each, can in able if not each.ok and each.error)
    capabilities = _tallied((*((can, each.ok) for each, can in able), *kinds))
    told = {"tools": tools, "errors": errors, "places": places, "capabilities": capabilities}
    return _send(scene.snapshot, f"tried:{scene.snapshot.version}", told)


def judgements(previous: Snapshot, after: Escapes, trail: str, leaves: Sequence[StateName]) -> Iterator[Send]:
    """Yield what tells what attempts came to that a turn has judged.

    after: the record after the turn. trail: text of the agent's trail since its newest attempt. leaves: where it is.
    """
    pending = {each.number for each in previous.trail.escapes.tried if each.came_to is CameTo.PENDING}
    if pending:
        for each in after.tried:
            if each.number in pending and each.came_to is not CameTo.PENDING:
                yield _judged(each, previous, trail, leaves)


def _judged(attempt: Tried, agent: Snapshot, trail: str, leaves: Sequence[StateName]) -> Send:
    is_good = attempt.came_to is CameTo.PROGRESS
    moves = [each for each in _entries(trail) if isinstance(each, Moved)]
    led = moves if is_good else moves[:1]  # one in vain tells only of where it led itself
    names = (name for each in led for state in each.states for name in (state, f"{each.event} --> {state}"))
    places: Iterable[StateName] = (*names, *(leaves if is_good else ()))
    told = {
        "strategies": _tallied([(f"{attempt.signal} {attempt.strategy}", is_good)]),
        "places": _tallied((name, is_good) for name in dict.fromkeys(places)),
    }
    return _send(agent, f"judged:{attempt.number}", told)


def _send(agent: Snapshot, what: str, told: Payload) -> Send:
    """Address a lesson. Its id is of this agent alone."""
    return Send(f"{LESSONS_AGENT}{agent.graph}", LEARN, told, f"{what}:{life_of(agent)}")


def life_of(agent: Snapshot) -> str:
    """Return what tells an agent from a later one with the same id, 24 hexadecimal digits."""
    return sha256(f"{agent.agent_id} {agent.started}".encode(errors="surrogatepass")).hexdigest()[:24]


def _tallied(found: Iterable[tuple[str, bool]]) -> dict[str, list[int]]:
    """Count by name what went well and what did not; only so many names, the first ones."""
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

"""Cut a block out of an agent's conversations: entries of a list in its context, and messages of its models."""

from __future__ import annotations

import json
from typing import Any, Final

from gatechart.context import compact_json
from gatechart.escape import CallsMade, Scene
from gatechart.graph import AnyGraph, unwrapped
from gatechart.turn.rollback import GoingBack
from gatechart.values import TRAIL, CutBlock, CutTalk, Payload, StateName
from gatechart.values.frozen import replaced, value

_TALK_CUT: Final = "what models said out of their conversations"


@value
class Cut:
    """The parts that are left out, and the context that stays."""

    how: str  # in words, for the history
    entries: int  # left out of the list in the context
    context_text: str  # of the agent without them
    talk: CutTalk | None  # the part left out of conversations with models; None if there is none
    calls: CallsMade  # the calls that the cut rolls back past


async def cut_out(scene: Scene, way: CutBlock, go_back: GoingBack) -> Cut | str:
    """Return the cut of a route, or why the route is closed. go_back: returns the agent's snapshot at a version."""
    calls, talk = _talk(scene, way)
    if isinstance(talk, str):
        return talk
    # The models know the context up to where they began to repeat themselves, so only later entries are left out.
    since = way.since if talk is None else _last_before(way)
    text = scene.snapshot.context_text
    now = json.loads(text)
    then = json.loads((await go_back(since)).context_text)
    entries, problem = _leave_out(now, then, way, since)
    if problem and talk is None:
        return problem
    parts = (f"{entries} entries out of {way.field}" if entries else "", _TALK_CUT if talk else "")
    if talk is not None and not entries:  # otherwise the models read the summary in the context
        talk = replaced(talk, summary=way.summary)
    how = f"leaves {', and '.join(filter(None, parts))}"
    return Cut(how, entries, compact_json(now) if entries else text, talk, calls)


def _talk(scene: Scene, way: CutBlock) -> tuple[CallsMade, CutTalk | str | None]:
    """Return the calls of the block, and the part to leave out of conversations with models.

    Instead of the part: a text if it must stay, which says why; None if no model took part.
    """
    since = _last_before(way)
    states = _talking(scene.graph)
    entries = (entry for entry in scene.past if entry.version > since and entry.event.startswith(TRAIL))
    if not any(entry.payload.get("state") in states for entry in entries):
        return CallsMade(()), None
    calls = scene.calls_since(since)
    kept_by = scene.kept_by(since, calls, way.allow)
    if kept_by or calls.undoing:
        return calls, kept_by or f"{calls.undoing[0].tool} would have to take a call back before"
    call = "" if way.call is None else str(way.call.payload.get("call", ""))
    return calls, CutTalk(way.since, scene.snapshot.version, call)


def _last_before(way: CutBlock) -> int:
    """Return the last version before the block. A call in the agent's current state sets the start of the block."""
    return way.since if way.call is None else way.call.version - 1


def _talking(graph: AnyGraph) -> frozenset[StateName]:
    """Return the states with a model whose conversation the agent keeps in a journal."""
    invokes = ((node.name, invoke) for node in graph.nodes.values() for invoke in node.invokes)
    return frozenset(name for name, invoke in invokes if getattr(unwrapped(invoke.function), "journal", ""))


def _leave_out(now: dict[str, Any], then: Payload, way: CutBlock, since: int) -> tuple[int, str]:
    """Remove from a context the list entries added since a version. Return their number, and why if there are none."""
    entries, older = now.get(way.field), then.get(way.field)
    if not isinstance(entries, list) or not isinstance(older, list) or entries[: len(older)] != older:
        return 0, f"{way.field} is not a list that has only grown since version {since}"
    if len(entries) == len(older):
        return 0, f"{way.field} has not grown since version {since}"
    now[way.field] = [*older, *([{"role": "summary", "content": way.summary}] if way.summary else [])]
    return len(entries) - len(older), ""

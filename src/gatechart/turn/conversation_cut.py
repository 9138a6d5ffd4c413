"""What a cut leaves out of an agent's conversations: of a list in its context, and of what its models said."""

from __future__ import annotations

import json
from typing import Any, Final

from gatechart.context import compact_json
from gatechart.escape.calls import CallsMade
from gatechart.escape.scene import Scene
from gatechart.turn.rollback import GoingBack
from gatechart.turn.talk import states_with_talk
from gatechart.values.escapes import CutBlock, CutTalk
from gatechart.values.frozen import replaced, value
from gatechart.values.names import TRAIL, Payload

_TALK_CUT: Final = "what models said out of their conversations"


@value
class Cut:
    """What is left out, and what stays."""

    how: str  # in words, for the history
    entries: int  # left out of the list in the context
    context_text: str  # of the agent without them
    talk: CutTalk | None  # what is left out of conversations with models; None if models said nothing
    calls: CallsMade  # those over which that leads back


async def cut_out(scene: Scene, way: CutBlock, go_back: GoingBack) -> Cut | str:
    """Return what a way leaves out, or why it is closed. go_back: returns the agent as it was at a version."""
    calls, talk = _talk(scene, way)
    if isinstance(talk, str):
        return talk
    # Models were told what the context had as they began to repeat themselves, so only what came later is left out.
    since = way.since if talk is None else _last_before(way)
    text = scene.snapshot.context_text
    now = json.loads(text)
    then = json.loads((await go_back(since)).context_text)
    entries, problem = _leave_out(now, then, way, since)
    if problem and talk is None:
        return problem
    parts = (f"{entries} entries out of {way.field}" if entries else "", _TALK_CUT if talk else "")
    if talk is not None and not entries:  # a summary in the context is heard from there
        talk = replaced(talk, summary=way.summary)
    how = f"leaves {', and '.join(filter(None, parts))}"
    return Cut(how, entries, compact_json(now) if entries else text, talk, calls)


def _talk(scene: Scene, way: CutBlock) -> tuple[CallsMade, CutTalk | str | None]:
    """Return what is left out of conversations with models, with the calls made in it.

    A text says why it must stay; None that models said nothing.
    """
    since = _last_before(way)
    states = states_with_talk(scene.graph)
    told = (each for each in scene.past if each.version > since and each.event.startswith(TRAIL))
    if not any(each.payload.get("state") in states for each in told):
        return CallsMade(()), None
    calls = scene.calls_since(since)
    kept_by = scene.kept_by(since, calls, way.allow)
    if kept_by or calls.undoing:
        return calls, kept_by or f"{calls.undoing[0].tool} would have to take a call back before"
    call = "" if way.call is None else str(way.call.payload.get("call", ""))
    return calls, CutTalk(way.since, scene.snapshot.version, call)


def _last_before(way: CutBlock) -> int:
    """Return the newest version before the block: before its first call, if that was in the state of the agent."""
    return way.since if way.call is None else way.call.version - 1


def _leave_out(now: dict[str, Any], then: Payload, way: CutBlock, since: int) -> tuple[int, str]:
    """Leave out of a context what a list has more than at a version. Return how much, and why it is nothing."""
    entries, older = now.get(way.field), then.get(way.field)
    if not isinstance(entries, list) or not isinstance(older, list) or entries[: len(older)] != older:
        return 0, f"{way.field} is not a list that has only grown since version {since}"
    if len(entries) == len(older):
        return 0, f"{way.field} has not grown since version {since}"
    now[way.field] = [*older, *([{"role": "summary", "content": way.summary}] if way.summary else [])]
    return len(entries) - len(older), ""

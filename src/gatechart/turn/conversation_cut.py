"""Cut a block out of an agent's conversations: entries of a list in its context, and messages of its models."""

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
class ConversationCut:
    """The result of a cut."""

    how: str  # description for the history
    entries: int  # number of entries removed from the list in the context
    context_text: str  # the agent's context without them
    talk: CutTalk | None  # the cut of conversations with models; None if no model took part
    calls: CallsMade  # calls made in the block


async def cut_out(scene: Scene, way: CutBlock, go_back: GoingBack) -> ConversationCut | str:
    """Return the cut for an escape, or why it is not possible. go_back: loads the agent as of a version."""
    calls, talk = _talk(scene, way)
    if isinstance(talk, str):
        return talk
    # Models had seen the context when they began to repeat themselves, so the cut removes only later entries.
    since = way.since if talk is None else _last_before(way)
    text = scene.snapshot.context_text
    now = json.loads(text)
    then = json.loads((await go_back(since)).context_text)
    entries, problem = _leave_out(now, then, way, since)
    if problem and talk is None:
        return problem
    parts = (f"{entries} entries out of {way.field}" if entries else "", _TALK_CUT if talk else "")
    if talk is not None and not entries:  # models read a summary in the context from there
        talk = replaced(talk, summary=way.summary)
    how = f"leaves {', and '.join(filter(None, parts))}"
    return ConversationCut(how, entries, compact_json(now) if entries else text, talk, calls)


def _talk(scene: Scene, way: CutBlock) -> tuple[CallsMade, CutTalk | str | None]:
    """Return the calls made in the block, and the cut of the conversations with models.

    The cut is None if no model took part. If it is not allowed, a text with the reason takes its place.
    """
    since = _last_before(way)
    states = states_with_talk(scene.graph)
    entries = (entry for entry in scene.past if entry.version > since and entry.event.startswith(TRAIL))
    if not any(entry.payload.get("state") in states for entry in entries):
        return CallsMade(()), None
    calls = scene.calls_since(since)
    kept_by = scene.kept_by(since, calls, way.allow)
    if kept_by or calls.undoing:
        return calls, kept_by or f"{calls.undoing[0].tool} would have to undo a call first"
    call = "" if way.call is None else str(way.call.payload.get("call", ""))
    return calls, CutTalk(way.since, scene.snapshot.version, call)


def _last_before(way: CutBlock) -> int:
    """Return the last version before the block: before its first call, if a currently active state made that call."""
    return way.since if way.call is None else way.call.version - 1


def _leave_out(now: dict[str, Any], then: Payload, way: CutBlock, since: int) -> tuple[int, str]:
    """Remove the entries that a list of the context gained since a version. Return their number, or 0 and why."""
    entries, older = now.get(way.field), then.get(way.field)
    if not isinstance(entries, list) or not isinstance(older, list) or entries[: len(older)] != older:
        return 0, f"{way.field} is not a list that has only grown since version {since}"
    if len(entries) == len(older):
        return 0, f"{way.field} has not grown since version {since}"
    now[way.field] = [*older, *([{"role": "summary", "content": way.summary}] if way.summary else [])]
    return len(entries) - len(older), ""

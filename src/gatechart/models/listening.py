"""Update a transcript when its loop begins: add new messages, and replace edited and removed ones."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import count
from typing import Any, Final

from gatechart.handoff.conversation import ConversationContext
from gatechart.hosting.agent_journal import AgentJournal
from gatechart.hosting.media_entries import fetch_missing, message_apart
from gatechart.hosting.tool_records import names_of_calls
from gatechart.hosting.transfers import choice_name
from gatechart.models.entries import Entry, Heard, ModelTurn, messages_of, text_of
from gatechart.models.hearing import SourceMessages, compared
from gatechart.models.loop_terms import LoopTerms
from gatechart.models.transcript import Transcript

logger = logging.getLogger(__name__)

_SUMMARIZED: Final = "message %s of agent %s was edited, but a summary that replaced it may still have its old text"


async def listen(
    journal: AgentJournal,
    transcript: Transcript,
    terms: LoopTerms,
    context: Any,
    rolled_back_at: Callable[[], Awaitable[int]],
) -> None:
    """Update the journal and the transcript by the messages of the context. Raises InvocationOverError.

    rolled_back_at: returns the version of the agent's newest rollback; 0 if there is none. After a rollback, the
    model's turns stay, because their calls were made and the model must know about them.

    Edited and removed messages are replaced in the journal first, so that their old text is gone before the model is
    asked.
    """
    it = journal.invocation
    source = "" if terms.prompt is None else f"{it.state}/{it.invoke}"
    listed = context.messages if isinstance(context, ConversationContext) else None
    told = SourceMessages(source, terms.told_by(context), listed)
    kept: tuple[str, ...] = ()
    hearing = compared(transcript, told)
    if hearing.missing_turns and await rolled_back_at() > journal.earlier_epoch:
        hearing, kept = compared(transcript, replace(told, is_after_rollback=True)), hearing.missing_turns
    for name, entry in hearing.rewritten.items():
        await _rewrite(journal, transcript, name, entry)
    for message_id in hearing.summarized:
        logger.warning(_SUMMARIZED, message_id, it.agent_id)
    if hearing.new or hearing.seen or kept:
        await fetch_missing(journal, hearing.new)
        messages = tuple([await message_apart(journal, each) for each in hearing.new])
        heard = Heard(messages=messages, source=source, seen=hearing.seen, kept=kept)
        name = _free_name(journal, transcript)
        transcript.add(name, await journal.record(name, text_of(name, heard)))


async def _rewrite(journal: AgentJournal, transcript: Transcript, name: str, entry: Entry) -> None:
    """Write an entry with edited messages in its position. Results and records of a turn's calls are forgotten."""
    await fetch_missing(journal, messages_of(entry))
    gone: tuple[str, ...] = ()
    if isinstance(entry, ModelTurn):
        entry = replace(entry, message=await message_apart(journal, entry.message))
        call_ids = {call.id for message in messages_of(transcript.entry(name)) for call in message.tool_calls}
        choices = (choice_name(each) for each in call_ids)
        recorded = tuple(each for each in choices if journal.recorded(each) is not None)
        gone = (*transcript.results_of(entry.number), *names_of_calls(journal, call_ids), *recorded)
    elif isinstance(entry, Heard):
        entry = replace(entry, messages=tuple([await message_apart(journal, each) for each in entry.messages]))
    written = text_of(name, entry)
    await journal.rewrite(name, written, gone)
    transcript.rewrite(name, written, gone)


def _free_name(journal: AgentJournal, transcript: Transcript) -> str:
    """Return a free name for new messages; several entries may have some before the next turn."""
    names = (f"heard.{transcript.turns + 1}.{number}" for number in count())
    return next(name for name in names if journal.recorded(name) is None)

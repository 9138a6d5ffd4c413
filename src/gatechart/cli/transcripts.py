"""The command that shows an agent's journals: the conversation of a model loop, and other recorded entries."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer

from gatechart.cli.completion import AgentArgument
from gatechart.cli.late_imports import late
from gatechart.cli.options import EngineOption, NamespaceOption, ServerOption, Settings
from gatechart.cli.output import Document, emit, print_facts, print_hint, print_line, print_table
from gatechart.drawing.text import visible
from gatechart.values.commits import CONVERSATION, JournalEntry

if TYPE_CHECKING:
    from gatechart.api.home import AgentHome
    from gatechart.cli import connection, handoff_views
    from gatechart.handoff import media
    from gatechart.models import transcript
    from gatechart.models.transcript import Transcript
else:
    connection, handoff_views, transcript, media = late(
        "gatechart.cli.connection",
        "gatechart.cli.handoff_views",
        "gatechart.models.transcript",
        "gatechart.handoff.media",
    )

_PAGE: Final = 200
_LONGEST: Final = 200  # characters of an entry in a table
JournalOption = Annotated[str, typer.Option("--journal", metavar="NAME", help="The name of the loop's journal.")]


async def show_transcript(
    settings: Settings,
    agent: AgentArgument,
    journal: JournalOption = CONVERSATION,
    server: ServerOption = None,
    engine: EngineOption = None,
    namespace: NamespaceOption = "",
) -> None:
    """Show the transcript of an agent's model loops: messages, calls with their results, and usage.

    The command also lists what functions recorded with `work.for_agent`. Secrets are masked. Works without an app.

    Examples:
      gatechart transcript case-1
      gatechart transcript case-1 --journal onboarding --json
      gatechart transcript case-1 --server http://127.0.0.1:8000
    """
    async with connection.looked_at(settings, server, engine, namespace) as home:
        entries = await _entries(home, agent, journal)
    conversation = transcript.Transcript({each.name: json.dumps(each.content) for each in entries})
    others = {entry.name: entry.content for entry in entries if entry.name not in conversation.names}
    document = {
        "agent_id": agent,
        "journal": journal,
        "messages": [media.without_bytes(each).model_dump(mode="json") for each in conversation.messages],
        "usage": asdict(conversation.usage),
        "steps": others,
    }
    emit(settings, document, partial(_print, journal, conversation, others))


async def _entries(home: AgentHome, agent_id: str, journal: str) -> list[JournalEntry]:
    """Read all pages of a journal."""
    entries: list[JournalEntry] = []
    while page := await home.journal(agent_id, journal, after=entries[-1].name if entries else None, limit=_PAGE):
        entries += page
        if len(page) < _PAGE:
            break
    return entries


def _print(journal: str, conversation: Transcript, others: Document) -> None:
    if not conversation.names and not others:
        print_hint(f"the journal {journal!r} is empty; name another one with --journal")
        return
    if conversation.names:
        handoff_views.print_conversation(conversation.messages)
        print_line()
        print_facts(_usage(conversation))
    print_table(("STEP", "RESULT"), [(visible(name), _short(content)) for name, content in others.items()])


def _usage(conversation: Transcript) -> Sequence[tuple[str, str]]:
    used: Mapping[str, float] = asdict(conversation.usage)
    return [(name.replace("_", " "), f"{number:,}") for name, number in used.items() if number]


def _short(content: object) -> str:
    text = visible(json.dumps(content, ensure_ascii=False))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"

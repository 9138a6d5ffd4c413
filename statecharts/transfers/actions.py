"""Guards and actions of both charts."""

from __future__ import annotations

from gatechart import Event, Refused
from statecharts.transfers.context import Research, Review


def has_findings(context: Research, _event: Event) -> bool | Refused:
    """Whether there is anything to write about."""
    return bool(context.findings) or Refused("nothing was found yet")


def findings_so_far(context: Research) -> str:
    """Say how far the research is."""
    return f"{len(context.findings)} findings on {context.question!r}"


def keep_finding(context: Research, event: Event) -> None:
    """Keep what was found."""
    context.findings.append(event.payload["result"])


def keep_gap(context: Research, event: Event) -> None:
    """Keep why the model wants more."""
    context.gap = event.payload["arguments"]["reason"]


def keep_document(context: Research, event: Event) -> None:
    """Keep the document."""
    context.document = event.payload["result"]


def is_readable(context: Review, _event: Event) -> bool | Refused:
    """Whether there is a text at all."""
    return bool(context.text.strip()) or Refused("the draft is empty")


def keep_remark(context: Review, event: Event) -> None:
    """Keep what is to be fixed."""
    context.remarks.append(event.payload["arguments"]["reason"])


def keep_draft(context: Review, event: Event) -> None:
    """Keep the draft that was fixed."""
    context.text = event.payload["result"]


def replace_draft(context: Review, event: Event) -> None:
    """Take another draft, whose author has changed it."""
    context.text = event.payload["text"]

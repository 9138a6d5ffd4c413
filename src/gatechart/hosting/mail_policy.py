"""What becomes of mail after a refusal, a failure or an answer."""

from __future__ import annotations

from gatechart.values import Event, Outcome, Status


def unchanged(event: Event) -> Outcome:
    """The outcome of mail about a handoff that was answered without a turn."""
    return Outcome(event.name, (), 0, Status.ACTIVE)

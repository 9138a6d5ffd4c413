"""What a replay of conversations with several services came to, as a value and as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gatechart.handoff import Mode
from gatechart.results import HandoffRecord
from statecharts.service_desk.moves.owners import Ledger, accepted
from statecharts.service_desk.moves.replay import Played
from statecharts.service_desk.report import Refused, Report, Unplayed, details


@dataclass(frozen=True, slots=True)
class Kind:
    """Handoffs that are alike."""

    entry_point: str
    mode: str
    target: str  # a new agent, or a living one
    outcome: str


@dataclass(frozen=True, slots=True)
class MovesReport(Report):
    """What all conversations came to."""

    conversations: int
    acts: int
    moves: int
    returns: int
    failures: int
    with_person: int
    calls: int
    calls_foreseen: int
    handoffs: tuple[tuple[Kind, int], ...]
    refused_acts: tuple[tuple[Refused, int], ...]
    problems: tuple[str, ...]  # with the ownership of conversations
    ends: tuple[tuple[str, int], ...] = ()  # the states in which the last owners ended
    events: int = 0  # what was said and not refused
    took_s: float = 0.0

    @property
    def refused_share(self) -> float:
        """The refused acts and the rejected handoffs among all acts, from 0 to 1."""
        rejected = sum(count for kind, count in self.handoffs if kind.outcome != "completed")
        return (sum(count for _, count in self.refused_acts) + rejected) / self.acts if self.acts else 0.0


def kind_of(handoff: HandoffRecord) -> Kind:
    """Classify a handoff for the report."""
    target = "new" if handoff.is_new else "living"
    return Kind(handoff.entry_point, handoff.mode.value, target, handoff.status.value)


def report_of(
    played: Sequence[Played], kept: Sequence[Ledger], took_s: float = 0.0, unplayed: Sequence[Unplayed] = ()
) -> MovesReport:
    """Add up the results of single conversations and what the store keeps of them."""
    ledgers = {each.root: each for each in kept}
    total = Counter[str]()
    for name in ("acts", "moves", "returns", "failures", "calls", "calls_foreseen"):
        total[name] = sum(getattr(one, name) for one in played)
    helped = [each for one in kept for each in one.handoffs if each.mode is Mode.DELEGATE and accepted(each)]
    return MovesReport(
        **{"conversations": len(played), "with_person": len(helped), **total},
        handoffs=tuple(Counter(kind_of(each) for one in kept for each in one.handoffs).most_common()),
        refused_acts=tuple(Counter(refused for one in played for refused in one.refused).most_common()),
        problems=tuple(text for one in played for text in ledgers[one.id].problems(one.heard)),
        ends=tuple(Counter(one.ended_in for one in played).most_common()),
        events=sum(len(one.heard) for one in played),
        took_s=took_s,
        unplayed=tuple(unplayed),
        first_in={refused: one.id for one in reversed(played) for refused in one.refused},
    )


def tables(report: MovesReport) -> RenderableType:
    """Render the report for people."""
    summary = Table("replay", "", title="Conversations that use several services", title_justify="left")
    summary.columns[1].justify = "right"
    summary.add_row("conversations", f"{report.conversations:,}")
    for name, count in report.ends:
        summary.add_row(f"  ended in {name}", f"{count:,}")
    summary.add_row("acts", f"{report.acts:,}")
    summary.add_row("moves between services", f"{report.moves:,}")
    summary.add_row("  back to one that had it before", f"{report.returns:,}")
    summary.add_row("failed calls", f"{report.failures:,}")
    summary.add_row("  not tried again, so given to a person", f"{report.with_person:,}")
    summary.add_row("calls of services, as recorded", f"{report.calls:,}")
    summary.add_row("  for which the agent was ready", f"{report.calls_foreseen:,}")
    summary.add_row("refused acts and handoffs", f"{report.refused_share:.2%}")
    summary.add_row("turns without exactly one owner", f"{len(report.problems):,}")
    if report.took_s:
        summary.add_row("events per second", f"{report.events / report.took_s:,.0f}")
    doors = Table("entry point", "mode", "agent", "outcome", "times", title="Handoffs", title_justify="left")
    doors.columns[4].justify = "right"
    for kind, count in report.handoffs:
        doors.add_row(kind.entry_point, kind.mode, kind.target, kind.outcome, f"{count:,}")
    return Group(
        summary, doors, *details(report.refused_acts, report.first_in, report.unplayed), *map(Text, report.problems)
    )

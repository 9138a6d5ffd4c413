"""What a replay came to, as values and as tables for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from rich.console import Group, RenderableType
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Refused:
    """An act that the chart did not take, and the state that the agent was in."""

    state: str
    act: str  # speaker and act, as "user SELECT"
    reason: str


@dataclass(frozen=True, slots=True)
class Unplayed:
    """A conversation, or a line of the file, that could not be played."""

    conversation: str
    problem: str


@dataclass(frozen=True, slots=True)
class Played:
    """What one conversation came to."""

    conversation: str
    entry_point: str
    acts: int  # the one that opened the entry point included
    events: int  # the other acts, the calls, and the turns in which they come
    refused: tuple[Refused, ...]
    calls: int  # of the service, as recorded
    calls_foreseen: int  # those that the agent took: it knew every parameter
    ended_in: str


@dataclass(frozen=True, slots=True)
class Report:
    """What every replay tells."""

    unplayed: tuple[Unplayed, ...] = field(default=(), kw_only=True)
    first_in: Mapping[Refused, str] = field(
        default_factory=dict, kw_only=True
    )  # the conversation that refused it first


@dataclass(frozen=True, slots=True)
class ReplayReport(Report):
    """What all conversations of a replay came to. Pairs of a name and a count have the largest count first."""

    conversations: int
    acts: int
    events: int  # what was sent
    entry_points: tuple[tuple[str, int], ...]
    ends: tuple[tuple[str, int], ...]  # the states in which the conversations ended
    refusals: tuple[tuple[Refused, int], ...]
    calls: int
    calls_foreseen: int
    took_s: float

    @classmethod
    def of(cls, played: Sequence[Played], took_s: float, unplayed: Sequence[Unplayed] = ()) -> Self:
        """Add up the results of single conversations."""
        return cls(
            conversations=len(played),
            acts=sum(one.acts for one in played),
            events=sum(one.events for one in played),
            entry_points=tuple(Counter(one.entry_point for one in played).most_common()),
            ends=tuple(Counter(one.ended_in for one in played).most_common()),
            refusals=tuple(Counter(refused for one in played for refused in one.refused).most_common()),
            calls=sum(one.calls for one in played),
            calls_foreseen=sum(one.calls_foreseen for one in played),
            took_s=took_s,
            unplayed=tuple(unplayed),
            first_in={refused: one.conversation for one in reversed(played) for refused in one.refused},
        )

    @property
    def refused(self) -> int:
        """How much the chart did not take: acts, calls and turns."""
        return sum(count for _, count in self.refusals)

    @property
    def refused_share(self) -> float:
        """What was refused for each act, from 0 on."""
        return self.refused / self.acts if self.acts else 0.0

    @property
    def events_per_s(self) -> float:
        """Events sent per second, committed ones and refused ones."""
        return self.events / self.took_s if self.took_s else 0.0


def tables(report: ReplayReport) -> RenderableType:
    """Render the report for people: what was played, and the acts that were refused, if any."""
    summary = Table("replay", "", title="Conversations through the service desk", title_justify="left")
    summary.columns[1].justify = "right"
    summary.add_row("conversations, one agent each", f"{report.conversations:,}")
    for name, count in report.entry_points:
        summary.add_row(f"  entered at {name}", f"{count:,}")
    for name, count in report.ends:
        summary.add_row(f"  ended in {name}", f"{count:,}")
    summary.add_row("acts", f"{report.acts:,}")
    summary.add_row("events", f"{report.events:,}")
    summary.add_row("refused", f"{report.refused:,} ({report.refused_share:.2%})")
    summary.add_row("calls of services, as recorded", f"{report.calls:,}")
    summary.add_row("  for which the agent was ready", f"{report.calls_foreseen:,}")
    summary.add_row("events per second", f"{report.events_per_s:,.0f}")
    return Group(summary, *details(report.refusals, report.first_in, report.unplayed))


def details(
    refusals: Sequence[tuple[Refused, int]], first_in: Mapping[Refused, str], unplayed: Sequence[Unplayed]
) -> Iterator[Table]:
    """Describe what went wrong, for people; empty if nothing did."""
    if refusals:
        table = Table("state", "act", "reason", "times", "first in", title="Refused", title_justify="left")
        table.columns[3].justify = "right"
        for refused, count in refusals:
            table.add_row(refused.state, refused.act, refused.reason, f"{count:,}", first_in.get(refused, ""))
        yield table
    if unplayed:
        table = Table("conversation", "problem", title="Not played", title_justify="left")
        for each in unplayed:
            table.add_row(each.conversation, each.problem)
        yield table

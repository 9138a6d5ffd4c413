"""What became of tasks: each alone, all together, and as tables for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table

from gatechart.values.frozen import value

RESOLVED, TRANSFERRED = "RESOLVED", "TRANSFERRED"


@value
class Scored:
    """What became of one task."""

    task: str
    topic: str
    is_repairable: bool
    ended_in: str
    because: str  # of the transfer; empty if there was none
    holds: bool  # what must hold in the end
    gold: int  # actions of one way to repair it
    gold_made: int  # of these
    beyond_gold: int  # changes that are none of these
    uses: int  # of tools that answered
    failures: int  # of tools

    @property
    def is_right(self) -> bool:
        """Whether it was repaired if it can be, or else handed to a person, and what must hold holds."""
        return self.holds and self.ended_in == (RESOLVED if self.is_repairable else TRANSFERRED)

    @property
    def is_needless_transfer(self) -> bool:
        """Whether a person got what the support can repair."""
        return self.is_repairable and self.ended_in != RESOLVED


@value
class Score:
    """What became of all tasks."""

    scored: tuple[Scored, ...]
    took_s: float

    @property
    def right(self) -> float:
        """Share of the tasks that are right, from 0 to 1."""
        return _share(sum(each.is_right for each in self.scored), len(self.scored))

    @property
    def needless(self) -> float:
        """Share of the tasks that can be repaired and went to a person, from 0 to 1."""
        repairable = sum(each.is_repairable for each in self.scored)
        return _share(sum(each.is_needless_transfer for each in self.scored), repairable)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def tables(score: Score) -> RenderableType:
    """Render a score for people: what became of the tasks, by topic, and what went wrong, if anything did."""
    return Group(_summary(score), *_wrong(score.scored))


def _summary(score: Score) -> Table:
    all_of = score.scored
    repairable = [each for each in all_of if each.is_repairable]
    table = Table("telecom support", "", title="Tickets through the technical support", title_justify="left")
    table.columns[1].justify = "right"
    table.add_row("tasks", f"{len(all_of):,}")
    table.add_row("right", _of(sum(each.is_right for each in all_of), len(all_of)))
    for topic in sorted({each.topic for each in all_of}):
        about = [each for each in all_of if each.topic == topic]
        table.add_row(f"  about {topic or 'nothing known'}", _of(sum(each.is_right for each in about), len(about)))
    table.add_row("repaired, of those that can be", _of(sum(each.is_right for each in repairable), len(repairable)))
    for_people = [each for each in all_of if not each.is_repairable]
    table.add_row("handed over, of the others", _of(sum(each.is_right for each in for_people), len(for_people)))
    table.add_row("needless transfers", _of(sum(each.is_needless_transfer for each in all_of), len(repairable)))
    table.add_row("gold actions made", _of(sum(each.gold_made for each in all_of), sum(each.gold for each in all_of)))
    table.add_row("changes beyond gold, where repaired", f"{sum(each.beyond_gold for each in repairable):,}")
    uses, failures = sum(each.uses for each in all_of), sum(each.failures for each in all_of)
    table.add_row("uses of tools that failed", _of(failures, uses + failures))
    table.add_row("tasks per second", f"{len(all_of) / score.took_s:,.0f}" if score.took_s else "")
    return table


def _of(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,}" + (f" ({part / whole:.2%})" if whole else "")


def _wrong(scored: Sequence[Scored]) -> Iterator[Table]:
    """Describe the tasks that are not right, those that went alike in one row."""
    wrong = [each for each in scored if not each.is_right]
    if not wrong:
        return
    table = Table("ended in", "because", "must be", "times", "first", title="Not right", title_justify="left")
    table.columns[3].justify, table.columns[4].overflow = "right", "fold"
    first = {_kind(each): each.task for each in reversed(wrong)}
    for kind, times in Counter(map(_kind, wrong)).most_common():
        table.add_row(*kind, f"{times:,}", first[kind])
    yield table


def _kind(wrong: Scored) -> tuple[str, str, str]:
    return wrong.ended_in, wrong.because, "repaired" if wrong.is_repairable else "handed over"

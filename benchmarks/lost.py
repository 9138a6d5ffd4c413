"""What gatechart and LangGraph lose of a conversation that is handed on while something goes wrong.

Each life is a process of its own with a database on disk, and dies by SIGKILL. Two tables: one of all points at which
the process can die, counted by what was found amiss afterwards, one of what else can happen.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.databases import DISK
from benchmarks.faults import AGENTS, FIRST, HURRY, NEXT, SECOND, WISH, Ended, Findings, World, answer_to, run
from benchmarks.rounds import tell

LIBRARIES = {"gatechart": "benchmarks.lost_gatechart", "LangGraph": "benchmarks.lost_langgraph"}
SCENARIOS = {
    "declines": "the target declines",
    "raises": "the target fails as it takes over",
    "nowhere": "there is no such target",
    "fails": "the target's work fails",
    "two at once": "two messages at once",
    "ping-pong": "each hands on to the other",
}
WHO_GOES_ON = {False: "resumed as documented", True: "the person writes first"}

ASPECTS: Mapping[str, Callable[[Findings], bool]] = {
    "refunds does not own the conversation": lambda found: found.owner != "refunds",
    "the wish was taken down, and is gone": lambda found: WISH not in found.messages,
    "a message stands twice": lambda found: any(found.messages.count(text) > 1 for text in (FIRST, SECOND, WISH, NEXT)),
    "the wish has no answer": lambda found: answer_to(WISH, found.messages) != "refunds",
    "the wish is answered twice": lambda found: len(_answers(found, WISH, NEXT)) > 1,
    "the next message has no answer": lambda found: found.next_answer not in AGENTS,
    "orders' effect was not done": lambda found: "orders" not in found.effects,
    "orders' effect was done twice": lambda found: found.effects.count("orders") > 1,
    "refunds' effect was not done": lambda found: "refunds" not in found.effects,
    "refunds' effect was done twice": lambda found: found.effects.count("refunds") > 1,
    "somebody had to find and resume it": lambda found: found.was_resumed,
    "... though it looked as if it was done": lambda found: found.looked_done,
    "the person had to say it again": lambda found: found.was_said_again,
}


@dataclass(frozen=True)
class Matrix:
    """What was found after a kill at each point."""

    library: str
    is_impatient: bool
    points: tuple[str, ...]
    found: tuple[Findings, ...]

    @property
    def amiss(self) -> Mapping[str, int]:
        """At how many points, for each aspect."""
        return Counter(aspect for found in self.found for aspect, is_so in ASPECTS.items() if is_so(found))


def main() -> int:
    """0, whatever was found."""
    asked = _arguments()
    matrices = [
        _matrix(library, is_impatient=is_impatient, every=asked.every)
        for is_impatient in WHO_GOES_ON
        for library in asked.of
    ]
    others = {scenario: {library: _other(library, scenario) for library in asked.of} for scenario in SCENARIOS}
    print(json.dumps(_as_json(matrices, others), indent=2) if asked.json else _as_text(matrices, others))
    return 0


def _matrix(library: str, *, is_impatient: bool, every: int) -> Matrix:
    """Kills a process at every point, or every so many."""
    undisturbed = _lives(library, World(Path(), "transfer", is_matrix=True))
    points = undisturbed[0].points
    found = []
    for at in range(1, len(points) + 1, every):
        tell(f"{library}, {WHO_GOES_ON[is_impatient]}: killed at {at} of {len(points)}, {points[at - 1]}")
        ends = _lives(library, World(Path(), "transfer", at, is_matrix=True, is_impatient=is_impatient))
        if ends[0].was_killed:  # threads need not come by all points in the same order
            found.append(Findings(**ends[1].seen))
    tell(f"{library}, {WHO_GOES_ON[is_impatient]}: killed {len(found)} times", stays=True)
    return Matrix(library, is_impatient, points, tuple(found))


def _other(library: str, scenario: str) -> Findings:
    tell(f"{library}: {SCENARIOS[scenario]}", stays=True)
    [end] = _lives(library, World(Path(), scenario))
    return Findings(**end.seen)


def _lives(library: str, world: World) -> Sequence[Ended]:
    """The process, and the one that goes on where it was killed."""
    module = import_module(LIBRARIES[library])  # a child that is forked need not do it again
    with TemporaryDirectory(prefix="gatechart-lost-", dir=DISK) as folder:
        world.folder = Path(folder)
        first = run(module.live, world)
        return (first, run(module.go_on, world.revived())) if first.was_killed else (first,)


def _answers(found: Findings, text: str, end: str) -> Sequence[str]:
    """The answers between two messages."""
    begin, stop = _index(found, text), _index(found, end)
    return [each for each in found.messages[begin:stop] if each in AGENTS]


def _as_json(matrices: Sequence[Matrix], others: Mapping[str, Mapping[str, Findings]]) -> dict[str, Any]:
    return {
        "killed": [
            {
                "library": matrix.library,
                "then": WHO_GOES_ON[matrix.is_impatient],
                "kills": len(matrix.found),
                "amiss": dict(matrix.amiss),
                "points": matrix.points,
                "found": [asdict(found) for found in matrix.found],
            }
            for matrix in matrices
        ],
        "others": {
            scenario: {library: asdict(found) for library, found in each.items()} for scenario, each in others.items()
        },
    }


def _as_text(matrices: Sequence[Matrix], others: Mapping[str, Mapping[str, Findings]]) -> str:
    heads = [
        ("", *(matrix.library for matrix in matrices)),
        ("", *(WHO_GOES_ON[each.is_impatient] for each in matrices)),
    ]
    kills = ("killed at so many points", *(str(len(matrix.found)) for matrix in matrices))
    amiss = [(aspect, *(str(matrix.amiss[aspect] or "-") for matrix in matrices)) for aspect in ASPECTS]
    titles = ("", "", "owner", "wish answered by", "next message", "lost", "effects", "sender of the wish")
    rows = [
        ("" if number else SCENARIOS[scenario], library, *_cells(scenario, found))
        for scenario, each in others.items()
        for number, (library, found) in enumerate(each.items())
    ]
    return "\n".join(
        ("Killed by SIGKILL at every point", "", *_table([*heads, kills, *amiss]), "", *_table([titles, *rows]))
    )


def _cells(scenario: str, found: Findings) -> Sequence[str]:
    said = (FIRST, SECOND, WISH, *([HURRY] if scenario == "two at once" else []), NEXT)
    done = Counter(found.effects)
    return (
        found.owner,
        answer_to(WISH, found.messages[: _index(found, NEXT)]) or "nobody",
        found.next_answer or "nobody",
        ", ".join(repr(text) for text in said if text not in found.messages) or "-",
        ", ".join(f"{count} × {who}" for who, count in done.items()),
        found.told or "told nothing amiss",
    )


def _index(found: Findings, text: str) -> int:
    return found.messages.index(text) if text in found.messages else len(found.messages)


def _table(rows: Sequence[Sequence[str]]) -> Sequence[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lost", description=__doc__)
    parser.add_argument("--of", choices=LIBRARIES, nargs="+", default=list(LIBRARIES), help="all, if left out")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="kill at every N-th point only")
    parser.add_argument("--json", action="store_true", help="all findings as JSON on standard output")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

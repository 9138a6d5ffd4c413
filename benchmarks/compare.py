"""Compare this checkout with another one, on one machine: `python -m benchmarks.compare OTHER_CHECKOUT`.

Both take turns, a round of each measure at a time, in child processes that are new for each round, so that the noise of
a machine hits both alike. Figures are medians of the rounds, in microseconds of the processor (all threads) and of the
clock. The ratio is the median of those within a round: 1.10 means that this checkout does a tenth more in the same
time. The spread is that of the ratios, from the lowest quarter to the highest.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from typing import IO

from benchmarks.checkout import HERE, command, environment

IMPORT = "import gatechart"
SIDES = ("other", "this")
CLOCKS = ("cpu", "wall")


@dataclass(frozen=True, slots=True)
class Child:
    """A process that measures when it is told to."""

    asking: IO[str]
    answering: IO[str]

    def ask(self, measure: str) -> dict[str, float]:
        """The seconds of a round."""
        self.asking.write(f"{measure}\n")
        self.asking.flush()
        return self.next()

    def next(self) -> dict[str, float]:
        line = self.answering.readline()
        if not line:
            raise SystemExit("a child failed, see above")
        return json.loads(line)


@dataclass(slots=True)
class Figures:
    """The seconds of one measure, by side and clock, a round each."""

    seconds: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, side: str, told: Mapping[str, float]) -> None:
        for clock in CLOCKS:
            self.seconds[side, clock].append(told[clock])

    def median_us(self, side: str, clock: str) -> float:
        return 1e6 * median(self.seconds[side, clock])

    def ratios(self, clock: str) -> Sequence[float]:
        pairs = zip(self.seconds["other", clock], self.seconds["this", clock], strict=True)
        return [other / this for other, this in pairs]


@contextmanager
def child(variables: Mapping[str, str]) -> Iterator[Child]:
    with subprocess.Popen(
        command("benchmarks.compared"), env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Child(process.stdin, process.stdout)
        process.stdin.close()


def compared(other: Path, this: Path, measures: Sequence[str], rounds: int) -> dict[str, Figures]:
    found: dict[str, Figures] = defaultdict(Figures)
    with environment(other) as theirs, environment(this) as ours:
        for number in range(rounds):
            print(f"round {number + 1} of {rounds}", file=sys.stderr)
            with ExitStack() as opened:
                children = {
                    side: opened.enter_context(child(variables))
                    for side, variables in zip(SIDES, (theirs, ours), strict=True)
                }
                for side, one in children.items():
                    found[IMPORT].add(side, one.next())
                for index, measure in enumerate(measures):
                    for side in SIDES if (number + index) % 2 else SIDES[::-1]:
                        found[measure].add(side, children[side].ask(measure))
    return found


def table(found: Mapping[str, Figures]) -> str:
    head = f"{'':40} {'processor, µs':^34} {'clock, µs':^34}"
    names = f"{'':40} " + " ".join(f"{'other':>8} {'this':>8} {'ratio':>6} {'spread':>9}" for _ in CLOCKS)
    return "\n".join((head, names, *(line(name, figures) for name, figures in found.items())))


def line(name: str, figures: Figures) -> str:
    return f"{name:40} " + " ".join(columns(figures, clock) for clock in CLOCKS)


def columns(figures: Figures, clock: str) -> str:
    ratios = figures.ratios(clock)
    low, _, high = quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else (ratios[0],) * 3
    medians = (f"{figures.median_us(side, clock):8,.0f}" for side in SIDES)
    return f"{' '.join(medians)} {median(ratios):6.2f} {f'{low:.2f}…{high:.2f}':>9}"


def main() -> int:
    from benchmarks.compared import MEASURES  # noqa: PLC0415  only a child is to be slow to begin

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", type=Path, help="the checkout to compare with")
    parser.add_argument("measures", nargs="*", metavar="measure", help="a part of the names of those to run")
    parser.add_argument("--this", type=Path, default=HERE, help="the checkout to judge, instead of this one")
    parser.add_argument("--rounds", type=int, default=9)
    asked = parser.parse_args()
    chosen = [name for name in MEASURES if not asked.measures or any(part in name for part in asked.measures)]
    print(table(compared(asked.other, asked.this, chosen, asked.rounds)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The texts of all faults that a bad chart gets, pinned in a file: `python -m tests.charts.pinned` writes it anew.

pins/inputs.txt has the bad charts, each after a line `=== kind name`; `bad_definitions` has those that only code can
make. pins/faults.txt has the faults of each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from gatechart.charts import load
from gatechart.contrib.scxml import read
from gatechart.errors import GatechartError
from gatechart.graph.handoff import Handoff
from tests.charts import bad_definitions, functions

PINS: Final = Path(__file__).parent / "pins"
FAULTS: Final = PINS / "faults.txt"
MARK: Final = "=== "
MOST_PINNED: Final = 20  # faults of one chart
LONGEST: Final = 500  # characters of a fault
LONG: Final = {
    "DEEP": "[" * 3_000,
    "LONG": "x" * 70_000,
    "EXPRESSION": "x" * 1_001,
    "MANY": " ".join(f"s{number}" for number in range(40)),
    "SIGNS": "!" * 200,
    "DIGITS": "9" * 300,
    "JOINED": f"['{'x' * 300_000}', '{'x' * 300_000}', '{'x' * 300_000}', '{'x' * 300_000}']",
    "DEPTH": "[" * 200 + "]" * 200,
    "POWER": "9" * 200 + " * " + "9" * 200,
}
"""What stands for a text that is too long to write down."""


def yields(context: Any, event: Any) -> Iterator[None]:
    yield


BOUND: Final = [{"ask": Handoff("b", at="C"), "Data": functions.Case, "answer": 42, "yields": yields}, functions]


def inputs() -> dict[str, str]:
    """Each bad chart by its kind and name."""
    found: dict[str, str] = {}
    for part in (PINS / "inputs.txt").read_text(encoding="utf-8").split(f"\n{MARK}"):
        name, _, text = part.removeprefix(MARK).partition("\n")
        assert name not in found, name
        found[name] = f"{text}\n" if text else ""
    return found


def loading(name: str, text: str) -> Callable[[], Any]:
    """What reads the chart, by its kind: the first word of its name."""
    for short, long in LONG.items():
        text = text.replace(short, long)
    match name.partition(" ")[0]:
        case "scxml":
            return partial(read, text)
        case "xstate":
            return partial(load, text.encode(), bind=BOUND, dialect="xstate")
        case _:
            return partial(load, text.encode(), bind=BOUND)


def faults_of(make: Callable[[], Any], most: int = MOST_PINNED) -> list[str]:
    """Each fault as a line; what is longer than a pin should be ends with its number of characters."""
    try:
        make()
    except GatechartError as error:
        texts = [str(fault).replace("\n", "\\n") for fault in error.faults]  # type: ignore[attr-defined]
    else:
        return ["(none)"]
    rest = [f"... and {len(texts) - most} more"] if len(texts) > most else []
    return [_shortened(text) for text in texts[:most]] + rest


def _shortened(text: str) -> str:
    plain = text.encode("ascii", "backslashreplace").decode() if not text.isprintable() else text
    plain = re.sub(r"0x[0-9a-f]{6,}", "0x...", plain)
    plain = re.sub(r"'GC\d+'(, 'GC\d+')+( and \d+ more)?", "(all codes)", plain)  # a new check changes no text
    return plain if len(plain) <= LONGEST else f"{plain[:LONGEST]}... ({len(plain)} characters)"


def told() -> dict[str, list[str]]:
    """The faults of every bad chart and definition, by its name."""
    makes = {name: loading(name, text) for name, text in inputs().items()} | bad_definitions.definitions()
    return {
        name: faults_of(make, most=2 if name.startswith("hostile") else MOST_PINNED) for name, make in makes.items()
    }


def pinned() -> dict[str, list[str]]:
    """What the file says."""
    found: dict[str, list[str]] = {}
    for line in FAULTS.read_text(encoding="utf-8").splitlines():
        if line.startswith("    "):
            found[next(reversed(found))].append(line.strip())
        else:
            found[line] = []
    return found


def main() -> None:
    """Write the pins anew."""
    blocks = ("\n".join([name, *(f"    {fault}" for fault in faults)]) for name, faults in told().items())
    FAULTS.write_text("\n".join(blocks) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

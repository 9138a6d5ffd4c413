# ruff: noqa: T201  it prints the rates
"""The conformance tests of CEL: `python -m tests.charts.conformance` prints how many pass in each section.

CEL_CASES names another file of cases, in the same form: `expr`, `bindings`, and `value` or `error`.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from gatechart.chartfiles.cel import Cel, compiled
from gatechart.chartfiles.cel.program import ERRORS
from gatechart.chartfiles.cel.times import read_timestamp
from gatechart.chartfiles.cel.values import exported, imported

CASES = Path(os.environ.get("CEL_CASES") or Path(__file__).parents[3] / "shared" / "data" / "cel" / "cases.jsonl")

NOT_FOR_GUARDS = {
    "self_eval_qualified_lookup",  # binds a name with a dot, but a guard has `context` and `event` alone
    "triple_single_quoted_unescaped_punctuation",  # its recorded value has a backslash that the expression lacks
}


@dataclass(frozen=True)
class Verdict:
    """What became of a case. answer: the value or the error."""

    section: str
    name: str
    expression: str
    passes: bool
    answer: Any
    faults: tuple[str, ...]  # on loading


def verdicts() -> Iterator[Verdict]:
    for line in CASES.read_text("utf-8").splitlines():
        case = json.loads(line)
        bindings = {name: imported(decoded(value)) for name, value in case["bindings"].items()}
        try:
            answer = Cel(case["expr"]).result(bindings)
        except ERRORS as error:
            answer = error
        is_error = isinstance(answer, Exception)
        passes = is_error if "error" in case else not is_error and is_same(answer, decoded(case["value"]))
        section, name = f"{case['file']} {case['section']}", case["test"]
        yield Verdict(section, name, case["expr"], passes, answer, load_faults(case["expr"]))


def load_faults(expression: str) -> tuple[str, ...]:
    """Faults on loading that are not due to the names, results and patterns that guards restrict further."""
    allowed = ("unknown variable", "unknown function", "its value is of type", "the pattern of `matches`")
    _, faults = compiled(expression, is_guard=False)
    return tuple(fault.problem for fault in faults if not fault.problem.startswith(allowed))


def decoded(value: Any) -> Any:
    match value:
        case {"double": text}:
            return float(text)
        case {"map": entries}:
            return {decoded(key): decoded(item) for key, item in entries}
        case {"duration_s": seconds}:
            return timedelta(seconds=seconds)
        case {"timestamp": text}:
            return exported(read_timestamp(text))
        case {"bytes": text}:
            return bytes.fromhex(text)
        case list():
            return [decoded(item) for item in value]
    return value


def is_same(answer: Any, expected: Any) -> bool:
    if type(answer) is not type(expected):
        return False
    match expected:
        case float() if math.isnan(expected):
            return math.isnan(answer)
        case list():
            return len(answer) == len(expected) and all(map(is_same, answer, expected))
        case dict():
            return answer.keys() == expected.keys() and all(is_same(answer[key], expected[key]) for key in expected)
    return bool(answer == expected)


def main() -> None:
    every = list(verdicts())
    for section in dict.fromkeys(verdict.section for verdict in every):
        passed = [verdict.passes for verdict in every if verdict.section == section]
        print(f"{sum(passed):4} of {len(passed):4}  {section}")
    print(f"{sum(verdict.passes for verdict in every)} of {len(every)} pass")
    for verdict in every:
        if not verdict.passes or (verdict.faults and not isinstance(verdict.answer, Exception)):
            print(f"{verdict.section} {verdict.name}: {verdict.expression} -> {verdict.answer!r}", *verdict.faults)


if __name__ == "__main__":
    main()

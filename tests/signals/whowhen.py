"""Real circles: ledgers in which an orchestrator says whether its team goes round in circles, and the steps before.

Who&When, Zhang et al., ICML 2025: recorded runs of agents that failed. The labels are those of the orchestrator's own
model, so they are noisy. A step is what a worker was asked for, and what came back.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from gatechart.values.trail import LONGEST_TOLD, Reasoned
from tests.skipped import LOUD

RUNS: Final = Path(__file__).parents[3] / "shared" / "data" / "whowhen" / "runs.jsonl.gz"
_LABEL: Final = re.compile(r'"is_in_loop": \{.*?"answer": (true|false)', re.DOTALL)  # some are no valid JSON
_NEXT: Final = re.compile(r'"instruction_or_question": \{.*?"answer": ("(?:[^"\\]|\\.)*")', re.DOTALL)
_ASKED: Final = "Orchestrator (-> "
_WORKERS: Final = ("WebSurfer", "FileSurfer", "Assistant", "ComputerTerminal")


@dataclass(frozen=True)
class Ledger:
    """What the orchestrator says after some steps."""

    run: str
    in_circle: bool
    steps: tuple[Reasoned, ...]  # each action with what came of it
    next_action: str

    @property
    def turns(self) -> tuple[Reasoned, ...]:
        """The same as turns: what came in, and the action that it led to."""
        actions = [*(each.action for each in self.steps), self.next_action]
        outcomes = ["", *(each.outcome for each in self.steps)]
        return tuple(Reasoned(*each) for each in zip(actions, outcomes, strict=True))


def ledgers() -> list[Ledger]:
    """The ledgers of the runs with such an orchestrator; skips the test where there are none on this machine."""
    if not RUNS.exists():
        pytest.skip(f"{LOUD}real circles: there are no runs of Who&When at {RUNS}")
    with gzip.open(RUNS, "rt") as lines:
        return [ledger for line in lines for ledger in _ledgers_of(json.loads(line))]


def _ledgers_of(run: dict[str, Any]) -> Iterator[Ledger]:
    steps: list[Reasoned] = []
    for message in run["history"]:
        role, content = message["role"], message["content"]
        if role.startswith(_ASKED):
            steps.append(Reasoned(content[:LONGEST_TOLD], "", role.removeprefix(_ASKED)[:-1]))
        elif role in _WORKERS and steps:
            steps[-1] = Reasoned(steps[-1].action, content[:LONGEST_TOLD], steps[-1].worker)
        elif told := _LABEL.search(content):
            yield Ledger(run["file"], told[1] == "true", tuple(steps), _next_action(content))


def _next_action(content: str) -> str:
    found = _NEXT.search(content)
    return json.loads(found[1])[:LONGEST_TOLD] if found else ""

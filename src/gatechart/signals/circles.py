"""Detector of circles in reasoning: steps with different words and the same result."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from math import exp
from typing import Any, ClassVar, Final

from gatechart.signals.slots import slot_of
from gatechart.values.detectors import HOLDS, Detector, Evidence, Look
from gatechart.values.handoffs import Reason
from gatechart.values.trail import PROGRESSED, REASONED, Reasoned

_EARLIER: Final = 3  # earlier steps to compare a step with
_ASK: Final = 200  # characters of an action to compare
_HEAD: Final = 100  # characters of an outcome to compare
_BEGINNING: Final = 20  # characters that outcomes with the same beginning share
_ALIKE: Final = 40  # percent of similarity above which two actions are alike
_MOST_WORDS: Final = 3  # insisting words that count in one action
_MARGIN: Final = 0.1
_SHOWN: Final = 120  # characters of a text in the evidence

_WORDS: Final = re.compile("[a-z]+|再次|再试|重新|重试|继续|直接|具体|另一|其他|仍然|仔细")
_INSISTING: Final = frozenset(
    {
        *("again", "retry", "try", "still", "more", "another", "other", "different", "instead", "avoid", "ensure"),
        *("alternative", "alternatives", "alternatively", "directly", "specific", "specifically", "carefully"),
        *("再次", "再试", "重新", "重试", "继续", "直接", "具体", "另一", "其他", "仍然", "仔细"),
    }
)
"""Words of a repeated request for the same thing. The Chinese ones were not part of the measurement."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """The resemblance of a step of reasoning to the steps before it."""

    outcome: float  # maximum similarity between the heads of its outcome and of the last three, from 0 to 1
    beginnings: int  # number of the last three outcomes with the same beginning
    actions: int  # number of the last three actions that are alike
    words: int  # number of insisting words in the action
    silent: bool  # whether it has no outcome

    @property
    def chance(self) -> float:
        """Chance that the step is part of a circle, from 0 to 1.

        The weights come from a logistic regression, rounded. It was fitted to 386 ledgers of an orchestrator, from 29
        runs of Who&When (Zhang et al., ICML 2025). Each ledger records whether the team goes in circles; 111 do. In
        cross-validation by runs (five folds, eight divisions), the AUC is 0.77 (0.765 to 0.784), and the recall is 0.47
        (0.42 to 0.54) at a precision of 0.6. These five features were selected with all runs in view. If the selection
        among 120 features also excludes the test runs, the AUC is 0.74 and the recall 0.26. With weights and a
        threshold from one half of the runs, recall in the other half is 0.56, and precision 0.57 (medians of 40
        divisions; a tenth of them is below 0.38 and 0.43).
        """
        score = 1.4 * self.outcome + 0.55 * self.beginnings + 0.75 * self.actions + 0.8 * self.words
        return 1 / (1 + exp(4.3 - score - 1.3 * self.silent))


@dataclass(frozen=True, slots=True)
class GoesInCircles(Detector):
    """Detect steps of reasoning that resemble earlier ones: the same request in other words, with the same result.

    threshold: chance of a circle, from 0 to 1; Likeness documents its components. At the default, three of five alarms
    are correct, so answer the signal with a cheap measure. It ceases 0.1 below, or with progress that the chart
    reports.

    Steps are plans in words, such as the task for a worker. Calls of tools resemble each other even if all goes well;
    use SameCall for these.
    """

    sees: ClassVar[int] = REASONED | PROGRESSED
    reason: ClassVar[Reason] = Reason.LOOP_DETECTED

    threshold: float = 0.4

    def __post_init__(self) -> None:
        """Refuse a threshold that no chance can reach, or every chance does."""
        if not (isinstance(self.threshold, int | float) and 0 < self.threshold < 1):
            raise ValueError(f"GoesInCircles(threshold={self.threshold!r}) is no chance; pass a number between 0 and 1")
        most = Likeness(1, _EARLIER, _EARLIER, _MOST_WORDS, silent=False).chance
        if self.threshold > most:
            raise ValueError(
                f"GoesInCircles(threshold={self.threshold!r}) notices nothing; pass {int(most * 100) / 100} at most"
            )

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: the number of steps since the chart last reported progress."""
        if look.is_told:
            slot = ""
        new = sum(isinstance(entry, Reasoned) for entry in look.told)
        if not new:
            return slot
        counted = min(int(slot[1:] or 0) + new, _EARLIER + new)
        steps = _steps(look, counted)
        holds = slot.startswith(HOLDS)
        for at in range(len(steps) - new, len(steps)):
            chance = likeness(steps[: at + 1]).chance
            holds = chance >= self.threshold - (_MARGIN if holds else 0)
        return slot_of(holds, str(min(counted, _EARLIER + 1)))

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the chance and its components, the step, and the steps before it, the most similar first."""
        steps = _steps(look, int(slot[1:]))
        last = likeness(steps)
        return {
            "chance": round(last.chance, 2),
            "threshold": self.threshold,
            "outcome_similarity": round(last.outcome, 2),
            "same_beginnings": last.beginnings,
            "actions_alike": last.actions,
            "insisting_words": last.words,
            "without_outcome": last.silent,
            "step": _shown(steps[-1]),
            "similar": _nearest(steps),
        }


def likeness(steps: Sequence[Reasoned]) -> Likeness:
    """Return the resemblance of the last step to the three before it. steps: at least one, oldest first."""
    step, earlier = steps[-1], steps[-1 - _EARLIER : -1]
    action, head = _ask(step), _head(step)
    heads = [other for previous in earlier if (other := _head(previous))] if head else []
    return Likeness(
        max((_similarity(head, other) for other in heads), default=0) / 100,
        sum(other[:_BEGINNING] == head[:_BEGINNING] for other in heads),
        sum(_similarity(action, _ask(previous)) > _ALIKE for previous in earlier) if action else 0,
        min(sum(word in _INSISTING for word in _WORDS.findall(action)), _MOST_WORDS),
        not head,
    )


def _steps(look: Look, most: int) -> tuple[Reasoned, ...]:
    return tuple(entry for entry in look.read_trail(REASONED, most) if isinstance(entry, Reasoned))


def _ask(step: Reasoned) -> str:
    return step.action[:_ASK].lower()


def _head(step: Reasoned) -> str:
    return step.outcome[:_HEAD].lower()


def _nearest(steps: Sequence[Reasoned]) -> list[dict[str, Any]]:
    def similarity(other: Reasoned) -> float:
        return _similarity(f"{_ask(steps[-1])} {_head(steps[-1])}", f"{_ask(other)} {_head(other)}")

    ranked = sorted(steps[-1 - _EARLIER : -1], key=similarity, reverse=True)
    return [{**_shown(other), "similarity": round(similarity(other) / 100, 2)} for other in ranked]


def _shown(step: Reasoned) -> dict[str, Any]:
    return {"action": step.action[:_SHOWN], "outcome": step.outcome[:_SHOWN], "worker": step.worker}


def _similarity(first: str, second: str) -> float:
    """Return the similarity of two texts, in percent."""
    return _scorer()(first, second)


@cache
def _scorer() -> Callable[[str, str], float]:
    # imported on first use, as few graphs have such signals
    return import_module("rapidfuzz.fuzz").ratio  # type: ignore[no-any-return]

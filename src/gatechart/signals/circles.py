"""Circles in reasoning: steps that are worded differently, and get nowhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from math import exp
from typing import Any, ClassVar, Final

from gatechart.signals.slots import slot_of
from gatechart.values import HOLDS, PROGRESSED, REASONED, Detector, Evidence, Look, Reason, Reasoned

_EARLIER: Final = 3  # steps that one is compared with
_ASK: Final = 200  # characters of an action that are looked at
_HEAD: Final = 100  # characters of an outcome that are
_BEGINNING: Final = 20  # characters by which outcomes begin alike
_ALIKE: Final = 40  # percent from which on two actions are alike
_MOST_WORDS: Final = 3  # that insist, counted in one action
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
"""Words with which somebody asks again for what was not done. The Chinese ones were not part of the measurement."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """What of a step of reasoning resembles the steps before it."""

    outcome: float  # greatest similarity of its outcome's head with those of the last three, from 0 to 1
    beginnings: int  # of the last three outcomes, how many begin in the same way
    actions: int  # of the last three actions, how many are alike
    words: int  # in the action, that insist
    silent: bool  # whether nothing came of it

    @property
    def chance(self) -> float:
        """Chance that the step is part of a circle, from 0 to 1.

        The weights are those of a logistic regression, rounded. It was fitted to 386 ledgers of an orchestrator, in 29
        runs of Who&When (Zhang et al., ICML 2025), that say whether its team goes round in circles: 111 do. Fitted
        without the runs that are then judged (five folds, eight divisions), its AUC is 0.77 (0.765 to 0.784), and its
        recall 0.47 (0.42 to 0.54) at a precision of 0.6. These five numbers were chosen with all of the runs in view.
        With the choice among 120 numbers made without the judged runs, too, AUC is 0.74, and recall 0.26. Weights and a
        threshold that come from one half of the runs find 0.56 of the circles in the other half, and 0.57 of the alarms
        are right (medians of 40 divisions; in a tenth of them below 0.38, and 0.43).
        """
        score = 1.4 * self.outcome + 0.55 * self.beginnings + 0.75 * self.actions + 0.8 * self.words
        return 1 / (1 + exp(4.3 - score - 1.3 * self.silent))


@dataclass(frozen=True, slots=True)
class GoesInCircles(Detector):
    """Notice that steps of reasoning resemble earlier ones: asked again in other words, with the same result.

    threshold: chance of a circle, from 0 to 1; see Likeness for what it is made of. At the usual one, three of five
    alarms are right, so answer it with what costs little. It ceases 0.1 below, or with progress that the chart tells
    of.

    Steps are plans in words, such as what a worker is asked for. Calls of tools resemble each other though all goes
    well; SameCall is for these.
    """

    sees: ClassVar[int] = REASONED | PROGRESSED
    reason: ClassVar[Reason] = Reason.LOOP_DETECTED

    threshold: float = 0.4

    def __post_init__(self) -> None:
        """Refuse a threshold that no chance can reach, or each does."""
        if not (isinstance(self.threshold, int | float) and 0 < self.threshold < 1):
            raise ValueError(f"GoesInCircles(threshold={self.threshold!r}) is no chance; pass a number between 0 and 1")
        most = Likeness(1, _EARLIER, _EARLIER, _MOST_WORDS, silent=False).chance
        if self.threshold > most:
            raise ValueError(
                f"GoesInCircles(threshold={self.threshold!r}) notices nothing; pass {int(most * 100) / 100} at most"
            )

    def after(self, slot: str, look: Look) -> str:
        """Return the slot after a turn: how many steps count, those since the chart told of progress."""
        if look.is_told:
            slot = ""
        told = sum(isinstance(each, Reasoned) for each in look.told)
        if not told:
            return slot
        counted = min(int(slot[1:] or 0) + told, _EARLIER + told)
        steps = _steps(look, counted)
        holds = slot.startswith(HOLDS)
        for at in range(len(steps) - told, len(steps)):
            chance = likeness(steps[: at + 1]).chance
            holds = chance >= self.threshold - (_MARGIN if holds else 0)
        return slot_of(holds, str(min(counted, _EARLIER + 1)))

    def evidence(self, slot: str, look: Look) -> Evidence:
        """Return the chance and what it is made of, the step, and those before it, the most similar first."""
        steps = _steps(look, int(slot[1:]))
        found = likeness(steps)
        return {
            "chance": round(found.chance, 2),
            "threshold": self.threshold,
            "outcome_similarity": round(found.outcome, 2),
            "same_beginnings": found.beginnings,
            "actions_alike": found.actions,
            "insisting_words": found.words,
            "without_outcome": found.silent,
            "step": _shown(steps[-1]),
            "similar": _nearest(steps),
        }


def likeness(steps: Sequence[Reasoned]) -> Likeness:
    """Return what of the last of some steps resembles the three before it. At least one step."""
    step, earlier = steps[-1], steps[-1 - _EARLIER : -1]
    action, head = _ask(step), _head(step)
    heads = [other for each in earlier if (other := _head(each))] if head else []
    return Likeness(
        max((_similarity(head, other) for other in heads), default=0) / 100,
        sum(other[:_BEGINNING] == head[:_BEGINNING] for other in heads),
        sum(_similarity(action, _ask(each)) > _ALIKE for each in earlier) if action else 0,
        min(sum(word in _INSISTING for word in _WORDS.findall(action)), _MOST_WORDS),
        not head,
    )


def _steps(look: Look, most: int) -> tuple[Reasoned, ...]:
    return tuple(each for each in look.read_trail(REASONED, most) if isinstance(each, Reasoned))


def _ask(step: Reasoned) -> str:
    return step.action[:_ASK].lower()


def _head(step: Reasoned) -> str:
    return step.outcome[:_HEAD].lower()


def _nearest(steps: Sequence[Reasoned]) -> list[dict[str, Any]]:
    def similarity(other: Reasoned) -> float:
        return _similarity(f"{_ask(steps[-1])} {_head(steps[-1])}", f"{_ask(other)} {_head(other)}")

    ranked = sorted(steps[-1 - _EARLIER : -1], key=similarity, reverse=True)
    return [{**_shown(each), "similarity": round(similarity(each) / 100, 2)} for each in ranked]


def _shown(step: Reasoned) -> dict[str, Any]:
    return {"action": step.action[:_SHOWN], "outcome": step.outcome[:_SHOWN], "worker": step.worker}


def _similarity(first: str, second: str) -> float:
    """Return the similarity of two texts, in percent."""
    return _scorer()(first, second)


@cache
def _scorer() -> Callable[[str, str], float]:
    # not with the package, as few graphs have such signals
    return import_module("rapidfuzz.fuzz").ratio  # type: ignore[no-any-return]

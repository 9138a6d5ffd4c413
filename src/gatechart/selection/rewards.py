"""Rewards for the outcomes of handed-on work, from 0 to 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from gatechart.values.frozen import value
from gatechart.values.handoffs import Reason
from gatechart.values.profiles import Needs

CAME_BACK: Final = 0.25
"""Factor of the reward if the work came back."""

HANDED_ON: Final = 0.5
"""Factor of the reward for each time that the work was handed on again before it ended."""

OVERRUN: Final = 0.8
"""Factor of the reward if the work exceeded its expected duration, and again if it exceeded its expected cost."""

ANY_KIND: Final = "any"


@value
class EndedWork:
    """The outcome of handed-on work, reported when it ends."""

    is_completed: bool  # otherwise it failed
    came_back: bool = False  # to an agent that had handed it on, or the user returned with the same problem
    duration_s: float | None = None
    expected_s: float | None = None  # maximum expected duration
    cost: float | None = None
    expected_cost: float | None = None  # maximum expected cost
    satisfaction: float | None = None  # the user's, from 0 to 1
    handed_on: int = 0  # number of times that it was handed on again before it ended


Reward: TypeAlias = Callable[[EndedWork], float]
"""Returns the reward of an outcome, from 0 to 1. An application can replace `reward_of` by such a function."""


def reward_of(outcome: EndedWork) -> float:
    """Return the reward of an outcome, from 0 to 1.

    Failed work gets 0. Completed work gets 1, or the mean of 1 and the user's satisfaction, and less if it came back,
    overran or was handed on again: the reward depends on the end of the work, and an agent that handed it on gets half
    of the reward of its successor.

    >>> reward_of(EndedWork(True)), reward_of(EndedWork(True, satisfaction=0.5))
    (1.0, 0.75)
    >>> reward_of(EndedWork(True, handed_on=1))
    0.5
    """
    if not outcome.is_completed:
        return 0.0
    reward = 1.0 if outcome.satisfaction is None else (1.0 + min(max(outcome.satisfaction, 0.0), 1.0)) / 2
    reward *= CAME_BACK if outcome.came_back else 1.0
    reward *= OVERRUN ** (
        _is_over(outcome.duration_s, outcome.expected_s) + _is_over(outcome.cost, outcome.expected_cost)
    )
    return float(reward * HANDED_ON**outcome.handed_on)


def followed(end: EndedWork, targets: int) -> tuple[EndedWork, ...]:
    """Return the outcome for each target of a unit of work, in the order of the targets.

    end: the final outcome of the work. targets: number of targets that had it, one after the other.

    >>> [reward_of(each) for each in followed(EndedWork(True), 3)]
    [0.25, 0.5, 1.0]
    """
    fields = (end.is_completed, end.came_back, end.duration_s, end.expected_s, end.cost, end.expected_cost)
    return tuple(EndedWork(*fields, end.satisfaction, after) for after in reversed(range(targets)))


def kind_of(needs: Needs, reason: Reason | None = None) -> str:
    """Return the kind of problem that performance is counted by: the first domain, else capability, else reason.

    >>> kind_of(Needs(domains=("refunds",))), kind_of(Needs(), Reason.KNOWLEDGE_GAP), kind_of(Needs())
    ('refunds', 'knowledge gap', 'any')
    """
    named = (*sorted(needs.domains)[:1], *sorted(needs.capabilities)[:1])
    return named[0] if named else (reason.value if reason else ANY_KIND)


def _is_over(measured: float | None, expected: float | None) -> bool:
    return measured is not None and expected is not None and measured > expected

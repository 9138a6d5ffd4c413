"""Learn the best target for work from the rewards of earlier choices: LinUCB over the features of texts.

For each group of candidates (the entry points of a graph), a ridge regression predicts the difference between the
reward and the reward that the text score promised; its standard deviation is the bonus for rarely chosen groups. Some
coefficients belong to the group, and some to each candidate (the hybrid form of LinUCB, Li et al., WWW 2010). The
regressions are in their dual form: over the observations instead of the features, which are far more numerous (Valko
et al., "Finite-time analysis of kernelised contextual bandits", UAI 2013). A model is a function of its observations,
so removing some of them removes their influence exactly.

The reward of a choice is also evidence about the runner-up's group, where the regressions are most often wrong: for
this text, the runner-up is assumed to earn no more than its promise.

Needs numpy, from the extra `gatechart[learning]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from gatechart.selection.among import Among
from gatechart.selection.lessons import ObservationTable
from gatechart.selection.observations import Observation, Observations, difference
from gatechart.selection.promises import NO_GROUPS, promised
from gatechart.selection.regression import Regressions
from gatechart.selection.text_rows import numpy
from gatechart.values.frozen import value

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

WINDOW: Final = 1_000
"""Number of consecutive choices over which the loss is bounded."""

NONE: Final = Observations()
_MANY: Final = 64  # changed observations; a larger change may be cheaper to learn from scratch
_UNKNOWN: Final = -2  # number of a candidate without lessons
_LOWEST, _SPAN = -0.5, 2.0  # range of totals that is mapped to scores from 0 to 1


@value
class Scored:
    """A candidate's score for a text, and its parts."""

    prior: float  # reward that its text score promises
    learned: float = 0.0  # predicted difference between its group's reward and the prior, for such texts
    bonus: float = 0.0  # for a group that was tried little; also 0 if no bonus could make it the best

    @property
    def total(self) -> float:
        """The sum of the parts, which decides the choice."""
        return self.prior + self.learned + self.bonus

    @property
    def score(self) -> float:
        """The total, scaled to 0 to 1 so that candidates keep their order.

        >>> Scored(1.0).score, Scored(1.0, -0.5).score
        (0.75, 0.5)
        """
        return min(max((self.total - _LOWEST) / _SPAN, 0.0), 1.0)


class AllScored(Mapping[str, Scored]):
    """The scores of candidates for a text. A `Scored` is created on access, because callers read few of thousands."""

    __slots__ = ("_bonuses", "_indices", "_learned", "_priors", "_totals")

    def __init__(
        self,
        indices: Mapping[str, int],
        priors: Sequence[float],
        learned: Sequence[float],
        bonuses: Sequence[float],
        totals: Sequence[float],
    ) -> None:
        """Store parallel sequences. indices: the index of each candidate in them, in ascending order."""
        self._indices = indices
        self._priors, self._learned, self._bonuses, self._totals = priors, learned, bonuses, totals

    def __getitem__(self, candidate: str) -> Scored:
        index = self._indices[candidate]
        return Scored(self._priors[index], self._learned[index], self._bonuses[index])

    def __iter__(self) -> Iterator[str]:
        return iter(self._indices)

    def __len__(self) -> int:
        return len(self._indices)

    @property
    def totals(self) -> dict[str, float]:
        """The totals that decide the choice, by candidate."""
        return dict(zip(self._indices, self._totals, strict=True))

    @property
    def scores(self) -> dict[str, float]:
        """The score of each candidate, from 0 to 1."""
        scores = [(total - _LOWEST) / _SPAN for total in self._totals]
        if scores and not 0.0 <= min(scores) <= max(scores) <= 1.0:
            scores = [min(max(total, 0.0), 1.0) for total in scores]
        return dict(zip(self._indices, scores, strict=True))


def unlearned(text_scores: Mapping[str, float], groups: Mapping[str, str] = NO_GROUPS) -> AllScored:
    """Score candidates for a text by the promises of their text scores alone."""
    priors = promised(text_scores, groups)
    promises, nothing = list(priors.values()), [0.0] * len(priors)
    return AllScored({candidate: index for index, candidate in enumerate(priors)}, promises, nothing, nothing, promises)


@value
class Learned:
    """Score candidates by their texts and by the outcomes of earlier choices.

    exploration: bonus for uncertainty, in standard deviations; 0 disables it.
    loss: maximum loss of choices that depart from the text scores, as a share of the rewards of any 1,000 consecutive
        choices. Losses are counted as if the text scores had been right each time. Once the last 1,000 choices reach
        the maximum, text scores alone decide until older choices leave the window. The bound holds in all cases, as
        soon as outcomes are known. Draws of `Exploring` do not count; its share bounds them.
    deficit: maximum excess of failures over successes among such choices, as the same share. Text scores then decide
        in the same way, long before the loss reaches its maximum. If text scores are good, learning starts later.
    ridge: evidence needed to depart from the text scores: with this many observations of the same text, the model
        departs by half of the observed difference.
    trusted: whether a home lets it choose. Otherwise choices are recorded, and the scorer "learned" returns the
        promises of the text scores. Set it once an evaluation of recorded choices shows that learning is better.
    """

    exploration: float = 0.05
    loss: float = 0.08
    deficit: float = 0.005
    ridge: float = 0.2
    trusted: bool = False

    def model(self, observations: Observations = NONE) -> LearnedModel:
        """Return the model of these observations. Raises ExtraMissingError without numpy."""
        return LearnedModel(self, observations)


class LearnedModel:
    """The model learned from a set of observations. Immutable; another set of observations has another model.

    A choice among 1,000 takes less than 1 ms with 3,000 observations that share words with its text, whatever the
    number of groups. A model takes up to 110 MB with the maximum number of observations. Successive models share most
    of that; one more outcome costs less than 3 ms.
    """

    __slots__ = ("_choice", "_loss", "is_held_back", "observations", "regressions", "terms")

    def __init__(
        self,
        terms: Learned,
        observations: Observations,
        regressions: Regressions | None = None,
        choice: _ChoiceNumbers | None = None,
    ) -> None:
        """regressions: for these observations; solved again if None. choice: candidates of an earlier choice."""
        self.terms = terms
        self.observations = observations
        rewards = _departing_rewards(observations)
        self._loss = _total_loss(rewards)
        self.is_held_back = self._loss >= terms.loss * WINDOW or _deficit(rewards) >= terms.deficit * WINDOW
        self.regressions = regressions or Regressions.of(ObservationTable.of(observations.items), terms.ridge)
        self._choice = choice

    def over(self, observations: Observations) -> LearnedModel:
        """Return the model of other observations. Fast if they are the current ones and a few newer ones."""
        return self._changed(observations, *difference(self.observations.items, observations.items))

    def after(self, *observed: Observation) -> LearnedModel:
        """Return the model after more outcomes. Fast for a single outcome that is newer than all others."""
        lessons = self.regressions.lessons
        if len(observed) == 1 and self.observations.precedes(observed[0]) and observed[0].id not in lessons.rows:
            own = lessons.indices_of(observed[0].learner)
            return self._changed(*self.observations.with_newest(observed[0], own), observed)
        return self.over(self.observations.added(*observed))

    def _changed(
        self, observations: Observations, removed: Sequence[Observation], added: Sequence[Observation]
    ) -> LearnedModel:
        regressions = _updated(self.regressions, observations.items, removed, added)
        return LearnedModel(self.terms, observations, regressions, self._choice)

    def scores(
        self,
        features: str,
        text_scores: Mapping[str, float],
        groups: Mapping[str, str] = NO_GROUPS,
        undecided: int = 0,
    ) -> AllScored:
        """Return the score of each candidate.

        features: of the text, packed. text_scores: of all candidates, 0 or more. groups: by candidate, for candidates
        that belong to a group. undecided: number of choices that depart from the text scores and have no outcome yet;
        each counts as lost.
        """
        lost = self._loss + undecided
        if self.is_held_back or lost >= self.terms.loss * WINDOW or not text_scores:
            return unlearned(text_scores, groups)
        choice = self._choice_of(text_scores, groups)
        among = choice.among
        priors = among.promised(text_scores)
        learned, bonuses = (
            of_groups[among.group_of] for of_groups in self._learned_and_bonuses(features, choice, priors)
        )
        totals = priors + learned + bonuses
        return AllScored(among.places, *(part.tolist() for part in (priors, learned, bonuses, totals)))

    def _choice_of(self, candidates: Iterable[str], groups: Mapping[str, str]) -> _ChoiceNumbers:
        """Return the candidates of a choice. Cached, because the next choice usually has the same candidates."""
        lessons = self.regressions.lessons
        among = None if self._choice is None else self._choice.among
        if among is None or not among.are(candidates, groups):
            among = Among(candidates, groups)
        if self._choice is None or self._choice.among is not among or not self._choice.is_current(lessons):
            self._choice = _ChoiceNumbers(among, lessons)
        return self._choice

    def _learned_and_bonuses(
        self, features: str, choice: _ChoiceNumbers, priors: NDArray[float64]
    ) -> tuple[NDArray[float64], NDArray[float64]]:
        """Return the learned part and the bonus of each group; 0 as the bonus if no bonus could make the group best."""
        np = numpy()
        most, firsts = self.terms.exploration, choice.among.firsts(priors)
        view = self.regressions.view(features, choice.codes_of(firsts))
        learned = np.where(choice.numbers < 0, 0.0, np.append(view.predicted, 0.0)[choice.numbers])
        bonuses, reached = np.zeros_like(learned), priors[firsts] + learned
        is_near = reached >= reached.max() - most
        for group in is_near.nonzero()[0].tolist() if most else ():
            bonuses[group] = most * view.deviation(int(choice.numbers[group]))
        return learned, bonuses


class _ChoiceNumbers:
    """The candidates of a choice and their groups, with the numbers that lessons assign to them."""

    __slots__ = ("_candidates", "_codes", "_groups", "_known", "among", "numbers")

    def __init__(self, among: Among, lessons: ObservationTable) -> None:
        np = numpy()
        self.among = among
        self._groups, self._candidates = lessons.groups, lessons.candidates
        self._known = len(lessons.groups), len(lessons.candidates)
        groups, codes = lessons.groups.numbers, lessons.candidates.numbers
        self.numbers: NDArray[Any] = np.array([groups.get(name, -1) for name in among.groups])
        self._codes: NDArray[Any] = np.array([codes.get(name, _UNKNOWN) for name in among.ids])

    def is_current(self, lessons: ObservationTable) -> bool:
        """Return whether lessons still have the same numbers."""
        is_same = lessons.groups is self._groups and lessons.candidates is self._candidates
        return is_same and self._known == (len(lessons.groups), len(lessons.candidates))

    def codes_of(self, firsts: NDArray[Any]) -> NDArray[Any]:
        """Return the best candidate of each group, by the group's number. firsts: the result of `Among.firsts`."""
        codes: NDArray[Any] = numpy().full(self._known[0], _UNKNOWN)
        is_known = self.numbers >= 0
        codes[self.numbers[is_known]] = self._codes[firsts[is_known]]
        return codes


def _updated(
    known: Regressions, items: Sequence[Observation], removed: Sequence[Observation], added: Sequence[Observation]
) -> Regressions | None:
    """Update regressions for removed and added observations; None if solving them from scratch is cheaper."""
    differ = len(removed) + len(added)
    if not differ:
        return known
    if differ > max(_MANY, len(items) // 4) or differ >= len(items) or known.lessons.outgrown:
        return None
    revised = known.revised(known.lessons.revised(items, removed, added))
    is_erasure = bool(removed) and not added
    return revised.compacted() if is_erasure or revised.lessons.texts.needs_sorting else revised


def rival_of(candidate: str, totals: Mapping[str, float], groups: Mapping[str, str] = NO_GROUPS) -> str:
    """Return the runner-up: the best candidate of another group; empty if there is none.

    >>> rival_of("a", {"a": 0.5, "b": 0.2, "c": 0.3})
    'c'
    """
    group = groups.get(candidate, candidate)
    others = {name: total for name, total in totals.items() if groups.get(name, name) != group}
    most = max(others.values(), default=0.0)
    return min((name for name, total in others.items() if total == most), default="")


def departs(candidate: str, text_scores: Mapping[str, float], groups: Mapping[str, str] = NO_GROUPS) -> bool:
    """Return whether the text scores alone would have chosen a candidate of another group."""
    best = max(text_scores.values(), default=0.0)
    group = groups.get(candidate, candidate)
    return all(score < best for name, score in text_scores.items() if groups.get(name, name) == group)


def _departing_rewards(observations: Observations) -> Sequence[float]:
    """Return the rewards of recent choices that departed from the text scores."""
    return [item.reward for item in observations.items[-WINDOW:] if item.departs]


def _total_loss(rewards: Sequence[float]) -> float:
    """Return the loss of choices that departed from the text scores, as if those had been right each time."""
    return sum(1.0 - reward for reward in rewards)


def _deficit(rewards: Sequence[float]) -> float:
    """Return the excess of failures over successes among choices that departed from the text scores."""
    return sum(1.0 - 2.0 * reward for reward in rewards)

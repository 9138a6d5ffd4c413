"""Learning whom to hand work to from what came of earlier choices: LinUCB over the features of texts.

For each group of candidates (the entry points of a graph) a ridge regression tells by how much its rewards differ from
what the text scores promised; its standard deviation is the bonus for what has been tried little. Some coefficients are
those of the group, and some of each candidate (the hybrid form of LinUCB, Li et al., WWW 2010). The regressions are in
their dual form: over the observations in place of the features, of which there are many more (Valko et al.,
"Finite-time analysis of kernelised contextual bandits", UAI 2013). A model is a function of its observations, so taking
some of them out takes them out exactly.

What a choice earned tells of the group that would have been chosen next, too, at which the regressions are most often
wrong: for this text, nothing beyond its promise is believed of it.

Needs numpy, from the extra `gatechart[learning]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from gatechart.selection.among import Among
from gatechart.selection.lessons import Lessons
from gatechart.selection.observations import Observation, Observations, difference
from gatechart.selection.promises import NO_GROUPS, promised
from gatechart.selection.regression import Regressions
from gatechart.selection.text_rows import numpy
from gatechart.values.frozen import value

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

WINDOW: Final = 1_000
"""Choices in a row over which a loss is bounded."""

NONE: Final = Observations()
_MANY: Final = 64  # changed observations; a larger change may be cheaper to learn from scratch
_UNKNOWN: Final = -2  # number of a candidate without lessons
_LOWEST, _SPAN = -0.5, 2.0  # of totals, which scores from 0 to 1 stand for


@value
class Scored:
    """How a candidate scores for a text, and why."""

    prior: float  # what its text score promises
    learned: float = 0.0  # by how much the rewards of its group differed from that, for such texts
    bonus: float = 0.0  # for what has been tried little; 0 too where no bonus could make it the best

    @property
    def total(self) -> float:
        """What decides: the sum."""
        return self.prior + self.learned + self.bonus

    @property
    def score(self) -> float:
        """The total, brought to 0 to 1 so that candidates keep their order.

        >>> Scored(1.0).score, Scored(1.0, -0.5).score
        (0.75, 0.5)
        """
        return min(max((self.total - _LOWEST) / _SPAN, 0.0), 1.0)


class AllScored(Mapping[str, Scored]):
    """How candidates score for a text: of thousands, few are looked at one by one."""

    __slots__ = ("_bonuses", "_learned", "_places", "_priors", "_totals")

    def __init__(
        self,
        places: Mapping[str, int],
        priors: Sequence[float],
        learned: Sequence[float],
        bonuses: Sequence[float],
        totals: Sequence[float],
    ) -> None:
        """places: of each candidate in the others, in their order."""
        self._places = places
        self._priors, self._learned, self._bonuses, self._totals = priors, learned, bonuses, totals

    def __getitem__(self, candidate: str) -> Scored:
        place = self._places[candidate]
        return Scored(self._priors[place], self._learned[place], self._bonuses[place])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    @property
    def totals(self) -> dict[str, float]:
        """What decides, by candidate."""
        return dict(zip(self._places, self._totals, strict=True))

    @property
    def scores(self) -> dict[str, float]:
        """The score of each candidate, from 0 to 1."""
        scores = [(each - _LOWEST) / _SPAN for each in self._totals]
        if scores and not 0.0 <= min(scores) <= max(scores) <= 1.0:
            scores = [min(max(each, 0.0), 1.0) for each in scores]
        return dict(zip(self._places, scores, strict=True))


def unlearned(text_scores: Mapping[str, float], groups: Mapping[str, str] = NO_GROUPS) -> AllScored:
    """Return how candidates score for a text by what its scores promise alone."""
    priors = promised(text_scores, groups)
    promises, nothing = list(priors.values()), [0.0] * len(priors)
    return AllScored({each: place for place, each in enumerate(priors)}, promises, nothing, nothing, promises)


@value
class Learned:
    """Score candidates by their texts and by what came of earlier choices.

    exploration: how many standard deviations a group is given for what is not known of it; 0 tries nothing out.
    loss: what choices other than that of the text scores may lose, as a share of the rewards of any 1,000 choices in a
        row. Once those among the last 1,000 have lost that much, counted as if the text scores had been right each
        time, text scores alone decide until older ones leave the window. So it is a bound whatever happens, as far as
        outcomes are known. What `Exploring` draws does not count; its share bounds it.
    deficit: by how much such choices that failed may outweigh those that succeeded, as the same share. Text scores then
        decide in the same way, long before the loss is reached; where text scores are good, learning begins later.
    ridge: how much evidence it takes to depart from the text scores: of this many observations of the same text, half
        of what they tell is believed.
    trusted: whether a home lets it choose. Without it, choices are recorded, and the scorer "learned" is what the text
        scores promise. Set it once an evaluation of recorded choices says that learning is better.
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
    """What was learned from observations. It never changes; another set of observations has another model.

    A choice among 1,000 takes less than 1 ms with 3,000 observations that share words with its text, whatever number of
    groups they are of. A model takes up to 110 MB with the most observations there can be. Models that follow one
    another share most of that; one more outcome costs less than 3 ms.
    """

    __slots__ = ("_asked", "_lost", "_regressions", "is_held_back", "observations", "terms")

    def __init__(
        self,
        terms: Learned,
        observations: Observations,
        regressions: Regressions | None = None,
        asked: _Asked | None = None,
    ) -> None:
        """regressions: of these observations; None: they are solved anew. asked: candidates of an earlier choice."""
        self.terms = terms
        self.observations = observations
        rewards = _departed(observations)
        self._lost = _lost(rewards)
        self.is_held_back = self._lost >= terms.loss * WINDOW or _deficit(rewards) >= terms.deficit * WINDOW
        self._regressions = regressions or Regressions.of(Lessons.of(observations.items), terms.ridge)
        self._asked = asked

    def over(self, observations: Observations) -> LearnedModel:
        """Return the model of other observations. Quick where they are these and a few newer ones."""
        return self._changed(observations, *difference(self.observations.items, observations.items))

    def after(self, *observed: Observation) -> LearnedModel:
        """Return the model after more outcomes. Quick where it is one that is newer than all others."""
        lessons = self._regressions.lessons
        if len(observed) == 1 and self.observations.precedes(observed[0]) and observed[0].id not in lessons.rows:
            own = lessons.indices_of(observed[0].learner)
            return self._changed(*self.observations.with_newest(observed[0], own), observed)
        return self.over(self.observations.added(*observed))

    def _changed(
        self, observations: Observations, left: Sequence[Observation], came: Sequence[Observation]
    ) -> LearnedModel:
        regressions = _followed(self._regressions, observations.items, left, came)
        return LearnedModel(self.terms, observations, regressions, self._asked)

    def scores(
        self,
        features: str,
        text_scores: Mapping[str, float],
        groups: Mapping[str, str] = NO_GROUPS,
        undecided: int = 0,
    ) -> AllScored:
        """Return how each candidate scores.

        features: of the text, packed. text_scores: of all candidates, from 0 up. groups: of the candidates that are in
        one. undecided: choices that depart from the text scores, with no outcome yet; each counts as lost.
        """
        lost = self._lost + undecided
        if self.is_held_back or lost >= self.terms.loss * WINDOW or not text_scores:
            return unlearned(text_scores, groups)
        asked = self._asked_of(text_scores, groups)
        among = asked.among
        priors = among.promised(text_scores)
        learned, bonuses = (of_groups[among.group_of] for of_groups in self._parts(features, asked, priors))
        totals = priors + learned + bonuses
        return AllScored(among.places, *(part.tolist() for part in (priors, learned, bonuses, totals)))

    def _asked_of(self, candidates: Iterable[str], groups: Mapping[str, str]) -> _Asked:
        """Return the candidates of a choice; kept, as the next choice is mostly among the same."""
        lessons = self._regressions.lessons
        among = None if self._asked is None else self._asked.among
        if among is None or not among.are(candidates, groups):
            among = Among(candidates, groups)
        if self._asked is None or self._asked.among is not among or not self._asked.is_current(lessons):
            self._asked = _Asked(among, lessons)
        return self._asked

    def _parts(
        self, features: str, asked: _Asked, priors: NDArray[float64]
    ) -> tuple[NDArray[float64], NDArray[float64]]:
        """Return learned part and bonus of each group; no bonus to those that no bonus could make the best."""
        np = numpy()
        most, firsts = self.terms.exploration, asked.among.firsts(priors)
        view = self._regressions.view(features, asked.codes_of(firsts))
        learned = np.where(asked.numbers < 0, 0.0, np.append(view.predicted, 0.0)[asked.numbers])
        bonuses, reached = np.zeros_like(learned), priors[firsts] + learned
        is_near = reached >= reached.max() - most
        for group in is_near.nonzero()[0].tolist() if most else ():
            bonuses[group] = most * view.deviation(int(asked.numbers[group]))
        return learned, bonuses


class _Asked:
    """The candidates of a choice and their groups, by the numbers that lessons have for them."""

    __slots__ = ("_candidates", "_codes", "_groups", "_known", "among", "numbers")

    def __init__(self, among: Among, lessons: Lessons) -> None:
        np = numpy()
        self.among = among
        self._groups, self._candidates = lessons.groups, lessons.candidates
        self._known = len(lessons.groups), len(lessons.candidates)
        groups, codes = lessons.groups.numbers, lessons.candidates.numbers
        self.numbers: NDArray[Any] = np.array([groups.get(name, -1) for name in among.groups])
        self._codes: NDArray[Any] = np.array([codes.get(name, _UNKNOWN) for name in among.ids])

    def is_current(self, lessons: Lessons) -> bool:
        """Return whether lessons have the same numbers."""
        is_same = lessons.groups is self._groups and lessons.candidates is self._candidates
        return is_same and self._known == (len(lessons.groups), len(lessons.candidates))

    def codes_of(self, firsts: NDArray[Any]) -> NDArray[Any]:
        """Return the candidates that would be chosen, by the number of their group. firsts: as `Among.firsts` does."""
        codes: NDArray[Any] = numpy().full(self._known[0], _UNKNOWN)
        is_known = self.numbers >= 0
        codes[self.numbers[is_known]] = self._codes[firsts[is_known]]
        return codes


def _followed(
    known: Regressions, items: Sequence[Observation], left: Sequence[Observation], came: Sequence[Observation]
) -> Regressions | None:
    """Return the regressions of observations by what left and what came; None if it is better to solve them anew."""
    differ = len(left) + len(came)
    if not differ:
        return known
    if differ > max(_MANY, len(items) // 4) or differ >= len(items) or known.lessons.outgrown:
        return None
    revised = known.revised(known.lessons.revised(items, left, came))
    is_erasure = bool(left) and not came
    return revised.compacted() if is_erasure or revised.lessons.texts.needs_sorting else revised


def rival_of(candidate: str, totals: Mapping[str, float], groups: Mapping[str, str] = NO_GROUPS) -> str:
    """Return the candidate of another group that would be chosen next; empty if there is none.

    >>> rival_of("a", {"a": 0.5, "b": 0.2, "c": 0.3})
    'c'
    """
    group = groups.get(candidate, candidate)
    others = {each: total for each, total in totals.items() if groups.get(each, each) != group}
    most = max(others.values(), default=0.0)
    return min((each for each, total in others.items() if total == most), default="")


def departs(candidate: str, text_scores: Mapping[str, float], groups: Mapping[str, str] = NO_GROUPS) -> bool:
    """Tell whether the text scores alone would have chosen a candidate of another group."""
    best = max(text_scores.values(), default=0.0)
    group = groups.get(candidate, candidate)
    return all(score < best for each, score in text_scores.items() if groups.get(each, each) == group)


def _departed(observations: Observations) -> Sequence[float]:
    """Return the rewards of the choices that departed from the text scores lately."""
    return [item.reward for item in observations.items[-WINDOW:] if item.departs]


def _lost(rewards: Sequence[float]) -> float:
    """Return what choices that departed from the text scores lost, had those been right each time."""
    return sum(1.0 - reward for reward in rewards)


def _deficit(rewards: Sequence[float]) -> float:
    """Return by how much choices that departed from the text scores failed rather than succeeded."""
    return sum(1.0 - 2.0 * reward for reward in rewards)

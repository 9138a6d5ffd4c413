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

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from gatechart.selection.among import Among
from gatechart.selection.fit_index import FitIndex, Views, index_of
from gatechart.selection.observations import MOST, MOST_IN_ALL, Observation, Observations
from gatechart.selection.promises import NO_GROUPS, promised
from gatechart.selection.regression import Fit, Told, fitted, numpy
from gatechart.values.frozen import value

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

WINDOW: Final = 1_000
"""Choices in a row over which a loss is bounded."""

NONE: Final = Observations()
_EARNED: Final = 0.5  # the reward from which on a choice tells of its rival
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
    groups they are of. A model takes up to 110 MB with the most observations there can be.
    """

    __slots__ = ("_fits", "_index", "_views", "is_held_back", "observations", "terms")

    def __init__(self, terms: Learned, observations: Observations, earlier: LearnedModel | None = None) -> None:
        self.terms = terms
        self.observations = observations
        too_much = _lost(observations) >= terms.loss * WINDOW
        self.is_held_back = too_much or _deficit(observations) >= terms.deficit * WINDOW
        known: Mapping[str, Fit] = earlier._fits if earlier and earlier.terms == terms else {}
        told = _lessons(observations)
        self._fits: dict[str, Fit] = {each: fitted(own, terms.ridge, known.get(each)) for each, own in told.items()}
        self._index: FitIndex = index_of(self._fits, earlier._index if known and earlier else None)
        self._views: Views | None = earlier._views if earlier else None

    def over(self, observations: Observations) -> LearnedModel:
        """Return the model of other observations. Quick where they are these and a few newer ones."""
        return LearnedModel(self.terms, observations, self)

    def after(self, *observed: Observation) -> LearnedModel:
        """Return the model after more outcomes."""
        return self.over(self.observations.added(*observed))

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
        lost = _lost(self.observations) + undecided if undecided else 0.0
        if self.is_held_back or lost >= self.terms.loss * WINDOW or not text_scores:
            return unlearned(text_scores, groups)
        views = self._views_of(text_scores, groups)
        priors = views.among.promised(text_scores)
        learned, bonuses = (of_groups[views.among.group_of] for of_groups in self._parts(features, views, priors))
        totals = priors + learned + bonuses
        return AllScored(views.among.places, *(each.tolist() for each in (priors, learned, bonuses, totals)))

    def _views_of(self, candidates: Iterable[str], groups: Mapping[str, str]) -> Views:
        """Return what the regressions say of candidates; kept, as the next choice is mostly among the same."""
        if self._views is None or not self._views.among.are(candidates, groups):
            self._views = Views(self._fits, self._index, Among(candidates, groups))
        elif self._views.fits is not self._fits:
            self._views = Views(self._fits, self._index, self._views.among)
        return self._views

    def _parts(
        self, features: str, views: Views, priors: NDArray[float64]
    ) -> tuple[NDArray[float64], NDArray[float64]]:
        """Return learned part and bonus of each group; no bonus to those that no bonus could make the best."""
        most, firsts = self.terms.exploration, views.among.firsts(priors)
        view = views.of(features, firsts)
        learned = view.predicted
        bonuses, reached = numpy().zeros_like(learned), priors[firsts] + learned
        is_near = reached >= reached.max() - most
        for group in is_near.nonzero()[0].tolist() if most else ():
            bonuses[group] = most * view.deviation(group)
        return learned, bonuses


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


def _lost(observations: Observations) -> float:
    """Return what choices that departed from the text scores lost lately, had those been right each time."""
    return sum(1.0 - each.reward for each in observations.items[-WINDOW:] if each.departs)


def _deficit(observations: Observations) -> float:
    """Return by how much choices that departed from the text scores failed lately rather than succeeded."""
    return sum(1.0 - 2.0 * each.reward for each in observations.items[-WINDOW:] if each.departs)


def _lessons(observations: Observations) -> dict[str, tuple[Told, ...]]:
    """Return what each group is told, the oldest first: of its own outcomes and, while there is room, as a rival."""
    counts = Counter(each.learner for each in observations.items)
    room = MOST_IN_ALL - len(observations.items)
    told: dict[str, list[Told]] = defaultdict(list)
    for each in reversed(observations.items):
        told[each.learner].append(Told(each, each.candidate, each.reward - each.prior))
        rival = each.rival_group or each.rival
        if rival and each.reward >= _EARNED and room > 0 and counts[rival] < MOST:
            told[rival].append(Told(each, each.rival, 0.0))
            counts[rival] += 1
            room -= 1
    return {learner: tuple(reversed(each)) for learner, each in told.items()}

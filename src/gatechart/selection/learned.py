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
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from gatechart.selection.observations import MOST, MOST_IN_ALL, Observation, Observations
from gatechart.selection.regression import Fit, Row, Told, fitted
from gatechart.values.frozen import value

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

WINDOW: Final = 1_000
"""Choices in a row over which a loss is bounded."""

NONE: Final = Observations()
NO_GROUPS: Final[Mapping[str, str]] = MappingProxyType({})

BELIEVED: Final = 0.85
"""The part of its share that a text score promises; the more, the more outcomes it takes to depart from it."""

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

    A choice takes about 1 ms for each 3,000 observations, of which those that tell of two groups count twice, and 1 ms
    for each 100 groups. It takes up to 90 MB with the most observations there can be.
    """

    __slots__ = ("_fits", "is_held_back", "observations", "terms")

    def __init__(self, terms: Learned, observations: Observations, earlier: LearnedModel | None = None) -> None:
        self.terms = terms
        self.observations = observations
        too_much = _lost(observations) >= terms.loss * WINDOW
        self.is_held_back = too_much or _deficit(observations) >= terms.deficit * WINDOW
        known: Mapping[str, Fit] = earlier._fits if earlier and earlier.terms == terms else {}
        told = _lessons(observations)
        self._fits: dict[str, Fit] = {each: fitted(own, terms.ridge, known.get(each)) for each, own in told.items()}

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
    ) -> dict[str, Scored]:
        """Return how each candidate scores.

        features: of the text, packed. text_scores: of all candidates, from 0 up. groups: of the candidates that are in
        one. undecided: choices that depart from the text scores, with no outcome yet; each counts as lost.
        """
        priors = promised(text_scores, groups)
        lost = _lost(self.observations) + undecided if undecided else 0.0
        if self.is_held_back or lost >= self.terms.loss * WINDOW:
            return {each: Scored(prior) for each, prior in priors.items()}
        firsts = _firsts(priors, groups)
        parts = self._parts(features, firsts, {group: priors[each] for group, each in firsts.items()})
        return {each: Scored(prior, *parts[groups.get(each, each)]) for each, prior in priors.items()}

    def _parts(
        self, features: str, firsts: Mapping[str, str], tops: Mapping[str, float]
    ) -> dict[str, tuple[float, float]]:
        """Return learned part and bonus of each group; no bonus to those that no bonus could make the best."""
        row, most = Row(features), self.terms.exploration
        views = {each: self._fits[each].view(row, first) for each, first in firsts.items() if each in self._fits}
        learned = {each: views[each][0] if each in views else 0.0 for each in tops}
        reach = max((tops[each] + learned[each] for each in tops), default=0.0) - most
        return {
            each: (learned[each], self._bonus(each, views.get(each)) if tops[each] + learned[each] >= reach else 0.0)
            for each in tops
        }

    def _bonus(self, group: str, view: tuple[float, NDArray[float64]] | None) -> float:
        if not self.terms.exploration or view is None:
            return self.terms.exploration
        return self.terms.exploration * self._fits[group].deviation(view[1])


def promised(text_scores: Mapping[str, float], groups: Mapping[str, str] = NO_GROUPS) -> dict[str, float]:
    """Return the reward that each text score promises: 0.85 of its group's share of the best scores, squared.

    Shares do not depend on how a scorer spreads its scores; the square sets off the best. Within a group, scores keep
    their proportions.

    >>> promised({"orders.A": 0.4, "orders.B": 0.2, "refunds.C": 0.4}, {"orders.A": "orders", "orders.B": "orders"})
    {'orders.A': 0.425, 'orders.B': 0.2125, 'refunds.C': 0.425}
    """
    best: dict[str, float] = {}
    for each, score in text_scores.items():
        group = groups.get(each, each)
        best[group] = max(score, best.get(group, 0.0))
    highest = max(best.values(), default=0.0) or 1.0
    whole = sum((each / highest) ** 2 for each in best.values()) or 1.0
    return {each: _promised(score, best[groups.get(each, each)], highest, whole) for each, score in text_scores.items()}


def _promised(score: float, of_group: float, highest: float, whole: float) -> float:
    return BELIEVED * max(score, 0.0) / of_group * (of_group / highest) ** 2 / whole if of_group else 0.0


def rival_of(candidate: str, scored: Mapping[str, Scored], groups: Mapping[str, str] = NO_GROUPS) -> str:
    """Return the candidate of another group that would be chosen next; empty if there is none.

    >>> rival_of("a", {"a": Scored(0.5), "b": Scored(0.2), "c": Scored(0.1, 0.2)})
    'c'
    """
    group = groups.get(candidate, candidate)
    others = sorted(each for each in scored if groups.get(each, each) != group)
    return max(others, key=lambda each: scored[each].total, default="")


def _firsts(priors: Mapping[str, float], groups: Mapping[str, str]) -> dict[str, str]:
    """Return of each group the candidate whose text score promises most."""
    firsts: dict[str, str] = {}
    for each in sorted(priors, key=lambda each: (-priors[each], each)):
        firsts.setdefault(groups.get(each, each), each)
    return firsts


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

"""Learning whom to hand work to from what came of earlier choices: LinUCB over the features of texts.

For each group of candidates (the entry points of a graph) a ridge regression tells by how much its rewards differ from
what the text scores promised; its standard deviation is the bonus for what has been tried little. The regressions are
in their dual form: over the observations in place of the features, of which there are many more. The form is that of
Valko et al., "Finite-time analysis of kernelised contextual bandits", UAI 2013, with the plain product as kernel, and
then equals LinUCB (Li et al., WWW 2010). A model is a function of its observations, so taking some of them out takes
them out exactly.

Needs numpy, from the extra `gatechart[learning]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from gatechart.errors import needing
from gatechart.selection.observations import BUCKETS, Observation, Observations, unpacked
from gatechart.values.frozen import value

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

WINDOW: Final = 1_000
"""Choices in a row over which a loss is bounded."""

NONE: Final = Observations()
NO_GROUPS: Final[Mapping[str, str]] = MappingProxyType({})

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
        outcomes are known.
    ridge: how much evidence it takes to depart from the text scores: of this many observations of the same text, half
        of what they tell is believed.
    trusted: whether a home lets it choose. Without it, choices are recorded, and the scorer "learned" is what the text
        scores promise. Set it once an evaluation of recorded choices says that learning is better.
    """

    exploration: float = 0.05
    loss: float = 0.08
    ridge: float = 0.3
    trusted: bool = False

    def model(self, observations: Observations = NONE) -> LearnedModel:
        """Return the model of these observations. Raises ExtraMissingError without numpy."""
        return LearnedModel(self, observations)


class LearnedModel:
    """What was learned from observations. It never changes; another set of observations has another model.

    A choice takes about 1 ms for each 3,000 observations. It takes up to 90 MB with the most observations there can be.
    """

    __slots__ = ("_fits", "is_held_back", "observations", "terms")

    def __init__(self, terms: Learned, observations: Observations, earlier: LearnedModel | None = None) -> None:
        self.terms = terms
        self.observations = observations
        self.is_held_back = _lost(observations) >= terms.loss * WINDOW
        known: Mapping[str, _Fit] = earlier._fits if earlier and earlier.terms == terms else {}
        grouped = observations.by_learner()
        self._fits: dict[str, _Fit] = {each: _fit(own, terms.ridge, known.get(each)) for each, own in grouped.items()}

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
        tops: dict[str, float] = {}
        for each, prior in priors.items():
            tops[groups.get(each, each)] = max(prior, tops.get(groups.get(each, each), prior))
        parts = self._parts(features, tops)
        return {each: Scored(prior, *parts[groups.get(each, each)]) for each, prior in priors.items()}

    def _parts(self, features: str, tops: Mapping[str, float]) -> dict[str, tuple[float, float]]:
        """Return learned part and bonus of each group; no bonus to those that no bonus could make the best."""
        row, most = _Row(features), self.terms.exploration
        views = {each: self._fits[each].view(row) for each in tops if each in self._fits}
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
    """Return the reward that each text score promises: its group's share of the best scores of all groups, squared.

    Shares do not depend on how a scorer spreads its scores; the square sets off the best. Within a group, scores keep
    their proportions.

    >>> promised({"orders.A": 0.4, "orders.B": 0.2, "refunds.C": 0.4}, {"orders.A": "orders", "orders.B": "orders"})
    {'orders.A': 0.5, 'orders.B': 0.25, 'refunds.C': 0.5}
    """
    best: dict[str, float] = {}
    for each, score in text_scores.items():
        group = groups.get(each, each)
        best[group] = max(score, best.get(group, 0.0))
    highest = max(best.values(), default=0.0) or 1.0
    whole = sum((each / highest) ** 2 for each in best.values()) or 1.0
    return {each: _promised(score, best[groups.get(each, each)], highest, whole) for each, score in text_scores.items()}


def _promised(score: float, of_group: float, highest: float, whole: float) -> float:
    return max(score, 0.0) / of_group * (of_group / highest) ** 2 / whole if of_group else 0.0


def departs(candidate: str, text_scores: Mapping[str, float], groups: Mapping[str, str] = NO_GROUPS) -> bool:
    """Tell whether the text scores alone would have chosen a candidate of another group."""
    best = max(text_scores.values(), default=0.0)
    group = groups.get(candidate, candidate)
    return all(score < best for each, score in text_scores.items() if groups.get(each, each) == group)


def _lost(observations: Observations) -> float:
    """Return what choices that departed from the text scores lost lately, had those been right each time."""
    return sum(1.0 - each.reward for each in observations.items[-WINDOW:] if each.departs)


class _Row:
    """The features of a text, with squares that add up to 1."""

    __slots__ = ("dense", "places", "weights")

    def __init__(self, features: str) -> None:
        np = _numpy()
        pairs = np.array(unpacked(features), dtype=np.float64).reshape(-1, 2)
        self.places: NDArray[Any] = pairs[:, 0].astype(np.int64)
        length = float(np.sqrt(pairs[:, 1] @ pairs[:, 1]))
        self.weights: NDArray[float64] = pairs[:, 1] / length if length else pairs[:, 1]
        self.dense: NDArray[float64] = np.zeros(BUCKETS)
        self.dense[self.places] = self.weights


@value
class _Fit:
    """The ridge regression of one group: rows of features, in which those that are missing have a weight of 0."""

    observations: tuple[Observation, ...]
    places: NDArray[Any]  # (observations, features)
    weights: NDArray[float64]  # (observations, features)
    inverse: NDArray[float64]  # of the products of all rows, plus the ridge
    coefficients: NDArray[float64]

    def view(self, row: _Row) -> tuple[float, NDArray[float64]]:
        """Return what is predicted for a text, and its likeness to each observation."""
        likeness = _likeness(self.places, self.weights, row)
        return float(likeness @ self.coefficients), likeness

    def deviation(self, likeness: NDArray[float64]) -> float:
        """Return the standard deviation of a prediction; 1 where nothing is known."""
        known = float(likeness @ self.inverse @ likeness)
        return float(max(1.0 - known, 0.0) ** 0.5)


def _fit(observations: tuple[Observation, ...], ridge: float, earlier: _Fit | None) -> _Fit:
    """Return the regression over observations, from an earlier one if a single new one came and old ones left."""
    if earlier is not None:
        if earlier.observations == observations:
            return earlier
        dropped = len(earlier.observations) + 1 - len(observations)
        if 0 <= dropped <= 1 and earlier.observations[dropped:] == observations[:-1]:
            return _moved_on(earlier, observations, dropped, ridge)
    return _fitted(observations, ridge)


def _fitted(observations: tuple[Observation, ...], ridge: float) -> _Fit:
    np = _numpy()
    rows = [_Row(each.features) for each in observations]
    places, weights = _table(rows)
    products = np.array([_likeness(places, weights, each) for each in rows])
    return _solved(observations, places, weights, np.linalg.inv(products + ridge * np.eye(len(rows))))


def _moved_on(earlier: _Fit, observations: tuple[Observation, ...], dropped: int, ridge: float) -> _Fit:
    """Border the inverse by a row for the newest observation, after taking out that of the oldest if it left."""
    np = _numpy()
    inverse, places, weights = earlier.inverse, earlier.places[dropped:], earlier.weights[dropped:]
    if dropped:
        inverse = inverse[1:, 1:] - np.outer(inverse[1:, 0], inverse[0, 1:]) / inverse[0, 0]
    row = _Row(observations[-1].features)
    moved = inverse @ _likeness(places, weights, row)
    own = float(row.weights @ row.weights) + ridge
    corner = 1.0 / (own - float(moved @ _likeness(places, weights, row)))
    inverse = np.block(
        [[inverse + corner * np.outer(moved, moved), -corner * moved[:, None]], [-corner * moved, corner]]
    )
    places, weights = _joined(places, weights, row)
    return _solved(observations, places, weights, inverse)


def _solved(
    observations: tuple[Observation, ...],
    places: NDArray[Any],
    weights: NDArray[float64],
    inverse: NDArray[float64],
) -> _Fit:
    surprises = _numpy().array([each.reward - each.prior for each in observations])
    return _Fit(observations, places, weights, inverse, inverse @ surprises)


def _likeness(places: NDArray[Any], weights: NDArray[float64], row: _Row) -> NDArray[float64]:
    likeness: NDArray[float64] = (row.dense[places] * weights).sum(axis=1)
    return likeness


def _table(rows: list[_Row]) -> tuple[NDArray[Any], NDArray[float64]]:
    np = _numpy()
    width = max((len(each.places) for each in rows), default=0)
    places, weights = np.zeros((len(rows), width), np.int64), np.zeros((len(rows), width))
    for at, each in enumerate(rows):
        places[at, : len(each.places)], weights[at, : len(each.places)] = each.places, each.weights
    return places, weights


def _joined(places: NDArray[Any], weights: NDArray[float64], row: _Row) -> tuple[NDArray[Any], NDArray[float64]]:
    np = _numpy()
    missing = len(row.places) - places.shape[1]
    before, after = (0, max(missing, 0)), (0, max(-missing, 0))
    tables = (np.pad(places, ((0, 0), before)), np.pad(weights, ((0, 0), before)))
    new = (np.pad(row.places, after), np.pad(row.weights, after))
    return np.vstack((tables[0], new[0])), np.vstack((tables[1], new[1]))


def _numpy() -> Any:
    with needing("learning", "learning of choices"):
        import numpy as np  # noqa: PLC0415 (an extra)
    return np

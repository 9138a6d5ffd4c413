"""Off-policy evaluation: estimates the value of another policy from recorded choices.

A recorded choice contains the reward of the chosen candidate only. Inverse propensity scoring divides it by the
probability of the choice; self-normalised scoring also divides by the sum of the weights; the doubly robust estimate
uses it to correct a model's expectations (Dudík, Langford and Li, "Doubly robust policy evaluation and learning",
ICML 2011).

Intervals come from a bootstrap over blocks of consecutive choices. An empirical Bernstein bound would hold without
further assumptions, but with the usual probabilities of exploration it is too wide to decide with fewer than tens of
thousands of choices. A bootstrap is too narrow if few choices carry all of the evidence, so the verdict stays unknown
with fewer than 30 of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from random import Random
from typing import Final, NamedTuple, TypeAlias

from gatechart.selection.observations import Observation
from gatechart.values.frozen import value

LEAST_EVIDENCE: Final = 30
"""Minimum number of recorded choices that match one policy's choice where the two policies differ."""

LEAST_OVERLAP: Final = 0.95
"""Minimum share of the evaluated policy's choices that could have been recorded."""

_BLOCKS: Final = 200
_RESAMPLES: Final = 1_000
_TOLERANCE: Final = 1e-9


@value
class Recorded:
    """A recorded choice and its outcome."""

    observation: Observation  # the chosen candidate, and its reward
    chances: tuple[tuple[str, float], ...]  # probability of each candidate; 0 for candidates left out
    text_scores: tuple[tuple[str, float], ...]  # of all candidates
    groups: tuple[tuple[str, str], ...] = ()  # of the candidates that belong to a group

    @property
    def id(self) -> str:
        """Id of the handoff."""
        return self.observation.id


Policy: TypeAlias = Callable[[Recorded], Mapping[str, float]]
"""Returns the probability of choosing each candidate; candidates with probability 0 may be left out."""

Expected: TypeAlias = Callable[[Recorded], Mapping[str, float]]
"""Returns the reward that a model expects of each candidate. The model must not have seen the recorded reward."""


class Comparison(StrEnum):
    """The result of an evaluation."""

    BETTER = "better"
    WORSE = "worse"
    UNKNOWN = "cannot be told"


@value
class Interval:
    """An estimate, and its bounds at the confidence of the evaluation."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.estimate:+.3f} ({self.low:+.3f} to {self.high:+.3f})"


@value
class Evaluation:
    """The difference between the mean rewards of two policies."""

    propensity: Interval  # inverse propensity scoring
    normalised: Interval  # the same, self-normalised
    robust: Interval  # doubly robust; it decides
    choices: int
    evidence: int  # choices where the two policies differ, and that match one of them
    overlap: float  # share of the evaluated policy's choices that could have been recorded
    verdict: Comparison
    details: str  # for people


class _Terms(NamedTuple):
    """The terms that one recorded choice contributes."""

    reward: float
    weight: float  # for the evaluated policy
    against: float  # for the other policy
    robust: float  # difference, doubly robust
    overlap: float
    is_evidence: bool


def evaluate(
    records: Sequence[Recorded],
    policy: Policy,
    against: Policy | None = None,
    *,
    expected: Expected | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> Evaluation:
    """Evaluate whether one policy is better than another.

    records: in the order of the choices. against: the policy that made the records if None. expected: 0 for every
    candidate if None. seed: for the bootstrap.
    """
    terms = [_terms_of(record, policy, against, expected) for record in records]
    bounds = (1.0 - confidence) / 2
    propensity, normalised, robust = _intervals(terms, bounds, Random(seed))
    evidence = sum(term.is_evidence for term in terms)
    overlap = sum(term.overlap for term in terms) / len(terms) if terms else 0.0
    verdict, details = _verdict(robust, evidence, overlap)
    return Evaluation(propensity, normalised, robust, len(terms), evidence, overlap, verdict, details)


def _terms_of(record: Recorded, policy: Policy, against: Policy | None, expected: Expected | None) -> _Terms:
    chosen, reward = record.observation.candidate, record.observation.reward
    chances, new = dict(record.chances), policy(record)
    # Choices that could not have been recorded count as 0, so that "better" holds whatever their reward.
    model = {
        candidate: mean for candidate, mean in (expected(record) if expected else {}).items() if candidate in chances
    }
    surprise = reward - model.get(chosen, 0.0)
    weight = new.get(chosen, 0.0) / chances[chosen]
    robust = _mean(model, new) + weight * surprise
    overlap = sum(chance for candidate, chance in new.items() if candidate in chances)
    if against is None:
        return _Terms(reward, weight, 1.0, robust - reward, overlap, abs(weight - 1.0) > _TOLERANCE and weight > 0)
    old = against(record)
    other = old.get(chosen, 0.0) / chances[chosen]
    robust -= _mean(model, old) + other * surprise
    return _Terms(reward, weight, other, robust, overlap, abs(weight - other) > _TOLERANCE)


def _mean(model: Mapping[str, float], chances: Mapping[str, float]) -> float:
    return sum(chance * model.get(candidate, 0.0) for candidate, chance in chances.items())


def _intervals(terms: Sequence[_Terms], bound: float, source: Random) -> tuple[Interval, Interval, Interval]:
    """Return an interval for each estimator, from resampled sums over blocks."""
    blocks = [_sums(block) for block in _blocks(terms)]
    if not blocks:
        unknown = Interval(0.0, -1.0, 1.0)
        return unknown, unknown, unknown
    drawn = [_estimates(_added(source.choices(blocks, k=len(blocks)))) for _ in range(_RESAMPLES)]
    estimates = _estimates(_added(blocks))
    propensity, normalised, robust = (
        _interval(estimate, sorted(draws), bound)
        for estimate, draws in zip(estimates, zip(*drawn, strict=True), strict=True)
    )
    return propensity, normalised, robust


def _blocks(terms: Sequence[_Terms]) -> Iterable[Sequence[_Terms]]:
    size = -(-len(terms) // _BLOCKS) or 1
    return (terms[start : start + size] for start in range(0, len(terms), size))


def _sums(terms: Sequence[_Terms]) -> tuple[float, ...]:
    """Return number, both weights, both weighted rewards, and the doubly robust differences."""
    return (
        float(len(terms)),
        sum(term.weight for term in terms),
        sum(term.against for term in terms),
        sum(term.weight * term.reward for term in terms),
        sum(term.against * term.reward for term in terms),
        sum(term.robust for term in terms),
    )


def _added(sums: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(map(sum, zip(*sums, strict=True)))


def _estimates(sums: tuple[float, ...]) -> tuple[float, float, float]:
    number, weight, other, reward, other_reward, robust = sums
    normalised = (reward / weight if weight else 0.0) - (other_reward / other if other else 0.0)
    return (reward - other_reward) / number, normalised, robust / number


def _interval(estimate: float, drawn: Sequence[float], bound: float) -> Interval:
    last = len(drawn) - 1
    return Interval(estimate, drawn[round(bound * last)], drawn[round((1.0 - bound) * last)])


def _verdict(robust: Interval, evidence: int, overlap: float) -> tuple[Comparison, str]:
    if evidence < LEAST_EVIDENCE:
        problem = f"{evidence} recorded choices distinguish the two policies; {LEAST_EVIDENCE} are needed"
        return Comparison.UNKNOWN, f"{problem}: record more choices, with exploration"
    if robust.low > 0:
        return Comparison.BETTER, f"the mean reward differs by {robust}"
    if robust.high < 0 and overlap >= LEAST_OVERLAP:
        return Comparison.WORSE, f"the mean reward differs by {robust}"
    if robust.high < 0:
        return Comparison.UNKNOWN, f"{1 - overlap:.0%} of its choices could not have been recorded: explore among more"
    return Comparison.UNKNOWN, f"the mean reward differs by {robust}: record more choices"

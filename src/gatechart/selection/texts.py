"""Fit of a text to each candidate, by the words of its samples and descriptions, without a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, Protocol

from gatechart.selection.features import Rarity, features, scaled, spoken, words_of
from gatechart.selection.rows import UNIT, Rows, whole
from gatechart.values.frozen import value
from gatechart.values.profiles import Candidate

MOST_TEXTS: Final = 100
"""Maximum number of texts of a candidate that count: the first ones."""

NEAR: Final = 50
"""Number of candidates whose texts are compared one by one: the nearest by the sum of their texts."""

TOGETHER: Final = 0.65
"""Weight in a score of the sum of a candidate's texts; its most similar text has the rest."""

_NEGLIGIBLE: Final = 1e-6  # a lower similarity counts as none


@value
class Least:
    """Minimum text scores of a match."""

    sampled: float  # for a candidate with samples
    described: float  # for a candidate with descriptions only, which differ more from people's messages

    @classmethod
    def alike(cls, score: float) -> Least:
        """Return the same score for both."""
        return cls(score, score)


LEAST: Final = Least(0.17, 0.07)
"""Minimum scores for word features, without a model.

With 150 candidates of 1 to 10 samples each, 4 to 8 % of the sentences that belong to a candidate score less, and about
half of the sentences that belong to none. With descriptions only, 6 % of the sentences of a candidate score less.
"""


class TextScorer(Protocol):
    """Scores the fit of a text to each candidate of a fixed set."""

    @property
    def least(self) -> Least:
        """Minimum scores of a match, unless a selection sets them."""
        ...

    def scores(self, text: str) -> dict[str, float]:
        """Return the score of every candidate by its id, from 0 to 1; 0 for all if the text has no features."""
        ...

    def features_of(self, text: str) -> Mapping[str, float]:
        """Return the features of a text. The fewer candidates have a feature, the higher its weight."""
        ...


class TextIndex:
    """Scores the fit of a text to each candidate: TF-IDF over words, pairs of words and substrings of words.

    A score has two parts, both cosines: with the sum of all texts of a candidate, and with its text whose words are
    most similar, which is computed for the 50 nearest candidates only. The fewer candidates have a feature, the higher
    its weight. A feature that no candidate has counts, too, so that a text on another subject scores low everywhere.
    An index depends only on its texts, not on their order. Building one takes about 0.3 s for 1,000 texts; a query
    takes about 1 ms for 1,000 candidates.

    >>> index = TextIndex({"refunds": ["I want my money back"], "orders": ["Where is my parcel?"]})
    >>> scores = index.scores("please give me back the money")
    >>> max(scores, key=scores.get)
    'refunds'
    """

    __slots__ = ("_everything", "_ids", "_last", "_rarity", "_words", "least")

    def __init__(self, texts: Mapping[str, Iterable[str]]) -> None:
        """texts: the texts of each candidate, by its id: samples, descriptions, names of capabilities and domains."""
        self.least = LEAST
        self._ids = tuple(sorted(texts))
        documents = [documents_of(texts[candidate]) for candidate in self._ids]
        self._rarity = Rarity(documents)
        self._last: tuple[str, Mapping[str, float]] = "", {}
        self._everything = Rows([self._sum(document) for document in documents])
        weighed = self._rarity.weighed
        self._words = tuple(Rows([weighed(words_of(text)) for text in document]) for document in documents)

    def scores(self, text: str) -> dict[str, float]:
        """Return the score of every candidate by its id, from 0 to 1; 0 for all if the text has no features."""
        unweighed = features(text)
        weighed = self._rarity.weighed(unweighed)
        self._last = text, weighed  # learning requests them next
        together = self._everything.sums(whole(weighed))
        words = whole(self._rarity.weighed(words_of(unweighed)))
        return blended(self._ids, together, lambda at: max(self._words[at].sums(words)), UNIT * UNIT)

    def features_of(self, text: str) -> Mapping[str, float]:
        """See Likeness."""
        last, weighed = self._last
        return weighed if last == text else self._rarity.weighed(features(text))

    def _sum(self, documents: Iterable[Mapping[str, float]]) -> dict[str, float]:
        total: dict[str, float] = {}
        for document in documents:
            for name, weight in self._rarity.weighed(document).items():
                total[name] = total.get(name, 0.0) + weight
        return scaled(total)


def index_of(candidates: Iterable[Candidate]) -> TextIndex:
    """Build the index of candidates from their texts."""
    return TextIndex({candidate.id: texts_of(candidate) for candidate in candidates})


def texts_of(candidate: Candidate) -> tuple[str, ...]:
    """Return the texts of a candidate: samples, each line of its text, and the names of capabilities and domains.

    >>> from gatechart.selection import Profile
    >>> profile = Profile(capabilities=("query_order",), samples=("where is it",))
    >>> texts_of(Candidate("orders.ASK", "orders", "ASK", profile=profile, text="Finds orders."))
    ('where is it', 'Finds orders.', 'query order')
    """
    profile = candidate.profile
    names = " ".join(map(spoken, (*profile.capabilities, *profile.domains)))
    return tuple(text for text in (*profile.samples, *candidate.text.splitlines(), names) if text)


def blended(
    ids: Sequence[str], together: Sequence[float], best: Callable[[int], float], unit: float = 1.0
) -> dict[str, float]:
    """Combine the two parts of each score, and return scores by id.

    together: for each candidate, in the order of the ids, the similarity of the sum of its texts, from 0 to unit.
    best: returns the similarity of the most similar text of the candidate with an index, from 0 to unit.
    """
    scores = dict(zip(ids, map((TOGETHER / unit).__mul__, together), strict=True))
    threshold = max(sorted(together)[-NEAR:][0], unit * _NEGLIGIBLE) if ids else unit
    for index in [at for at, likeness in enumerate(together) if likeness >= threshold]:
        score = scores[ids[index]] + (1 - TOGETHER) / unit * best(index)
        scores[ids[index]] = min(score, 1.0)
    return scores


def documents_of(texts: Iterable[str]) -> list[Mapping[str, float]]:
    """Return the features of distinct texts that have any, sorted, because sums of floats depend on their order."""
    return [document for document in map(features, sorted(set(islice(texts, MOST_TEXTS)))) if document]

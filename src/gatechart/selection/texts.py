"""Score the fit between a text and each candidate by the words of its samples and descriptions, without a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, Protocol

from gatechart.selection.features import Rarity, features, scaled, spoken, words_of
from gatechart.selection.rows import UNIT, Rows, whole
from gatechart.values import Candidate
from gatechart.values.frozen import value

MOST_TEXTS: Final = 100
"""Maximum number of texts that count for a candidate: the first."""

NEAR: Final = 50
"""Number of candidates whose texts are compared one by one: the nearest by the sum of their texts."""

TOGETHER: Final = 0.65
"""The weight of a candidate's texts together in a score; the most similar text has the rest."""

_NOTHING: Final = 1e-6  # a smaller likeness counts as 0


@value
class Least:
    """The minimum text scores for a match."""

    sampled: float  # for a candidate with samples
    described: float  # for a candidate with descriptions only, which are less similar to users' texts

    @classmethod
    def alike(cls, score: float) -> Least:
        """Return an instance with the same score for both."""
        return cls(score, score)


LEAST: Final = Least(0.17, 0.07)
"""By words, without a model.

Of sentences that belong to one of 150 candidates with 1 to 10 samples each, 4 to 8 % score less; of those that belong
to none, about half do. Of wishes that belong to a candidate with descriptions alone, 6 % score less.
"""


class Likeness(Protocol):
    """Scores the fit between a text and each candidate of a fixed set."""

    @property
    def least(self) -> Least:
        """The minimum scores for a match, unless a selection sets its own."""
        ...

    def scores(self, text: str) -> dict[str, float]:
        """Return the score of every candidate by its id, from 0 to 1; 0 for all if the text says nothing."""
        ...

    def features_of(self, text: str) -> Mapping[str, float]:
        """Return the features of a text; the fewer candidates have a feature, the higher its weight."""
        ...


class TextIndex:
    """Scores the fit between a text and each candidate: TF-IDF over words, pairs of words and substrings of words.

    A score has two parts, both cosines: with the sum of a candidate's texts, and with the candidate's text whose words
    are most similar; the second part is computed for the 50 nearest candidates only. The fewer candidates have a
    feature, the higher its weight; features that no candidate has count, too, so that an unrelated text scores low
    everywhere. An index depends on its texts alone, not on their order. Building it takes about 0.3 s for 1,000 texts;
    scoring takes about 1 ms for 1,000 candidates.

    >>> index = TextIndex({"refunds": ["I want my money back"], "orders": ["Where is my parcel?"]})
    >>> scores = index.scores("please give me back the money")
    >>> max(scores, key=scores.get)
    'refunds'
    """

    __slots__ = ("_everything", "_ids", "_last", "_rarity", "_words", "least")

    def __init__(self, texts: Mapping[str, Iterable[str]]) -> None:
        """texts: samples, descriptions and names of capabilities of each candidate, by its id."""
        self.least = LEAST
        self._ids = tuple(sorted(texts))
        documents = [documents_of(texts[candidate]) for candidate in self._ids]
        self._rarity = Rarity(documents)
        self._last: tuple[str, Mapping[str, float]] = "", {}
        self._everything = Rows([self._sum(document) for document in documents])
        self._words = tuple(Rows([self._rarity.weighed(words_of(text)) for text in document]) for document in documents)

    def scores(self, text: str) -> dict[str, float]:
        """Return the score of every candidate by its id, from 0 to 1; 0 for all if the text says nothing."""
        found = features(text)
        weighed = self._rarity.weighed(found)
        self._last = text, weighed  # learning requests these features next
        together = self._everything.sums(whole(weighed))
        words = whole(self._rarity.weighed(words_of(found)))
        return blended(self._ids, together, lambda at: max(self._words[at].sums(words)), UNIT * UNIT)

    def features_of(self, text: str) -> Mapping[str, float]:
        """See Likeness."""
        last, weighed = self._last
        return weighed if last == text else self._rarity.weighed(features(text))

    def _sum(self, documents: Iterable[Mapping[str, float]]) -> dict[str, float]:
        total: dict[str, float] = {}
        for document in documents:
            for name, each in self._rarity.weighed(document).items():
                total[name] = total.get(name, 0.0) + each
        return scaled(total)


def index_of(candidates: Iterable[Candidate]) -> TextIndex:
    """Build the index of candidates from their texts."""
    return TextIndex({candidate.id: texts_of(candidate) for candidate in candidates})


def texts_of(candidate: Candidate) -> tuple[str, ...]:
    """Return the texts of a candidate: its samples, the lines of its text, and its capabilities and domains in words.

    >>> from gatechart.values import Profile
    >>> profile = Profile(capabilities=("query_order",), samples=("where is it",))
    >>> texts_of(Candidate("orders.ASK", "orders", "ASK", profile=profile, text="Finds orders."))
    ('where is it', 'Finds orders.', 'query order')
    """
    profile = candidate.profile
    names = " ".join(map(spoken, (*profile.capabilities, *profile.domains)))
    return tuple(each for each in (*profile.samples, *candidate.text.splitlines(), names) if each)


def blended(
    ids: Sequence[str], together: Sequence[float], best: Callable[[int], float], unit: float = 1.0
) -> dict[str, float]:
    """Blend the two parts of each candidate's score. Return the scores by id.

    together: the likeness of each candidate's texts together, in the order of the ids. A likeness is from 0 to unit.
    best: returns the likeness of the most similar text, for the candidate at an index.
    """
    scores = dict(zip(ids, map((TOGETHER / unit).__mul__, together), strict=True))
    threshold = max(sorted(together)[-NEAR:][0], unit * _NOTHING) if ids else unit
    for place in [at for at, each in enumerate(together) if each >= threshold]:
        both = scores[ids[place]] + (1 - TOGETHER) / unit * best(place)
        scores[ids[place]] = min(both, 1.0)
    return scores


def documents_of(texts: Iterable[str]) -> list[Mapping[str, float]]:
    """Return the features of the distinct nonblank texts, sorted: sums of floats depend on their order."""
    return [each for each in map(features, sorted(set(islice(texts, MOST_TEXTS)))) if each]

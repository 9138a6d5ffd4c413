"""How well a text fits each candidate, by the words of its samples and descriptions, without a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, Protocol

from gatechart.selection.features import Rarity, features, scaled, spoken, words_of
from gatechart.selection.rows import UNIT, Rows, whole
from gatechart.values.frozen import value
from gatechart.values.profiles import Candidate

MOST_TEXTS: Final = 100
"""Texts of a candidate that count: the first."""

NEAR: Final = 50
"""Candidates whose texts are compared one by one: the nearest by all of their texts together."""

TOGETHER: Final = 0.65
"""What part of a score all texts of a candidate have together; the rest has the one that is most alike."""

_NOTHING: Final = 1e-6  # a likeness below this is none


@value
class Least:
    """The text scores from which on there is a match."""

    sampled: float  # with a candidate that has samples
    described: float  # with one that has descriptions alone, which are less like what people say

    @classmethod
    def alike(cls, score: float) -> Least:
        """Return the same score for both."""
        return cls(score, score)


LEAST: Final = Least(0.17, 0.07)
"""By words, without a model.

Of sentences that belong to one of 150 candidates with 1 to 10 samples each, 4 to 8 % score less; of those that belong
to none, about half do. Of wishes that belong to a candidate with descriptions alone, 6 % score less.
"""


class Likeness(Protocol):
    """Tells how well a text fits each candidate of a fixed set."""

    @property
    def least(self) -> Least:
        """The scores from which on there is a match, unless a selection has its own."""
        ...

    def scores(self, text: str) -> dict[str, float]:
        """Return the score of every candidate by its id, from 0 to 1; 0 for all if the text says nothing."""
        ...

    def features_of(self, text: str) -> Mapping[str, float]:
        """Return the features of a text; one is worth the more the fewer candidates have it."""
        ...


class TextIndex:
    """Tells how well a text fits each candidate: TF-IDF over words, pairs of words and the strings within them.

    A score has two parts, both cosines: with the sum of all texts of a candidate, and with the one of them whose words
    are most alike, which is looked for among the 50 nearest candidates alone. A feature is worth the more the fewer
    candidates have it; one that none has counts, too, so that a text about something else scores low everywhere.
    An index depends on its texts alone, not on their order. To build one takes about 0.3 s for 1,000 texts; to ask it,
    about 1 ms for 1,000 candidates.

    >>> index = TextIndex({"refunds": ["I want my money back"], "orders": ["Where is my parcel?"]})
    >>> scores = index.scores("please give me back the money")
    >>> max(scores, key=scores.get)
    'refunds'
    """

    __slots__ = ("_everything", "_ids", "_last", "_rarity", "_words", "least")

    def __init__(self, texts: Mapping[str, Iterable[str]]) -> None:
        """texts: what is known of each candidate, by its id: samples, descriptions, names of what it can do."""
        self.least = LEAST
        self._ids = tuple(sorted(texts))
        documents = [documents_of(texts[each]) for each in self._ids]
        self._rarity = Rarity(documents)
        self._last: tuple[str, Mapping[str, float]] = "", {}
        self._everything = Rows([self._sum(each) for each in documents])
        self._words = tuple(Rows([self._rarity.weighed(words_of(each)) for each in document]) for document in documents)

    def scores(self, text: str) -> dict[str, float]:
        """Return the score of every candidate by its id, from 0 to 1; 0 for all if the text says nothing."""
        found = features(text)
        weighed = self._rarity.weighed(found)
        self._last = text, weighed  # which learning asks for next
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
    """Return the index of candidates by what is known of them."""
    return TextIndex({each.id: texts_of(each) for each in candidates})


def texts_of(candidate: Candidate) -> tuple[str, ...]:
    """Return what is known of a candidate: its samples, each line of its text, and the names of what it can do.

    >>> from gatechart.selection import Profile
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
    """Return scores by id, of which both parts are known.

    together: of each candidate, in the order of their ids, the likeness of all its texts. A likeness is from 0 to unit.
    best: of the one at a place, the likeness of the text that is most alike.
    """
    scores = dict(zip(ids, map((TOGETHER / unit).__mul__, together), strict=True))
    threshold = max(sorted(together)[-NEAR:][0], unit * _NOTHING) if ids else unit
    for place in [at for at, each in enumerate(together) if each >= threshold]:
        both = scores[ids[place]] + (1 - TOGETHER) / unit * best(place)
        scores[ids[place]] = min(both, 1.0)
    return scores


def documents_of(texts: Iterable[str]) -> list[Mapping[str, float]]:
    """Return the features of different texts that say something, sorted: sums of floats depend on their order."""
    return [each for each in map(features, sorted(set(islice(texts, MOST_TEXTS)))) if each]

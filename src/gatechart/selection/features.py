"""Features for comparing texts: words, pairs of words, and short substrings of words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import chain, pairwise
from math import log, sqrt
from typing import Final

from gatechart.values.texts import UNSPACED, marks

LONGEST: Final = 4_000
"""Maximum number of characters of a text that count; the rest is ignored."""

GRAMS: Final = (3, 4)  # lengths of substrings of a word, including a space at both ends
UNSPACED_GRAMS: Final = (1, 2, 3)  # lengths of substrings of a run in a script without spaces
WORD_WEIGHT: Final = 1.5  # weight of words and pairs of words; substrings have 1
WORD: Final = "_"
"""Prefix of word features, and of no others."""

_PAIR: Final = "+"  # prefix of word pairs, and of no others
_HEAVY: Final = (WORD, _PAIR)

_TOKEN: Final = re.compile(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+")
_IS_UNSPACED: Final = re.compile(f"[{UNSPACED}]")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def features(text: str) -> Mapping[str, float]:
    """Return the features of a text with their weights, whose squares add up to 1; none if it has no letter or digit.

    A feature is a word, a pair of consecutive words, or a substring of 3 or 4 characters within a word (1 to 3 in
    scripts without spaces). Its weight grows with the logarithm of its frequency. Case, width and punctuation are
    ignored; `query_order` and `QueryOrder` are two words each. The same text has the same features everywhere.

    >>> sorted(features("Go!"))
    [' go', ' go ', '_go', 'go ']
    >>> sorted(features("退款"))
    ['_退款', '款', '退', '退款']
    """
    counts = Counter(_features_in(text))
    return scaled({feature: _weight(feature, count) for feature, count in counts.items()})


def words_of(weights: Mapping[str, float]) -> dict[str, float]:
    """Return only the features that are words."""
    return {name: weight for name, weight in weights.items() if name[0] == WORD}


def spoken(name: str) -> str:
    """Split a name into its words.

    >>> spoken("QUERY_order"), spoken("CheckOut")
    ('query order', 'check out')
    """
    return " ".join(_tokens_of(name))


def scaled(weights: Mapping[str, float]) -> dict[str, float]:
    """Scale weights so that their squares add up to 1."""
    length = sqrt(sum(weight * weight for weight in weights.values()))
    return {name: weight / length for name, weight in weights.items()} if length else {}


class Rarity:
    """Weighs features by their rarity among candidates. A feature that no candidate has weighs most."""

    __slots__ = ("_most", "_of")

    def __init__(self, candidates: Iterable[Iterable[Mapping[str, float]]]) -> None:
        """candidates: for each candidate, the features of its texts."""
        feature_sets = [set().union(*texts) for texts in candidates]
        self._most = log(1 + len(feature_sets)) + 1
        self._of = {
            name: self._most - log(1 + count) for name, count in Counter(chain.from_iterable(feature_sets)).items()
        }

    def weighed(self, weights: Mapping[str, float]) -> dict[str, float]:
        """Multiply the weights by rarity, and scale them so that their squares add up to 1."""
        of, most = self._of.get, self._most
        return scaled({name: weight * of(name, most) for name, weight in weights.items()})


def _weight(feature: str, count: int) -> float:
    weight = 1.0 if count == 1 else 1.0 + log(count)
    return weight * WORD_WEIGHT if feature[0] in _HEAVY else weight


def _tokens_of(text: str) -> list[str]:
    spaced = _CAMEL.sub(" ", text)
    if spaced.isascii():
        return _TOKEN.findall(spaced.lower())
    return _marked_token().findall(unicodedata.normalize("NFKC", spaced).casefold())


@cache
def _marked_token() -> re.Pattern[str]:
    """Return the pattern of tokens for scripts with combining marks within words, such as Hindi."""
    return re.compile(rf"[{UNSPACED}]+|(?:[^\W_{UNSPACED}][{marks()}]*)+")


def _features_in(text: str) -> Iterator[str]:
    tokens = _tokens_of(text[:LONGEST])
    for token in tokens:
        yield from _features_of(token)
    for first, second in pairwise(tokens):
        yield f"{_PAIR}{first} {second}"


@lru_cache(20_000)
def _features_of(token: str) -> tuple[str, ...]:
    """Return the features of a word, or of a run without spaces, where every two characters count as a word."""
    if _IS_UNSPACED.match(token):
        words = [token[at : at + 2] for at in range(max(len(token) - 1, 1))]
        return *(WORD + word for word in words), *_grams(token, UNSPACED_GRAMS)
    return WORD + token, *_grams(f" {token} ", GRAMS)


def _grams(text: str, lengths: tuple[int, ...]) -> Iterator[str]:
    for length in lengths:
        for at in range(len(text) - length + 1):
            yield text[at : at + length]

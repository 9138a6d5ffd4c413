"""Score the fit between a text and each candidate by embeddings, which a function of the application computes."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from math import isfinite, sqrt
from operator import mul
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from gatechart.errors.extras import needing
from gatechart.errors.outside import EmbeddingError
from gatechart.selection.features import Rarity, features
from gatechart.selection.texts import MOST_TEXTS, TOGETHER, Least, blended, documents_of

Embed: TypeAlias = Callable[[Sequence[str]], Iterable[Iterable[float]]]
"""Returns a vector for each text, all of the same length. Called outside of turns, with many texts at once."""

Vector: TypeAlias = "array[float]"  # of length 1, or of zeros

LEAST_EMBEDDED: Final = 0.3
"""Minimum score of a match if candidates have too few texts to derive one."""

_MISSED: Final = 0.05  # share of the candidates' own texts that may score below the threshold
_ENOUGH: Final = 20  # texts needed to derive a threshold
_MOST_COMPARED: Final = 500  # maximum number of texts to derive it from
_NONE: Final[Mapping[str, Vector]] = MappingProxyType({})
_RETURN: Final = "return one vector of finite numbers for each text, in order, all of the same length"


class EmbeddingIndex:
    """Scores the fit of a text to each candidate by cosines of vectors alone.

    A score has the same two parts as in a TextIndex. A cosine below 0 counts as 0. Scores of different functions are
    not comparable, so the threshold is derived from the candidates' own texts unless it is passed: 95 % of them reach
    it when they are compared with the other texts of their candidate.

    >>> index = EmbeddingIndex({"a": ["aa"], "b": ["b"]}, lambda texts: [(t.count("a"), t.count("b")) for t in texts])
    >>> index.scores("aaab")["a"] > index.scores("aaab")["b"]
    True
    """

    __slots__ = ("_candidates", "_embed", "_ids", "_rarity", "_together", "least", "vectors")

    def __init__(
        self,
        texts: Mapping[str, Iterable[str]],
        embed: Embed,
        *,
        known: Mapping[str, Vector] = _NONE,
        least: float | None = None,
    ) -> None:
        """texts: the texts of each candidate, by its id: samples, descriptions, names of capabilities and domains.

        known: the `vectors` of an earlier index with the same function; only other texts are embedded.
        Raises EmbeddingError if the function returns anything but vectors, and the function's own exceptions.
        """
        self._embed = embed
        self._ids = tuple(sorted(texts))
        texts_by_candidate = [_counted(texts[candidate]) for candidate in self._ids]
        self._rarity = Rarity(map(documents_of, texts_by_candidate))
        self.vectors = _vectors(embed, {text for own_texts in texts_by_candidate for text in own_texts}, known)
        self._candidates = [[self.vectors[text] for text in own_texts] for own_texts in texts_by_candidate]
        self._together = [_sum(vectors) for vectors in self._candidates]
        self.least = Least.alike(self._own_least() if least is None else least)

    def scores(self, text: str) -> dict[str, float]:
        """Return the score of every candidate by its id, from 0 to 1; 0 for all if the text is blank.

        Raises EmbeddingError if the function returns anything but vectors, and the function's own exceptions.
        """
        if not text.strip():
            return dict.fromkeys(self._ids, 0.0)
        asked = _vectors(self._embed, {text}, self.vectors if text in self.vectors else _NONE)[text]
        self._check_length(asked)
        together = [_likeness(asked, vector) for vector in self._together]
        return blended(self._ids, together, lambda at: _best(asked, self._candidates[at]))

    def features_of(self, text: str) -> Mapping[str, float]:
        """Return the features of a text. The fewer candidates have a feature, the higher its weight."""
        return self._rarity.weighed(features(text))

    def _check_length(self, asked: Vector) -> None:
        expected = next((len(vector) for vector in self.vectors.values()), len(asked))
        if len(asked) != expected:
            raise EmbeddingError(f"a text was embedded as {len(asked)} numbers, others as {expected}", _RETURN)

    def _own_least(self) -> float:
        own = sorted(islice(self._own_scores(), _MOST_COMPARED))
        return own[int(len(own) * _MISSED)] if len(own) >= _ENOUGH else LEAST_EMBEDDED

    def _own_scores(self) -> Iterator[float]:
        """Yield the score of each text against the other texts of its candidate, one text per candidate in turn."""
        for index in range(max(map(len, self._candidates), default=0)):
            for vectors in self._candidates:
                if index < len(vectors) > 1:
                    others = [*vectors[:index], *vectors[index + 1 :]]
                    alike = _likeness(vectors[index], _sum(others))
                    yield TOGETHER * alike + (1 - TOGETHER) * _best(vectors[index], others)


def static_embeddings(folder: str | Path) -> Embed:
    """Return a function that embeds texts with the static model in a folder, in the format of model2vec.

    Downloads nothing. Raises EmbeddingError if the folder contains no such model, and ExtraMissingError.
    """
    with needing("embeddings", "a static embedding model"):
        from model2vec import StaticModel  # noqa: PLC0415
    if not (Path(folder) / "config.json").is_file():
        remedy = "pass a folder where model2vec saved one with save_pretrained()"
        raise EmbeddingError(f"there is no static model in {str(folder)!r}", remedy)
    try:
        model = StaticModel.from_pretrained(Path(folder))
    except Exception as error:  # the libraries that read its files raise unrelated error classes
        raise EmbeddingError(f"the static model in {str(folder)!r} cannot be read: {error}", "save it again") from error

    def embed(texts: Sequence[str]) -> Any:
        return model.encode(texts, use_multiprocessing=False)

    return embed


def _counted(texts: Iterable[str]) -> list[str]:
    """Return the texts of a candidate that count, sorted."""
    return sorted({text for text in islice(texts, MOST_TEXTS) if text.strip()})


def _vectors(embed: Embed, texts: set[str], known: Mapping[str, Vector]) -> dict[str, Vector]:
    missing = sorted(texts - known.keys())
    computed = dict(zip(missing, _embedded(embed, missing), strict=True)) if missing else {}
    vectors = {text: computed[text] if text in computed else known[text] for text in sorted(texts)}
    lengths = sorted({len(vector) for vector in vectors.values()})
    if len(lengths) > 1:
        raise EmbeddingError(f"texts were embedded as {lengths[0]} numbers and as {lengths[-1]}", _RETURN)
    return vectors


def _embedded(embed: Embed, texts: Sequence[str]) -> list[Vector]:
    answer = embed(texts)
    try:
        vectors = [array("d", map(float, numbers)) for numbers in answer]
    except (TypeError, ValueError, OverflowError) as error:
        raise EmbeddingError(f"texts were embedded as values that are not numbers: {error}", _RETURN) from error
    if len(vectors) != len(texts):
        raise EmbeddingError(f"{len(texts)} texts were embedded as {len(vectors)} vectors", _RETURN)
    if not all(isfinite(number) for vector in vectors for number in vector):
        raise EmbeddingError("the embedding of a text contains a number that is not finite", _RETURN)
    return [_scaled(vector) for vector in vectors]


def _sum(vectors: Sequence[Vector]) -> Vector:
    return _scaled(array("d", map(sum, zip(*vectors, strict=True))))


def _scaled(vector: Vector) -> Vector:
    greatest = max(map(abs, vector), default=0.0)
    if not greatest:
        return vector
    # The squares of very large and very small numbers must neither overflow nor vanish.
    near_1 = [number / greatest for number in vector]
    length = sqrt(sum(map(mul, near_1, near_1)))
    return array("d", [number / length for number in near_1])


def _best(asked: Vector, vectors: Iterable[Vector]) -> float:
    return max((_likeness(asked, vector) for vector in vectors), default=0.0)


def _likeness(one: Vector, other: Vector) -> float:
    product: float = sum(map(mul, one, other))
    return max(product, 0.0)

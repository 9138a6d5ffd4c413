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

from gatechart.errors import EmbeddingError, needing
from gatechart.selection.features import Rarity, features
from gatechart.selection.texts import MOST_TEXTS, TOGETHER, Least, blended, documents_of

Embed: TypeAlias = Callable[[Sequence[str]], Iterable[Iterable[float]]]
"""Returns a vector for each text, all of one length. Called outside of turns, with many texts at once."""

Vector: TypeAlias = "array[float]"  # of length 1, or of zeros

LEAST_EMBEDDED: Final = 0.3
"""The minimum score of a match if the candidates have too few texts to estimate one."""

_LOST: Final = 0.05  # share of the candidates' own texts that may score below the threshold
_ENOUGH: Final = 20  # minimum number of texts to estimate a threshold
_COMPARED: Final = 500  # maximum number of texts for the estimate
_NONE: Final[Mapping[str, Vector]] = MappingProxyType({})
_RETURN: Final = "return for each text, in order, finite numbers, always equally many"


class EmbeddingIndex:
    """Scores the fit between a text and each candidate by cosines of vectors only.

    A score has the same two parts as a score of TextIndex. A cosine below 0 counts as 0. Scores of different functions
    are not comparable, so the threshold is estimated from the candidates' own texts unless it is given: 95 % of them
    reach it in a comparison with the other texts of their candidate.

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
        """texts: samples, descriptions and names of capabilities of each candidate, by its id.

        known: the `vectors` of an earlier index with the same function; only other texts are embedded.
        Raises EmbeddingError if the function returns anything but vectors. Errors of the function propagate.
        """
        self._embed = embed
        self._ids = tuple(sorted(texts))
        told = [sorted({each for each in islice(texts[id_], MOST_TEXTS) if each.strip()}) for id_ in self._ids]
        self._rarity = Rarity(map(documents_of, told))
        self.vectors = _vectors(embed, {each for known_texts in told for each in known_texts}, known)
        self._candidates = [[self.vectors[each] for each in known_texts] for known_texts in told]
        self._together = [_sum(each) for each in self._candidates]
        self.least = Least.alike(self._own_least() if least is None else least)

    def scores(self, text: str) -> dict[str, float]:
        """Return the score of every candidate by its id, from 0 to 1; 0 for all if the text is blank.

        Raises EmbeddingError if the function returns anything but vectors. Errors of the function propagate.
        """
        if not text.strip():
            return dict.fromkeys(self._ids, 0.0)
        asked = _vectors(self._embed, {text}, self.vectors if text in self.vectors else _NONE)[text]
        self._check_length(asked)
        together = [_likeness(asked, each) for each in self._together]
        return blended(self._ids, together, lambda at: _best(asked, self._candidates[at]))

    def features_of(self, text: str) -> Mapping[str, float]:
        """Return the features of a text; the fewer candidates have a feature, the higher its weight."""
        return self._rarity.weighed(features(text))

    def _check_length(self, asked: Vector) -> None:
        expected = next((len(each) for each in self.vectors.values()), len(asked))
        if len(asked) != expected:
            raise EmbeddingError(f"a text was embedded as {len(asked)} numbers, others as {expected}", _RETURN)

    def _own_least(self) -> float:
        own = sorted(islice(self._own_scores(), _COMPARED))
        return own[int(len(own) * _LOST)] if len(own) >= _ENOUGH else LEAST_EMBEDDED

    def _own_scores(self) -> Iterator[float]:
        """Yield the score of each text with its candidate's other texts: first texts of all candidates, then second."""
        for place in range(max(map(len, self._candidates), default=0)):
            for vectors in self._candidates:
                if place < len(vectors) > 1:
                    others = [*vectors[:place], *vectors[place + 1 :]]
                    alike = _likeness(vectors[place], _sum(others))
                    yield TOGETHER * alike + (1 - TOGETHER) * _best(vectors[place], others)


def static_embeddings(folder: str | Path) -> Embed:
    """Return a function that embeds texts by a static model in a folder, as saved by model2vec.

    Nothing is downloaded. Raises EmbeddingError if the folder holds no such model, and ExtraMissingError.
    """
    with needing("embeddings", "a static model of embeddings"):
        from model2vec import StaticModel  # noqa: PLC0415
    if not (Path(folder) / "config.json").is_file():
        remedy = "name a folder to which model2vec has saved one with save_pretrained()"
        raise EmbeddingError(f"there is no static model in {str(folder)!r}", remedy)
    try:
        model = StaticModel.from_pretrained(Path(folder))
    except Exception as error:  # the readers of its files raise various errors without a common base
        raise EmbeddingError(f"the static model in {str(folder)!r} cannot be read: {error}", "save it anew") from error

    def embed(texts: Sequence[str]) -> Any:
        return model.encode(texts, use_multiprocessing=False)

    return embed


def _vectors(embed: Embed, texts: set[str], known: Mapping[str, Vector]) -> dict[str, Vector]:
    missing = sorted(texts - known.keys())
    made = dict(zip(missing, _embedded(embed, missing), strict=True)) if missing else {}
    vectors = {each: made[each] if each in made else known[each] for each in sorted(texts)}
    lengths = sorted({len(each) for each in vectors.values()})
    if len(lengths) > 1:
        raise EmbeddingError(f"texts were embedded as {lengths[0]} numbers and as {lengths[-1]}", _RETURN)
    return vectors


def _embedded(embed: Embed, texts: Sequence[str]) -> list[Vector]:
    given = embed(texts)
    try:
        vectors = [array("d", map(float, each)) for each in given]
    except (TypeError, ValueError, OverflowError) as error:
        raise EmbeddingError(f"texts were embedded as something else than numbers: {error}", _RETURN) from error
    if len(vectors) != len(texts):
        raise EmbeddingError(f"{len(texts)} texts were embedded as {len(vectors)} vectors", _RETURN)
    if not all(isfinite(each) for vector in vectors for each in vector):
        raise EmbeddingError("a text was embedded as a number that is not finite", _RETURN)
    return [_scaled(each) for each in vectors]


def _sum(vectors: Sequence[Vector]) -> Vector:
    return _scaled(array("d", map(sum, zip(*vectors, strict=True))))


def _scaled(vector: Vector) -> Vector:
    greatest = max(map(abs, vector), default=0.0)
    if not greatest:
        return vector
    # so that the squares of very large and very small numbers neither overflow nor vanish
    near_1 = [each / greatest for each in vector]
    length = sqrt(sum(map(mul, near_1, near_1)))
    return array("d", [each / length for each in near_1])


def _best(asked: Vector, vectors: Iterable[Vector]) -> float:
    return max((_likeness(asked, each) for each in vectors), default=0.0)


def _likeness(one: Vector, other: Vector) -> float:
    product: float = sum(map(mul, one, other))
    return max(product, 0.0)

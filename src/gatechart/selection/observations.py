"""What learning keeps of earlier choices: bounded, erasable, and all that a learned model is made of."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import chain
from math import sqrt
from struct import iter_unpack, pack
from typing import Any, Final
from zlib import crc32

from gatechart.values.frozen import value

BUCKETS: Final = 1 << 16
"""Places over which the features of texts are spread by a hash of their names."""

MOST_FEATURES: Final = 128
"""Features of a text that are kept: the heaviest."""

MOST: Final = 1_000
"""Observations of a group of candidates, or of one without a group, that are kept: the newest."""

MOST_IN_ALL: Final = 10_000
"""Observations of all of them together that are kept: the newest."""

_WHOLE: Final = 127  # a weight of 1
_PAIR: Final = ">Hb"  # bucket, weight


def packed(features: Mapping[str, float]) -> str:
    """Return features of a text in the form in which an observation keeps them, of at most 512 characters.

    features: weights by name, such as those that `Likeness.features_of` returns: rare ones must weigh more.

    >>> unpacked(packed({"re": 0.6, "ref": 0.8})) == unpacked(packed({"ref": 0.8, "re": 0.6}))
    True
    """
    length = sqrt(sum(each * each for each in features.values())) or 1.0
    sums: dict[int, float] = defaultdict(float)
    for name, weight in features.items():
        digest = crc32(name.encode(errors="surrogatepass"))
        sums[digest >> 16] += weight if digest & 1 else -weight
    whole = ((place, max(min(round(each / length * _WHOLE), _WHOLE), -_WHOLE)) for place, each in sums.items())
    heaviest = sorted((each for each in whole if each[1]), key=lambda each: (-abs(each[1]), each[0]))[:MOST_FEATURES]
    return b64encode(b"".join(pack(_PAIR, *each) for each in sorted(heaviest))).decode()


def unpacked(features: str) -> tuple[tuple[int, int], ...]:
    """Return bucket and weight of each feature. Raises ValueError for a text that `packed` did not write."""
    try:
        return tuple((place, weight) for place, weight in iter_unpack(_PAIR, b64decode(features, validate=True)))
    except Exception as error:  # struct and base64 each have their own
        raise ValueError("these are no packed features; write them with packed()") from error


@value
class Observation:
    """What came of one choice."""

    id: str  # of the handoff, which counts once
    candidate: str  # that was chosen
    at: datetime  # of the outcome; aware
    prior: float  # the reward that its text score promised; see `gatechart.selection.promises.promised`
    reward: float  # from 0 to 1
    features: str  # of the text, packed
    departs: bool = False  # whether the text scores alone would have chosen one of another group; not if it was drawn
    group: str = ""  # of candidates that learn together, such as the entry points of a graph; the candidate if empty
    owners: tuple[str, ...] = ()  # the user, and the agents, with whom it is erased
    rival: str = ""  # the candidate that would have been chosen next; see `gatechart.selection.learned.rival_of`
    rival_group: str = ""

    @property
    def learner(self) -> str:
        """Its group; its candidate if it is of none."""
        return self.group or self.candidate

    def as_json(self) -> list[Any]:
        """Return it as JSON, from which `read` makes an equal one."""
        at, owners = self.at.isoformat(), list(self.owners)
        choice = [self.id, self.candidate, at, self.prior, self.reward, self.features, self.departs, self.group, owners]
        return [*choice, self.rival, self.rival_group]

    @classmethod
    def read(cls, stored: list[Any]) -> Observation:
        """Return what `as_json` wrote."""
        name, candidate, at, prior, reward, features, leaves, group, owners, *rival = stored
        moment = datetime.fromisoformat(at)
        return cls(name, candidate, moment, prior, reward, features, leaves, group, tuple(owners), *rival)


@value
class Observations:
    """A bounded set of observations, the oldest first. Equal sets are equal, in whatever order they were made."""

    items: tuple[Observation, ...] = ()

    def added(self, *more: Observation) -> Observations:
        """Return the set with more observations, without those that are too many.

        Of two with the same id, the newer one stays.
        """
        if len(more) == 1 and self._is_simply_newer(more[0]):
            return Observations(_newest((*self.items, more[0]), more[0].learner))
        by_id: dict[str, Observation] = {}
        for each in sorted((*self.items, *more), key=_age):
            by_id.pop(each.id, None)
            by_id[each.id] = each
        return Observations(_bounded(by_id.values()))

    def _is_simply_newer(self, one: Observation) -> bool:
        """Whether it comes after all others, so that nothing has to be sorted."""
        return not self.items or (self.items[-1].at < one.at and all(each.id != one.id for each in self.items))

    def without(self, owner: str) -> Observations:
        """Return the set without those of a user, or of an agent: as if they had never been made."""
        return Observations(tuple(each for each in self.items if owner not in each.owners))

    def by_learner(self) -> dict[str, tuple[Observation, ...]]:
        """Return the observations of each group, or of each candidate without one, the oldest first."""
        found: dict[str, list[Observation]] = defaultdict(list)
        for each in self.items:
            found[each.learner].append(each)
        return {learner: tuple(each) for learner, each in found.items()}

    def as_json(self) -> list[list[Any]]:
        """Return them as JSON, from which `read` makes an equal set."""
        return [each.as_json() for each in self.items]

    @classmethod
    def read(cls, *stored: Iterable[list[Any]]) -> Observations:
        """Return the set that one or several lists of `as_json` make together."""
        return cls().added(*map(Observation.read, chain.from_iterable(stored)))


def _age(observation: Observation) -> tuple[Any, ...]:
    return observation.at, *observation.as_json()


def _bounded(items: Iterable[Observation]) -> tuple[Observation, ...]:
    """Return those that are not too many, of their learner or in all. Oldest first, as they came."""
    kept: list[Observation] = []
    counts: dict[str, int] = defaultdict(int)
    for each in reversed(tuple(items)):
        counts[each.learner] += 1
        if counts[each.learner] <= MOST:
            kept.append(each)
    return tuple(reversed(kept[:MOST_IN_ALL]))


def _newest(items: tuple[Observation, ...], learner: str) -> tuple[Observation, ...]:
    """Return them without the oldest that is one too many since the newest, of this learner, came."""
    places = [place for place, each in enumerate(items) if each.learner == learner]
    if len(places) > MOST:
        return items[: places[0]] + items[places[0] + 1 :]
    return items[-MOST_IN_ALL:]

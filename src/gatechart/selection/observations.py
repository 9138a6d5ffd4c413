"""Observations of earlier choices: bounded, erasable, and the only input of a learned model."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, compress, count, groupby, islice
from math import sqrt
from operator import attrgetter, is_not
from struct import iter_unpack, pack
from typing import Any, Final
from zlib import crc32

from gatechart.values.frozen import value

BUCKETS: Final = 1 << 16
"""Number of buckets for the features of texts, which are hashed by name."""

MOST_FEATURES: Final = 128
"""Maximum number of features kept of a text: the heaviest ones."""

MOST: Final = 1_000
"""Maximum number of observations kept for a group, or for a candidate without a group: the newest ones."""

MOST_IN_ALL: Final = 10_000
"""Maximum number of observations kept in total: the newest ones."""

_MANY: Final = 64  # removed observations; beyond that, sets are compared by ids
_AT: Final = attrgetter("at")
_WHOLE: Final = 127  # a weight of 1
_PAIR: Final = ">Hb"  # bucket, weight


def packed(features: Mapping[str, float]) -> str:
    """Pack the features of a text for storage in an observation, in at most 512 characters.

    features: weights by name, for example from `Likeness.features_of`: rare ones must weigh more.

    >>> unpacked(packed({"re": 0.6, "ref": 0.8})) == unpacked(packed({"ref": 0.8, "re": 0.6}))
    True
    """
    length = sqrt(sum(weight * weight for weight in features.values())) or 1.0
    sums: dict[int, float] = defaultdict(float)
    for name, weight in features.items():
        digest = crc32(name.encode(errors="surrogatepass"))
        sums[digest >> 16] += weight if digest & 1 else -weight
    whole = ((bucket, max(min(round(weight / length * _WHOLE), _WHOLE), -_WHOLE)) for bucket, weight in sums.items())
    by_weight = sorted((pair for pair in whole if pair[1]), key=lambda pair: (-abs(pair[1]), pair[0]))
    heaviest = by_weight[:MOST_FEATURES]
    return b64encode(b"".join(pack(_PAIR, *pair) for pair in sorted(heaviest))).decode()


def unpacked(features: str) -> tuple[tuple[int, int], ...]:
    """Return bucket and weight of each feature. Raises ValueError for text that `packed` did not write."""
    try:
        return tuple((bucket, weight) for bucket, weight in iter_unpack(_PAIR, b64decode(features, validate=True)))
    except Exception as error:  # struct and base64 raise separate error classes
        raise ValueError("the text has no packed features; write them with packed()") from error


@value
class Observation:
    """The outcome of one choice."""

    id: str  # of the handoff, which counts once
    candidate: str  # the chosen one
    at: datetime  # time of the outcome; aware
    prior: float  # the reward that its text score promised; see `gatechart.selection.promises.promised`
    reward: float  # from 0 to 1
    features: str  # of the text, packed
    departs: bool = False  # whether text scores alone would have chosen another group; False if it was drawn
    group: str = ""  # of candidates that learn together, such as the entry points of a graph; the candidate if empty
    owners: tuple[str, ...] = ()  # the user and the agents; erasing one of them erases the observation
    rival: str = ""  # the runner-up; see `gatechart.selection.learned.rival_of`
    rival_group: str = ""

    @property
    def learner(self) -> str:
        """The group; the candidate if it belongs to no group."""
        return self.group or self.candidate

    def as_json(self) -> list[Any]:
        """Return the observation as JSON values for `read`."""
        at, owners = self.at.isoformat(), list(self.owners)
        choice = [self.id, self.candidate, at, self.prior, self.reward, self.features, self.departs, self.group, owners]
        return [*choice, self.rival, self.rival_group]

    @classmethod
    def read(cls, stored: list[Any]) -> Observation:
        """Restore an observation from the JSON of `as_json`."""
        name, candidate, at, prior, reward, features, departs, group, owners, *rival = stored
        moment = datetime.fromisoformat(at)
        return cls(name, candidate, moment, prior, reward, features, departs, group, tuple(owners), *rival)


@value
class Observations:
    """A bounded set of observations, the oldest first. Equality does not depend on the order of insertion."""

    items: tuple[Observation, ...] = ()

    def added(self, *more: Observation) -> Observations:
        """Return the set with more observations, without the oldest ones beyond the limits.

        Of two with the same id, the newer one is kept.
        """
        if len(more) == 1 and self.precedes(more[0]) and all(item.id != more[0].id for item in self.items):
            learner = more[0].learner
            own = [index for index, item in enumerate(self.items) if item.learner == learner]
            return self.with_newest(more[0], own)[0]
        by_id: dict[str, Observation] = {}
        for item in _by_age((*self.items, *more)):
            by_id.pop(item.id, None)
            by_id[item.id] = item
        return Observations(_bounded(by_id.values()))

    def becoming(self, items: Iterable[Observation]) -> Observations:
        """Return the set of these observations. Faster than `added` if most of them are in this set already."""
        listed = tuple(items)
        wanted = {item.id: item for item in listed}
        if len(wanted) < len(listed):  # a handoff with several offers: the newest outcome counts
            return Observations().added(*listed)
        stayed = tuple(item for item in self.items if wanted.get(item.id) is item)
        known = {item.id for item in stayed}
        added = [item for name, item in wanted.items() if name not in known]
        if len(stayed) == len(self.items):
            return self.added(*added) if added else self
        return Observations(stayed).added(*added)

    def precedes(self, one: Observation) -> bool:
        """Return whether an observation is newer than all in the set."""
        return not self.items or self.items[-1].at < one.at

    def with_newest(self, one: Observation, own: Sequence[int]) -> tuple[Observations, tuple[Observation, ...]]:
        """Add an observation that is newer than all in the set. Return the set, and the observations that it displaced.

        own: indices of the observations of its learner, oldest first.
        """
        if len(own) >= MOST:
            oldest = own[0]
            kept = (*self.items[:oldest], *self.items[oldest + 1 :], one)
            return Observations(kept), (self.items[oldest],)
        first = max(len(self.items) + 1 - MOST_IN_ALL, 0)
        return Observations((*self.items[first:], one)), self.items[:first]

    def without(self, owner: str) -> Observations:
        """Return the set without the observations of a user or an agent, as if they had never been recorded."""
        return Observations(tuple(item for item in self.items if owner not in item.owners))

    def by_learner(self) -> dict[str, tuple[Observation, ...]]:
        """Return the observations of each group, or of each candidate without one, the oldest first."""
        items_by_learner: dict[str, list[Observation]] = defaultdict(list)
        for item in self.items:
            items_by_learner[item.learner].append(item)
        return {learner: tuple(own) for learner, own in items_by_learner.items()}

    def as_json(self) -> list[list[Any]]:
        """Return the set as JSON values for `read`."""
        return [item.as_json() for item in self.items]

    @classmethod
    def read(cls, *stored: Iterable[list[Any]]) -> Observations:
        """Restore a set from one or several lists of `as_json`."""
        return cls().added(*map(Observation.read, chain.from_iterable(stored)))


def _by_age(items: Iterable[Observation]) -> Iterator[Observation]:
    """Yield observations, oldest first. Observations of the same time are ordered by content."""
    for _, group in groupby(sorted(items, key=_AT), key=_AT):
        same = tuple(group)
        yield from same if len(same) == 1 else sorted(same, key=Observation.as_json)


def _bounded(items: Iterable[Observation]) -> tuple[Observation, ...]:
    """Drop the oldest observations beyond the limits, per learner and in total. Keeps the order, oldest first."""
    kept: list[Observation] = []
    counts: dict[str, int] = defaultdict(int)
    for item in reversed(tuple(items)):
        counts[item.learner] += 1
        if counts[item.learner] <= MOST:
            kept.append(item)
    return tuple(reversed(kept[:MOST_IN_ALL]))


def difference(
    before: Sequence[Observation], after: Sequence[Observation]
) -> tuple[Sequence[Observation], Sequence[Observation]]:
    """Return the removed and the added observations, in their order.

    Usually a few old ones were removed and a few newer ones added, which costs little more than comparing two tuples.
    """
    removed: list[Observation] = []
    at_before, at_after = 0, 0
    while at_before < len(before):
        # Identity is enough and quick: sets that follow each other share their observations.
        differ = map(is_not, islice(before, at_before, None), islice(after, at_after, None))
        same = next(compress(count(), differ), min(len(before) - at_before, len(after) - at_after))
        at_before, at_after = at_before + same, at_after + same
        if at_before < len(before):
            removed.append(before[at_before])
            at_before += 1
        if len(removed) > _MANY:
            return _difference_by_id(before, after)
    return removed, after[at_after:]


def _difference_by_id(
    before: Sequence[Observation], after: Sequence[Observation]
) -> tuple[Sequence[Observation], Sequence[Observation]]:
    known, kept = {source.id: source for source in before}, {source.id: source for source in after}
    return (
        [source for source in before if kept.get(source.id) != source],
        [source for source in after if known.get(source.id) != source],
    )

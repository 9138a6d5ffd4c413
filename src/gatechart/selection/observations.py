"""The observations of earlier choices for learning: bounded, erasable, and the only input of a learned model."""

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
"""Number of buckets for the features of texts, by a hash of their names."""

MOST_FEATURES: Final = 128
"""Maximum number of features that are kept for a text: the heaviest."""

MOST: Final = 1_000
"""Maximum number of observations that are kept for a group, or for a candidate without one: the newest."""

MOST_IN_ALL: Final = 10_000
"""Maximum number of observations that are kept in all: the newest."""

_MANY: Final = 64  # removed observations; beyond that, sets are compared by ids
_AT: Final = attrgetter("at")
_WHOLE: Final = 127  # a weight of 1
_PAIR: Final = ">Hb"  # bucket, weight


def packed(features: Mapping[str, float]) -> str:
    """Return the features of a text in the stored form of an observation, of at most 512 characters.

    features: weights by name, such as the result of `Likeness.features_of`: rare features must weigh more.

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
    except Exception as error:  # struct and base64 raise different errors
        raise ValueError("these are no packed features; write them with packed()") from error


@value
class Observation:
    """The outcome of one choice."""

    id: str  # of the handoff; each handoff counts once
    candidate: str  # that was chosen
    at: datetime  # of the outcome; aware
    prior: float  # the reward that its text score promised; see `gatechart.selection.promises.promised`
    reward: float  # from 0 to 1
    features: str  # of the text, packed
    departs: bool = (
        False  # whether the text scores alone would have chosen another group; False if the candidate was drawn
    )
    group: str = ""  # candidates that learn together, such as the entry points of a graph; the candidate alone if empty
    owners: tuple[str, ...] = ()  # the user and the agents whose erasure erases it
    rival: str = ""  # the runner-up; see `gatechart.selection.learned.rival_of`
    rival_group: str = ""

    @property
    def learner(self) -> str:
        """The group; the candidate if it has no group."""
        return self.group or self.candidate

    def as_json(self) -> list[Any]:
        """Return the observation as JSON; `read` restores an equal one."""
        at, owners = self.at.isoformat(), list(self.owners)
        choice = [self.id, self.candidate, at, self.prior, self.reward, self.features, self.departs, self.group, owners]
        return [*choice, self.rival, self.rival_group]

    @classmethod
    def read(cls, stored: list[Any]) -> Observation:
        """Restore an observation from the JSON of `as_json`."""
        name, candidate, at, prior, reward, features, leaves, group, owners, *rival = stored
        moment = datetime.fromisoformat(at)
        return cls(name, candidate, moment, prior, reward, features, leaves, group, tuple(owners), *rival)


@value
class Observations:
    """A bounded set of observations, oldest first. The order of adding does not affect equality."""

    items: tuple[Observation, ...] = ()

    def added(self, *more: Observation) -> Observations:
        """Return the set with more observations, reduced to the bounds.

        Of two with the same id, the newer one stays.
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
        """Return the set of observations. Faster than `added` if most of them are in this set already."""
        listed = tuple(items)
        wanted = {item.id: item for item in listed}
        if len(wanted) < len(listed):  # a handoff offered to several candidates: the newest outcome counts
            return Observations().added(*listed)
        stayed = tuple(item for item in self.items if wanted.get(item.id) is item)
        known = {item.id for item in stayed}
        came = [item for name, item in wanted.items() if name not in known]
        if len(stayed) == len(self.items):
            return self.added(*came) if came else self
        return Observations(stayed).added(*came)

    def precedes(self, one: Observation) -> bool:
        """Return whether an observation is newer than all of these."""
        return not self.items or self.items[-1].at < one.at

    def with_newest(self, one: Observation, own: Sequence[int]) -> tuple[Observations, tuple[Observation, ...]]:
        """Return the set with an observation that is newer than all of these, and the observations that it displaced.

        own: the indexes of its learner's observations, oldest first.
        """
        if len(own) >= MOST:
            oldest = own[0]
            kept = (*self.items[:oldest], *self.items[oldest + 1 :], one)
            return Observations(kept), (self.items[oldest],)
        first = max(len(self.items) + 1 - MOST_IN_ALL, 0)
        return Observations((*self.items[first:], one)), self.items[:first]

    def without(self, owner: str) -> Observations:
        """Return the set without the observations of a user or an agent, as if they had never existed."""
        return Observations(tuple(item for item in self.items if owner not in item.owners))

    def by_learner(self) -> dict[str, tuple[Observation, ...]]:
        """Return the observations of each group, or of each candidate without a group, oldest first."""
        by_learner: dict[str, list[Observation]] = defaultdict(list)
        for item in self.items:
            by_learner[item.learner].append(item)
        return {learner: tuple(items) for learner, items in by_learner.items()}

    def as_json(self) -> list[list[Any]]:
        """Return the set as JSON; `read` restores an equal set."""
        return [item.as_json() for item in self.items]

    @classmethod
    def read(cls, *stored: Iterable[list[Any]]) -> Observations:
        """Restore a set from one or several lists of `as_json`."""
        return cls().added(*map(Observation.read, chain.from_iterable(stored)))


def _by_age(items: Iterable[Observation]) -> Iterator[Observation]:
    """Yield observations, oldest first. Observations of the same time are ordered by content."""
    for _, together in groupby(sorted(items, key=_AT), key=_AT):
        same = tuple(together)
        yield from same if len(same) == 1 else sorted(same, key=Observation.as_json)


def _bounded(items: Iterable[Observation]) -> tuple[Observation, ...]:
    """Return the newest observations within the bounds per learner and in all. Input and result are oldest first."""
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

    In the usual case, few were removed and few newer ones added: this costs hardly more than comparing two tuples.
    """
    left: list[Observation] = []
    here, there = 0, 0
    while here < len(before):
        differ = map(is_not, islice(before, here, None), islice(after, there, None))
        same = next(compress(count(), differ), min(len(before) - here, len(after) - there))
        here, there = here + same, there + same
        if here < len(before):
            left.append(before[here])
            here += 1
        if len(left) > _MANY:
            return _difference_by_id(before, after)
    return left, after[there:]


def _difference_by_id(
    before: Sequence[Observation], after: Sequence[Observation]
) -> tuple[Sequence[Observation], Sequence[Observation]]:
    known, kept = {source.id: source for source in before}, {source.id: source for source in after}
    return (
        [source for source in before if kept.get(source.id) != source],
        [source for source in after if known.get(source.id) != source],
    )

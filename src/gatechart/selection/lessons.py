"""Lessons of observations. An observation teaches the group of the chosen candidate, and maybe the rival's group.

Needs numpy, from the extra `gatechart[learning]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from gatechart.selection.observations import MOST, MOST_IN_ALL, Observation
from gatechart.selection.text_rows import Row, TextRows, numpy
from gatechart.values.frozen import value

if TYPE_CHECKING:
    from numpy.typing import NDArray

_EARNED: Final = 0.5  # minimum reward of a choice that also teaches the group of its rival
_MANY: Final = 64  # unused names that are tolerated in a small set
_NOBODY: Final = -1

_FACTS: Final = [("group", "i4"), ("rival_group", "i4"), ("code", "i4"), ("rival_code", "i4"), ("surprise", "f8")]


class NameNumbers:
    """Numbers for names, in order of appearance. It only grows."""

    __slots__ = ("numbers",)

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.numbers)

    def number(self, name: str) -> int:
        """Return the number of a name, the next one if it is new."""
        return self.numbers.setdefault(name, len(self.numbers))


@value
class ObservationTable:
    """Observations, the numbers of their feature rows, and the groups that they teach.

    An observation teaches the group of the chosen candidate. If its reward is high enough and there is room, it also
    teaches the group of the rival. Their numbers are 2 * row and 2 * row + 1. Immutable, except that names are added.
    """

    groups: NameNumbers
    candidates: NameNumbers
    texts: TextRows
    facts: NDArray[Any]  # (rows,) of _FACTS: groups and candidates by number; rival_group is -1 if none is taught
    sources: Sequence[Observation | None]  # by row; None if removed
    rows: Mapping[str, int]  # by id of the observation
    order: NDArray[Any]  # the rows of the observations, oldest first
    is_taught: NDArray[Any]  # (rows, 2) of bool: the own group, the group of the rival

    @classmethod
    def of(cls, observations: Sequence[Observation]) -> ObservationTable:
        """Return the lessons of observations, oldest first."""
        np = numpy()
        groups, candidates = NameNumbers(), NameNumbers()
        facts = np.array([_facts(source, groups, candidates) for source in observations], dtype=_FACTS)
        texts = TextRows.of([Row(source.features) for source in observations])
        order = np.arange(len(observations))
        rows = {source.id: row for row, source in enumerate(observations)}
        is_taught = _taught(facts, order, len(groups))
        return cls(groups, candidates, texts, facts, tuple(observations), rows, order, is_taught)

    def revised(
        self, observations: Sequence[Observation], left: Sequence[Observation], came: Sequence[Observation]
    ) -> ObservationTable:
        """Return the lessons of other observations, oldest first. left, came: removed and added; see `difference`."""
        np = numpy()
        rows, sources, texts = dict(self.rows), list(self.sources), self.texts
        gone = [rows.pop(source.id) for source in left]
        for row in gone:
            sources[row] = None
        facts = [_facts(source, self.groups, self.candidates) for source in came]
        for source in came:
            rows[source.id] = len(sources)
            sources.append(source)
            texts = texts.with_row(Row(source.features))
        added = np.array(facts, dtype=_FACTS)
        known = np.append(self.facts, added)
        if tuple(came) == tuple(observations[len(observations) - len(came) :]):
            stays = np.ones(len(self.sources), bool)
            stays[gone] = False
            stayed = self.order[stays[self.order]]
            order = np.append(stayed, np.arange(len(self.sources), len(sources)))
        else:
            order = np.fromiter((rows[source.id] for source in observations), np.int64, len(observations))
        is_taught = _taught(known, order, len(self.groups))
        return ObservationTable(self.groups, self.candidates, texts, known, sources, rows, order, is_taught)

    def compacted(self) -> ObservationTable:
        """Return the same lessons without the rows of removed observations. Rows are renumbered by `order`."""
        np = numpy()
        sources = [self.sources[row] for row in self.order.tolist()]
        rows = {source.id: row for row, source in enumerate(sources) if source is not None}
        facts, is_taught = self.facts[self.order], self.is_taught[self.order]
        texts, order = self.texts.kept(self.order), np.arange(len(sources))
        return ObservationTable(self.groups, self.candidates, texts, facts, sources, rows, order, is_taught)

    def indices_of(self, learner: str) -> Sequence[int]:
        """Return the indices in `order` of the observations of a learner, oldest first."""
        group = self.groups.numbers.get(learner, _NOBODY)
        indices: list[int] = numpy().flatnonzero(self.facts["group"][self.order] == group).tolist()
        return indices

    @property
    def outgrown(self) -> bool:
        """Whether most names are of groups or candidates without observations."""
        return max(len(self.groups), len(self.candidates)) > 2 * (2 * len(self.order) + _MANY)

    def numbers_of(self, group: int) -> NDArray[Any]:
        """Return the numbers of the lessons of a group, in the order of their rows."""
        np = numpy()
        own = np.flatnonzero(self.is_taught[:, 0] & (self.facts["group"] == group))
        rivals = np.flatnonzero(self.is_taught[:, 1] & (self.facts["rival_group"] == group))
        numbers: NDArray[Any] = np.sort(np.concatenate((2 * own, 2 * rivals + 1)))
        return numbers

    def groups_of(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return the groups that lessons teach, in their order."""
        facts = self.facts[numbers >> 1]
        groups: NDArray[Any] = numpy().where(numbers & 1, facts["rival_group"], facts["group"])
        return groups

    def codes_of(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers of the candidates of lessons, in their order."""
        facts = self.facts[numbers >> 1]
        codes: NDArray[Any] = numpy().where(numbers & 1, facts["rival_code"], facts["code"])
        return codes

    def surprises_of(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return the differences of rewards and priors, in the order of the lessons; 0 for a rival."""
        surprises: NDArray[Any] = numpy().where(numbers & 1, 0.0, self.facts["surprise"][numbers >> 1])
        return surprises

    def features_of(self, number: int) -> str:
        """Return the packed features of a lesson's text."""
        source = self.sources[number >> 1]
        return "" if source is None else source.features


def _facts(source: Observation, groups: NameNumbers, candidates: NameNumbers) -> tuple[int, int, int, int, float]:
    rival = source.rival_group or source.rival
    teaches = bool(rival) and source.reward >= _EARNED
    return (
        groups.number(source.learner),
        groups.number(rival) if teaches else _NOBODY,
        candidates.number(source.candidate),
        candidates.number(source.rival) if teaches else _NOBODY,
        source.reward - source.prior,
    )


def _taught(facts: NDArray[Any], order: NDArray[Any], groups: int) -> NDArray[Any]:
    """Return, by row, whether it teaches its own group, and its rival's; the newest rows first, while there is room."""
    np = numpy()
    is_taught: NDArray[Any] = np.zeros((len(facts), 2), bool)
    is_taught[order, 0] = True
    newest = order[::-1]
    rivals = facts["rival_group"][newest]
    teaching, rivals = newest[rivals >= 0], rivals[rivals >= 0]
    room = MOST - np.bincount(facts["group"][order], minlength=groups)
    fitting = teaching[_ranks(rivals) < room[rivals]]
    is_taught[fitting[: max(MOST_IN_ALL - len(order), 0)], 1] = True
    return is_taught


def _ranks(groups: NDArray[Any]) -> NDArray[Any]:
    """Return, by position, the number of earlier elements of the same group."""
    np = numpy()
    few = groups.astype(np.uint16) if len(groups) and groups.max() < 1 << 16 else groups  # sorted in linear time
    order = np.argsort(few, kind="stable")
    ordered = groups[order]
    begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    ranks: NDArray[Any] = np.empty(len(groups), np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(begins, np.diff(np.append(begins, len(groups))))
    return ranks

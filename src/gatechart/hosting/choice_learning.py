"""Choices of a target that learn from earlier ones: their scores, and the record from which the next ones learn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Final

from gatechart.handoff.packet import HandoffPacket
from gatechart.hosting.directory import Directory
from gatechart.hosting.kept_choices import KeptChoice, Ranked, told_of
from gatechart.selection.history import HistoryIndex
from gatechart.selection.learned import AllScored, Learned, departs, rival_of, unlearned
from gatechart.selection.observations import Observation, Observations
from gatechart.selection.rewards import Reward
from gatechart.values.frozen import value
from gatechart.values.profiles import Candidate, Choice

LONGEST: Final = 500  # characters of a user's and an agent's id together; of longer ones nothing is kept
UNDECIDED_FOR: Final = timedelta(days=7)  # how long a choice without an outcome counts as one that may be lost
_NONE: Final = Observations()


@value
class Lesson:
    """What learning says about one piece of work."""

    features: str  # of its text, packed
    text_scores: Mapping[str, float]
    groups: Mapping[str, str]
    learned: AllScored | None  # None: that scorer is not in use
    history: Mapping[str, float]

    @property
    def scores(self) -> dict[str, Mapping[str, float]]:
        """The scores of the scorers that learn."""
        return {"learned": {} if self.learned is None else self.learned.scores, "history": self.history}

    @property
    def scored(self) -> AllScored:
        """What was learned of each candidate; what its text score promises where that did not count."""
        return unlearned(self.text_scores, self.groups) if self.learned is None else self.learned

    def parts(self, candidate: str) -> tuple[tuple[str, float], ...]:
        """Return what the learned score of a candidate is made of."""
        if self.learned is None or candidate not in self.learned:
            return ()
        one = self.learned[candidate]
        return ("prior", one.prior), ("learned", one.learned), ("bonus", one.bonus)


class Learning:
    """What is learned from the choices that a directory keeps. What was made of them stays until they change."""

    def __init__(self, directory: Directory, learned: Learned | None, reward: Reward) -> None:
        """learned: if it is None, or not trusted, the scorer "learned" is what text scores promise."""
        self._directory = directory
        self._learned = learned if learned is not None and learned.trusted else None
        self._model = None if self._learned is None else self._learned.model()  # without numpy it says so at once
        self._reward = reward
        self._seen: dict[str, tuple[int, Sequence[KeptChoice]]] = {}
        self._observed_choices: dict[
            tuple[str, str], tuple[KeptChoice, Observation | None]
        ] = {}  # by candidate and handoff
        self._observed = _NONE
        self._undecided: Sequence[KeptChoice] = ()
        self._history = HistoryIndex()
        self._one_learns = asyncio.Lock()

    async def lesson(
        self,
        features: str,
        text_scores: Mapping[str, float],
        candidates: Sequence[Candidate],
        names: Iterable[str],
        now: datetime,
    ) -> Lesson:
        """Return what is learned about work. Raises ExtraMissingError without numpy.

        features: of its text, packed. names: of the scorers in use.
        """
        wanted = set(names)
        groups = {each.id: each.graph for each in candidates if each.is_local}
        async with self._one_learns:
            if wanted & {"learned", "history"}:
                await self._refresh()
            learned = await self._learned_scores(features, text_scores, groups, now) if "learned" in wanted else None
            history = await self._history_scores(features) if "history" in wanted else {}
        return Lesson(features, text_scores, groups, learned, history)

    async def _refresh(self) -> None:
        kept = await self._directory.kept_choices(self._seen)
        if kept == self._seen:
            return
        self._seen = kept
        choices = tuple(chain.from_iterable(of_entry for _, of_entry in kept.values()))
        self._undecided = tuple(choice for choice in choices if choice.ended is None and choice.departed)
        self._observed = await asyncio.to_thread(self._observations, choices)

    def _observations(self, choices: Iterable[KeptChoice]) -> Observations:
        """Return the observations of choices; of a choice that is as it was, the same as before."""
        known, current = self._observed_choices, {}
        for choice in choices:
            key = choice.ranked[0][0], choice.handoff
            before = known.get(key)
            is_same = before is not None and (before[0] is choice or before[0] == choice)
            current[key] = before if before and is_same else (choice, choice.observation(self._reward))
        self._observed_choices = current
        return self._observed.becoming(observed for _, observed in current.values() if observed is not None)

    async def _learned_scores(
        self, features: str, text_scores: Mapping[str, float], groups: Mapping[str, str], now: datetime
    ) -> AllScored:
        if self._model is None:
            return unlearned(text_scores, groups)
        if self._model.observations is not self._observed:
            self._model = await asyncio.to_thread(self._model.over, self._observed)
        undecided = sum(now - each.at < UNDECIDED_FOR for each in self._undecided)
        return self._model.scores(features, text_scores, groups, undecided)

    async def _history_scores(self, features: str) -> Mapping[str, float]:
        self._history = await asyncio.to_thread(self._history.following, self._observed.items)
        return self._history.scores(features)


def noted(choice: Choice, lesson: Lesson, packet: HandoffPacket) -> dict[str, Any] | None:
    """Return what is to be kept of a choice; None if nobody was chosen."""
    if choice.candidate is None or len(packet.user_id) + len(packet.source_agent) > LONGEST:
        return None
    chosen, scored = choice.candidate.id, lesson.scored
    rival = rival_of(chosen, _of_named(packet, scored.totals), lesson.groups)
    return told_of(
        packet.handoff_id,
        lesson.features,
        _ranked(choice, lesson),
        prior=scored[chosen].prior if chosen in scored else 0.0,
        departs=departs(chosen, _of_fitting(choice, lesson.text_scores), lesson.groups),
        user=packet.user_id,
        source=packet.source_agent,
        rival=rival,
        rival_group=lesson.groups.get(rival, ""),
        expected_s=choice.candidate.profile.expected_s,
        expected_cost=choice.candidate.profile.cost,
    )


def _of_named(packet: HandoffPacket, totals: Mapping[str, float]) -> Mapping[str, float]:
    """Return the totals of those that the work was for; of everybody, if it names nobody."""
    named = () if packet.selection is None else packet.selection.entries
    return {each: total for each, total in totals.items() if each in named} if named else totals


def _of_fitting(choice: Choice, scores: Mapping[str, float]) -> Mapping[str, float]:
    """Return the scores of those that might have been chosen, the chosen one among them."""
    return {each.id: scores.get(each.id, 0.0) for each in choice.explanation.judged if not each.fell}


def _ranked(choice: Choice, lesson: Lesson) -> list[Ranked]:
    """Return the chosen one, those that might have been chosen, the best of each group, and the next by text scores."""
    chances, scores = dict(choice.chances), lesson.text_scores
    fitting = [each.id for each in choice.explanation.judged if not each.fell]
    score: Callable[[str], float] = lambda each: -scores.get(each, 0.0)  # noqa: E731
    best = sorted(fitting, key=score)
    of_groups = {lesson.groups.get(each, each): each for each in reversed(best)}
    ids = dict.fromkeys((*chances, *sorted(of_groups.values(), key=score), *best))
    return [
        (each, lesson.groups.get(each, ""), round(scores.get(each, 0.0), 4), chances.get(each, 0.0)) for each in ids
    ]

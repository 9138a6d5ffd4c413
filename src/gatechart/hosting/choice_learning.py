"""Scores learned from earlier choices of a target, and the records for learning from the next ones."""

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

LONGEST: Final = 500  # characters of a user's and an agent's id together; choices with longer ids are not kept
UNDECIDED_FOR: Final = timedelta(days=7)  # how long a choice without an outcome counts as a possible loss
_NONE: Final = Observations()


@value
class LearnedAdvice:
    """The text scores and learned scores of the candidates for one piece of work."""

    features: str  # of the text of the work, packed
    text_scores: Mapping[str, float]
    groups: Mapping[str, str]
    learned: AllScored | None  # None: the scorer is not in use
    history: Mapping[str, float]

    @property
    def scores(self) -> dict[str, Mapping[str, float]]:
        """The scores of the learning scorers."""
        return {"learned": {} if self.learned is None else self.learned.scores, "history": self.history}

    @property
    def scored(self) -> AllScored:
        """The learned scores of each candidate, or scores predicted by its text score if the scorer is not in use."""
        return unlearned(self.text_scores, self.groups) if self.learned is None else self.learned

    def parts(self, candidate: str) -> tuple[tuple[str, float], ...]:
        """Return the parts of the learned score of a candidate, by name."""
        if self.learned is None or candidate not in self.learned:
            return ()
        score = self.learned[candidate]
        return ("prior", score.prior), ("learned", score.learned), ("bonus", score.bonus)


class Learning:
    """Learns from the choices that a directory keeps. Observations and models are cached until the choices change."""

    def __init__(self, directory: Directory, learned: Learned | None, reward: Reward) -> None:
        """learned: if it is None, or not trusted, the scorer "learned" predicts from text scores alone."""
        self._directory = directory
        self._learned = learned if learned is not None and learned.trusted else None
        self._model = None if self._learned is None else self._learned.model()  # raises at once without numpy
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
    ) -> LearnedAdvice:
        """Return the lesson for a piece of work. Raises ExtraMissingError without numpy.

        features: of the text of the work, packed. names: scorers in use.
        """
        wanted = set(names)
        groups = {candidate.id: candidate.graph for candidate in candidates if candidate.is_local}
        async with self._one_learns:
            if wanted & {"learned", "history"}:
                await self._refresh()
            learned = await self._learned_scores(features, text_scores, groups, now) if "learned" in wanted else None
            history = await self._history_scores(features) if "history" in wanted else {}
        return LearnedAdvice(features, text_scores, groups, learned, history)

    async def _refresh(self) -> None:
        kept = await self._directory.kept_choices(self._seen)
        if kept == self._seen:
            return
        self._seen = kept
        choices = tuple(chain.from_iterable(of_entry for _, of_entry in kept.values()))
        self._undecided = tuple(choice for choice in choices if choice.ended is None and choice.departed)
        self._observed = await asyncio.to_thread(self._observations, choices)

    def _observations(self, choices: Iterable[KeptChoice]) -> Observations:
        """Return the observations of choices; an unchanged choice keeps its observation."""
        known, current = self._observed_choices, {}
        for choice in choices:
            key = choice.ranked[0][0], choice.handoff
            before = known.get(key)
            is_same = before is not None and (before[0] is choice or before[0] == choice)
            current[key] = before if before and is_same else (choice, choice.observation(self._reward))
        self._observed_choices = current
        return self._observed.becoming(seen for _, seen in current.values() if seen is not None)

    async def _learned_scores(
        self, features: str, text_scores: Mapping[str, float], groups: Mapping[str, str], now: datetime
    ) -> AllScored:
        if self._model is None:
            return unlearned(text_scores, groups)
        if self._model.observations is not self._observed:
            self._model = await asyncio.to_thread(self._model.over, self._observed)
        undecided = sum(now - choice.at < UNDECIDED_FOR for choice in self._undecided)
        return self._model.scores(features, text_scores, groups, undecided)

    async def _history_scores(self, features: str) -> Mapping[str, float]:
        self._history = await asyncio.to_thread(self._history.following, self._observed.items)
        return self._history.scores(features)


def noted(choice: Choice, lesson: LearnedAdvice, packet: HandoffPacket) -> dict[str, Any] | None:
    """Return the record of a choice; None without a chosen candidate, or if the ids are too long."""
    if choice.candidate is None or len(packet.user_id) + len(packet.source_agent) > LONGEST:
        return None
    chosen, scored = choice.candidate.id, lesson.scored
    runner_up = rival_of(chosen, _totals_of_named(packet, scored.totals), lesson.groups)
    return told_of(
        packet.handoff_id,
        lesson.features,
        _ranked(choice, lesson),
        prior=scored[chosen].prior if chosen in scored else 0.0,
        departs=departs(chosen, _scores_of_eligible(choice, lesson.text_scores), lesson.groups),
        user=packet.user_id,
        source=packet.source_agent,
        rival=runner_up,
        rival_group=lesson.groups.get(runner_up, ""),
        expected_s=choice.candidate.profile.expected_s,
        expected_cost=choice.candidate.profile.cost,
    )


def _totals_of_named(packet: HandoffPacket, totals: Mapping[str, float]) -> Mapping[str, float]:
    """Return the totals of the entries that the packet names; all totals if it names none."""
    named = () if packet.selection is None else packet.selection.entries
    return {entry: total for entry, total in totals.items() if entry in named} if named else totals


def _scores_of_eligible(choice: Choice, scores: Mapping[str, float]) -> Mapping[str, float]:
    """Return the scores of the eligible candidates, including the chosen one."""
    return {verdict.id: scores.get(verdict.id, 0.0) for verdict in choice.explanation.judged if not verdict.fell}


def _ranked(choice: Choice, lesson: LearnedAdvice) -> list[Ranked]:
    """Return the chosen candidate, others with a chance, the best of each group, and the rest by text score."""
    chances, scores = dict(choice.chances), lesson.text_scores
    eligible = [verdict.id for verdict in choice.explanation.judged if not verdict.fell]
    score: Callable[[str], float] = lambda entry: -scores.get(entry, 0.0)  # noqa: E731
    by_score = sorted(eligible, key=score)
    best_of_group = {lesson.groups.get(entry, entry): entry for entry in reversed(by_score)}
    ids = dict.fromkeys((*chances, *sorted(best_of_group.values(), key=score), *by_score))
    return [
        (entry, lesson.groups.get(entry, ""), round(scores.get(entry, 0.0), 4), chances.get(entry, 0.0))
        for entry in ids
    ]

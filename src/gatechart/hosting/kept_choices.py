"""What the agent of an entry keeps of the choices that it came out of: bounded, and joined by what came of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from math import isnan
from typing import Any, Final

from gatechart.context import canonical_json
from gatechart.errors.failures import SelectionAnswerError, asking
from gatechart.selection.evaluation import Recorded
from gatechart.selection.exploration import was_drawn
from gatechart.selection.observations import Observation
from gatechart.selection.rewards import Outcome, Reward, reward_of
from gatechart.selection.scorers import number_in
from gatechart.values.directory import Ended, WorkOutcome
from gatechart.values.frozen import replaced, value

MOST_CHOICES: Final = 200
"""Choices that are kept of an entry: the newest."""

MOST_RANKED: Final = 10
"""Candidates that are kept of a choice: the chosen one, and the best."""

MOST_BYTES: Final = 4_096
"""Bytes of what is told of a choice, as JSON; fewer candidates are told if need be."""

Ranked = tuple[str, str, float, float]  # candidate, group, text score, probability of being chosen


@value
class KeptChoice:
    """A choice, and what came of it."""

    handoff: str
    at: datetime  # of the choice
    features: str  # of the text, packed
    ranked: tuple[Ranked, ...]  # the chosen one first
    prior: float  # the reward that its text score promised
    departs: bool = False  # whether the text scores would have chosen one of another group
    user: str = ""
    source: str = ""
    rival: str = ""  # the candidate of another group that would have been chosen next
    rival_group: str = ""
    ended: Ended | None = None  # None: it goes on
    ended_at: datetime | None = None
    handed_on: int = 0
    took_s: float = 0.0
    cost: float | None = None
    expected_s: float | None = None  # as the profile said when the choice was made
    expected_cost: float | None = None
    quality: float | None = None

    @property
    def departed(self) -> bool:
        """Whether the scores, and not a draw, chose another group than the text scores would have."""
        return self.departs and not was_drawn(self.ranked[0][3])

    @property
    def outcome(self) -> Outcome | None:
        """What came of it; None if it goes on."""
        if self.ended is None:
            return None
        came_back = self.ended is Ended.CAME_BACK
        done = came_back or self.ended is Ended.COMPLETED
        measured = (self.took_s, self.expected_s, self.cost, self.expected_cost)
        return Outcome(done, came_back, *measured, self.quality, self.handed_on)

    def observation(self, reward: Reward = reward_of) -> Observation | None:
        """Return what learning makes of it; None if it goes on."""
        outcome = self.outcome
        if outcome is None or self.ended_at is None:
            return None
        candidate, group, *_ = self.ranked[0]
        with asking("reward="):
            answer = reward(outcome)
        worth = _worth(answer)
        owners = tuple(each for each in (self.user, self.source) if each)
        known = (self.prior, worth, self.features, self.departed, group, owners, self.rival, self.rival_group)
        return Observation(self.handoff, candidate, self.ended_at, *known)

    def recorded(self, reward: Reward = reward_of) -> Recorded | None:
        """Return what an evaluation makes of it; None if it goes on."""
        observation = self.observation(reward)
        if observation is None:
            return None
        chances = tuple((name, chance) for name, _, _, chance in self.ranked if chance)
        scores = tuple((name, score) for name, _, score, _ in self.ranked)
        return Recorded(observation, chances, scores, tuple((name, group) for name, group, *_ in self.ranked if group))


def _worth(answer: Any) -> float:
    if isnan(worth := number_in(answer)):
        raise SelectionAnswerError("reward=", f"{answer!r} for an outcome", "a number from 0 to 1")
    return min(max(worth, 0.0), 1.0)


def told_of(
    handoff: str,
    features: str,
    ranked: Sequence[Ranked],
    *,
    prior: float,
    departs: bool,
    user: str,
    source: str,
    rival: str = "",
    rival_group: str = "",
    expected_s: float | None = None,
    expected_cost: float | None = None,
) -> dict[str, Any]:
    """Return the payload that tells an entry that it was chosen, of at most MOST_BYTES if user and source are short."""
    told: dict[str, Any] = {"handoff": handoff, "features": features, "prior": prior, "departs": departs}
    told |= {"expected_s": expected_s, "expected_cost": expected_cost}
    told |= {"user": user, "source": source, "rival": rival, "rival_group": rival_group}
    told["ranked"] = [list(each) for each in ranked[:MOST_RANKED]]
    while len(told["ranked"]) > 1 and len(canonical_json(told)) > MOST_BYTES:
        told["ranked"].pop()
    return told


def with_choice(kept: Sequence[KeptChoice], told: Mapping[str, Any], at: datetime) -> list[KeptChoice]:
    """Return what is kept after one more choice. It counts once."""
    if any(each.handoff == told["handoff"] for each in kept):
        return list(kept)
    ranked = tuple(
        (str(name), str(group), float(score), float(chance)) for name, group, score, chance in told["ranked"]
    )
    chosen = KeptChoice(
        told["handoff"],
        at,
        told["features"],
        ranked,
        float(told["prior"]),
        bool(told["departs"]),
        told["user"],
        told["source"],
        told.get("rival", ""),
        told.get("rival_group", ""),
        expected_s=told.get("expected_s"),
        expected_cost=told.get("expected_cost"),
    )
    return [*kept, chosen][-MOST_CHOICES:]


def with_outcome(kept: Sequence[KeptChoice], outcome: WorkOutcome) -> list[KeptChoice]:
    """Return what is kept, joined by what came of one of the choices."""
    given = {name: getattr(outcome, name) for name in ("ended", "handed_on", "took_s", "cost")}
    return [replaced(each, **given, ended_at=outcome.at) if each.handoff == outcome.handoff else each for each in kept]


def with_quality(kept: Sequence[KeptChoice], handoff: str, quality: float) -> list[KeptChoice]:
    """Return what is kept after a person said how good the work was."""
    return [replaced(each, quality=quality) if each.handoff == handoff else each for each in kept]

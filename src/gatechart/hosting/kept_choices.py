"""The choices that selected a directory entry, with their outcomes. The entry's agent keeps a bounded number."""

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
from gatechart.selection.rewards import EndedWork, Reward, reward_of
from gatechart.selection.scorers import number_in
from gatechart.values.directory import Ended, WorkOutcome
from gatechart.values.frozen import replaced, value

MOST_CHOICES: Final = 200
"""Maximum number of choices that an entry keeps: the newest."""

MOST_RANKED: Final = 10
"""Maximum number of candidates that a choice keeps: the chosen one, and the best."""

MOST_BYTES: Final = 4_096
"""Maximum size of a choice's payload as JSON, in bytes. If necessary, it lists fewer candidates."""

Ranked = tuple[str, str, float, float]  # candidate, group, text score, probability of being chosen


@value
class KeptChoice:
    """A choice and its outcome."""

    handoff: str
    at: datetime  # of the choice
    features: str  # of the text, packed
    ranked: tuple[Ranked, ...]  # the chosen one first
    prior: float  # the reward that its text score predicted
    departs: bool = False  # whether the text scores would have chosen a candidate of another group
    user: str = ""
    source: str = ""
    rival: str = ""  # the runner-up: the next candidate of another group
    rival_group: str = ""
    ended: Ended | None = None  # None: the work is not finished
    ended_at: datetime | None = None
    handed_on: int = 0
    took_s: float = 0.0
    cost: float | None = None
    expected_s: float | None = None  # from the profile at the time of the choice
    expected_cost: float | None = None
    quality: float | None = None

    @property
    def departed(self) -> bool:
        """Whether the scores, not a random draw, chose another group than the text scores would have chosen."""
        return self.departs and not was_drawn(self.ranked[0][3])

    @property
    def outcome(self) -> EndedWork | None:
        """The outcome; None if the work is not finished."""
        if self.ended is None:
            return None
        came_back = self.ended is Ended.CAME_BACK
        done = came_back or self.ended is Ended.COMPLETED
        measured = (self.took_s, self.expected_s, self.cost, self.expected_cost)
        return EndedWork(done, came_back, *measured, self.quality, self.handed_on)

    def observation(self, reward: Reward = reward_of) -> Observation | None:
        """Return the choice as an observation for learning; None if the work is not finished."""
        outcome = self.outcome
        if outcome is None or self.ended_at is None:
            return None
        candidate, group, *_ = self.ranked[0]
        with asking("reward="):
            answer = reward(outcome)
        owners = tuple(filter(None, (self.user, self.source)))
        known = (self.prior, _reward(answer), self.features, self.departed, group, owners, self.rival, self.rival_group)
        return Observation(self.handoff, candidate, self.ended_at, *known)

    def recorded(self, reward: Reward = reward_of) -> Recorded | None:
        """Return the choice as a record for evaluation; None if the work is not finished."""
        observation = self.observation(reward)
        if observation is None:
            return None
        chances = tuple((name, chance) for name, _, _, chance in self.ranked if chance)
        scores = tuple((name, score) for name, _, score, _ in self.ranked)
        return Recorded(observation, chances, scores, tuple((name, group) for name, group, *_ in self.ranked if group))


def _reward(answer: Any) -> float:
    if isnan(number := number_in(answer)):
        raise SelectionAnswerError("reward=", f"{answer!r} for an outcome", "a number from 0 to 1")
    return min(max(number, 0.0), 1.0)


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
    """Return the payload that reports a choice to the chosen entry.

    It has at most MOST_BYTES if user and source are short.
    """
    payload: dict[str, Any] = {"handoff": handoff, "features": features, "prior": prior, "departs": departs}
    payload |= {"expected_s": expected_s, "expected_cost": expected_cost}
    payload |= {"user": user, "source": source, "rival": rival, "rival_group": rival_group}
    payload["ranked"] = [list(candidate) for candidate in ranked[:MOST_RANKED]]
    while len(payload["ranked"]) > 1 and len(canonical_json(payload)) > MOST_BYTES:
        payload["ranked"].pop()
    return payload


def with_choice(kept: Sequence[KeptChoice], payload: Mapping[str, Any], at: datetime) -> list[KeptChoice]:
    """Return the kept choices after one more. A repeated choice is added once."""
    if any(choice.handoff == payload["handoff"] for choice in kept):
        return list(kept)
    ranked = tuple(
        (str(name), str(group), float(score), float(chance)) for name, group, score, chance in payload["ranked"]
    )
    chosen = KeptChoice(
        payload["handoff"],
        at,
        payload["features"],
        ranked,
        float(payload["prior"]),
        bool(payload["departs"]),
        payload["user"],
        payload["source"],
        payload.get("rival", ""),
        payload.get("rival_group", ""),
        expected_s=payload.get("expected_s"),
        expected_cost=payload.get("expected_cost"),
    )
    return [*kept, chosen][-MOST_CHOICES:]


def with_outcome(kept: Sequence[KeptChoice], outcome: WorkOutcome) -> list[KeptChoice]:
    """Return the kept choices with the outcome of one of them."""
    fields = {name: getattr(outcome, name) for name in ("ended", "handed_on", "took_s", "cost")}
    return [
        replaced(choice, **fields, ended_at=outcome.at) if choice.handoff == outcome.handoff else choice
        for choice in kept
    ]


def with_quality(kept: Sequence[KeptChoice], handoff: str, quality: float) -> list[KeptChoice]:
    """Return the kept choices with a person's rating of the quality of one of them."""
    return [replaced(choice, quality=quality) if choice.handoff == handoff else choice for choice in kept]

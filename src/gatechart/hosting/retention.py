"""Retention of old data: which data a runtime deletes, and after which time."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from gatechart.errors.event import PayloadError
from gatechart.values.agents import Status
from gatechart.values.delays import seconds_of
from gatechart.values.queries import Pruning

ENDED: Final = (Status.DONE, Status.FAILED, Status.STOPPED)
Age: TypeAlias = datetime | timedelta | str  # a bare number is refused: a wrong unit would delete data


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Rules for deleting old data while a runtime is open: `Runtime.open(…, retention=Retention(keep_turns=100))`.

    The rules are the same as for `Runtime.prune`; ages are durations. Raises PayloadError, also if the rules delete
    nothing.
    """

    ended_before: timedelta | str | None = None  # erase agents that ended longer ago
    status: Status | str | None = None  # erase only agents with this status: done, failed or stopped
    turns_before: timedelta | str | None = None  # delete older turns of the other agents
    keep_turns: int | None = None  # delete all but this many newest turns of each agent
    mail_before: timedelta | str | None = None  # delete refused and dead mail that is older
    ids_for: timedelta | str = "7d"  # how long a repeated event id is recognised
    every: timedelta | str = "1h"  # interval of the deletions

    def __post_init__(self) -> None:
        self.pruning(datetime.now(UTC))
        if {self.ended_before, self.turns_before, self.keep_turns, self.mail_before} == {None}:
            expected = "at least one of ended_before, turns_before, keep_turns and mail_before"
            raise PayloadError("Retention", ("it deletes nothing",), expected)
        for name in ("ended_before", "turns_before", "mail_before"):
            if isinstance(getattr(self, name), datetime):
                raise PayloadError("Retention", (f"{name} is {getattr(self, name)!r}",), "an age, such as '90d'")
        if not isinstance(self.every, timedelta | str) or not seconds_of(self.every):
            raise PayloadError("Retention", (f"every is {self.every!r}",), "a duration above 0, such as '1h'")

    @property
    def every_s(self) -> float:
        """Seconds between two deletions."""
        return seconds_of(self.every) or 0.0

    def pruning(self, now: datetime) -> Pruning:
        """Return the data to delete at this time."""
        return pruning_of(
            now,
            ended_before=self.ended_before,
            status=self.status,
            turns_before=self.turns_before,
            keep_turns=self.keep_turns,
            mail_before=self.mail_before,
            ids_for=self.ids_for,
        )


def pruning_of(
    now: datetime,
    *,
    ended_before: Age | None,
    status: Status | str | None,
    turns_before: Age | None,
    keep_turns: int | None,
    mail_before: Age | None,
    ids_for: timedelta | str,
) -> Pruning:
    """Return the data that the store deletes. Raises PayloadError."""
    if status is not None and ended_before is None:
        raise PayloadError(
            "prune", (f"status is {status!r}",), "ended_before beside it, which selects the agents to erase"
        )
    if keep_turns is not None and (not isinstance(keep_turns, int) or keep_turns < 1):
        raise PayloadError("prune", (f"keep_turns is {keep_turns!r}",), "a whole number of 1 or more")
    if not isinstance(ids_for, timedelta | str) or seconds_of(ids_for) is None:
        raise PayloadError("prune", (f"ids_for is {ids_for!r}",), "a timedelta, '7d' or 'P7D'")
    return Pruning(
        ids_since=_moment("ids_for", ids_for, now),
        ended_before=None if ended_before is None else _moment("ended_before", ended_before, now),
        turns_before=None if turns_before is None else _moment("turns_before", turns_before, now),
        keep_turns=keep_turns,
        mail_before=None if mail_before is None else _moment("mail_before", mail_before, now),
        status=None if status is None else _ended(status),
    )


def _ended(status: Status | str) -> Status:
    if status not in ENDED:
        raise PayloadError("prune", (f"status is {status!r}",), " or ".join(repr(ended.value) for ended in ENDED))
    return Status(status)


def _moment(name: str, given: Age, now: datetime) -> datetime:
    """Return the given time, or the time this long before now."""
    with suppress(OverflowError):
        if isinstance(given, datetime) and given.tzinfo is not None:
            return given
        seconds = seconds_of(given)
        if seconds is not None and isinstance(given, timedelta | str):
            return now - timedelta(seconds=seconds)
    raise PayloadError(
        "prune", (f"{name} is {given!r}",), "an aware datetime, or the age: a timedelta, '90d' or 'P90D'"
    )

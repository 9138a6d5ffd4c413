"""Escapes: the ways out of what the signals of an agent noticed, and the agent's record of those that it tried."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, TypeAlias

from gatechart.values.frozen import replaced, value
from gatechart.values.names import EventName, Payload, StateName
from gatechart.values.secrets import shown_repr

ESCAPE: Final = "escape."
"""Prefix of the events of escapes; the name of the strategy follows."""

ESCAPE_DUE: Final[EventName] = "escape.due"
"""Event by which an agent asks its home for a way out. Its payload has the finding and the evidence."""

MOST_KEYS: Final = 200
"""How many keys of calls that it went back over an agent's record keeps; a way back over more is closed."""

MOST_CUT: Final = 5
"""How many parts left out of conversations with models an agent's record keeps."""

MOST_AWAITED: Final = 20
"""How many tools whose calls wait for a circuit breaker an agent's record keeps."""

MOST_TRIED: Final = 20
"""How many attempts an agent's record keeps; the history has all of them."""


class CameTo(StrEnum):
    """What an attempt to get out came to."""

    PENDING = "pending"  # not judged yet
    PROGRESS = "progress"  # the agent made progress within the turns that the plan allows
    NOTHING = "nothing"


@value
class Tried:
    """One attempt to get out."""

    number: int  # from 1, of this agent; never given twice, whatever is rolled back
    finding: int  # number of what it answers
    signal: str
    strategy: str  # its name
    time: datetime
    way: str = ""  # what was done, in words
    came_to: CameTo = CameTo.PENDING
    reason: str = ""  # of the signal: the value of a Reason


@value
class Finding:
    """Something that a signal noticed and that is still to be got out of. It ends when the agent makes progress."""

    number: int  # from 1, of this agent
    signal: str
    tried: tuple[str, ...] = ()  # names of the strategies tried or passed over, in order
    is_due: bool = False  # whether the agent has asked for a way out that it has not taken yet
    vain_at: int = 0  # version in which the watchdog asked for a way out in vain, which is no sign of life
    quiet_since: datetime | None = None  # of the turn before that


@value
class Undoing:
    """A call that is to be taken back before the agent goes back over it."""

    tool: str  # that takes it back
    arguments: Payload  # secrets are marked
    call_id: str  # of the call that is taken back, as no other call of the agent has it

    __repr__ = shown_repr


@value
class KeptKey:
    """The idempotency key of a call that the agent went back over, for when it makes the same call again."""

    tool: str
    arguments: str  # digest
    key: str


@value
class CutTalk:
    """A part of the conversations with models that is left out of them: turns in entries of states after a version."""

    since: int  # version of the agent
    until: int  # version at which it was left out; what is said in later entries stays
    call: str = ""  # of which the part begins with the turn, as no other call of the agent has it; empty for all of it
    summary: str = ""  # what stands in its place


@value
class BreakerWait:
    """A tool whose calls wait while its circuit breaker refuses them."""

    tool: str
    since: datetime  # of the attempt that began it
    until: datetime  # when calls stop waiting
    down_s: float  # they stop earlier once the breaker has been open for that long without closing, in seconds


@value
class Escapes:
    """An agent's record of its escapes. Nothing takes it back: no rollback, no restart, no escape."""

    count: int = 0  # attempts so far
    findings: int = 0  # findings so far
    open: tuple[Finding, ...] = ()
    tried: tuple[Tried, ...] = ()  # at most MOST_TRIED, with the newest of each strategy, oldest first
    turns_left: int = 0  # turns until the newest attempt has come to nothing
    day: str = ""  # date of the newest attempt, in UTC
    today: int = 0  # attempts on that day
    switched: tuple[tuple[str, str], ...] = ()  # tools, each with the one that is called in its place
    mending: tuple[str, ...] = ()  # those of them whose circuit breaker was open then, so that it says when they work
    awaited: tuple[BreakerWait, ...] = ()  # at most MOST_AWAITED, oldest first
    nudge: str = ""  # what the model is to be told with its next turn
    keys: tuple[KeptKey, ...] = ()  # of calls that the agent went back over and has not made again
    cut: tuple[CutTalk, ...] = ()  # at most MOST_CUT, oldest first
    undoing: tuple[Undoing, ...] = ()  # calls that are being taken back, the newest first
    then: Payload | None = None  # payload with which it asks to go on once they are taken back

    __repr__ = shown_repr

    @property
    def is_due(self) -> bool:
        """Whether the agent has asked for a way out that it has not taken yet."""
        return any(each.is_due for each in self.open)

    @property
    def newest(self) -> Tried | None:
        """The newest attempt."""
        return self.tried[-1] if self.tried else None

    def finding(self, number: int) -> Finding | None:
        """Return what is still to be got out of, by its number."""
        return next((each for each in self.open if each.number == number), None)

    def with_finding(self, changed: Finding) -> Escapes:
        """Return the record with this in place of the finding of the same signal."""
        others = tuple(each for each in self.open if each.signal != changed.signal)
        return replaced(self, open=(*others, changed), findings=max(self.findings, changed.number))

    def with_cut(self, cut: CutTalk) -> Escapes:
        """Return the record with another part that is left out of conversations with models."""
        return replaced(self, cut=(*self.cut, cut)[-MOST_CUT:])

    @property
    def interrupted(self) -> Escapes:
        """The record once something else leads the agent on: no way out is due or under way, and all tried stays so."""
        waiting = tuple(replaced(each, is_due=False) if each.is_due else each for each in self.open)
        return replaced(self, open=waiting, undoing=(), then=None, nudge="")

    @property
    def settled(self) -> Escapes:
        """The record once the agent has other work: nothing that was found in the work before is to be got out of."""
        return replaced(self.judged(CameTo.NOTHING), open=(), undoing=(), then=None, nudge="")

    def judged(self, came_to: CameTo) -> Escapes:
        """Return the record with the newest attempt judged, if it is not judged yet."""
        newest = self.newest
        if newest is None or newest.came_to is not CameTo.PENDING:
            return self
        return replaced(self, tried=(*self.tried[:-1], replaced(newest, came_to=came_to)), turns_left=0)

    def without_switch(self, tool: str) -> Escapes:
        """Return the record with a tool called itself again."""
        left = tuple(each for each in self.switched if each[0] != tool)
        return replaced(self, switched=left, mending=tuple(each for each in self.mending if each != tool))

    def with_switch(self, tool: str, alternative: str, *, is_open: bool) -> Escapes:
        """Return the record with another tool called in place of one. is_open: whether its circuit breaker is."""
        before = self.without_switch(tool)
        mending = (*before.mending, tool) if is_open else before.mending
        return replaced(before, switched=(*before.switched, (tool, alternative)), mending=mending)

    def with_awaited(self, awaited: Iterable[BreakerWait]) -> Escapes:
        """Return the record with other tools whose calls wait for a circuit breaker."""
        changed = {each.tool: each for each in awaited}
        others = (each for each in self.awaited if each.tool not in changed)
        return replaced(self, awaited=(*others, *changed.values())[-MOST_AWAITED:])

    def awaited_of(self, tool: str) -> BreakerWait | None:
        """Return how long calls of a tool wait, or waited, for its circuit breaker; None if they never did."""
        return next((each for each in self.awaited if each.tool == tool), None)

    def without_key(self, key: str) -> Escapes:
        """Return the record once the call has been made again to which a key belongs."""
        return replaced(self, keys=tuple(each for each in self.keys if each.key != key))

    def tried_on(self, moment: datetime) -> int:
        """Return how many attempts were made on the day of a moment, in UTC.

        A clock that was put back over midnight begins no new day.
        """
        return self.today if self.day == self._day_of(moment) else 0

    def _day_of(self, moment: datetime) -> str:
        """Return the day to which an attempt counts: the day after the moment's, if one was counted to that already."""
        tomorrow = (moment + timedelta(days=1)).date().isoformat()
        return tomorrow if self.day == tomorrow else moment.date().isoformat()

    def with_attempt(self, attempt: Tried) -> Escapes:
        """Return the record with an attempt counted.

        Of more than MOST_TRIED the oldest is left out of which the strategy was tried again since, so that cooldowns
        are kept.
        """
        tried = [*self.tried, attempt]
        if len(tried) > MOST_TRIED:
            again = (n for n, each in enumerate(tried) if each.strategy in {later.strategy for later in tried[n + 1 :]})
            del tried[next(again, 0)]
        today = self.tried_on(attempt.time) + 1
        return replaced(self, count=attempt.number, tried=tuple(tried), day=self._day_of(attempt.time), today=today)

    def last_tried(self, strategy: str) -> datetime | None:
        """Return when a strategy was tried last, as far as the record goes back."""
        return next((each.time for each in reversed(self.tried) if each.strategy == strategy), None)


NO_ESCAPES: Final = Escapes()


@value
class TakeTransition:
    """A way out: the chart takes the event `escape.<strategy>`, or another one."""

    event: EventName = ""  # that of the strategy by default


@value
class EnterAt:
    """A way out: the agent enters its graph anew at an entry point, whose guard and payload agree."""

    entry_point: str
    payload: Payload | None = None
    is_fresh: bool = False  # whether its context begins anew, and no exit action runs
    keep: tuple[str, ...] = ()  # fields of the context that it keeps although it begins anew
    allow: tuple[str, ...] = ()  # tools that must not be repeated, and may be where it begins anew

    __repr__ = shown_repr


@value
class GoBack:
    """A way out: the agent goes back to how it was at an earlier version. No action runs."""

    version: int
    keep: tuple[str, ...] = ()  # fields of the context that stay as they are
    allow: tuple[str, ...] = ()  # tools that must not be repeated, and may be after this


@value
class CutBlock:
    """A way out: the newest entries of a conversation are left out, and the active states are entered again."""

    field: str  # of the context, with a list
    since: int  # version of the agent before which they were not there
    summary: str = ""  # what stands in their place
    call: PastTurn | None = None  # with which the block begins, if that is in the state where the agent is
    allow: tuple[str, ...] = ()  # tools that must not be repeated, and may be after this


@value
class SwitchTo:
    """A way out: another tool is called in place of one, until the circuit breaker of that one has closed."""

    tool: str
    alternative: str


@value
class AwaitBreakers:
    """Calls of some tools wait until their circuit breakers let them through."""

    awaited: tuple[BreakerWait, ...]


@value
class TellModel:
    """A way out: the model is told with its next turn."""

    text: str


@value
class SendAlert:
    """A message to people, sent with whatever is tried next. By itself it leads nowhere."""

    sink: str  # by its name in the configuration of the home
    text: str


@value
class NoWay:
    """Why a strategy leads nowhere."""

    why: str


Way: TypeAlias = TakeTransition | EnterAt | GoBack | CutBlock | SwitchTo | AwaitBreakers | TellModel | SendAlert | NoWay
"""What a strategy can have done: a closed set."""


@value
class PastTurn:
    """A turn of an agent's past, as far as strategies look at it."""

    version: int
    event: EventName
    payload: Payload
    configuration: tuple[StateName, ...]  # in which it ended

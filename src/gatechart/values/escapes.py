"""Escapes: routes that resolve the findings of an agent's signals, and the agent's record of its attempts."""

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
"""Event that an agent sends itself to request an escape route from its home. Its payload has the finding and the
evidence."""

MOST_KEYS: Final = 200
"""The maximum number of idempotency keys of undone calls in a record; a rollback past more calls is refused."""

MOST_CUT: Final = 5
"""The maximum number of parts cut out of conversations with models in an agent's record."""

MOST_AWAITED: Final = 20
"""The maximum number of tools whose calls wait for a circuit breaker in an agent's record."""

MOST_TRIED: Final = 20
"""The maximum number of attempts in an agent's record; the history has all of them."""


class CameTo(StrEnum):
    """The result of an attempt to escape."""

    PENDING = "pending"  # not decided yet
    PROGRESS = "progress"  # the agent made progress within the turns that the plan allows
    NOTHING = "nothing"  # the agent made no progress


@value
class Tried:
    """One attempt to escape."""

    number: int  # from 1, per agent; never reused, even after a rollback
    finding: int  # number of the finding that it answers
    signal: str
    strategy: str  # the strategy's name
    time: datetime
    way: str = ""  # the escape route taken, in words
    came_to: CameTo = CameTo.PENDING
    reason: str = ""  # the signal's reason: the value of a Reason


@value
class SignalFinding:
    """An unresolved finding of a signal. It ends when the agent makes progress."""

    number: int  # from 1, per agent
    signal: str
    tried: tuple[str, ...] = ()  # names of the strategies tried or skipped, in order
    is_due: bool = False  # whether the agent has requested an escape route and not taken one yet
    vain_at: int = 0  # version of a turn where the watchdog requested a route in vain; it does not count as activity
    quiet_since: datetime | None = None  # time of the turn before that one


@value
class Undoing:
    """A call to undo before the agent rolls back past it."""

    tool: str  # name of the tool that undoes it
    arguments: Payload  # secrets are marked
    call_id: str  # of the call to undo, unique in the agent

    __repr__ = shown_repr


@value
class KeptKey:
    """The idempotency key of a call that the agent rolled back past, reused if it makes the same call again."""

    tool: str
    arguments: str  # digest
    key: str


@value
class CutTalk:
    """A part cut out of the conversations with models: the turns in state entries after a version."""

    since: int  # version of the agent
    until: int  # version when it was cut out; turns in later state entries stay
    call: str = ""  # unique id of the call whose turn is the first of the part; empty for the whole
    summary: str = ""  # text that replaces it


@value
class BreakerWait:
    """A tool whose calls wait while its circuit breaker refuses them."""

    tool: str
    since: datetime  # time of the attempt that started the wait
    until: datetime  # when calls stop waiting
    down_s: float  # seconds; they stop earlier once the breaker has been open this long without closing


@value
class Escapes:
    """An agent's record of its escapes. Nothing undoes it: no rollback, no restart, no escape."""

    count: int = 0  # attempts so far
    findings: int = 0  # findings so far
    open: tuple[SignalFinding, ...] = ()
    tried: tuple[Tried, ...] = ()  # at most MOST_TRIED, with the newest of each strategy, oldest first
    turns_left: int = 0  # turns until the newest attempt counts as NOTHING
    day: str = ""  # date of the newest attempt, in UTC
    today: int = 0  # attempts on that day
    switched: tuple[tuple[str, str], ...] = ()  # tools, each with its replacement
    mending: tuple[str, ...] = ()  # switched tools whose breaker was open then; its closing ends the switch
    awaited: tuple[BreakerWait, ...] = ()  # at most MOST_AWAITED, oldest first
    nudge: str = ""  # hint for the model's next turn
    keys: tuple[KeptKey, ...] = ()  # of calls that the agent rolled back past and has not repeated
    cut: tuple[CutTalk, ...] = ()  # at most MOST_CUT, oldest first
    undoing: tuple[Undoing, ...] = ()  # calls being undone, the newest first
    then: Payload | None = None  # payload of the request to continue once they are undone
    rolled_back: int = 0  # version of the newest rollback, for conversations with models; 0 for none

    __repr__ = shown_repr

    @property
    def is_due(self) -> bool:
        """Whether the agent has requested an escape route and not taken one yet."""
        return any(finding.is_due for finding in self.open)

    @property
    def newest(self) -> Tried | None:
        """The newest attempt."""
        return self.tried[-1] if self.tried else None

    def finding(self, number: int) -> SignalFinding | None:
        """Return the open finding with this number; None if there is none."""
        return next((finding for finding in self.open if finding.number == number), None)

    def with_finding(self, changed: SignalFinding) -> Escapes:
        """Return the record with this finding in place of the one of the same signal."""
        others = tuple(finding for finding in self.open if finding.signal != changed.signal)
        return replaced(self, open=(*others, changed), findings=max(self.findings, changed.number))

    def with_cut(self, cut: CutTalk) -> Escapes:
        """Return the record with another part cut out of conversations with models."""
        return replaced(self, cut=(*self.cut, cut)[-MOST_CUT:])

    @property
    def interrupted(self) -> Escapes:
        """The record after another event moved the agent: no route is due or in progress, but attempts still count."""
        waiting = tuple(replaced(finding, is_due=False) if finding.is_due else finding for finding in self.open)
        return replaced(self, open=waiting, undoing=(), then=None, nudge="")

    @property
    def settled(self) -> Escapes:
        """The record after the agent took on other work: the findings of the earlier work are closed."""
        return replaced(self.judged(CameTo.NOTHING), open=(), undoing=(), then=None, nudge="")

    def judged(self, came_to: CameTo) -> Escapes:
        """Return the record with this result for the newest attempt, if that is still pending."""
        newest = self.newest
        if newest is None or newest.came_to is not CameTo.PENDING:
            return self
        return replaced(self, tried=(*self.tried[:-1], replaced(newest, came_to=came_to)), turns_left=0)

    def without_switch(self, tool: str) -> Escapes:
        """Return the record without the replacement of a tool, so that the tool itself is called again."""
        remaining = tuple(pair for pair in self.switched if pair[0] != tool)
        return replaced(self, switched=remaining, mending=tuple(name for name in self.mending if name != tool))

    def with_switch(self, tool: str, alternative: str, *, is_open: bool) -> Escapes:
        """Return the record with a replacement for a tool. is_open: whether the tool's circuit breaker is open."""
        unswitched = self.without_switch(tool)
        mending = (*unswitched.mending, tool) if is_open else unswitched.mending
        return replaced(unswitched, switched=(*unswitched.switched, (tool, alternative)), mending=mending)

    def with_awaited(self, awaited: Iterable[BreakerWait]) -> Escapes:
        """Return the record with further waits for circuit breakers, each in place of the one for the same tool."""
        changed = {wait.tool: wait for wait in awaited}
        others = (wait for wait in self.awaited if wait.tool not in changed)
        return replaced(self, awaited=(*others, *changed.values())[-MOST_AWAITED:])

    def awaited_of(self, tool: str) -> BreakerWait | None:
        """Return the current or past wait of a tool's calls for its circuit breaker; None if they never waited."""
        return next((wait for wait in self.awaited if wait.tool == tool), None)

    def without_key(self, key: str) -> Escapes:
        """Return the record without a key, after its call was repeated."""
        return replaced(self, keys=tuple(kept for kept in self.keys if kept.key != key))

    def tried_on(self, moment: datetime) -> int:
        """Return the number of attempts on the day of a moment, in UTC.

        A clock set back past midnight does not start another day.
        """
        return self.today if self.day == self._day_of(moment) else 0

    def _day_of(self, moment: datetime) -> str:
        """Return the day that an attempt counts for: the moment's, or the next if that already has an attempt."""
        tomorrow = (moment + timedelta(days=1)).date().isoformat()
        return tomorrow if self.day == tomorrow else moment.date().isoformat()

    def with_attempt(self, attempt: Tried) -> Escapes:
        """Return the record with an attempt counted.

        Beyond MOST_TRIED, drop the oldest attempt whose strategy was tried again later, so that cooldowns still apply.
        """
        tried = [*self.tried, attempt]
        if len(tried) > MOST_TRIED:
            later = [{attempted.strategy for attempted in tried[index + 1 :]} for index in range(len(tried))]
            superseded = (index for index, strategies in enumerate(later) if tried[index].strategy in strategies)
            del tried[next(superseded, 0)]
        today = self.tried_on(attempt.time) + 1
        return replaced(self, count=attempt.number, tried=tuple(tried), day=self._day_of(attempt.time), today=today)

    def last_tried(self, strategy: str) -> datetime | None:
        """Return when a strategy was last tried, within the attempts that the record keeps; None if it was not."""
        return next((attempt.time for attempt in reversed(self.tried) if attempt.strategy == strategy), None)


NO_ESCAPES: Final = Escapes()


@value
class TakeTransition:
    """An escape route: the chart takes the event `escape.<strategy>`, or another one."""

    event: EventName = ""  # the strategy's event by default


@value
class EnterAt:
    """An escape route: the agent restarts at an entry point whose guard agrees and whose payload fits."""

    entry_point: str
    payload: Payload | None = None
    is_fresh: bool = False  # whether its context is reset, and no exit action runs
    keep: tuple[str, ...] = ()  # fields of the context to keep through the reset
    allow: tuple[str, ...] = ()  # non-repeatable tools whose calls do not block a fresh restart

    __repr__ = shown_repr


@value
class GoBack:
    """An escape route: the agent rolls back to an earlier version. No action runs."""

    version: int
    keep: tuple[str, ...] = ()  # fields of the context that keep their current values
    allow: tuple[str, ...] = ()  # non-repeatable tools whose calls do not block the rollback


@value
class CutBlock:
    """An escape route: the newest entries of a conversation are cut out, and the active states are entered again."""

    field: str  # of the context, with a list
    since: int  # version of the agent before the first of them
    summary: str = ""  # text that replaces the entries
    call: PastTurn | None = None  # turn that starts the block, if it is in the agent's current state
    allow: tuple[str, ...] = ()  # non-repeatable tools whose calls do not block the cut


@value
class SwitchTo:
    """An escape route: another tool replaces one until that one's circuit breaker has closed."""

    tool: str
    alternative: str


@value
class AwaitBreakers:
    """An escape route: calls of some tools wait until their circuit breakers let them through."""

    awaited: tuple[BreakerWait, ...]


@value
class TellModel:
    """An escape route: the model gets a hint in its next turn."""

    text: str


@value
class SendAlert:
    """A message to people, sent along with the next strategy. It is not a route by itself."""

    sink: str  # name of the sink in the configuration of the home
    text: str


@value
class NoWay:
    """The reason why a strategy has no route."""

    why: str


Way: TypeAlias = TakeTransition | EnterAt | GoBack | CutBlock | SwitchTo | AwaitBreakers | TellModel | SendAlert | NoWay
"""The routes that a strategy can offer: a closed set."""


@value
class PastTurn:
    """The part of a past turn that strategies evaluate."""

    version: int
    event: EventName
    payload: Payload
    configuration: tuple[StateName, ...]  # at the end of the turn

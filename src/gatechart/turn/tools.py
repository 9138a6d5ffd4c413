"""What an action is handed of the turn it runs in."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any, Generic

from typing_extensions import TypeVar

from gatechart.errors import PayloadError
from gatechart.graph import Delay, seconds_of
from gatechart.turn.arguments import check_due, checked_id, checked_name, known_id
from gatechart.turn.payload import plain_payload
from gatechart.turn.raised import Raised
from gatechart.values import AgentId, CancelTimer, Event, Name, Send, StateName, Timer

ServicesT = TypeVar("ServicesT", default=Any)


@dataclass(slots=True)
class Turn(Generic[ServicesT]):
    """What an action may ask of its turn: the answers are the same whenever the same turn is run again.

    `turn: Turn[Services]` lets a type checker know what `turn.services` is.
    """

    agent_id: AgentId
    version: int  # that the agent has once the turn is committed
    event: Event
    services: ServicesT = None  # type: ignore[assignment]  # as given to Runtime.open
    active: frozenset[StateName] = field(default=frozenset(), repr=False)  # the states, not just leaves
    raised: deque[Raised] = field(default_factory=deque, repr=False)  # for the microsteps to come
    asked: list[Send | Timer | CancelTimer] = field(default_factory=list, repr=False)  # of the outside
    _random: Random | None = field(default=None, repr=False)

    @property
    def now(self) -> datetime:
        """The time of the event, aware, in UTC."""
        return self.event.time

    @property
    def random(self) -> Random:
        """A source of random numbers, seeded with the agent and the turn."""
        if self._random is None:
            self._random = Random(f"{self.agent_id}/{self.version}")
        return self._random

    def raise_event(self, event: Name, payload: Any = None) -> None:
        """Raises an event within the turn: the agent takes it as soon as it has done what it is about to do.

        payload: a mapping with text keys, or a pydantic model, of JSON values. Raises PayloadError.
        """
        name = checked_name(event)
        self.raised.append(Raised(Event(name, plain_payload(payload, name), self.event.time)))

    def send(
        self,
        to: AgentId,
        event: Name,
        payload: Any = None,
        *,
        id: str | None = None,  # noqa: A002
        due: datetime | None = None,
    ) -> None:
        """Sends an event to an agent, itself perhaps, for a turn of its own; it leaves with the commit of this turn.

        to: the agent's id; where there is no such agent yet, the event waits for it.
        payload: as of `raise_event`. id: unique for the recipient, which applies it once. due: at once where left out.
        Raises PayloadError, and UnknownAgentError where no agent can have the id.
        """
        name = checked_name(event)
        check_due(due)
        self.asked.append(Send(known_id(to), name, plain_payload(payload, name), checked_id(id), due))

    def after(
        self, delay: Delay, event: Name, payload: Any = None, *, key: str | None = None, replaces: bool = True
    ) -> str:
        """Sets a timer: the agent gets the event when so much time has passed, in whatever state it is by then.

        delay: "30s", "2m", a timedelta, or a number of seconds. payload: as of `raise_event`.
        key: for `cancel`; made up where left out. replaces: whether timers of this key that have not fired are dropped.
        Returns the key. Raises PayloadError.
        """
        name, seconds = checked_name(event), seconds_of(delay)
        if seconds is None:
            raise PayloadError(f"timer {name!r}", (f"{delay!r} is no delay",), '"30s", "2m", a timedelta or seconds')
        timer_key = checked_id(key) or self.new_id()
        timer = Timer(name, self.now + timedelta(seconds=seconds), plain_payload(payload, name), key=timer_key)
        if key is not None and replaces:
            self.cancel(key)
        self.asked.append(timer)
        return timer_key

    def cancel(self, key: str) -> None:
        """Drops the timer of this key, unless it has arrived already."""
        self.asked[:] = [asked for asked in self.asked if not (isinstance(asked, Timer) and asked.key == key)]
        self.asked.append(CancelTimer(key))

    def new_id(self) -> str:
        """An id of 32 hexadecimal digits, another one at each call."""
        return f"{self.random.getrandbits(128):032x}"

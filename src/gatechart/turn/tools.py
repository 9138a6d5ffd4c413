"""What an action is handed of the turn it runs in."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from gatechart.turn.payload import plain_payload
from gatechart.turn.raised import Raised
from gatechart.values import AgentId, Event, Name, Send, StateName, Withdraw, name_of


@dataclass(slots=True)
class Turn:
    """What an action may ask of its turn: the answers are the same whenever the same turn is run again."""

    agent_id: AgentId
    version: int  # that the agent has once the turn is committed
    event: Event
    services: Any = None  # as given to Runtime.open
    active: frozenset[StateName] = field(default=frozenset(), repr=False)  # the states, not just leaves
    raised: deque[Raised] = field(default_factory=deque, repr=False)  # for the microsteps to come
    sent: list[Send | Withdraw] = field(default_factory=list, repr=False)  # for after the turn
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
        name = name_of(event)
        self.raised.append(Raised(Event(name, plain_payload(payload, name), self.event.time)))

    def send(self, event: Name, payload: Any = None, *, after_s: float = 0.0, id: str | None = None) -> str:  # noqa: A002
        """Sends an event to the agent itself, for a turn of its own; returns the id for `withdraw`.

        payload: as of `raise_event`. after_s: seconds from now, 0 for right after this turn and what waits already.
        id: made up where left out. Raises PayloadError.
        """
        name, sent_id = name_of(event), id or self.new_id()
        due = self.now + timedelta(seconds=after_s)
        self.sent.append(Send(name, plain_payload(payload, name), due, sent_id))
        return sent_id

    def withdraw(self, id: str) -> None:  # noqa: A002
        """Takes back what was sent under the id, unless it has arrived by the end of this turn."""
        self.sent.append(Withdraw(id))

    def new_id(self) -> str:
        """An id of 32 hexadecimal digits, another one at each call."""
        return f"{self.random.getrandbits(128):032x}"

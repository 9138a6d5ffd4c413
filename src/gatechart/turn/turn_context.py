"""What an action is handed of the turn it runs in."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any, Generic

from typing_extensions import TypeVar

from gatechart.context import AgentContext
from gatechart.errors import PayloadError, UnknownHandoffError
from gatechart.graph import AnyGraph, Delay, graph_name, seconds_of
from gatechart.handoff import Fallbacks, HandoffPacket, PathStep, has_achieved, packet_of
from gatechart.turn.arguments import (
    check_targets,
    checked_addressee,
    checked_due,
    checked_id,
    checked_mode,
    checked_name,
    checked_reason,
    checked_words,
    raised_name,
    sought_id,
)
from gatechart.turn.handoff_offers import conclusion, deadline_of, new_id, offers_of, source_of, stamped
from gatechart.turn.internal_events import Raised
from gatechart.turn.payload import plain_payload
from gatechart.values import (
    AgentId,
    CancelTimer,
    Effect,
    Event,
    HandoffStatus,
    Mode,
    Name,
    Offer,
    OpenHandoff,
    Payload,
    Reason,
    Send,
    Side,
    StateName,
    Timer,
)

ServicesT = TypeVar("ServicesT", default=Any)


class TurnLog:
    """What a turn has asked for so far, for the framework to carry out. Actions add to it by the methods of `Turn`."""

    __slots__ = ("active", "asked", "awaits", "concluded", "left", "raised", "steps")

    def __init__(self, left: tuple[StateName, ...] = ()) -> None:
        self.left = left  # the leaves in which the turn began
        self.active: frozenset[StateName] = frozenset()  # the states, not only leaves, as an action sees them
        self.raised: deque[Raised] = deque()  # for the microsteps to come
        self.asked: list[Send | Timer | CancelTimer | Offer] = []  # of the outside
        self.awaits: dict[str, tuple[tuple[StateName, ...], str]] = {}  # states and invokes that wait, by handoff
        self.concluded: dict[str, tuple[Effect, ...]] = {}  # ends of handoffs, by their ids
        self.steps = 0  # that content of a document has taken, see gatechart.contrib.scxml


class Turn(Generic[ServicesT]):
    """What an action may ask of its turn: the answers are the same whenever the same turn is run again.

    `turn: Turn[Services]` lets a type checker know what `turn.services` is.

    agent_id: the agent whose turn it is. version: the one it has once the turn is committed. event: what the turn is
    about. services: as given to `Runtime.open`. graph: the name of the agent's. handoffs: those in which the agent has
    a part as the turn begins. context: the agent's, as actions have changed it so far.
    """

    __slots__ = ("_log", "_random", "agent_id", "context", "event", "graph", "handoffs", "services", "version")

    def __init__(
        self,
        agent_id: AgentId,
        version: int,
        event: Event,
        services: ServicesT = None,  # type: ignore[assignment]
        graph: str = "",
        handoffs: tuple[OpenHandoff, ...] = (),
        context: AgentContext | None = None,
        log: TurnLog | None = None,
    ) -> None:
        self.agent_id = agent_id
        self.version = version
        self.event = event
        self.services = services
        self.graph = graph
        self.handoffs = handoffs
        self.context = context
        self._log = log or TurnLog()
        self._random: Random | None = None

    def __repr__(self) -> str:
        return f"<Turn {self.version} of agent {self.agent_id!r} on {self.event.name!r}>"

    @property
    def active(self) -> frozenset[StateName]:
        """The states that are active as the action runs, those around the leaves included."""
        return self._log.active

    @property
    def now(self) -> datetime:
        """The time of the event, aware, in UTC."""
        return self.event.time

    @property
    def random(self) -> Random:
        """A source of random numbers, seeded with the agent, the turn and its time."""
        if self._random is None:
            self._random = source_of(self.agent_id, self.version, self.now)
        return self._random

    def raise_event(self, event: Name, payload: Any = None) -> None:
        """Raise an event within the turn: the agent takes it as soon as it has done what it is about to do.

        payload: a mapping with text keys, or a pydantic model, of JSON values. Raises PayloadError.
        """
        name = raised_name(event)
        self._log.raised.append(Raised(Event(name, plain_payload(payload, name), self.event.time)))

    def send(
        self,
        to: AgentId,
        event: Name,
        payload: Any = None,
        *,
        event_id: str | None = None,
        due: datetime | None = None,
    ) -> None:
        """Send an event to an agent, itself perhaps, for a turn of its own; it leaves with the commit of this turn.

        to: the agent's id; where there is no such agent yet, the event waits for it.
        payload: as of `raise_event`. event_id: unique for the recipient, which applies it once.
        due: at once where left out.
        Raises PayloadError, ReservedEventError for a name that is the framework's own, and UnknownAgentError where no
        agent can have the id.
        """
        name = checked_name(event)
        content = plain_payload(payload, name)
        self._log.asked.append(Send(checked_addressee(to), name, content, checked_id(event_id), checked_due(due)))

    def after(
        self, delay: Delay, event: Name, payload: Any = None, *, key: str | None = None, replaces: bool = True
    ) -> str:
        """Set a timer: the agent gets the event when so much time has passed, in whatever state it is by then.

        delay: "30s", "2m", a timedelta, or a number of seconds. payload: as of `raise_event`.
        key: for `cancel`; made up where left out. replaces: whether timers of this key that have not fired are dropped.
        Returns the key. Raises PayloadError, and ReservedEventError for a name that is the framework's own.
        """
        name, seconds = checked_name(event), seconds_of(delay)
        if seconds is None:
            raise PayloadError(f"timer {name!r}", (f"{delay!r} is no delay",), '"30s", "2m", a timedelta or seconds')
        timer_key = checked_id(key, "key") or self.new_id()
        timer = Timer(name, self.now + timedelta(seconds=seconds), plain_payload(payload, name), key=timer_key)
        if key is not None and replaces:
            self.cancel(key)
        self._log.asked.append(timer)
        return timer_key

    def cancel(self, key: str) -> None:
        """Drop the timer of this key, unless it has arrived already. Raises PayloadError for what can be no key."""
        sought_id(key, "key")
        self._log.asked[:] = [asked for asked in self._log.asked if not (isinstance(asked, Timer) and asked.key == key)]
        self._log.asked.append(CancelTimer(key))

    def handoff(
        self,
        to: Name | AnyGraph,
        *,
        at: Name,
        packet: HandoffPacket | None = None,
        reason: Reason | str | None = None,
        agent: AgentId | None = None,
        mode: Mode | str = Mode.TRANSFER,
        deadline: Delay | datetime | None = None,
        fallbacks: Fallbacks | None = None,
        achieved: str = "",
        progressed: Callable[[Sequence[PathStep]], bool] = has_achieved,
    ) -> str:
        """Offers the work to another agent, and returns the handoff's id. The offer leaves with the turn's commit.

        The transition leads to a state that waits: `handoff.accepted`, `handoff.rejected`, `handoff.completed`,
        `handoff.failed` or `handoff.expired` comes, with the id as `handoff` in its payload. Leaving that state before
        withdraws the offer.

        to, at: the graph and one of its entry points. agent: a living agent of the graph; a new one where left out.
        packet: what is handed on; what the context has of it where left out. reason: why; the packet's where left out.
        mode: "transfer" gives the work away, "delegate" waits for its result. deadline: for the acceptance of a
        transfer, for the result of a delegation; a delay, or an aware datetime.
        fallbacks: where to turn when the offer is rejected, or would close a loop.
        achieved: what this agent has done, which tells a way back from a loop. progressed: judges, where the graph has
        had the work before, whether the agents since then got anywhere; by default, whether one of them says so.
        An agent is one piece of work: when its transfer is accepted, what it took by transfers itself counts as handed
        on, and what was delegated to it as failed where it ends with that. It can complete a delegation before.
        Raises PayloadError, and HandoffNotAwaitedError, later, where the turn ends in a final state.
        """
        wanted = checked_mode(mode)
        check_targets([graph_name(to)], "handoff")
        if fallbacks is not None:
            check_targets([text for each in fallbacks.targets for text in (each.graph, each.at, each.agent)])
        taken = next((each for each in reversed(self.handoffs) if each.side is Side.TOOK), None)
        state = ", ".join(self._log.left or sorted(self._log.active))
        made = stamped(
            packet or packet_of(self.context, Reason.OTHER),
            reason=None if reason is None else checked_reason(reason),
            to=to,
            at=raised_name(at),
            agent=None if agent is None else checked_addressee(agent),
            mode=wanted,
            due=deadline_of(deadline, self.now),
            fallbacks=fallbacks,
            step=PathStep(
                agent=self.agent_id,
                graph=self.graph,
                state=state,
                achieved=checked_words(achieved, "achieved"),
                time=self.now,
            ),
            taken=taken,
            ids=self.random,
        )
        self._log.asked += offers_of(made, self.now, self.random, progressed)
        return made.handoff_id

    def complete(self, handoff: str, result: Any = None) -> None:
        """End a handoff that this agent took, with a result for the agent that waits for it.

        result: as a payload. Raises UnknownHandoffError where the agent has no such handoff, PayloadError.
        """
        content = plain_payload(result, "handoff.completed")
        self._conclude(handoff, HandoffStatus.COMPLETED, "", content)

    def fail(self, handoff: str, details: str) -> None:
        """End a handoff that this agent took and cannot complete. Raises UnknownHandoffError, PayloadError."""
        self._conclude(handoff, HandoffStatus.FAILED, checked_words(details, "details"), None)

    def _conclude(self, handoff: str, status: HandoffStatus, details: str, result: Payload | None) -> None:
        taken = {
            each.id: each for each in self.handoffs if each.side is Side.TOOK and each.id not in self._log.concluded
        }
        if handoff not in taken:
            raise UnknownHandoffError(self.agent_id, handoff, tuple(taken))
        self._log.concluded[handoff] = conclusion(taken[handoff], status, details, result)

    def new_id(self) -> str:
        """An id of 32 hexadecimal digits, another one at each call."""
        return new_id(self.random)


def log_of(turn: Turn[Any]) -> TurnLog:
    """Return what a turn has asked for so far. For the framework alone: actions ask by the methods of the turn."""
    return turn._log

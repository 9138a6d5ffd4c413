"""The interface to the current turn that actions receive."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from random import Random
from typing import Any, Final, Generic

from pydantic import ValidationError
from pydantic_core import from_json, to_json
from typing_extensions import TypeVar

from gatechart.context import AgentContext, problems_of
from gatechart.errors.event import ActionFailedError, PayloadError, UnknownHandoffError
from gatechart.errors.failures import message_of
from gatechart.graph.graph import AnyGraph, graph_name
from gatechart.graph.handoff import Fallbacks
from gatechart.graph.selection import Best, check_selectors
from gatechart.graph.signals import SIGNAL
from gatechart.handoff.conversation import ConversationContext, packet_of, with_choice, with_finding
from gatechart.handoff.loops import has_achieved
from gatechart.handoff.packet import HandoffPacket, PathStep
from gatechart.turn.arguments import (
    check_finite_payload,
    check_targets,
    checked_addressee,
    checked_delay,
    checked_due,
    checked_id,
    checked_mode,
    checked_name,
    checked_reason,
    checked_words,
    plain_payload,
    raised_name,
    sought_id,
)
from gatechart.turn.handoff_offers import conclusion, deadline_of, new_id, offers_of, source_of, stamped, tried_before
from gatechart.values.agents import Event, Refusal
from gatechart.values.delays import Delay
from gatechart.values.effects import CancelTimer, Effect, Offer, Send, Timer
from gatechart.values.escapes import ESCAPE
from gatechart.values.framework import (
    check_not_framework,
    is_framework_id,
)
from gatechart.values.frozen import maker, value
from gatechart.values.handoffs import HandoffStatus, Mode, OpenHandoff, Reason, Side
from gatechart.values.names import (
    CHOOSING,
    ERROR_REFUSED,
    FRAMEWORK,
    OFFERED,
    AgentId,
    EventName,
    Name,
    Payload,
    StateName,
)
from gatechart.values.transfers import TRANSFER

ERROR_EXECUTION: Final[EventName] = "error.execution"
_make_event: Final = maker(Event)


ServicesT = TypeVar("ServicesT", default=Any)


@value
class Failure:
    """An exception of a guard or an action."""

    name: str
    place: str
    cause: Event
    error: BaseException
    undoes: bool  # whether it undoes the turn, unless a transition handles it

    def raised(self) -> Raised:
        """Return the event `error.execution` that reports it."""
        payload = {
            "type": type(self.error).__name__,
            "message": message_of(self.error),
            "raised_by": self.name,
            "place": self.place,
            "event": self.cause.name,
        }
        return Raised(Event(ERROR_EXECUTION, payload, self.cause.time), self)

    def failed(self, agent_id: AgentId, event: EventName) -> ActionFailedError:
        """Return the error that undoes the turn, with the exception as its cause."""
        error = ActionFailedError(agent_id, event, self.name, self.place, told(self.error))
        error.__cause__ = self.error
        return error


def refusal_raised(refused: Event, refusal: Refusal) -> Raised:
    """Return the event `error.refused`, which contains the refused event and the reason."""
    payload = {
        "event": refused.name,
        "payload": refused.payload,
        "reason": refusal.reason.value,
        "message": str(refusal),
    }
    return Raised(Event(ERROR_REFUSED, payload, refused.time))


@value
class Raised:
    """An event on the internal queue of a turn."""

    event: Event
    failure: Failure | None = None


def told(error: BaseException) -> str:
    """Describe the exception in one line that every store can keep: its type, and its message if it has one."""
    message = "; ".join(problems_of(error)) if isinstance(error, ValidationError) else message_of(error)
    line = one_line(message)
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def one_line(text: str) -> str:
    """Return a text in one line that every store can keep."""
    return " ".join(text.encode(errors="replace").decode().replace("\0", "").split())


def own_copy(event: Event) -> Event:
    """Copy the event with its payload, so that code that writes into the payload does not change the original."""
    payload = from_json(to_json(event.payload)) if event.payload else {}
    return _make_event(event.name, payload, event.time, event.id, event.sender, event.operator_reason)


class TurnLog:
    """The requests of a turn so far, for the framework to carry out. Actions add to it through `Turn`."""

    __slots__ = (
        "active",
        "asked",
        "awaits",
        "concluded",
        "left",
        "progressed",
        "raised",
        "selectors",
        "signal",
        "steps",
    )

    def __init__(self, left: tuple[StateName, ...] = ()) -> None:
        self.left = left  # leaves that were active when the turn started
        self.active: frozenset[StateName] = frozenset()  # active states, not only leaves, at the current action
        self.raised: deque[Raised] = deque()  # events for later microsteps
        self.asked: list[Send | Timer | CancelTimer | Offer] = []  # effects requested so far
        self.awaits: dict[str, tuple[tuple[StateName, ...], str]] = {}  # waiting states and invokes, by handoff
        self.concluded: dict[str, tuple[Effect, ...]] = {}  # ends of handoffs, by handoff id
        self.signal: Event | None = None  # the signal that the chart answers at the end of the turn
        self.progressed: list[str] = []  # progress reported by actions
        self.selectors: Mapping[str, Any] = {}  # the graph's functions for choosing targets, by name
        self.steps = 0  # steps taken by content of a document, see gatechart.contrib.scxml


class Turn(Generic[ServicesT]):
    """The interface through which an action uses its turn. Running the same turn again gives the same answers.

    `turn: Turn[Services]` tells a type checker the type of `turn.services`.

    agent_id: the agent whose turn it is.
    version: the agent's version once the turn is committed.
    event: the event of the turn.
    services: as given to `Runtime.open`.
    graph: name of the agent's graph.
    handoffs: the agent's open handoffs when the turn starts, on either side.
    context: the agent's context, as changed by actions so far.
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
        """States that are active while the action runs, including the ancestors of the leaves."""
        return self._log.active

    @property
    def now(self) -> datetime:
        """Time of the event, aware, in UTC."""
        return self.event.time

    @property
    def random(self) -> Random:
        """Source of random numbers, seeded with the agent, the turn and its time."""
        if self._random is None:
            self._random = source_of(self.agent_id, self.version, self.event.time)
        return self._random

    def raise_event(self, event: Name, payload: Any = None) -> None:
        """Raise an event within the turn: it is processed once the current microstep is complete.

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
        """Send an event to an agent, which may be this one, for a later turn. It leaves with the commit of this turn.

        to: the agent's id; if no such agent exists yet, the event waits for it.
        payload: see `raise_event`. event_id: unique for the recipient, which applies it once. due: at once if None.
        Raises PayloadError, ReservedEventError for a reserved name, UnknownAgentError if no agent can have the id, and
        FrameworkAgentError if it belongs to gatechart itself.
        """
        name = checked_name(event)
        content = plain_payload(payload, name)
        recipient = checked_addressee(to)
        if is_framework_id(recipient) and recipient != self.agent_id:  # or an agent of an earlier release
            check_not_framework(recipient)
        self._log.asked.append(Send(recipient, name, content, checked_id(event_id), checked_due(due)))

    def after(
        self, delay: Delay, event: Name, payload: Any = None, *, key: str | None = None, replaces: bool = True
    ) -> str:
        """Set a timer: the agent gets the event after the delay, whatever state it is in by then.

        delay: "30s", "1h30m", "PT1H30M", a timedelta, or a number of seconds. payload: see `raise_event`.
        key: for `cancel`; generated if None. replaces: whether to drop pending timers with this key.
        Returns the key. Raises PayloadError, and ReservedEventError for a reserved name.
        """
        name = checked_name(event)
        seconds = checked_delay(delay, f"timer {name!r}")
        timer_key = checked_id(key, "key") or self.new_id()
        timer = Timer(name, self.now + timedelta(seconds=seconds), plain_payload(payload, name), key=timer_key)
        if key is not None and replaces:
            self.cancel(key)
        self._log.asked.append(timer)
        return timer_key

    def cancel(self, key: str) -> None:
        """Drop the timer with this key, unless it has fired already. Raises PayloadError for an impossible key."""
        sought_id(key, "key")
        # A timer set in this same turn is not stored yet, so it is dropped here.
        self._log.asked[:] = [asked for asked in self._log.asked if not (isinstance(asked, Timer) and asked.key == key)]
        self._log.asked.append(CancelTimer(key))

    def handoff(
        self,
        to: Name | AnyGraph | Best,
        *,
        at: Name = "",
        packet: HandoffPacket | None = None,
        reason: Reason | str | None = None,
        agent: AgentId | None = None,
        mode: Mode | str = Mode.TRANSFER,
        deadline: Delay | datetime | None = None,
        fallbacks: Fallbacks | None = None,
        achieved: str = "",
        progressed: Callable[[Sequence[PathStep]], bool] = has_achieved,
        transcript: bool = True,
    ) -> str:
        """Offer the work to another agent, and return the handoff's id. The offer leaves with the turn's commit.

        The transition must lead to a state that waits for `handoff.accepted`, `handoff.rejected`, `handoff.completed`,
        `handoff.failed` or `handoff.expired`, with the id as `handoff` in its payload. Leaving that state earlier
        withdraws the offer.

        to, at: the graph and one of its entry points; or `Best(...)` alone, and the target is chosen after the turn.
            Functions that it uses must belong to a `Handoff(Best(...))` that the graph declares.
        agent: an existing agent of the graph; a new one if None.
        packet: the work; built from the context if None.
        reason: the packet's if None.
        mode: "transfer" gives the work away, "delegate" waits for its result.
        deadline: for the acceptance of a transfer, or for the result of a delegation; a delay or an aware datetime.
        fallbacks: what to try if the offer is rejected or would close a loop.
        achieved: the results of this agent, which distinguish a return from a loop.
        progressed: if the graph had the work before, decides whether the agents since then made progress; by default,
            whether one of them has set `achieved`. A choice of the target uses the default.
        transcript: whether the packet's conversation also gets the messages of the agent's model loops. A `packet` that
            leaves the context's messages out stays without a conversation.

        An agent is one unit of work: when its transfer is accepted, transfers that it accepted itself count as handed
        on, and delegations to it count as failed if it ends then. It can complete a delegation before that. Raises
        PayloadError, UnknownSelectorError, FrameworkAgentError for a target that belongs to gatechart itself, and later
        HandoffNotAwaitedError if the turn ends in a final state.
        """
        best, target, door, peer = self._target(to, at, agent)
        handoff_mode, given_reason = checked_mode(mode), None if reason is None else checked_reason(reason)
        achieved_text = checked_words(achieved, "achieved")
        if fallbacks is not None:
            self._check_selections(fallbacks.selections)
            check_targets([text for step in fallbacks.targets for text in (step.graph, step.at, step.agent)])
            for step in fallbacks.targets:
                check_not_framework(step.agent, graph=step.graph)
        if packet is not None:  # `model_copy` checks nothing
            check_finite_payload(packet, CHOOSING if best else f"{OFFERED}{door}")
        own_step, content = self._step(achieved_text), packet or self._packet()
        ids = self.random
        stamped_packet = stamped(
            content,
            reason=given_reason,
            to=target,
            at=door,
            agent=peer,
            mode=handoff_mode,
            due=deadline_of(deadline, self.event.time),
            fallbacks=fallbacks,
            best=best,
            step=own_step,
            taken=next((known for known in reversed(self.handoffs) if known.side is Side.TOOK), None),
            tried=() if best is None else tried_before(self.event),
            ids=ids,
        )
        lacks = transcript and not self._omits_conversation(content)
        self._log.asked += offers_of(stamped_packet, self.event.time, ids, progressed, lacks_transcripts=lacks)
        return stamped_packet.handoff_id

    def _omits_conversation(self, packet: HandoffPacket) -> bool:
        """Return whether a packet was built without the messages of the context."""
        return isinstance(self.context, ConversationContext) and bool(self.context.messages) and not packet.conversation

    def _target(
        self, to: Name | AnyGraph | Best, at: Name, agent: AgentId | None
    ) -> tuple[Best | None, str, str, AgentId | None]:
        """Check the target, and return its selection, or else its graph, entry point and agent."""
        if not isinstance(to, Best):
            target, door = to if type(to) is str else graph_name(to), raised_name(at)
            check_targets([target], "handoff")
            peer = None if agent is None else checked_addressee(agent)
            if peer is not None or target.startswith(FRAMEWORK):
                check_not_framework(peer, graph=target)
            return None, target, door, peer
        if at or agent is not None:
            raise PayloadError(
                "handoff", ("its target is to be chosen, but at= or agent= names one",), "Best(...) alone"
            )
        self._check_selections([to])
        return to, "", "", None

    def _check_selections(self, selections: Iterable[Best]) -> None:
        for best in selections:
            check_selectors((*best.weights, *best.order_names), best.filter_names, self._log.selectors)

    def _packet(self) -> HandoffPacket:
        packet, event = packet_of(self.context, Reason.OTHER), self._log.signal or self.event
        if event.name.startswith(TRANSFER):
            return with_choice(packet, event.payload)
        is_found = event.name.startswith((SIGNAL, ESCAPE)) and "evidence" in event.payload
        return with_finding(packet, event.name, event.payload) if is_found else packet

    def _step(self, achieved: str) -> PathStep:
        """Return the agent's step for the path of the work that it hands on."""
        return PathStep(
            agent=self.agent_id,
            graph=self.graph,
            state=", ".join(self._log.left or sorted(self._log.active)),
            achieved=achieved,
            time=self.event.time,
        )

    def complete(self, handoff: str, result: Any = None) -> None:
        """End a handoff that this agent accepted, with a result for the agent that waits for it.

        result: a payload. Raises UnknownHandoffError if the agent has no such handoff, and PayloadError.
        """
        content = plain_payload(result, "handoff.completed")
        self._conclude(handoff, HandoffStatus.COMPLETED, "", content)

    def fail(self, handoff: str, details: str) -> None:
        """End a handoff that this agent accepted and cannot complete. Raises UnknownHandoffError and PayloadError."""
        self._conclude(handoff, HandoffStatus.FAILED, checked_words(details, "details"), None)

    def _conclude(self, handoff: str, status: HandoffStatus, details: str, result: Payload | None) -> None:
        own = (known for known in self.handoffs if known.side is Side.TOOK)
        accepted = {known.id: known for known in own if known.id not in self._log.concluded}
        if handoff not in accepted:
            raise UnknownHandoffError(self.agent_id, handoff, tuple(accepted))
        self._log.concluded[handoff] = conclusion(accepted[handoff], status, details, result)

    def progressed(self, by: str = "") -> None:
        """Report progress of the agent's work to the signals of the graph.

        by: the completed part, such as the id of a task. Raises PayloadError if no store can keep the text.
        """
        self._log.progressed.append(checked_words(by, "progressed"))

    def new_id(self) -> str:
        """Return an id of 32 hexadecimal digits, a new one at each call."""
        return new_id(self.random)


log_of: Final[Callable[[Turn[Any]], TurnLog]] = attrgetter("_log")
"""Return the requests of a turn so far. For the framework alone: actions use the methods of the turn."""

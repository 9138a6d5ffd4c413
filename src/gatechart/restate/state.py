"""The data that the engine keeps of an agent, as values and as bytes: state, results of runs, invocations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, TypeAlias

from pydantic import TypeAdapter
from pydantic_core import to_json

from gatechart.context import canonical_json
from gatechart.stores.operations import Content, HandoffState
from gatechart.turn.mail import in_order
from gatechart.values.agents import Event, GuardError, Outcome, Snapshot
from gatechart.values.effects import ChangeHandoff, OfferChosen
from gatechart.values.fired_signals import FiredSignal
from gatechart.values.handoffs import HandoffRecord, HandoffStatus
from gatechart.values.mail import ActiveInvocation, Invocation, Mail, MailStatus
from gatechart.values.names import AgentId, EventName, Payload, StateName

LARGE_BYTES: Final = 16_000  # size of a payload as JSON text beyond which it is set aside
CROWDED_BYTES: Final = 128_000  # size of an agent's state beyond which smaller payloads are set aside, too
SMALL_BYTES: Final = 1_000  # size of a payload that stays even then: a separate read would cost more
LAYOUT: Final = 2


@dataclass(frozen=True, slots=True)
class UnderWay:
    """An invocation that has not ended, with its id in the engine."""

    running: ActiveInvocation
    engine_id: str = ""  # empty until it is started
    steps: dict[str, str] = field(default_factory=dict)  # recorded elsewhere, as JSON text, until it is started here

    @property
    def invocation(self) -> Invocation:
        """The running invocation."""
        return self.running.invocation


@dataclass(frozen=True, slots=True)
class LargePayload:
    """The summary of a payload that is set aside."""

    digest: str  # of the event's name and the payload
    bytes: int


@dataclass(slots=True)
class AgentState:
    """The whole state of an agent, except the ids of its events. A run changes it and stores it again.

    Large payloads are set aside, see `most_inline` and `payload_object`: the engine sends the whole state to each run,
    and a run rewrites it. Their mail is stored here with an empty payload.
    """

    life: str = ""  # identifies this agent: a later agent with the same id has another life
    snapshot: Snapshot | None = None  # None if the agent does not exist yet
    mail: list[Mail] = field(default_factory=list)  # in the order accepted
    calls: list[UnderWay] = field(default_factory=list)
    numbers: int = 1  # next number for mail
    offers: dict[str, HandoffStatus] = field(default_factory=dict)  # current status of handoffs to this agent
    places: dict[str, str] = field(default_factory=dict)  # handoffs that hold a slot, with their graph
    projected: int = 0  # newest projected version
    is_projecting: bool = False  # whether the projection was notified of new turns
    asleep: int = 0  # while the agent is moved here, number of the first mail that came in the meantime; 0: awake
    arrived: tuple[int, int] = (0, 0)  # highest place of posted mail that arrived, and the bytes up to it
    origin: str = ""  # its source database while it is moved here, asleep
    large: dict[int, LargePayload] = field(default_factory=dict)  # payloads that are set aside, by the mail's number
    settled: list[ChangeHandoff] = field(default_factory=list)  # changes without a turn, to be projected with the next
    deferred: list[int] = field(default_factory=list)  # mail that the agent defers in its present position, by number
    journals: list[tuple[str, str, str]] = field(default_factory=list)  # of an agent that is moved here, until it wakes
    layout: int = 1  # 1: from a release that set no payloads aside

    def number(self) -> int:
        """Return a new number for mail, higher than all before."""
        self.numbers += 1
        return self.numbers - 1

    def due(self, now: datetime) -> list[Mail]:
        """Return the mail to process now, in order."""
        waiting = (mail for mail in self.mail if mail.status is MailStatus.WAITING)
        return in_order(mail for mail in waiting if mail.due is None or mail.due <= now)

    def is_set_aside(self, mail: Mail) -> bool:
        """Return whether the payload is stored elsewhere. Large payloads are never empty, so an empty one was moved."""
        return mail.number in self.large and not mail.payload

    def numbered(self, number: int) -> Mail | None:
        """Return the mail with this number; None if there is none."""
        return next((mail for mail in self.mail if mail.number == number), None)

    def waits(self, number: int) -> bool:
        """Return whether mail with this number waits."""
        mail = self.numbered(number)
        return mail is not None and mail.status is MailStatus.WAITING

    def is_choosing(self, handoff: str) -> bool:
        """Return whether the target of a handoff of this agent is still to be chosen."""
        handoffs = () if self.snapshot is None else self.snapshot.handoffs
        return any(each.id == handoff and each.is_choosing for each in handoffs)

    def put(self, changed: Mail) -> None:
        """Store mail, replacing mail with the same number."""
        for position, mail in enumerate(self.mail):
            if mail.number == changed.number:
                self.mail[position] = changed
                return
        self.mail.append(changed)

    def drop(self, number: int) -> None:
        """Delete mail."""
        self.mail = [mail for mail in self.mail if mail.number != number]

    def drop_timers(self, *, state: StateName | None = None, key: str | None = None) -> None:
        """Delete waiting mail of a state or a key; of any state or key if neither is given."""

        def is_over(mail: Mail) -> bool:
            if mail.status is not MailStatus.WAITING:
                return False
            if state is None and key is None:
                return mail.state is not None or mail.key is not None
            return (state is not None and mail.state == state) or (key is not None and mail.key == key)

        if any(map(is_over, self.mail)):
            self.mail = [mail for mail in self.mail if not is_over(mail)]


@dataclass(frozen=True, slots=True)
class Applied:
    """The outcome of an event that had an id."""

    digest: str  # of the event's name and payload
    event: EventName
    outcome: Outcome
    made: str = ""  # id of the handoff that it offered, if an outside caller requested one


@dataclass(frozen=True, slots=True)
class CommittedTurn:
    """A committed turn for the projection."""

    snapshot: Snapshot
    event: Event
    taken: tuple[str, ...]
    took_us: int
    guard_errors: tuple[GuardError, ...] = ()
    fired: FiredSignal | None = None
    offers: tuple[HandoffRecord, ...] = ()
    settles: tuple[ChangeHandoff, ...] = ()
    chosen: tuple[OfferChosen, ...] = ()


Ids = dict[str, Applied]

STATE: Final = TypeAdapter(AgentState)
PAYLOAD: Final[TypeAdapter[Payload]] = TypeAdapter(Payload)
IDS: Final[TypeAdapter[Ids]] = TypeAdapter(Ids)
TURN: Final = TypeAdapter(CommittedTurn)
TURNS: Final[TypeAdapter[list[CommittedTurn]]] = TypeAdapter(list[CommittedTurn])
MAIL: Final = TypeAdapter(Mail)
MAILS: Final[TypeAdapter[list[Mail]]] = TypeAdapter(list[Mail])
SNAPSHOT: Final = TypeAdapter(Snapshot)
OUTCOME: Final = TypeAdapter(Outcome)
RUNNING: Final = TypeAdapter(ActiveInvocation)


def most_inline(state_bytes: int) -> int:
    """Return the size of the largest payload that stays with its mail, in a state of this size.

    Each run reads and writes the whole state, so the cost of inline payloads is the square of a queue's length.
    """
    return LARGE_BYTES if state_bytes <= CROWDED_BYTES else SMALL_BYTES


def with_payload(mail: Mail, text: bytes) -> Mail:
    """Return the mail with a payload that was set aside."""
    return replace(mail, payload=PAYLOAD.validate_json(text))


def plain(adapter: TypeAdapter[Any], value: Any) -> Any:
    """Return the value in JSON form."""
    return adapter.dump_python(value, mode="json")


def digest_of(event: EventName, payload: Payload) -> str:
    """Return a digest that distinguishes different events with the same id."""
    return sha256(f"{event}\n{canonical_json(payload)}".encode(errors="replace")).hexdigest()[:32]


Order: TypeAlias = dict[str, Any]
"""An order to the object, by its `do`:
deliver (mail, to)  ·  wake (number, after_s)  ·  call (running, steps)  ·  cancel (engine_id)  ·  project (after_s)  ·
postpone (argument, after_s)  ·  release (graph, handoff)  ·  forget  ·  unproject  ·  clear (first, last)  ·
drain (after_s)  ·  begin (to, told)  ·  journals (entries)  ·  forget_journals
"""

_EMPTY: Final = b""


@dataclass(slots=True)
class HandlerResult:
    """The result of a run: the data to store, the orders, and the answer. A part that is None is unchanged."""

    state: bytes | None = None
    ids: bytes | None = None
    turns: list[tuple[int, bytes]] = field(default_factory=list)  # turns committed in this run, with their versions
    orders: list[Order] = field(default_factory=list)
    answer: Any = None  # JSON values
    following: str = ""  # verb of the next run in this invocation; empty for none
    wait_s: float = 0.0  # pause before the next run
    waits_for: int = 0  # mail whose next attempt is awaited, by number; 0 in journals of older releases
    place: dict[str, Any] | None = None  # slot to reserve before this run is repeated
    choice: dict[str, Any] | None = None  # choice to make before this run is repeated
    question: dict[str, Any] | None = None  # question to the engine before this run is repeated
    needs: list[int] = field(default_factory=list)  # mail whose payload must be read before this run is repeated
    payloads: list[tuple[int, bytes]] = field(
        default_factory=list
    )  # payloads to set aside, by the number of their mail
    cleared: list[int] = field(default_factory=list)  # mail whose payload can be deleted

    def packed(self) -> bytes:
        """Pack the entry as bytes: one line of JSON per part, because JSON text has no line breaks."""
        head = {
            "orders": self.orders,
            "answer": self.answer,
            "following": self.following,
            "wait_s": self.wait_s,
            "waits_for": self.waits_for,
            "place": self.place,
            "versions": [version for version, _ in self.turns],
        }
        # Only when present, so that most entries stay as small as before payloads could be set aside.
        numbers = [number for number, _ in self.payloads]
        head |= {name: of for name, of in (("needs", self.needs), ("cleared", self.cleared), ("large", numbers)) if of}
        texts = [text for _, text in (*self.turns, *self.payloads)]
        if self.choice is not None:
            head["choice"] = self.choice
        if self.question is not None:
            head["question"] = self.question
        return b"\n".join((to_json(head, inf_nan_mode="constants"), self.state or _EMPTY, self.ids or _EMPTY, *texts))


def unpacked(text: bytes) -> HandlerResult:
    """Unpack an entry."""
    head, state, ids, *texts = bytes(text).split(b"\n")
    parts = json.loads(head)
    versions: list[int] = parts.pop("versions")
    numbers: list[int] = parts.pop("large", [])
    turns = list(zip(versions, texts[: len(versions)], strict=True))
    parts["payloads"] = list(zip(numbers, texts[len(versions) :], strict=True))
    return HandlerResult(state or None, ids or None, turns, **parts)


class LoadedState:
    """The state of one agent, as read by the commit rules. Implements `Loaded`.

    It knows no ids: every recipient detects repeated mail on arrival, even mail to itself.
    """

    def __init__(self, state: AgentState) -> None:
        self._state = state

    @property
    def versions(self) -> Mapping[AgentId, int]:
        """See Loaded."""
        now = self._state.snapshot
        return {} if now is None else {now.agent_id: now.version}

    def waits(self, number: int) -> bool:
        """See Loaded."""
        return self._state.waits(number)

    def mail(self, number: int) -> Mail | None:
        """See Loaded."""
        return self._state.numbered(number)

    def waiting(self, recipient: AgentId, mail_id: str) -> Mail | None:  # noqa: ARG002
        """See Loaded. Mail is not found by its id here."""
        return None

    def applied(self, recipient: AgentId, event_id: str) -> Content | None:  # noqa: ARG002
        """See Loaded. Events are not found by their ids here."""
        return None

    def content(self, event: EventName, payload: Payload) -> Content:
        """See Loaded."""
        return event, digest_of(event, payload)

    def is_active(self, invocation: Invocation) -> bool:
        """See Loaded."""
        return any(each.invocation == invocation for each in self._state.calls)

    def has_result(self, invocation: Invocation, step: str) -> bool:  # noqa: ARG002
        """See Loaded. Results are in the engine's journal."""
        return False

    def has_entry(self, agent_id: AgentId, journal: str, name: str) -> bool:  # noqa: ARG002
        """See Loaded. Journals are in a separate object."""
        return False

    def handoff(self, handoff_id: str, expected: HandoffStatus | None = None) -> HandoffState | None:
        """See Loaded. Only the target stores a handoff; for any other agent it has the expected status.

        Only the source knows whether the target is still to be chosen.
        """
        if expected is HandoffStatus.CHOOSING and not self._state.is_choosing(handoff_id):
            expected = None
        status = self._state.offers.get(handoff_id, expected)
        return None if status is None else HandoffState(status, ())

    def slot(self, handoff_id: str) -> str | None:
        """See Loaded."""
        return self._state.places.get(handoff_id)

    def slots_held(self, graph: str) -> int:  # noqa: ARG002
        """See Loaded. The graph's object counts slots, and answers before the turn."""
        return 0

"""What the engine keeps of one agent, as values and as bytes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

from pydantic import TypeAdapter

from gatechart.context import canonical_json
from gatechart.values import (
    ActiveInvocation,
    ChangeHandoff,
    Event,
    EventName,
    GuardError,
    HandoffRecord,
    HandoffStatus,
    Invocation,
    Mail,
    MailStatus,
    Outcome,
    Payload,
    Snapshot,
    StateName,
)

LARGE_BYTES: Final = 16_000  # of a payload as JSON text, beyond which it is set aside
LAYOUT: Final = 2


@dataclass(frozen=True, slots=True)
class UnderWay:
    """An invocation that has not ended, and the engine's id of it."""

    running: ActiveInvocation
    engine_id: str = ""  # empty until it is begun
    steps: dict[str, str] = field(default_factory=dict)  # recorded elsewhere, as JSON text, until it is begun here

    @property
    def invocation(self) -> Invocation:
        """Whose, and of what."""
        return self.running.invocation


@dataclass(frozen=True, slots=True)
class LargePayload:
    """What the state of an agent has of a payload that is set aside."""

    digest: str  # of the event's name and the payload
    bytes: int


@dataclass(slots=True)
class AgentState:
    """All that an agent needs to go on, but for the ids of its events. It is changed within a run, and read again.

    Payloads beyond LARGE_BYTES are set aside, see `payloads`: the engine sends all of an agent's state to each run, and
    a run writes it anew. Their mail stands here with an empty payload.
    """

    life: str = ""  # of this agent: one that is started later under the same id has another
    snapshot: Snapshot | None = None  # None where there is no such agent yet
    mail: list[Mail] = field(default_factory=list)  # in the order accepted
    calls: list[UnderWay] = field(default_factory=list)
    numbers: int = 1  # the next, of mail
    offers: dict[str, HandoffStatus] = field(default_factory=dict)  # of handoffs to this agent, as they stand
    places: dict[str, str] = field(default_factory=dict)  # handoffs that hold a place, with the graph
    projected: int = 0  # the newest version that is projected
    is_projecting: bool = False  # whether the projection has been told that there is something to do
    asleep: int = 0  # while the agent is moved here, the first number of mail that came meanwhile; 0: it is awake
    arrived: tuple[int, int] = (0, 0)  # the highest place of mail that was posted, see `capacity`; the bytes up to it
    origin: str = ""  # the database from which it is moved here, while it is asleep
    large: dict[int, LargePayload] = field(default_factory=dict)  # payloads that are set aside, by the mail's number
    layout: int = 1  # 1: of a release that set no payloads aside

    def number(self) -> int:
        """A number for mail, higher than all before."""
        self.numbers += 1
        return self.numbers - 1

    def due(self, now: datetime) -> list[Mail]:
        """What is to be taken now, in order: as accepted, and behind that, as due, what has a due time."""
        waiting = [mail for mail in self.mail if mail.status is MailStatus.WAITING]
        timed = [mail for mail in waiting if mail.due is not None and mail.due <= now]
        return [mail for mail in waiting if mail.due is None] + sorted(timed, key=lambda mail: (mail.due, mail.number))

    def is_set_aside(self, mail: Mail) -> bool:
        """Whether the payload of the mail is kept elsewhere. A large payload is never empty, so the two differ."""
        return mail.number in self.large and not mail.payload

    def numbered(self, number: int) -> Mail | None:
        """The mail of this number."""
        return next((mail for mail in self.mail if mail.number == number), None)

    def waits(self, number: int) -> bool:
        """Whether the mail of this number waits."""
        mail = self.numbered(number)
        return mail is not None and mail.status is MailStatus.WAITING

    def put(self, changed: Mail) -> None:
        """Keeps mail, in the place of what stands under its number."""
        for place, mail in enumerate(self.mail):
            if mail.number == changed.number:
                self.mail[place] = changed
                return
        self.mail.append(changed)

    def drop(self, number: int) -> None:
        """Forgets mail."""
        self.mail = [mail for mail in self.mail if mail.number != number]

    def drop_timers(self, *, state: StateName | None = None, key: str | None = None) -> None:
        """Forgets mail that waits for a state or a key; for any, where neither is given."""

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
    """What came of an event that carried an id."""

    digest: str  # of its name and payload
    event: EventName
    outcome: Outcome
    made: str = ""  # the id of the handoff that it offered, where somebody outside asked for that


@dataclass(frozen=True, slots=True)
class Turn:
    """A committed turn, as the projection takes it."""

    snapshot: Snapshot
    event: Event
    taken: tuple[str, ...]
    took_us: int
    guard_errors: tuple[GuardError, ...] = ()
    offers: tuple[HandoffRecord, ...] = ()
    settles: tuple[ChangeHandoff, ...] = ()


Ids = dict[str, Applied]

STATE: Final = TypeAdapter(AgentState)
PAYLOAD: Final[TypeAdapter[Payload]] = TypeAdapter(Payload)
IDS: Final[TypeAdapter[Ids]] = TypeAdapter(Ids)
TURN: Final = TypeAdapter(Turn)
TURNS: Final[TypeAdapter[list[Turn]]] = TypeAdapter(list[Turn])
MAIL: Final = TypeAdapter(Mail)
MAILS: Final[TypeAdapter[list[Mail]]] = TypeAdapter(list[Mail])
SNAPSHOT: Final = TypeAdapter(Snapshot)
OUTCOME: Final = TypeAdapter(Outcome)
RUNNING: Final = TypeAdapter(ActiveInvocation)


def with_payload(mail: Mail, text: bytes) -> Mail:
    """Return mail with the payload that was set aside."""
    return replace(mail, payload=PAYLOAD.validate_json(text))


def plain(adapter: TypeAdapter[Any], value: Any) -> Any:
    """The value in JSON values."""
    return adapter.dump_python(value, mode="json")


def digest_of(event: EventName, payload: Payload) -> str:
    """What tells an event from others under the same id."""
    return sha256(f"{event}\n{canonical_json(payload)}".encode(errors="replace")).hexdigest()[:32]

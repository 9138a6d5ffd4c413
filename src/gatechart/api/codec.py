"""The JSON of results: one codec for every value that a verb returns, derived from the fields of its class.

Readers ignore unknown keys, so that newer releases of gatechart may add keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Final, Generic, NotRequired, TypeAlias, TypeVar

from pydantic import BeforeValidator, GetCoreSchemaHandler, JsonValue, PlainSerializer, TypeAdapter
from pydantic_core import CoreConfig, SchemaSerializer, core_schema, from_json, to_json
from typing_extensions import TypedDict

from gatechart.handoff.media import masked, masked_text
from gatechart.values.agents import Origin, Outcome, Snapshot
from gatechart.values.alarms import RaisedAlarm
from gatechart.values.alerts import Severity
from gatechart.values.breakers import BreakerRecord
from gatechart.values.commits import JournalEntry, TranscriptCut
from gatechart.values.directory import DirectoryEntry
from gatechart.values.findings import HealthFinding
from gatechart.values.frozen import value
from gatechart.values.handoffs import HandoffRecord
from gatechart.values.hosts import HostRecord
from gatechart.values.mail import Mail, Receipt
from gatechart.values.possibilities import AcceptedEvent
from gatechart.values.profiles import Choice
from gatechart.values.queries import GraphCount, HistoryEntry, Page
from gatechart.values.schedules import Schedule
from gatechart.values.secrets import SECRET, hidden, hidden_text

T = TypeVar("T")

_SECRET: Final = SECRET.encode()
_MEDIA: Final = b'"media_type"'


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """How the JSON of a dataclass differs from its fields: `Annotated[Mail, Shape(...)]`.

    pydantic still reads and writes the dataclass itself, without an intermediate object.
    """

    keys: Mapping[str, str] = field(default_factory=dict)  # field name to JSON key, where they differ
    kinds: Mapping[str, Any] = field(default_factory=dict)  # field name to JSON type, where it is not the field's type
    shows: Mapping[str, Any] = field(default_factory=dict)  # property name to type; written, but not read

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        """Return the schema of the dataclass with these differences."""
        whole: Any = handler.resolve_ref_schema(handler(source))
        fields = [self._shaped(declared, handler) for declared in whole["schema"]["fields"]]
        shown = [core_schema.computed_field(name, handler.generate_schema(kind)) for name, kind in self.shows.items()]
        return whole | {"schema": whole["schema"] | {"fields": fields, "computed_fields": shown}}

    def _shaped(self, declared: Any, handler: GetCoreSchemaHandler) -> Any:
        name = declared["name"]
        kind = {"schema": handler.generate_schema(self.kinds[name])} if name in self.kinds else {}
        key = self.keys.get(name)
        return declared | kind | ({"validation_alias": key, "serialization_alias": key} if key else {})


class Closed:
    """Makes pydantic refuse unknown keys of a dataclass, such as typos: `Annotated[Profile, Closed()]`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        """Return the schema of the dataclass with this difference."""
        whole: Any = handler.resolve_ref_schema(handler(source))
        return whole | {"schema": whole["schema"] | {"extra_behavior": "forbid"}}


class Answer(Generic[T]):
    """The JSON of a verb's result, in both directions. kind: the type of the result, for pydantic."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    @cached_property
    def adapter(self) -> TypeAdapter[Any]:
        """Reader of the JSON, and source of its schema."""
        return TypeAdapter(self._kind)

    @cached_property
    def _serializer(self) -> SchemaSerializer:
        # Infinity would be null otherwise; a TypeAdapter does not take the setting for a dataclass.
        return SchemaSerializer(self.adapter.core_schema, CoreConfig(ser_json_inf_nan="strings"))

    def write(self, result: T) -> bytes:
        """Write a result as JSON text. Mask its secrets, and replace the bytes of media by digests."""
        text = self._serializer.to_json(self._wrapped(result), by_alias=True)
        if _MEDIA in text:
            text = masked_text(text.decode()).encode()
        return hidden_text(text.decode()).encode() if _SECRET in text else text

    def plain(self, result: T) -> Any:
        """Return a result as JSON values, with secrets masked and the bytes of media replaced by digests."""
        plain = self._serializer.to_python(self._wrapped(result), mode="json", by_alias=True)
        return masked(hidden(plain))

    def read(self, text: str | bytes) -> T:
        """Read a result from JSON text. Raises pydantic's ValidationError."""
        return self._unwrapped(self.adapter.validate_json(text))

    def read_plain(self, plain: Any) -> T:
        """Read a result from JSON values. Raises pydantic's ValidationError."""
        return self._unwrapped(self.adapter.validate_python(plain))

    def _wrapped(self, result: T) -> Any:
        return result

    def _unwrapped(self, read: Any) -> T:
        result: T = read
        return result


class _KeyedAnswer(Answer[T]):
    """A JSON object that holds the result under a name."""

    def __init__(self, kind: Any, name: str) -> None:
        super().__init__(kind)
        self._name = name

    def _wrapped(self, result: T) -> Any:
        return {self._name: result}

    def _unwrapped(self, read: Any) -> T:
        result: T = read[self._name]
        return result


@value
class ListPart:
    """One page of a list, and the `after` of the next page; None if this is the last.

    places: the `after` value of each entry, to continue behind it; empty if the page was read from JSON.
    """

    entries: Sequence[Any]
    next: int | str | None = None
    places: Sequence[int | str] = ()
    incomplete: tuple[str, ...] | None = None  # see Page; None for other lists


class ListAnswer(Answer[Any]):
    """A list, or a page of it: an object with the entries under a name, and `next`.

    entry: the JSON of an entry. key: the field of the last entry that `after` takes.
    """

    def __init__(self, kind: Any, name: str, entry: Answer[Any], key: str) -> None:
        super().__init__(kind)
        self.name = name
        self.entry = entry
        self._key = key

    def part_of(self, result: Any) -> ListPart:
        """Wrap the result of the verb as a page."""
        return ListPart(result, places=[getattr(entry, self._key) for entry in result])

    def read_part(self, text: str | bytes) -> ListPart:
        """Read a page from JSON text. Raises pydantic's ValidationError."""
        read = self.adapter.validate_json(text)
        return ListPart(read[self.name], read["next"])

    def result_of(self, part: ListPart) -> Any:
        """Return the verb's result with the entries of a page."""
        return tuple(part.entries)

    def _wrapped(self, result: Any) -> Any:
        part = self.part_of(result)
        return {self.name: tuple(part.entries), "next": part.next}

    def _unwrapped(self, read: Any) -> Any:
        return self.result_of(ListPart(read[self.name], read["next"]))


class _PageAnswer(ListAnswer):
    """A page of agents, for verbs that return a Page."""

    def part_of(self, result: Page) -> ListPart:
        return ListPart(result.agents, result.next, result.places, result.incomplete)

    def read_part(self, text: str | bytes) -> ListPart:
        return self._part(self.adapter.validate_json(text))

    def result_of(self, part: ListPart) -> Page:
        following: Any = part.next
        return Page(tuple(part.entries), following, incomplete=part.incomplete or ())

    def _wrapped(self, result: Page) -> Any:
        return super()._wrapped(result) | {"incomplete": result.incomplete}

    def _unwrapped(self, read: Any) -> Page:
        return self.result_of(self._part(read))

    def _part(self, read: Any) -> ListPart:
        return ListPart(read[self.name], read["next"], incomplete=read.get("incomplete", ()))


_Parsed: TypeAlias = Annotated[
    str,  # JSON text, written as the JSON value that it encodes
    PlainSerializer(from_json, return_type=JsonValue),
    BeforeValidator(lambda parsed: to_json(parsed).decode(), json_schema_input_type=JsonValue),
]
_Snapshot: TypeAlias = Annotated[Snapshot, Shape(kinds={"context_text": _Parsed})]
_Turn: TypeAlias = Annotated[HistoryEntry, Shape(shows={"origin": Origin})]
_Mail: TypeAlias = Annotated[Mail, Shape(keys={"recipient": "agent_id"}, shows={"origin": Origin})]
_Schedule: TypeAlias = Annotated[Schedule, Shape(shows={"is_paused": bool})]
_Entry: TypeAlias = Annotated[DirectoryEntry, Shape(shows={"id": str, "agent_id": str})]
_Handoff: TypeAlias = Annotated[HandoffRecord, Shape(keys={"id": "handoff"})]


_Accepted: TypeAlias = Annotated[AcceptedEvent, Shape(shows={"refused": bool})]


class Accepts(TypedDict):
    """The events that an agent can handle or defer now, in the order of its transitions."""

    accepts: tuple[_Accepted, ...]


class Counts(TypedDict):
    """How many agents each graph has, by name of the graph."""

    counts: tuple[GraphCount, ...]


class Asked(TypedDict):
    """The id of the handoff that was requested."""

    handoff: str


class Agents(TypedDict):
    """A page of the matching agents; pass `next` as `after` for more. It is null if there are no more.

    incomplete: fields of the query that older agents may lack, as they were declared later.
    """

    agents: tuple[_Snapshot, ...]
    next: str | None
    incomplete: NotRequired[tuple[str, ...]]  # absent in answers of earlier releases


class History(TypedDict):
    """A page of an agent's turns, oldest first; pass `next` as `after` for more. It is null if there are no more."""

    history: tuple[_Turn, ...]
    next: int | None


class MailList(TypedDict):
    """A page of mail, in the order accepted; pass `next` as `after` for more. It is null if there is no more."""

    mail: tuple[_Mail, ...]
    next: int | None


class Handoffs(TypedDict):
    """A page of handoffs, in the order requested; pass `next` as `after` for more. It is null if there are no more."""

    handoffs: tuple[_Handoff, ...]
    next: int | None


class Schedules(TypedDict):
    """A page of schedules, in the order created; pass `next` as `after` for more. It is null if there are no more."""

    schedules: tuple[_Schedule, ...]
    next: str | None


class Breakers(TypedDict):
    """A page of circuit breakers, by name; pass `next` as `after` for more. It is null if there are no more."""

    breakers: tuple[BreakerRecord, ...]
    next: str | None


_Finding: TypeAlias = Annotated[HealthFinding, Shape(shows={"key": str, "severity": Severity})]


class Findings(TypedDict):
    """A page of findings, the most severe first; pass `next` as `after` for more. It is null if there are no more."""

    findings: tuple[_Finding, ...]
    next: str | None


class Hosts(TypedDict):
    """A page of hosts, in the order started; pass `next` as `after` for more. It is null if there are no more."""

    hosts: tuple[HostRecord, ...]
    next: str | None


class Entries(TypedDict):
    """A page of the directory, by id; pass `next` as `after` for more. It is null if there are no more."""

    entries: tuple[_Entry, ...]
    next: str | None


class Journal(TypedDict):
    """A page of a journal, in the order written; pass `next` as `after` for more. It is null if there are no more."""

    journal: tuple[JournalEntry, ...]
    next: str | None


SNAPSHOT: Final[Answer[Snapshot]] = Answer(_Snapshot)
OUTCOME: Final[Answer[Outcome]] = Answer(Annotated[Outcome, Shape(shows={"applied": bool})])
TURN: Final[Answer[HistoryEntry]] = Answer(_Turn)
MAIL: Final[Answer[Mail]] = Answer(_Mail)
RECEIPT: Final[Answer[Receipt]] = Answer(Annotated[Receipt, Shape(keys={"number": "mail"})])
HANDOFF: Final[Answer[HandoffRecord]] = Answer(_Handoff)
ACCEPTED: Final[Answer[AcceptedEvent]] = Answer(_Accepted)
ACCEPTS: Final[Answer[Sequence[AcceptedEvent]]] = _KeyedAnswer(Accepts, "accepts")
COUNTS: Final[Answer[Sequence[GraphCount]]] = _KeyedAnswer(Counts, "counts")
ASKED: Final[Answer[str]] = _KeyedAnswer(Asked, "handoff")
DONE: Final[Answer[None]] = Answer(Annotated[None, BeforeValidator(lambda _: None)])  # it only reports success
AGENTS: Final = _PageAnswer(Agents, "agents", SNAPSHOT, "agent_id")
CUT: Final[Answer[TranscriptCut]] = Answer(TranscriptCut)
HISTORY: Final = ListAnswer(History, "history", TURN, "version")
MAILS: Final = ListAnswer(MailList, "mail", MAIL, "number")
HANDOFFS: Final = ListAnswer(Handoffs, "handoffs", HANDOFF, "number")
SCHEDULE: Final[Answer[Schedule]] = Answer(_Schedule)
SCHEDULES: Final = ListAnswer(Schedules, "schedules", SCHEDULE, "name")
BREAKER: Final[Answer[BreakerRecord]] = Answer(BreakerRecord)
JOURNAL: Final = ListAnswer(Journal, "journal", Answer(JournalEntry), "name")
BREAKERS: Final = ListAnswer(Breakers, "breakers", BREAKER, "name")
CHOICE: Final[Answer[Choice]] = Answer(Choice)
ENTRY: Final[Answer[DirectoryEntry]] = Answer(_Entry)
ENTRIES: Final = ListAnswer(Entries, "entries", ENTRY, "id")
FINDINGS: Final = ListAnswer(Findings, "findings", Answer(_Finding), "key")
HOSTS: Final = ListAnswer(Hosts, "hosts", Answer(HostRecord), "id")
ALARM_RAISED: Final[Answer[RaisedAlarm]] = Answer(RaisedAlarm)

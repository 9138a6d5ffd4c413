"""Load the rows that a batch of units touches, with one query for each kind of row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, assert_never

from sqlalchemy import Connection, and_, func, literal_column, select

from gatechart.context import canonical_json
from gatechart.stores.held_work import Work
from gatechart.stores.operations import Content, HandoffState, MailId
from gatechart.stores.sql.columns import UNREADABLE, json_object
from gatechart.stores.sql.dialects import listed, unpacked
from gatechart.stores.sql.handoff_rows import STATE, to_state
from gatechart.stores.sql.mail_rows import to_shown
from gatechart.stores.sql.statements import Single
from gatechart.stores.sql.tables import WAITS, agents, handoffs, history, invokes, journals, mail, places, steps
from gatechart.values.commits import (
    BreakerChange,
    InvocationTask,
    InvokeReport,
    JournalRecord,
    MailChange,
    MailEnd,
    Posting,
    RejectionReport,
    ReserveSlot,
    StepRecord,
    StoreTask,
    TurnRecord,
    Unit,
    refuse_unknown_unit,
)
from gatechart.values.effects import (
    Cancel,
    CancelAll,
    CancelTimer,
    ChangeHandoff,
    Effect,
    Offer,
    OfferChosen,
    ReplaceInvocation,
    ReplaceMail,
    Send,
    StartInvoke,
    Timer,
    refuse_unknown,
)
from gatechart.values.handoffs import HandoffStatus
from gatechart.values.mail import Invocation, Mail
from gatechart.values.names import AgentId, EventName, Payload

_Agent: TypeAlias = tuple[int, int]  # its key and deltas; a plain tuple is cheapest

_IDS: Final = unpacked(recipient=str, event_id=str)
_STEPS: Final = unpacked(place=int, agent=str, state=str, epoch=int, invoke=str, name=str)
_CALLS: Final = and_(
    invokes.c.agent == agents.c.key,
    invokes.c.state == _STEPS.c.state,
    invokes.c.epoch == _STEPS.c.epoch,
    invokes.c.invoke == _STEPS.c.invoke,
)
_ENTRIES: Final = unpacked(place=int, agent=str, journal=str, name=str)
_WRITTEN: Final = and_(
    journals.c.agent == agents.c.key, journals.c.journal == _ENTRIES.c.journal, journals.c.name == _ENTRIES.c.name
)
_RECORDED: Final = and_(steps.c.invocation == invokes.c.key, steps.c.name == _STEPS.c.name)

AGENTS: Final = select(agents.c.id, agents.c.key, agents.c.version, agents.c.deltas).where(agents.c.id.in_(listed()))
_AGENTS: Final = Single(AGENTS)
LAST_KEY: Final = Single(select(func.coalesce(func.max(agents.c.key), literal_column("0"))))
WAITING: Final = Single(select(mail.c.number).where(mail.c.number.in_(listed(int)), WAITS))
NUMBERED: Final = select(mail).where(mail.c.number.in_(listed(int)))
NAMED: Final = select(mail).join(
    _IDS, and_(mail.c.recipient == _IDS.c.recipient, mail.c.event_id == _IDS.c.event_id, WAITS)
)
APPLIED: Final = (
    select(agents.c.id, history.c.event_id, history.c.event, history.c.payload)
    .join(agents, agents.c.key == history.c.agent)
    .join(_IDS, and_(agents.c.id == _IDS.c.recipient, history.c.event_id == _IDS.c.event_id))
)
ACTIVE: Final = select(_STEPS.c.place, invokes.c.key, steps.c.name.label("recorded")).select_from(
    _STEPS.join(agents, agents.c.id == _STEPS.c.agent).join(invokes, _CALLS).outerjoin(steps, _RECORDED)
)
JOURNALS: Final = select(_ENTRIES.c.place, agents.c.key, journals.c.name.label("written")).select_from(
    _ENTRIES.join(agents, agents.c.id == _ENTRIES.c.agent).outerjoin(journals, _WRITTEN)
)
HANDOFFS: Final = Single(
    select(*(handoffs.c[name] for name in ("id", "target_graph", "entry_point", "recipient", *STATE))).where(
        handoffs.c.id.in_(listed())
    )
)
SLOTS: Final = Single(select(places.c.handoff, places.c.graph).where(places.c.handoff.in_(listed())))
SLOTS_HELD: Final = Single(
    select(places.c.graph, func.count().label("held")).where(places.c.graph.in_(listed())).group_by(places.c.graph)
)


class LoadedRows:
    """The stored rows that a batch touches. Fulfils `Loaded`. Other kinds of rows cost no query."""

    def __init__(self, connection: Connection, units: Sequence[Unit]) -> None:
        """Load the rows that the units touch. Raises UnknownEffectError for a unit or an effect of an unknown class."""
        wanted = _touched(units)
        self.agents: dict[AgentId, _Agent] = {}  # of the turns
        self.versions: dict[AgentId, int] = {}  # see Loaded
        consumable = _consumable(connection, wanted.consumed) if wanted.consumed else frozenset[int]()
        self.waits: Callable[[int], bool] = consumable.__contains__  # see Loaded
        self._applied: Mapping[MailId, Content] = {}
        self._named: Mapping[MailId, Mail] = {}
        self._mail: dict[int, Mail] = {}
        self._keys: Mapping[Invocation, int] = {}
        self._results: frozenset[tuple[Invocation, str]] = frozenset()
        self._writers: Mapping[AgentId, int] = {}  # the keys of agents with journals to write
        self._entries: frozenset[tuple[AgentId, str, str]] = frozenset()
        self._handoffs: Mapping[str, HandoffState] = {}
        self.works: Mapping[str, Work] = {}  # the counters of handoffs, by id
        self._slots: Mapping[str, str] = {}
        self._slots_held: Mapping[str, int] = {}
        if wanted.agent_ids:
            self._load_agents(connection, wanted.agent_ids)
        if wanted.names:
            self._load_names(connection, wanted.names)
        if wanted.numbers:
            found = connection.execute(NUMBERED, {"values": wanted.numbers})
            self._mail |= {row.number: to_shown(row) for row in found}
        if wanted.steps:
            self._load_invocations(connection, wanted.steps)
        if wanted.entries:
            self._load_entries(connection, wanted.entries)
        if wanted.handoffs:
            self._load_handoffs(connection, wanted)

    def key_of(self, agent_id: AgentId) -> int:
        """Return the key of a turn's agent. New agents get keys above all others."""
        return self.agents[agent_id][0]

    def key_of_invocation(self, invocation: Invocation) -> int:
        """Return the key of an active invocation."""
        return self._keys[invocation]

    def key_of_writer(self, agent_id: AgentId) -> int:
        """Return the key of an agent whose journal is written."""
        return self._writers[agent_id]

    def mail(self, number: int) -> Mail | None:
        """See Loaded."""
        return self._mail.get(number)

    def waiting(self, recipient: AgentId, mail_id: str) -> Mail | None:
        """See Loaded."""
        return self._named.get((recipient, mail_id))

    def applied(self, recipient: AgentId, event_id: str) -> Content | None:
        """See Loaded."""
        return self._applied.get((recipient, event_id))

    def content(self, event: EventName, payload: Payload) -> Content:
        """See Loaded."""
        return event, canonical_json(payload)

    def is_active(self, invocation: Invocation) -> bool:
        """See Loaded."""
        return invocation in self._keys

    def has_result(self, invocation: Invocation, step: str) -> bool:
        """See Loaded."""
        return (invocation, step) in self._results

    def has_entry(self, agent_id: AgentId, journal: str, name: str) -> bool:
        """See Loaded."""
        return (agent_id, journal, name) in self._entries

    def handoff(self, handoff_id: str, expected: HandoffStatus | None = None) -> HandoffState | None:  # noqa: ARG002
        """See Loaded."""
        return self._handoffs.get(handoff_id)

    def slot(self, handoff_id: str) -> str | None:
        """See Loaded."""
        return self._slots.get(handoff_id)

    def slots_held(self, graph: str) -> int:
        """See Loaded."""
        return self._slots_held.get(graph, 0)

    def _load_agents(self, connection: Connection, agent_ids: Sequence[AgentId]) -> None:
        """Load the agents of turns. New ones get keys above all others, in the order of their turns."""
        for agent_id, key, version, deltas in _AGENTS.all(connection, agent_ids):
            self.agents[agent_id] = key, deltas
            self.versions[agent_id] = version
        new = [agent_id for agent_id in agent_ids if agent_id not in self.agents]
        if new:
            # Only the owner adds agents, so no other process can take these keys.
            ((last,),) = LAST_KEY.all(connection)
            self.agents |= {agent_id: (key, 0) for key, agent_id in enumerate(new, last + 1)}

    def _load_names(self, connection: Connection, names: Sequence[MailId]) -> None:
        wanted = {"rows": sorted(set(names))}
        applied = connection.execute(APPLIED, wanted)
        self._applied = {(row.id, row.event_id): (row.event, _canonical(row.payload)) for row in applied}
        waiting = connection.execute(NAMED, wanted)
        self._named = {(row.recipient, row.event_id): to_shown(row) for row in waiting}
        self._mail |= {letter.number: letter for letter in self._named.values()}

    def _load_invocations(self, connection: Connection, wanted: Sequence[tuple[Invocation, str]]) -> None:
        rows = [
            (index, call.agent_id, call.state, call.epoch, call.invoke, name)
            for index, (call, name) in enumerate(wanted)
        ]
        found = connection.execute(ACTIVE, {"rows": rows}).all()
        self._keys = {wanted[row.place][0]: row.key for row in found}
        self._results = frozenset(wanted[row.place] for row in found if row.recorded is not None)

    def _load_entries(self, connection: Connection, wanted: Sequence[tuple[AgentId, str, str]]) -> None:
        found = connection.execute(JOURNALS, {"rows": [(index, *entry) for index, entry in enumerate(wanted)]}).all()
        self._writers = {wanted[row.place][0]: row.key for row in found}
        self._entries = frozenset(wanted[row.place] for row in found if row.written is not None)

    def _load_handoffs(self, connection: Connection, wanted: _Touched) -> None:
        ids = sorted(wanted.handoffs)
        found = HANDOFFS.all(connection, ids)
        self._handoffs = {handoff_id: to_state(*columns) for handoff_id, _, _, _, *columns in found}
        self.works = {handoff_id: (graph, door, to or "") for handoff_id, graph, door, to, *_ in found}
        if wanted.graphs:
            self._slots = _pairs(SLOTS.all(connection, ids))
            self._slots_held = _pairs(SLOTS_HELD.all(connection, sorted(wanted.graphs)))


def _consumable(connection: Connection, numbers: Sequence[int]) -> frozenset[int]:
    """Return the numbers of mail that waits."""
    return frozenset(number for (number,) in WAITING.all(connection, sorted(numbers)))


def _canonical(payload: Any) -> str:
    """Return a row's payload as canonical JSON. If it is damaged, return a text that is not JSON."""
    try:
        return canonical_json(json_object(payload, "payload"))
    except UNREADABLE:
        return "unreadable"


def _pairs(rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    return {row[0]: row[1] for row in rows}


@dataclass(slots=True)
class _Touched:
    """Collects the ids and numbers that a batch of units touches."""

    agent_ids: list[AgentId] = field(default_factory=list)  # of the turns, in order
    consumed: list[int] = field(default_factory=list)  # numbers of mail that turns consume
    numbers: list[int] = field(default_factory=list)  # of mail that is changed or ended
    names: list[MailId] = field(default_factory=list)  # of mail that is sent, or waits again
    steps: list[tuple[Invocation, str]] = field(default_factory=list)  # step "": only the invocation
    entries: list[tuple[AgentId, str, str]] = field(default_factory=list)  # of journals: agent, journal and name
    handoffs: set[str] = field(default_factory=set)  # changed, or about to get a slot
    graphs: set[str] = field(default_factory=set)  # of requested slots

    def add_effect(self, effect: Effect) -> None:
        """Add the data that an effect touches."""
        match effect:
            case Send(recipient, id=mail_id):
                self._add_name(recipient, mail_id)
            case ChangeHandoff(handoff_id):
                self.handoffs.add(handoff_id)
            case OfferChosen(handoff):
                self.handoffs.add(handoff.id)
            case ReplaceMail(number):
                self.numbers.append(number)
            case ReplaceInvocation(invocation):
                self.steps.append((invocation, ""))
            case Offer() | Timer() | CancelTimer() | Cancel() | CancelAll() | StartInvoke():
                pass  # the turn generates the id of an offer, so it is new
            case _:
                refuse_unknown(effect)

    def add_task(self, task: StoreTask) -> None:
        """Add the data that a task touches."""
        match task:
            case Posting(mail):
                self._add_name(mail.recipient, mail.id)
            case MailChange(mail):
                self.numbers.append(mail.number)
                self._add_name(mail.recipient, mail.id)
            case MailEnd(number):
                self.numbers.append(number)
            case StepRecord() | JournalRecord() | InvokeReport():
                self._add_invocation_task(task)
            case RejectionReport(change, consumes=number):
                self.numbers.append(number)
                self.handoffs.add(change.handoff)
            case ReserveSlot(handoff_id, graph):
                self.handoffs.add(handoff_id)
                self.graphs.add(graph)
            case _:
                refuse_unknown_unit(task)

    def _add_invocation_task(self, task: InvocationTask) -> None:
        match task:
            case StepRecord(invocation, name):
                self.steps.append((invocation, name))
            case JournalRecord(invocation, journal, name):
                self.steps.append((invocation, ""))
                self.entries.append((invocation.agent_id, journal, name))
            case InvokeReport(invocation):
                self.steps.append((invocation, ""))
            case _:
                assert_never(task)

    def _add_name(self, recipient: AgentId, mail_id: str | None) -> None:
        if mail_id is not None:
            self.names.append((recipient, mail_id))


def _touched(units: Sequence[Unit]) -> _Touched:
    """Collect the data that the units touch. Raises UnknownEffectError for a unit or an effect of an unknown class."""
    touched = _Touched()
    for unit in units:
        if isinstance(unit, TurnRecord):
            touched.agent_ids.append(unit.snapshot.agent_id)
            if unit.consumes is not None:
                touched.consumed.append(unit.consumes)
            for effect in unit.effects:
                touched.add_effect(effect)
        elif not isinstance(unit, BreakerChange):
            touched.add_task(unit)
    return touched

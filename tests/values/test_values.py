from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, replace
from enum import Enum, IntEnum, StrEnum, auto

import pytest
from pydantic import TypeAdapter

from gatechart.values.agents import Event, GuardError, Outcome, Refusal, RefusalReason, Snapshot, Status
from gatechart.values.commits import TurnRecord
from gatechart.values.names import STARTED, Name, name_of
from gatechart.values.queries import ActiveIn, HistoryEntry, Page, Query
from tests.support import NOW


class Plain(Enum):
    RED = "red"
    NUMBERED = 3


class Counted(Enum):
    FIRST = auto()


class Text(StrEnum):
    RED = "red"
    LOWERED = auto()


class Number(IntEnum):
    ONE = 1


class Mixed(str, Enum):  # noqa: UP042
    RED = "red"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("red", "red"),
        (Plain.RED, "red"),
        (Plain.NUMBERED, "NUMBERED"),
        (Counted.FIRST, "FIRST"),
        (Text.RED, "red"),
        (Text.LOWERED, "lowered"),
        (Number.ONE, "ONE"),
        (Mixed.RED, "red"),
    ],
)
def test_a_name_stands_for_a_plain_text(name: Name, text: str) -> None:
    assert name_of(name) == text
    assert type(name_of(name)) is str


SNAPSHOT = Snapshot("agent-1", "lamp", "1", "f00", ("ON",), '{"a":1}', 3, Status.ACTIVE)
EVENT = Event("PRESSED", {"by": "me"}, NOW, "id-1", "agent-2")
GUARD_ERROR = GuardError("is_dark", "OFF --PRESSED--> ON", "KeyError: 'x'")
RECORD = TurnRecord(None, SNAPSHOT, EVENT, ("OFF --PRESSED--> ON",), 12, (GUARD_ERROR,))
ENTRY = HistoryEntry(
    "agent-1",
    3,
    EVENT,
    ("OFF",),
    ("ON",),
    ("OFF --PRESSED--> ON",),
    {"a": 1},
    Status.DONE,
    12,
    (GUARD_ERROR,),
    {"b": (2,)},
)


@pytest.mark.parametrize(
    "value", [SNAPSHOT, EVENT, GUARD_ERROR, RECORD, ENTRY, Query(), ActiveIn("lamp", ("ON",)), Page((SNAPSHOT,), "x")]
)
def test_a_value_is_frozen_and_survives_pickling(value: object) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(value, next(iter(value.__dataclass_fields__)), None)
    assert pickle.loads(pickle.dumps(value)) == value


def test_a_snapshot_gives_its_context_as_json_values_that_are_the_callers_own() -> None:
    context = SNAPSHOT.context
    context["a"] = 2
    assert SNAPSHOT.context == {"a": 1}


def test_a_stored_snapshot_has_its_context_under_the_key_of_earlier_releases() -> None:
    stored = TypeAdapter(tuple[Snapshot, ...])
    text = stored.dump_json((SNAPSHOT,))
    assert (b'"context":"{\\"a\\":1}"' in text, b"context_text" in text) == (True, False)
    assert stored.validate_json(text) == (SNAPSHOT,)


def test_a_record_tells_the_outcome_of_its_event() -> None:
    assert RECORD.outcome == Outcome(
        event="PRESSED",
        configuration=("ON",),
        version=3,
        status=Status.ACTIVE,
        taken=("OFF --PRESSED--> ON",),
        refusal=None,
        guard_errors=(GUARD_ERROR,),
        repeat=False,
    )


def test_history_tells_the_outcome_that_the_event_had() -> None:
    assert ENTRY.outcome == replace(RECORD.outcome, status=Status.DONE)


def test_two_records_of_the_same_turn_are_equal_however_long_they_took() -> None:
    assert replace(RECORD, took_us=99) == RECORD
    assert replace(RECORD, taken=()) != RECORD


def test_an_outcome_without_refusal_is_applied() -> None:
    assert RECORD.outcome.applied
    refusal = Refusal(RefusalReason.NO_TRANSITION, ("ON",), ())
    assert not replace(RECORD.outcome, refusal=refusal).applied


def test_a_repeat_is_the_same_outcome_but_for_its_mark() -> None:
    repeated = RECORD.outcome.repeated()
    assert repeated.repeat
    assert not RECORD.outcome.repeat
    assert replace(repeated, repeat=False) == RECORD.outcome


def test_a_refusal_says_why_where_and_what_would_be_accepted() -> None:
    refusal = Refusal(RefusalReason.GUARDS_SAID_NO, ("ON",), ("PRESSED", "BROKEN"), ("is_dark", "is_late"))
    assert str(refusal) == "guards said no (is_dark, is_late) in ON; accepted there: PRESSED, BROKEN"


def test_a_refusal_says_where_nothing_is_accepted() -> None:
    refusal = Refusal(RefusalReason.AGENT_ENDED, ("OFF", "DARK"), ())
    assert str(refusal) == "the agent has ended in OFF, DARK; nothing is accepted there"


def test_the_turn_that_started_an_agent_names_its_entry_point() -> None:
    start = replace(ENTRY, source=(), event=replace(EVENT, name=f"{STARTED}front.door"))
    assert start.entry_point == "front.door"
    assert ENTRY.entry_point == replace(start, source=("ON",)).entry_point == ""

"""Values that travel as JSON come back as they were."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gatechart.api.codec import (
    AGENTS,
    ASKED,
    DONE,
    HANDOFF,
    HANDOFFS,
    HISTORY,
    MAIL,
    MAILS,
    OUTCOME,
    RECEIPT,
    SNAPSHOT,
    TURN,
    ListPart,
)
from gatechart.values.agents import Snapshot, Status
from gatechart.values.mail import Receipt
from gatechart.values.queries import Page
from tests.api.strategies import entries, handoffs, mail, numbers, outcomes, snapshots, texts

many = settings(deadline=None, derandomize=True, database=None, max_examples=50)


def travelled(answer, result):
    """What the other side reads, from the text as well as from plain values."""
    read = answer.read(answer.write(result))
    assert answer.read_plain(answer.plain(result)) == read
    return read


@many
@given(snapshots)
def test_a_snapshot_travels_whole_with_its_context_as_an_object(snapshot):
    assert travelled(SNAPSHOT, snapshot) == snapshot
    assert isinstance(SNAPSHOT.plain(snapshot)["context"], dict)


@many
@given(outcomes)
def test_an_outcome_travels_whole_and_says_whether_it_was_applied(outcome):
    assert travelled(OUTCOME, outcome) == outcome
    assert OUTCOME.plain(outcome)["applied"] is outcome.applied


@many
@given(entries)
def test_a_turn_travels_whole_and_says_who_made_it_happen(entry):
    assert travelled(TURN, entry) == entry
    assert travelled(HISTORY, [entry, entry]) == (entry, entry)
    assert TURN.plain(entry)["origin"] == entry.event.origin


@many
@given(mail)
def test_mail_travels_whole_and_names_the_agent_that_it_is_for(each):
    assert travelled(MAIL, each) == each
    assert travelled(MAILS, [each]) == (each,)
    plain = MAIL.plain(each)
    assert (plain["agent_id"], plain["origin"], "recipient" in plain) == (each.recipient, each.origin, False)


@many
@given(handoffs)
def test_a_handoff_travels_whole_with_its_packet(record):
    assert travelled(HANDOFF, record) == record
    assert travelled(HANDOFFS, [record]) == (record,)
    assert HANDOFF.plain(record)["handoff"] == record.id


@many
@given(numbers, st.booleans(), st.lists(snapshots, max_size=2).map(tuple), st.none() | texts)
def test_receipts_and_pages_travel_whole(number, repeat, agents, after):
    assert travelled(RECEIPT, Receipt(number, repeat)) == Receipt(number, repeat)
    assert travelled(AGENTS, Page(agents, after)) == Page(agents, after)
    assert AGENTS.read_part(AGENTS.write(Page(agents, after))) == ListPart(agents, after, incomplete=())


def test_the_id_of_a_handoff_travels_under_a_name_and_success_without_a_result_as_nothing():
    assert ASKED.write("h") == b'{"handoff":"h"}'
    assert travelled(ASKED, "h") == "h"
    assert travelled(DONE, None) is None
    assert DONE.read(b"{}") is None  # as earlier releases say it


def test_what_a_newer_gatechart_says_more_is_no_offence_and_what_is_missing_is():
    assert RECEIPT.read('{"mail": 1, "repeat": false, "colour": "red"}') == Receipt(1)
    with pytest.raises(ValidationError):
        RECEIPT.read('{"repeat": false}')
    with pytest.raises(ValidationError):
        RECEIPT.read_plain({"number": 1, "repeat": False})


def test_a_number_that_json_lacks_travels_as_text_instead_of_null():
    snapshot = Snapshot("a", "g", "1", "f", ("A",), '{"far":Infinity}', 1, Status.ACTIVE)
    assert b'"context":{"far":"Infinity"}' in SNAPSHOT.write(snapshot)
    assert math.isinf(SNAPSHOT.plain(snapshot)["context"]["far"])

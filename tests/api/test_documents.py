"""Values that travel as JSON come back as they were."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gatechart.api import (
    EntryDocument,
    HandoffDocument,
    HandoffsDocument,
    HistoryDocument,
    MailDocument,
    MailsDocument,
    OutcomeDocument,
    PageDocument,
    ReceiptDocument,
    SnapshotDocument,
)
from gatechart.values import Page, Receipt
from tests.api.strategies import entries, handoffs, mail, numbers, outcomes, snapshots, texts

many = settings(deadline=None, derandomize=True, database=None, max_examples=50)


def travelled(document):
    """What the other side reads."""
    return type(document).model_validate_json(document.model_dump_json()).value()


@many
@given(snapshots)
def test_a_snapshot_travels_whole(snapshot):
    assert travelled(SnapshotDocument.of(snapshot)) == snapshot


@many
@given(texts, outcomes)
def test_an_outcome_travels_whole_and_says_whose_it_is_and_whether_it_was_applied(agent_id, outcome):
    document = OutcomeDocument.of(agent_id, outcome)
    assert travelled(document) == outcome
    assert (document.agent_id, document.applied) == (agent_id, outcome.applied)


@many
@given(entries)
def test_a_turn_travels_whole(entry):
    assert travelled(EntryDocument.of(entry)) == entry
    assert travelled(HistoryDocument.of([entry, entry])) == (entry, entry)


@many
@given(mail)
def test_mail_travels_whole(each):
    assert travelled(MailDocument.of(each)) == each
    assert travelled(MailsDocument.of([each])) == (each,)


@many
@given(handoffs)
def test_a_handoff_travels_whole_with_its_packet(record):
    assert travelled(HandoffDocument.of(record)) == record
    assert travelled(HandoffsDocument.of([record])) == (record,)


@many
@given(numbers, st.booleans(), st.lists(snapshots, max_size=2).map(tuple), st.none() | texts)
def test_receipts_and_pages_travel_whole(number, repeat, agents, after):
    assert travelled(ReceiptDocument.of(Receipt(number, repeat))) == Receipt(number, repeat)
    assert travelled(PageDocument.of(Page(agents, after))) == Page(agents, after)


def test_what_a_newer_gatechart_says_more_is_no_offence_and_what_is_missing_is():
    assert ReceiptDocument.model_validate({"mail": 1, "repeat": False, "colour": "red"}).value() == Receipt(1)
    with pytest.raises(ValidationError):
        ReceiptDocument.model_validate({"mail": 1})

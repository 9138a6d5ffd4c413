"""What the command line tells of transfers."""

from dataclasses import replace

from gatechart.cli.agent_views import snapshot_document, turn_text
from gatechart.testing.records import NOON, started
from gatechart.values.agents import Event, Status
from gatechart.values.queries import HistoryEntry
from gatechart.values.transfers import TransferCount

CHOSEN = {
    "tool": "transfer_to_SEARCHING",
    "arguments": {"reason": "too little"},
    "offered": ["SEARCHING", "WRITING"],
    "left": 1,
    "shown": "Transfers left: 2 of 3.",
}


def entry(payload):
    event = Event("transfer.SEARCHING", payload, NOON)
    label = "CHECKING --transfer.SEARCHING--> SEARCHING"
    return HistoryEntry("a", 2, event, ("CHECKING",), ("SEARCHING",), (label,), {}, Status.ACTIVE, 9)


def test_the_history_tells_what_was_offered_and_chosen_and_what_remains():
    lines = turn_text(entry(CHOSEN)).plain.splitlines()
    assert lines == [
        "transfer.SEARCHING → SEARCHING",
        "  CHECKING --transfer.SEARCHING--> SEARCHING",
        '  chose transfer_to_SEARCHING(reason="too little") of SEARCHING, WRITING; left: 1',
    ]


def test_an_agent_is_described_without_its_counts():
    snapshot = replace(started("a").snapshot, transfers=(TransferCount("CHECKING", 1),))
    assert "transfers" not in snapshot_document(snapshot)

"""What users import: pinned, so that no name comes or goes by accident."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gatechart
from gatechart import results

TOP = {
    *(
        "ANY",
        "Accepts",
        "Agent",
        "AgentContext",
        "Choosing",
        "ConversationContext",
        "DatabaseClient",
        "EntryPoint",
        "Event",
        "EventType",
        "Every",
    ),
    *("Fallbacks", "Handoff", "HandoffPacket", "HandoffStatus", "HttpClient", "Human", "Initial", "Invoke", "Limits"),
    *("Mail", "MailStatus", "Migration", "Mode", "ModelLoop", "OnRefusal", "OtherGraph", "Outcome"),
    *("PacketMigration", "Reason", "Recall", "Refused", "Retention", "Retry", "Role", "Runtime", "SameTarget"),
    *("Snapshot", "State", "StateTransitionGraph", "Status"),
    *("Step", "Subscription", "Then", "Transition", "Turn", "WhenFull", "Work", "check", "draw", "draw_async"),
    *("Act", "Alerts", "Mailbox", "Watchdog", "WatchdogTerms", "Webhook"),
    *("EscapePlan", "getting_out"),
    *("dump", "load", "sync"),
    *("To", "TransferOffer", "TransferOutcome", "Transfers"),
    *("BreakerPolicy", "Capability", "ToolBox", "ToolContext", "ToolError", "ToolPolicies", "ToolResult", "tool"),
    *("AnyOf", "Detector", "Look", "Signal", "Signals", "answered", "handing_on", "looping"),
    *(
        "Confidence",
        "ErrorRate",
        "GoesInCircles",
        "Keywords",
        "Lacks",
        "NoProgress",
        "Noticed",
        "Repeats",
        "RetriesOver",
    ),
    *("Best", "Hours", "NeedRule", "Needs", "Profile"),
    *("Risk", "SameCall", "SameQuestion", "Sentiment", "ToolFailures", "ToolRefusals", "UserAsked", "VisitsOver"),
}
RESULTS = {
    *("AcceptedEvent", "Agrees", "PossibleTransition", "Difference", "Fidelity", "ReplayedTurn"),
    *("Fate", "Forgotten", "HandoffChange", "HandoffRecord", "HistoryEntry", "Mail", "Migrated", "Origin", "Outcome"),
    *("Candidate", "Choice", "Explanation", "Judged"),
    *("Page", "Receipt", "Refusal", "RefusalReason", "Schedule", "Snapshot", "Stored"),
}
HEAVY = ("alembic", "graphviz", "pydantic", "ruamel", "sqlalchemy")


def test_the_public_names_are_these() -> None:
    assert set(gatechart.__all__) == TOP
    assert set(results.__all__) == RESULTS


@pytest.mark.parametrize("name", sorted(TOP))
def test_each_public_name_can_be_imported_and_is_listed(name: str) -> None:
    assert getattr(gatechart, name) is not None
    assert name in dir(gatechart)


def test_a_name_that_is_not_public_is_refused() -> None:
    with pytest.raises(AttributeError, match="module 'gatechart' has no attribute 'Ladder'"):
        gatechart.Ladder  # type: ignore[attr-defined]  # noqa: B018


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, gatechart; print([name for name in {HEAVY} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"

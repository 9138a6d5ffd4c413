"""What users import: pinned, so that no name comes or goes by accident."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import gatechart
from gatechart import results

TOP = {
    *(
        "ANY",
        "Accepts",
        "Agent",
        "AgentContext",
        "ConversationContext",
        "EntryPoint",
        "EscapePlan",
        "Event",
        "EventType",
    ),
    *("Every", "Fallbacks", "Handoff", "HandoffPacket", "Human", "Initial", "Invoke", "Limits", "Migration"),
    *(
        "ModelLoop",
        "OnRefusal",
        "OtherGraph",
        "Outcome",
        "Precedence",
        "Recall",
        "Refused",
        "Retention",
        "Retry",
        "Runtime",
    ),
    *("SameTarget", "Signals", "Snapshot", "State", "StateTransitionGraph", "Status", "Step", "Then", "To"),
    *("ToolBox", "Transfers", "Transition", "Turn", "Work", "draw", "load", "tool"),
}
RESULTS = {
    *("AcceptedEvent", "Agrees", "PossibleTransition", "Difference", "Fidelity", "ReplayedTurn"),
    *("Fate", "Forgotten", "HandoffChange", "HandoffRecord", "HandoffStatus", "HistoryEntry", "Mail", "MailStatus"),
    *("Candidate", "Choice", "Explanation", "Judged", "Migrated", "Origin", "Outcome"),
    *("Page", "Receipt", "Refusal", "RefusalReason", "Refused", "Schedule", "Snapshot", "Status", "Stored"),
    *("TransferOffer", "TransferOutcome"),
}
PACKAGES = {
    "alerts": {"Alerts", "AlertSink", "Mailbox", "Webhook"},
    "runtime": {"Choosing", "Limits", "Retention", "Role", "Runtime", "Step", "Subscription", "WhenFull", "Work"},
    "selection": {
        *("Best", "Candidate", "Embed", "EmbeddingIndex", "Exploring", "Hours", "Learned", "NeedRule", "Needs"),
        *("Profile", "choose", "static_embeddings", "terms_of"),
    },
    "watchdog": {"Act", "Watchdog", "WatchdogTerms"},
}
"""Packages of which each name is public, and pinned."""
WITHOUT_NAMES = ("api", "graph", "hosting", "kernel", "turn", "values")
HEAVY = ("alembic", "graphviz", "pydantic", "ruamel", "sqlalchemy")


def test_the_public_names_are_these() -> None:
    assert set(gatechart.__all__) == TOP
    assert set(results.__all__) == RESULTS
    assert {name: set(import_module(f"gatechart.{name}").__all__) for name in PACKAGES} == PACKAGES
    assert [name for name in WITHOUT_NAMES if hasattr(import_module(f"gatechart.{name}"), "__all__")] == []
    assert len(TOP) <= 45


@pytest.mark.parametrize("name", sorted(TOP))
def test_each_public_name_can_be_imported_and_is_listed(name: str) -> None:
    assert getattr(gatechart, name) is not None
    assert name in dir(gatechart)


def test_a_name_that_is_not_public_is_refused() -> None:
    with pytest.raises(AttributeError, match="module 'gatechart' has no attribute 'Ladder'"):
        gatechart.Ladder  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    ("name", "package"),
    [("Repeats", "signals"), ("Best", "selection"), ("Role", "runtime"), ("HandoffStatus", "handoff")],
)
def test_a_name_of_another_public_package_is_answered_with_its_place(name: str, package: str) -> None:
    with pytest.raises(ImportError, match=f"write `from gatechart.{package} import {name}`"):
        exec(f"from gatechart import {name}")


def test_public_packages_are_attributes_of_the_package() -> None:
    code = "import gatechart; print(gatechart.signals.Repeats.__name__, gatechart.sync.__name__)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "Repeats gatechart.sync\n"


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, gatechart; print([name for name in {HEAVY} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"

"""Tests for what others build for gatechart, and the time by hand. Needs pytest, the contract pytest-asyncio too."""

import pytest

CONTRACTS = (
    "store_contract",
    "history_contract",
    "mail_contract",
    "invocation_contract",
    "handoff_contract",
    "records",
    "errands",
)
pytest.register_assert_rewrite(*(f"gatechart.testing.{name}" for name in CONTRACTS))

from gatechart.testing.clock import VirtualClock  # noqa: E402
from gatechart.testing.handoff_contract import HandoffContract  # noqa: E402
from gatechart.testing.history_contract import HistoryContract  # noqa: E402
from gatechart.testing.rehearsal import Rehearsal, rehearse  # noqa: E402
from gatechart.testing.store_contract import StoreContract  # noqa: E402  only what is imported later is rewritten

__all__ = ["HandoffContract", "HistoryContract", "Rehearsal", "StoreContract", "VirtualClock", "rehearse"]

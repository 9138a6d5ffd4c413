"""The tests that every store must pass. Subclass StoreContract for your store. Needs pytest and pytest-asyncio."""

import pytest

_REWRITTEN = (
    "store_contract",
    "history_contract",
    "mail_contract",
    "invocation_contract",
    "handoff_contract",
    "requests_contract",
    "search_contract",
    "breaker_contract",
    "host_contract",
    "records",
    "errands",
)
pytest.register_assert_rewrite(*(f"gatechart.testing.{name}" for name in _REWRITTEN))

from gatechart.testing.handoff_contract import HandoffContract  # noqa: E402  assertions are rewritten only in modules imported after that
from gatechart.testing.history_contract import HistoryContract  # noqa: E402
from gatechart.testing.requests_contract import RequestsContract  # noqa: E402
from gatechart.testing.store_contract import StoreContract  # noqa: E402

__all__ = ["HandoffContract", "HistoryContract", "RequestsContract", "StoreContract"]

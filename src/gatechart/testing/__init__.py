"""Tests for what others build for gatechart, and the time by hand. Needs pytest, the contract pytest-asyncio too."""

import pytest

pytest.register_assert_rewrite("gatechart.testing.store_contract", "gatechart.testing.records")

from gatechart.testing.clock import VirtualClock  # noqa: E402
from gatechart.testing.rehearsal import Rehearsal, rehearse  # noqa: E402
from gatechart.testing.store_contract import StoreContract  # noqa: E402  only what is imported later is rewritten

__all__ = ["Rehearsal", "StoreContract", "VirtualClock", "rehearse"]

"""Fixtures of the tests of the watchdog."""

import pytest

from gatechart.testing import VirtualClock
from tests.watchdog.cases import NOON


@pytest.fixture
def clock():
    return VirtualClock(NOON)

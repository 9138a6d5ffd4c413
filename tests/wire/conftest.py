"""These tests wait for tasks, but not for ever."""

import pytest


@pytest.fixture(autouse=True)
def _ends(deadline):
    """Every test here has the deadline."""

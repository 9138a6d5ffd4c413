"""Processes that are killed."""

import pytest


@pytest.fixture(autouse=True)
def _unmeasured(unmeasured):
    """No child here measures what it covers."""

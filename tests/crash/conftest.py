"""These tests wait for tasks and processes, but not for ever; those marked slow for as long as they take."""

import pytest


@pytest.fixture(autouse=True)
def _ends(request, unmeasured):
    """Every test here has the deadline, unless it is slow."""
    if request.node.get_closest_marker("slow") is None:
        request.getfixturevalue("deadline")
